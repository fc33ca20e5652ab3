"""Raters on the scale of those who are trusted, one at a time.

Trusted raters, or those whom anchors hold, say what ability is. But in one fit of everybody the others still vouch for
each other: what they share, and the trusted do not see, moves the students' abilities. So each is fitted beside the
trusted alone, unless the fit has a dimension of its own for what they share.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, counted
from raterlens.capability.yardstick import AVERAGE, CORRECTED, MAX, Measure, slope_of_yardstick
from raterlens.diagnostics.fit_statistics import rater_fit
from raterlens.diagnostics.residuals import residuals
from raterlens.inference.intervals import measure, rater_estimates, standards
from raterlens.inference.measurement import RATER_COLUMNS, measured_fit
from raterlens.inference.result import Result
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.config import FitOptions
    from raterlens.fitting.fit import Fit


ALONE: "FitOptions" = {"trusted": None, "shared": "no", "covariates": None}
"""What a fit of two or three raters leaves out of the request for all of them."""


@dataclass(frozen=True, slots=True, eq=False)
class BesideTrusted:
    """A fit in which every rater's row comes from a fit beside the trusted alone."""

    fit: Result
    misfit: pl.DataFrame | None
    """Infit and outfit of the raters asked for, from the same fits."""
    converged: bool
    note: str


def trusted_raters(fit: Result) -> list[str]:
    """Raters of the fit who define its scale: the trusted, and those whom anchors hold."""
    anchors, trusted = fit.config.anchors, fit.config.trusted or ()
    held = () if anchors is None else anchors.raters
    return [rater for rater in fit.table("raters")["rater"].cast(pl.String) if rater in (*trusted, *held)]


def beside_trusted(
    fit: "Fit", ratings: Ratings, raters: Sequence[str], *, misfit: bool = False
) -> BesideTrusted:
    """Fit each of the others beside the trusted; rows of the trusted themselves stay those of the whole fit."""
    trusted, apart = trusted_raters(fit), not has_shared_dimension(fit)
    rows, misfits, converged = [], [], fit.converged
    for rater in raters:
        alone, part = fit, ratings
        if rater not in trusted and apart:
            part = only(ratings, [rater, *trusted])
            if fit.config.anchors is None:
                _check_told_apart(part, rater)
            alone = fit.refit(part, **ALONE)
        converged &= alone.converged
        row = _of(alone.table("raters"), rater)
        theirs = rater in trusted or fit.config.anchors is not None
        rows.append(row if theirs else _rescaled(row, alone, trusted))
        if misfit:
            misfits.append(_of(rater_fit(residuals(alone, part)), rater))
    judged = pl.concat(rows, how="diagonal_relaxed")
    return BesideTrusted(
        replace(fit, tables={**fit.tables, "raters": judged}),
        pl.concat(misfits, how="diagonal_relaxed") if misfit else None,
        converged,
        f"each rater judged beside the {counted(len(trusted), 'trusted rater')} alone, so that no other vouches for it"
        if apart
        else f"judged by the yardstick and the standard of the {counted(len(trusted), 'trusted rater')}",
    )


def _check_told_apart(part: Ratings, rater: str) -> None:
    if len(given := np.flatnonzero(part.score_counts)) < 2:
        raise InputError(
            f"{rater} and those whom you trust only ever gave the score {int(given[0])}, so nothing tells how well "
            f"{rater} judges",
            Message("have them rate better and worse work, or name others with ", Option("trusted")),
            value=int(given[0]),
            option="trusted",
        )


def has_shared_dimension(fit: Result) -> bool:
    """Whether what the others share has a dimension of its own, so that it moves no ability."""
    return fit.calibration is not None and "bias" in fit.calibration.effects


def _rescaled(row: pl.DataFrame, alone: Result, trusted: Sequence[str]) -> pl.DataFrame:
    """A rater's row with the yardstick and the origin of severity that the trusted set: nobody else sets a scale."""
    labels = alone.calibrated("there is no scale").labels["rater"].cast(pl.String)
    where = measured_fit(alone, alone.yardstick)
    ours = labels.is_in(list(trusted)).to_numpy()
    sigma, origin = where.sigma, where.origin
    if alone.yardstick.reference in (MAX, CORRECTED):
        sigma = slope_of_yardstick(MAX, labels, where.panel.slope, ours & where.panel.candidates)
    if alone.yardstick.origin == AVERAGE:
        origin = Measure(0.0, ours / ours.sum())
    place = np.flatnonzero(labels == row["rater"].cast(pl.String).item())
    on = measure(where.panel, sigma, origin, is_most=False).of(place)
    found, standard = rater_estimates(where.panel, on, where.index), standards(on, where.index)
    changed = {name: getattr(found, name) for name in RATER_COLUMNS}
    changed |= {name: getattr(standard, name) for name in ("passes", "passes_low", "passes_high")}
    return row.with_columns(pl.Series(name, values) for name, values in changed.items())


def only(ratings: Ratings, raters: Sequence[str]) -> Ratings:
    """The ratings by these raters."""
    chosen = np.isin(ratings.raters.cast(pl.String).to_list(), raters)
    return ratings.subset(chosen[ratings.rater])


def _of(table: pl.DataFrame, rater: str) -> pl.DataFrame:
    return table.filter(pl.col("rater").cast(pl.String) == rater)
