"""`rl.check`: how a table is read, what has to be decided first, and who can be compared with whom."""

import os
from dataclasses import dataclass
from typing import Any, Unpack

from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option, sentence
from raterlens.config import ReadConfig
from raterlens.config.read_config import ReadOptions
from raterlens.output.report.reproduce import Request
from raterlens.ratings.coded import Ratings, size_words
from raterlens.ratings.design import check_design, examine_links, pairing_warnings
from raterlens.reading.read import checked, read_with_plan


@dataclass(frozen=True, slots=True, eq=False)
class DataCheck:
    """How a table is read, and what its design allows; print it to read it."""

    ratings: Ratings
    """Read by the likeliest answer to every question."""
    questions: tuple[str, ...]
    """Questions to answer before `rl.read` reads the file."""
    warnings: tuple[str, ...]
    """Features of the design that make raters hard to compare."""
    read: ReadConfig
    """The options that read it this way, everything said."""
    file: str | None = None
    more: tuple[str, ...] = ()
    """The other files, where several were read together."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of what was understood, questions aside."""
        return tuple(note for note in self.ratings.notes if note not in self.questions)

    @property
    def request(self) -> Request:
        """A fit of the table, read this way."""
        return Request(file=self.file or "", more=self.more, read=self.read)

    def __str__(self) -> str:
        lines = [size_words(self.ratings), *_items(self.notes)]
        lines += ["", "Please confirm or change", *_items(self.questions)] if self.questions else []
        lines += (
            ["", "Cautions", *_items(self.warnings)] if self.warnings else ["All raters can be compared."]
        )
        if self.file is not None:
            lines += ["", "If this is right" if self.questions else "Next", self.request.call()]
        return "\n".join(lines)


def _items(texts: tuple[str, ...]) -> list[str]:
    return [f" - {sentence(str(text))}" for text in texts]


def check(source: Any, **options: Unpack[ReadOptions]) -> DataCheck:
    """Check a table and its design before a fit.

    Parameters
    ----------
    source
        A path, a list of paths, a dataframe, or ratings that have been read.
    options
        Those of `rl.read`.

    Returns
    -------
    DataCheck
        With the `ratings`, what was understood (`notes`), what has to be decided (`questions`), and what makes raters
        hard to compare (`warnings`).

    Examples
    --------
    >>> import raterlens as rl
    >>> table = rl.simulate(students=40, raters=3, items=2, seed=1).ratings.table()
    >>> print(rl.check(table))
    240 ratings of 40 students by 3 raters on 2 items
     - Student column: 'student' (recognised).
     - Rater column: 'rater' (recognised).
     - Item column: 'item' (recognised).
     - Score column: 'score' (recognised).
    All raters can be compared.
    """
    if isinstance(source, Ratings):
        for name, value in options.items():
            raise OptionError(
                Message(Option(name, value), " says how to read a table, and these ratings have been read"),
                "leave it out, or give rl.check the table itself",
            )
        return DataCheck(source, (), design_warnings(source), ReadConfig())
    ratings, plan = read_with_plan(source, ReadConfig(**options))
    ratings = checked(ratings, plan.config.cut)
    asked = tuple(finding.note for finding in plan.questions)
    given = source if isinstance(source, list) else [source]
    files = [os.fspath(one) for one in given if isinstance(one, str | os.PathLike)]
    first = files[0] if files else None
    return DataCheck(ratings, asked, design_warnings(ratings), plan.config, first, tuple(files[1:]))


def design_warnings(ratings: Ratings) -> tuple[str, ...]:
    """Features of the design that make raters hard to compare."""
    return (*check_design(ratings), *pairing_warnings(ratings), *examine_links(ratings).warnings)
