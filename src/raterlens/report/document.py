"""What makes a report a document: its title and date, the fit before it, and cautions from elsewhere."""

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

from raterlens.report import english as words

if TYPE_CHECKING:
    from raterlens.result.record import Result


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """How a report is headed, and what it is read beside."""

    title: str = words.TITLE
    date: date = field(default_factory=date.today)
    previous: "Result | None" = None
    """An earlier fit to compare with."""
    cautions: tuple[str, ...] = ()
    """What to read the report with, beyond what the fit and the diagnosis say."""

    @property
    def day(self) -> str:
        """The date in words, whatever the locale.

        Examples
        --------
        >>> Document(date=date(2026, 3, 1)).day
        '1 March 2026'
        """
        return f"{self.date.day} {words.MONTHS[self.date.month - 1]} {self.date.year}"
