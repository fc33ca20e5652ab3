"""Options that do not go together, in one wording for all of them."""

from collections.abc import Iterable

from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option


def refuse_together(asked: Option, others: Iterable[tuple[Option, bool]]) -> None:
    """Raise where one of the others is given, each with whether it is."""
    for other, given in others:
        if given:
            raise OptionError(
                Message(asked, " does not go with ", other),
                "leave out one of them",
                value=asked.value if other.value is None else other.value,
                option=other.name,
            )
