"""Refusals, in words for the visitor."""

from raterlens.app.web.option_labels import FIELDS, label
from raterlens.base.errors import RaterlensError


class RefusedError(Exception):
    """A request that is answered by a message (what, the value seen, what to do) and a status."""

    def __init__(self, message: str, status: int = 422, *, field: str | None = None) -> None:
        super().__init__(message)
        self.status, self.field = status, field
        """The id of the field on the page that is at fault."""


def refused(error: RaterlensError) -> RefusedError:
    """An error of the package, in the words of the pages."""
    return RefusedError(error.worded(label), field=FIELDS.get(error.option or ""))
