"""Which facets raters interact with: "rater:item", or ("rater", "item")."""

from collections.abc import Iterable
from typing import Any

from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option

_RATER = "rater"


def interaction_terms(given: Any) -> tuple[str, ...] | None:
    """Each term as text, in the order given; None where there are none.

    Examples
    --------
    >>> interaction_terms([("rater", "item"), "topic:rater"])
    ('rater:item', 'rater:topic')
    """
    if given is None:
        return None
    pair = isinstance(given, tuple) and len(given) == 2 and given.count(_RATER) == 1
    terms = [given] if pair or isinstance(given, str) else given
    if not isinstance(terms, Iterable) or not all(isinstance(term, str | tuple | list) for term in terms):
        raise _refused(given)
    return tuple(dict.fromkeys(f"{_RATER}:{_facet(term)}" for term in terms)) or None


def facets_of(terms: Iterable[str] | None) -> tuple[str, ...]:
    """The facet of each term, `item` or the name of a further one."""
    return tuple(_facet(term) for term in terms or ())


def _facet(term: Any) -> str:
    """Of a pair with the rater at either end; a facet's name may hold a colon itself."""
    pairs = [term.split(":", 1), term.rsplit(":", 1)[::-1]] if isinstance(term, str) else [term, term[::-1]]
    for pair in pairs:
        match [str(part).strip() for part in pair]:
            case [rater, facet] if rater == _RATER and facet not in ("", _RATER):
                return facet
    raise _refused(term)


def _refused(term: Any) -> OptionError:
    return OptionError(
        Message(Option("interactions", term), " is no interaction of raters with a facet"),
        Message("give ", Option("interactions", "rater:item"), ", or rater: and the name of a further facet"),
        value=term,
        option="interactions",
    )
