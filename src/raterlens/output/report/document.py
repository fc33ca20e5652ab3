"""A report as a document: its title and date, the fit before it, and cautions from elsewhere."""

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

from raterlens.output.report import english as words

if TYPE_CHECKING:
    import polars as pl

    from raterlens.grading.decisions import Decisions
    from raterlens.grading.remarking import Remark
    from raterlens.inference.result import Result


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """How a report is headed, and what it is read beside."""

    title: str = words.TITLE
    date: date = field(default_factory=date.today)
    previous: "Result | None" = None
    """An earlier fit to compare with."""
    cautions: tuple[str, ...] = ()
    """Cautions beyond those of the fit and the diagnosis."""
    decisions: "Decisions | None" = None
    remark: "Remark | None" = None
    """Decisions about students, and what to mark again, if asked for."""

    def files(self) -> "dict[str, pl.DataFrame]":
        """Decisions as tables, by file."""
        found: dict[str, pl.DataFrame] = {}
        if self.decisions is not None:
            found |= {"decisions.csv": self.decisions.table, "accuracy.csv": self.decisions.quality}
        return found if self.remark is None else found | {"remark.csv": self.remark.table}

    @property
    def day(self) -> str:
        """The date in words, whatever the locale.

        Examples
        --------
        >>> Document(date=date(2026, 3, 1)).day
        '1 March 2026'
        """
        return f"{self.date.day} {words.MONTHS[self.date.month - 1]} {self.date.year}"
