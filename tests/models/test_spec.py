from dataclasses import FrozenInstanceError

import pytest

from raterlens.models.registry import COMMON, GMF, FacetsSpec


def test_a_facets_model_takes_a_few_lines():
    spec = FacetsSpec("one", "one model", "raters are all alike", slopes=GMF.slopes)
    assert spec.takes == GMF.takes
    assert spec.ordered
    assert spec.links[0] == "logit"
    with pytest.raises(FrozenInstanceError):
        spec.name = "other"  # type: ignore[misc]


def test_options_of_a_family_are_not_common():
    assert not COMMON & GMF.takes
    assert "starts" not in GMF.takes
