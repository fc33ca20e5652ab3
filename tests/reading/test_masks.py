"""Masks that hold everywhere."""

import numpy as np
import pytest

from raterlens.reading.masks import count, everywhere, is_everywhere


def test_a_mask_that_holds_everywhere_is_known_without_looking() -> None:
    mask = everywhere(3, 2)
    assert mask.shape == (3, 2)
    assert mask.all()
    assert mask.base is not None
    assert is_everywhere(mask)
    assert is_everywhere(mask[:, 0])
    assert count(mask) == 6
    with pytest.raises(ValueError, match="read-only"):
        mask[0, 0] = False


@pytest.mark.parametrize("mask", [np.ones(3, bool), np.zeros(3, bool), np.broadcast_to(np.False_, (3,))])
def test_other_masks_have_to_be_looked_at(mask: np.ndarray) -> None:
    assert not is_everywhere(mask)
    assert count(mask) == int(mask.sum())


def test_an_empty_mask_is_counted() -> None:
    assert count(everywhere(0, 1)) == 0
    assert count(everywhere(1)) == 1
