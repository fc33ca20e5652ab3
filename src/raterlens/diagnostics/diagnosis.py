"""Diagnosis: all that can be said about a fit and the ratings behind it, in one call."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.diagnostics.agreement import agreement, cohen
from raterlens.diagnostics.effects import effects
from raterlens.diagnostics.fit_statistics import curves, item_fit, rater_fit, student_fit, unexpected
from raterlens.diagnostics.flags import flags
from raterlens.diagnostics.interactions import change, interaction
from raterlens.diagnostics.reliability import fair_raters, fair_students, reliability
from raterlens.diagnostics.residuals import residuals
from raterlens.errors import InputError, OptionError, choose
from raterlens.ratings import Ratings
from raterlens.reading import read
from raterlens.results import Fit
from raterlens.wording import counted, listed

MOST_PERIODS = 12
PERIODS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """Tables (polars) by name: `flags`, `raters`, `items`, `students`, `effects`, `unexpected`, `curves`,
    `bias item` (and `bias NAME` for facets and groups), `reliability`, `agreement`, `rater pairs`; with a time also
    `change` and `bias period`."""

    tables: Mapping[str, pl.DataFrame]
    n_raters: int

    @property
    def flags(self) -> pl.DataFrame:
        """A row a flag: rater, effect, size with its interval, evidence and next step."""
        return self.tables["flags"]

    def table(self, name: str) -> pl.DataFrame:
        return self.tables[choose("table", name, self.tables)]

    def warnings(self) -> tuple[str, ...]:
        """Each kind of flag in one sentence: who, how much, the next step."""
        found = []
        for (effect,), rows in self.flags.group_by("effect", maintain_order=True):
            first = rows.row(0, named=True)
            others = rows["rater"][1:]
            also = f" (also {listed(others, 6)})" if len(others) else ""
            found.append(
                f"{effect}: {first['rater']!r}{also}: {first['evidence']}. Next: {first['next_step']}"
            )
        return tuple(found)

    def summary(self) -> str:
        """What stands out, in a few lines."""
        flagged = self.flags["rater"].n_unique()
        lines = [f"{counted(flagged, 'rater')} of {self.n_raters:,} stand{'s' * (flagged == 1)} out"]
        lines += [
            f"  {row['rater']}: {row['effect']}; {row['evidence']}. Next: {row['next_step']}"
            for row in self.flags.iter_rows(named=True)
        ]
        return "\n".join(lines)


def diagnose(
    fit: Fit,
    ratings: Ratings | Any,
    *,
    time: Any = None,
    groups: Mapping[str, Any] | None = None,
) -> Diagnosis:
    """Look for what the model does not foresee: misfit, bias, drift, and raters who do not judge at all.

    Parameters
    ----------
    fit
        Of model `gmf`, `tfm` or `probit`.
    ratings
        The ratings that were fitted (or others by the same raters on the same items).
    time
        When each rating was given, one value a rating in the order of `ratings` (numbers, dates, or labels that
        sort), or the name of a facet. With it, drift is tested.
    groups
        Further things that ratings differ in, by name: one label a rating, such as the student's school. With them,
        bias is tested; what holds for all raters alike is not counted as bias.

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> import raterlens as rl
    >>> ratings = rl.load_example()
    >>> found = rl.fit(ratings).diagnose(ratings)
    >>> found.table("raters").columns[:4]
    ['rater', 'n', 'infit', 'infit_z']
    """
    if fit.calibration is None:
        raise OptionError(
            f"model {fit.model!r} has no residuals to diagnose yet; diagnose a fit of 'gmf', 'tfm' or 'probit'"
        )
    if not isinstance(ratings, Ratings):
        ratings = read(ratings)
    levels = {name: levels_of(name, values, ratings) for name, values in (groups or {}).items()}
    moment = None if time is None else time_of(time, ratings)

    found = residuals(fit.calibration, ratings)
    labels = {"student": ratings.students, "rater": ratings.raters, "item": ratings.items}
    tables = {
        "raters": rater_fit(found).with_columns(
            fair_average=fair_raters(fit.calibration, ratings.raters),
        ),
        "items": item_fit(found),
        "students": student_fit(found).with_columns(
            fair_average=fair_students(fit.calibration, found.students.mean),
        ),
        "effects": effects(found),
        "unexpected": unexpected(found, labels),
        "curves": curves(found),
        "reliability": reliability(*(fit.table(name) for name in ("students", "raters", "items"))),
        "agreement": agreement(ratings),
        "rater pairs": cohen(ratings, found.expected if found.n_categories == 2 else None),
    }
    biases = {"item": (ratings.item, ratings.items)} if ratings.n_items > 1 else {}
    biases |= {facet.name: (facet.codes, facet.labels) for facet in ratings.facets} | levels
    interactions = {
        name: interaction(found, codes, names.cast(pl.String), name)
        for name, (codes, names) in biases.items()
    }
    changes = None
    if moment is not None:
        changes = tables["change"] = change(found, *moment)
        period, names = periods_of(*moment)
        tables["bias period"] = interaction(found, period, names, "period")
    tables |= {f"bias {name}": table for name, table in interactions.items()}
    tables["flags"] = flags(tables["raters"], tables["effects"], interactions, changes)
    return Diagnosis(tables, ratings.n_raters)


def levels_of(name: str, values: Any, ratings: Ratings) -> tuple[NDArray[np.int32], pl.Series]:
    """Codes of labels, one a rating."""
    column = values if isinstance(values, pl.Series) else pl.Series(name, list(values))
    if len(column) != ratings.n_ratings:
        raise InputError(
            f"{name} has {len(column):,} values for {ratings.n_ratings:,} ratings; give one for every rating, in their "
            "order"
        )
    if column.null_count():
        raise InputError(
            f"{name} is missing for {counted(column.null_count(), 'rating')}; fill it in, or leave it out"
        )
    distinct = column.unique().sort()
    if len(distinct) < 2:
        raise InputError(f"{name} is {distinct[0]!r} for every rating; leave it out")
    codes = column.rank("dense").to_numpy().astype(np.int32) - 1
    return codes, distinct


def time_of(time: Any, ratings: Ratings) -> tuple[NDArray[np.int32], pl.Series]:
    """Codes of the times, in order, and what they stand for."""
    if isinstance(time, str):
        facets = {facet.name: facet for facet in ratings.facets}
        facet = facets[choose("facet for time", time, facets)]
        return facet.codes, facet.labels
    return levels_of("time", time, ratings)


def periods_of(moment: NDArray[np.int32], labels: pl.Series) -> tuple[NDArray[np.int32], pl.Series]:
    """The times themselves where they are few; else stretches with equally many ratings, named by their start."""
    if len(labels) <= MOST_PERIODS:
        return moment, labels.cast(pl.String)
    edges = np.unique(np.quantile(moment, np.arange(1, PERIODS) / PERIODS, method="nearest"))
    starts = labels.gather(np.append(0, edges)).cast(pl.String)
    names = pl.Series([f"{place + 1}: from {start}" for place, start in enumerate(starts)])
    return np.searchsorted(edges, moment, side="right").astype(np.int32), names
