"""Interactions as users write them."""

from typing import Any

import pytest

from raterlens.base.errors import OptionError
from raterlens.config.fit_config import facets_of, interaction_terms


@pytest.mark.parametrize(
    ("given", "terms"),
    [
        (None, None),
        ((), None),
        ("rater:item", ("rater:item",)),
        (("rater", "item"), ("rater:item",)),
        (("topic", "rater"), ("rater:topic",)),
        ([("rater", "item"), "topic:rater", "rater:item"], ("rater:item", "rater:topic")),
        (("rater:item", "rater:topic"), ("rater:item", "rater:topic")),
        ("rater:part: two", ("rater:part: two",)),
    ],
)
def test_terms(given: Any, terms: tuple[str, ...] | None) -> None:
    assert interaction_terms(given) == terms
    assert interaction_terms(terms) == terms
    assert facets_of(terms) == tuple(term.removeprefix("rater:") for term in terms or ())


@pytest.mark.parametrize("given", ["item", "item:topic", "rater:", "rater:rater", ("a", "b"), 3, [3]])
def test_what_is_no_interaction(given: Any) -> None:
    with pytest.raises(OptionError, match=r"is not a rater interaction; use"):
        interaction_terms(given)
