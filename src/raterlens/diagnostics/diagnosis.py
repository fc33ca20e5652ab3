"""Diagnosis: all that can be said about a fit and the ratings behind it, in one call."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from raterlens.base.arrays import NORMAL_95, limit_blas_threads
from raterlens.base.errors import OptionError, choose
from raterlens.base.notebook import Point, intervals, lines, shown
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.base.threads import in_background
from raterlens.diagnostics import fit_statistics, flags
from raterlens.diagnostics.agreement import agreement, closeness, rater_pairs
from raterlens.diagnostics.drift import Periods, change
from raterlens.diagnostics.flags import DRIFT, MATTERS, SINGLE_FAULTS, TOO_ALIKE
from raterlens.diagnostics.rater_effects import effects, interaction, unit_of
from raterlens.diagnostics.residuals import Residuals, residuals
from raterlens.estimation.scoring import places_of
from raterlens.inference.expected_scores import FairResults, fair_results
from raterlens.models.calibration import Calibration
from raterlens.models.terms.halo import HALO, IMPRESSION
from raterlens.models.terms.thresholds import uses_of_scale
from raterlens.ratings.coded import Backend, Ratings, to_backend
from raterlens.ratings.groupings import GroupColumns, groups_of, periods_of, time_of

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """Tables by name: `flags`, `shared flags` (what many raters do alike), `item flags`, `raters`, `items`,
    `students`, `effects`, `unexpected`, `curves`, `bias item` (and `bias NAME` for facets and groups), `reliability`,
    `agreement`, `rater pairs`; of ordered scores `categories` (the panel's use of each) and `category use` (each
    rater's); with a time also `change` and `bias period`."""

    tables: Mapping[str, pl.DataFrame]
    n_raters: int
    periods: Periods | None = None
    """Data of `drift`, if a time was given"""
    backend: Backend = "polars"

    @property
    def flags(self) -> Any:
        """A row per flag: rater, effect, size with its interval, evidence and next step."""
        return to_backend(self.tables["flags"], self.backend)

    def table(self, name: str) -> Any:
        """A table as the kind of dataframe that came in; `tables` has them all, as polars has them."""
        return to_backend(self.tables[choose("table", name, self.tables)], self.backend)

    def curves(self, rater: str | None = None) -> Any:
        """Observed and expected mean scores along ability, of one rater or all: rater, group (of abilities), n,
        ability, observed, expected, difference, se (of the difference under the model)."""
        table = self.tables["curves"]
        if rater is not None:
            names = table["rater"].cast(pl.String)
            table = table.filter(names == choose("rater", str(rater), names.unique(maintain_order=True)))
        return to_backend(table, self.backend)

    def drift(self) -> Any:
        """Each rater's severity, discrimination and kappa-bar in every period, with intervals; takes another fit."""
        if self.periods is None:
            raise OptionError(
                "drift needs to know when ratings were given",
                Message("diagnose with ", Option("time")),
            )
        return to_backend(self.periods.fitted(), self.backend)

    def files(self) -> dict[str, pl.DataFrame]:
        """Tables to write, by file name: flags, unexpected ratings, bias, pairs of raters and categories as far as
        there are any; with a time change and drift."""
        found = {"flags.csv": self.tables["flags"], "unexpected.csv": self.tables["unexpected"]}
        if (bias := self.bias()).height:
            found["bias.csv"] = bias
        if (pairs := self.pairs()).height:
            found["pairs.csv"] = pairs
        if "categories" in self.tables:
            found["categories.csv"] = self.tables["categories"]
        if self.periods is not None:
            found |= {"change.csv": self.tables["change"], "drift.csv": self.periods.fitted()}
        return found

    def beside(self, name: str, table: pl.DataFrame) -> pl.DataFrame:
        """The fit's `raters`, `items` or `students` with the fit statistics of each."""
        key = name.removesuffix("s")
        known = [*table.columns, "fair_average", "fair_average_se"] if name == "students" else table.columns
        found = self.tables[name]
        new = [column for column in found.columns if column == key or column not in known]
        return table.join(found.select(new), on=key, how="left", maintain_order="left")

    def bias(self) -> pl.DataFrame:
        """Each rater's bias on every item, level of a facet and group, one below the other: rater, of, level, n,
        mean_score, expected, severity, severity_se, z, p, p_adjusted."""
        names = [name.removeprefix("bias ") for name in self.tables if name.startswith("bias ")]
        parts = [
            self.tables[f"bias {name}"]
            .rename({name: "level"})
            .select("rater", pl.lit(name).alias("of"), pl.exclude("rater"))
            for name in names
            if name != "period"
        ]
        return pl.concat(parts) if parts else pl.DataFrame()

    def pairs(self) -> pl.DataFrame:
        """`rater pairs` beside tables of capability: Cohen's kappa is called `cohen` there."""
        table = self.tables["rater pairs"]
        names = [name for name in table.columns if name == "kappa" or name.startswith("kappa_")]
        return table.rename({name: name.replace("kappa", "cohen") for name in names})

    def shared(self) -> tuple[str, ...]:
        """Flags that most raters share, one sentence each, with what to fit instead."""
        rows = self.tables["shared flags"].iter_rows(named=True)
        return tuple(f"{row['effect']}: {row['evidence']}. Next: {row['next_step']}" for row in rows)

    def warnings(self, *, shared: bool = True, alarmed: Collection[str] = ()) -> tuple[str, ...]:
        """Each kind of flag in one sentence: who, how much, the next step. `alarmed`: raters with an alarm of drift,
        which says it already."""
        found = [*self.shared()] if shared else []
        found += [
            f"item {shortened(row['item'])} is {row['effect']}: {row['evidence']}. Next: {row['next_step']}"
            for row in self.tables["item flags"].iter_rows(named=True)
        ]
        said_already = (pl.col("effect") == DRIFT) & pl.col("rater").is_in(list(alarmed))
        left = self.tables["flags"].filter(~said_already)
        for (effect,), rows in left.group_by("effect", maintain_order=True):
            rater, *others = rows["rater"].unique(maintain_order=True)
            who = f"{shortened(rater)} (also {listed(others, 6)})" if others else shortened(rater)
            found.append(f"{effect}: {who}: {rows['evidence'][0]}. Next: {rows['next_step'][0]}")
        return tuple(found)

    def summary(self) -> str:
        """The main findings, in a few lines."""
        flagged, raters = self.tables["flags"]["rater"].n_unique(), counted(self.n_raters, "rater")
        first = f"No unexpected patterns in the ratings of {raters}"
        if flagged:
            first = f"{flagged:,} of {raters} show{'s' * (flagged == 1)} unexpected patterns"
        lines = [f"{first}. For severity and sharpness see fit.verdicts()."]
        said = "{}: {effect}; {evidence}. Next: {next_step}"
        lines += [said.format(row["rater"], **row) for row in self.tables["flags"].iter_rows(named=True)]
        lines += self.shared()
        items = self.tables["item flags"].iter_rows(named=True)
        lines += [said.format(f"item {row['item']}", **row) for row in items]
        return "\n  ".join(lines)

    def __repr__(self) -> str:
        return f"<Diagnosis: {self.summary().splitlines()[0]}>"

    def _repr_html_(self) -> str:
        heading, *rest = self.summary().splitlines()
        columns = ("rater", "infit", "infit_z")
        points: list[Point] = []
        for label, infit, z in self.tables["raters"].select(columns).iter_rows():
            reach = NORMAL_95 * abs((infit - 1) / z) if z else float("nan")
            points.append((str(label), infit, infit - reach, infit + reach))
        points.sort(key=lambda point: -abs(point[1] - 1))
        return shown(heading, lines(rest[:_LISTED]), intervals(points, (0.5, 1.5), "infit"))


_LISTED = 12
"""Flags that a notebook shows."""


def diagnose(
    fit: "Fit",
    ratings: Ratings,
    *,
    time: Any = None,
    groups: GroupColumns | None = None,
    passed: Residuals | None = None,
    results: FairResults | None = None,
) -> Diagnosis:
    """Look for what the model does not foresee, without fitting again: `Fit.diagnose`.

    `passed` and `results`: the residuals and the fair results, where they were computed.
    """
    levels, known = groups_of(groups or {}, ratings), fit.calibration
    biases = {"item": (ratings.item, ratings.items)} if ratings.n_items > 1 else {}
    biases |= {facet.name: (facet.codes, facet.labels) for facet in ratings.facets} | levels
    moment = None if time is None else time_of(time, ratings)
    with limit_blas_threads(ratings):
        found = passed or residuals(fit, ratings, compared=True)

        def by_rater() -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
            """Effects of the raters, and their bias for all that ratings differ in."""
            return effects(found), {
                name: _in_file(interaction(found, codes, labels.cast(pl.String), name), known)
                for name, (codes, labels) in biases.items()
            }

        with in_background(by_rater) as beside:
            tables, of_students = _statistics(fit, found, ratings, results)
            tables["effects"], interactions = beside()
        periods = None
        if moment is not None:
            tables["change"] = _in_file(change(found, *moment), known)
            period, names = periods_of(*moment)
            tables["bias period"] = _in_file(interaction(found, period, names, "period"), known)
            periods = Periods(fit, ratings, period, names)
        tables |= {f"bias {name}": table for name, table in interactions.items()}
        tables |= _flags(fit, found, tables, interactions)
        tables["item flags"] = flags.item_flags(tables["items"], fit.table("items"))
    later = TablesOnDemand({**_later(fit, ratings, found, of_students), **tables})
    return Diagnosis(later, ratings.n_raters, periods, fit.backend)


def _statistics(
    fit: "Fit", found: Residuals, ratings: Ratings, results: FairResults | None
) -> tuple[dict[str, pl.DataFrame], tuple[np.ndarray, np.ndarray]]:
    """Raters, items and unexpected ratings; and the fair averages of the students with their errors."""
    known, raters, sums = fit.calibration, fit.table("raters"), fit_statistics.sums_of_contexts(found)
    of_raters, of_items = fit_statistics.rater_fit(found, sums), fit_statistics.item_fit(found, sums)
    if known is None:
        shares, of_students = fit_statistics.fair_shares(found, raters)
        of_raters = fit_statistics.with_fair(of_raters, shares, np.full_like(shares, np.nan))
    else:
        results = results or fair_results(fit, ratings)
        of_students = results.fair, results.fair_se
        of_raters = fit_statistics.with_fair(
            of_raters, *fit_statistics.fair_raters(known, raters, ratings.raters)
        )
        of_items = fit_statistics.with_fair(
            of_items, *fit_statistics.fair_items(known, fit.table("items"), ratings.items)
        )
    unlikely = _in_file(fit_statistics.unexpected(found), known)
    return {"raters": of_raters, "items": of_items, "unexpected": unlikely}, of_students


def _flags(
    fit: "Fit", found: Residuals, tables: Mapping[str, pl.DataFrame], interactions: Mapping[str, pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    """Flags of single raters, and those that many share."""
    known, use = fit.calibration, []
    halo = known is not None and not {HALO, IMPRESSION}.isdisjoint(known.effects)
    if known is not None:
        of_fit = uses_of_scale(known)
        use = [of_fit[place] for place in places_of(found.ratings.raters, known.labels["rater"], "raters")]
    every = flags.flags(
        *(tables["raters"], tables["effects"], interactions, tables.get("change"), unit_of(fit.link)),
        marks=1.0 if known is None else known.unit,
        allowed_for=halo,
        use=use,
    )
    own, common = flags.shared(every, found.ratings.n_raters, allowed_for=halo)
    grave = own.filter(pl.col("effect").is_in(SINGLE_FAULTS))["rater"].to_list()
    pairs, panel = flags.too_alike(closeness(found.ratings, found.paired, MATTERS[TOO_ALIKE]), grave)
    return {"flags": pl.concat([own, pairs]), "shared flags": pl.concat([panel, common])}


def _later(
    fit: "Fit", ratings: Ratings, found: Residuals, of_students: tuple[np.ndarray, np.ndarray]
) -> dict[str, Callable[[], pl.DataFrame]]:
    """Tables that take time, and that a report does without."""
    later = {
        "students": lambda: fit_statistics.with_fair(fit_statistics.student_fit(found), *of_students),
        "curves": lambda: _in_file(fit_statistics.curves(found), fit.calibration),
        "reliability": lambda: fit_statistics.reliability(
            *(fit.table(name) for name in ("students", "raters", "items")),
            drawn=fit.calibration is not None and fit.calibration.spread is not None,
        ),
        "rater pairs": lambda: rater_pairs(ratings, found.paired),
    }
    known, model = fit.calibration, found.model
    if known is not None and "thresholds" in fit.tables:
        later["categories"] = lambda: fit_statistics.category_statistics(
            known, model, fit.table("thresholds")
        )
        later["category use"] = lambda: fit_statistics.category_shares(known, model)
    if (units := found.units) is not None:
        later["agreement"] = lambda: agreement(ratings, units, found.paired)
    return later


class TablesOnDemand(Mapping[str, pl.DataFrame]):
    """Tables by name, some of which are computed when they are first asked for."""

    def __init__(self, known: Mapping[str, pl.DataFrame | Callable[[], pl.DataFrame]]) -> None:
        self._tables = dict(known)
        self._once = RLock()  # the page and the files ask from threads of their own

    def __getitem__(self, name: str) -> pl.DataFrame:
        with self._once:
            found = self._tables[name]
            if not isinstance(found, pl.DataFrame):
                found = self._tables[name] = found()
            return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def _in_file(table: pl.DataFrame, known: Calibration | None) -> pl.DataFrame:
    """Scores as the file counts them, where the model counts from 0, and severities as the fit reports them."""
    if known is None:
        return table
    means = [name for name in ("score", "mean_score", "observed", "expected") if name in table.columns]
    spreads = [name for name in ("difference", "se") if name in table.columns]
    severities = [name for name in ("severity", "severity_se", "shift", "shift_se") if name in table.columns]
    return table.with_columns(
        *(pl.Series(name, known.in_file(table[name].to_numpy())) for name in means),
        *(pl.col(name) * known.score_step for name in spreads),
        *(pl.col(name) * known.unit for name in severities),
    )
