"""Answers with everybody's verdicts on them, as questions of pass or fail."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.arrays import Indices
from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.inference.result import Result
from raterlens.judging.truth import UNKNOWN, Verdicts
from raterlens.ratings.coded import Ratings
from raterlens.reading.read import read

FEWEST_KNOWN = 15
"""Below it, chance in the known answers decides who looks good."""
FEWEST_OF_A_KIND = 3
"""Known good and known bad answers: error rates of both kinds are asked for."""


def read_verdicts(source: Any, known: Any, by: Any, columns: Mapping[str, Any]) -> Ratings:
    """The ratings themselves, or as `rl.read` reads them, with the column of systems among the facets."""
    if isinstance(source, Result):
        source = getattr(source, "ratings", None)  # a fit keeps those that it was fitted to
        if source is None:
            raise OptionError(
                "this fit was loaded from a file, which does not contain the ratings",
                "give the ratings instead of the fit",
                option="ratings",
            )
    if isinstance(source, Ratings):
        if known is not None or columns:
            raise OptionError(
                "these ratings have been read already",
                Message("give ", Option("known", known or "gold"), " to rl.read"),
            )
        return source
    given = dict(columns)
    if isinstance(by, str) and by != "item" and by not in (given.get("item"), given.get("facets")):
        more = given.get("facets") or []
        given["facets"] = [*([more] if isinstance(more, str) else more), by]
    return read(source, known=known, **given)


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Distinct answers, each a student and an item, with every verdict on them."""

    student: Indices
    item: Indices
    known: Indices
    """(answers,) the right score; -1 where unknown."""
    answer: Indices
    """(verdicts,) which answer."""
    judge: NDArray[np.integer]
    score: NDArray[np.integer]
    n_judges: int

    @property
    def rows(self) -> Indices:
        return np.flatnonzero(self.known >= 0)

    @classmethod
    def of(cls, ratings: Ratings) -> "Answers":
        key = ratings.student.astype(np.int64) * ratings.n_items + ratings.item
        keys, answer = np.unique(key, return_inverse=True)
        known = np.full(len(keys), UNKNOWN, dtype=np.int64)
        if ratings.known is not None:
            theirs = ratings.known.student.astype(np.int64) * ratings.n_items + ratings.known.item
            place = np.minimum(np.searchsorted(keys, theirs), len(keys) - 1)
            met = keys[place] == theirs
            known[place[met]] = ratings.known.answer[met]
        return cls(
            keys // ratings.n_items, keys % ratings.n_items, known, answer, ratings.rater, ratings.score,
            ratings.n_raters,
        )  # fmt: skip

    def questions(self, left_out: Indices) -> list[Verdicts]:
        """Pass or fail at every cut that known answers lie on both sides of, without the judges left out."""
        if (n := len(self.rows)) < FEWEST_KNOWN:
            raise InputError(
                f"{counted(n, 'known answer')} that judges have judged cannot tell who judges well",
                Message(
                    f"look up at least {FEWEST_KNOWN - n} more, better 30 to 60 in all (",
                    Option("known"),
                    ")",
                ),
                value=n,
            )
        found = []
        for cut in range(1, int(max(self.score.max(), self.known.max())) + 1):
            known = np.where(self.known < 0, UNKNOWN, self.known >= cut)
            if min((known == 1).sum(), (known == 0).sum()) >= FEWEST_OF_A_KIND:
                each = Verdicts.of(
                    self.answer, self.judge, self.score >= cut, known, self.student, self.n_judges
                )
                found.append(each.without_judges(left_out) if len(left_out) else each)
        if not found:
            most = int(np.bincount(self.known[self.rows]).max())
            raise InputError(
                f"of {counted(n, 'known answer')} nearly all are alike ({most:,} of one kind), so one of a judge's two "
                "error rates is not known",
                f"look up answers until at least {FEWEST_OF_A_KIND} are good and {FEWEST_OF_A_KIND} are bad",
                value=most,
                option="known",
            )
        return found

    def systems(self, ratings: Ratings, by: str | Mapping[Any, Any]) -> tuple[Indices, pl.Series]:
        """(answers,) the system of each, and the systems' labels."""
        if isinstance(by, Mapping):
            return self._mapped(ratings, by)
        if by == "item":
            return self.item, ratings.items.cast(pl.String)
        facets = {facet.name: facet for facet in (*ratings.facets, *ratings.beside)}
        if by not in facets:
            raise OptionError(
                f"the ratings have no facet {shortened(by)}",
                Message(
                    "read its column too, ",
                    Option("facets", [str(by)]),
                    f"; there are: {', '.join(['item', *facets])}",
                ),
                value=by,
                option="by",
            )
        codes = facets[by].codes.astype(np.int64)
        found = np.zeros(len(self.known), dtype=np.int64)
        found[self.answer] = codes
        if (differs := np.flatnonzero(found[self.answer] != codes)).size:
            student = str(ratings.students[int(ratings.student[differs[0]])])
            raise InputError(
                f"student {shortened(student)} has more than one {by}",
                "an answer belongs to one system: let the student column name the answer, not the task",
                option="by",
            )
        return found, facets[by].labels.cast(pl.String)

    def _mapped(self, ratings: Ratings, by: Mapping[Any, Any]) -> tuple[Indices, pl.Series]:
        named = {str(student): str(group) for student, group in by.items()}
        students = ratings.students.cast(pl.String)
        if missing := [student for student in students if student not in named]:
            raise OptionError(
                f"{Option('by')} has no group for {counted(len(missing), 'student')}: {listed(missing, 3)}",
                "give one for every student",
                value=missing[0],
                option="by",
            )
        labels, codes = np.unique([named[student] for student in students], return_inverse=True)
        return codes[self.student], pl.Series(labels.tolist())
