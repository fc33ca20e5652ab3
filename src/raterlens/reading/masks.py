"""Masks that hold everywhere, as they nearly always do, without memory of their own."""

import numpy as np

from raterlens.base.types import Mask


def everywhere(*shape: int) -> Mask:
    """True throughout; cannot be written to.

    Examples
    --------
    >>> everywhere(2, 1).tolist(), is_everywhere(everywhere(2, 1)), is_everywhere(np.ones(2, dtype=bool))
    ([[True], [True]], True, False)
    """
    return np.broadcast_to(np.True_, shape)


def is_everywhere(mask: Mask) -> bool:
    """Whether a mask is one of these; others have to be looked at."""
    return mask.size > 1 and not any(mask.strides) and bool(mask.flat[0])


def count(mask: Mask) -> int:
    return mask.size if is_everywhere(mask) else int(np.count_nonzero(mask))
