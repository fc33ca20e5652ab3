"""During the marking: what has changed since an earlier fit, and drift alarms, valid however often one looks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from raterlens.base.text import counted, shortened
from raterlens.diagnostics.capability_scale import unit_of
from raterlens.diagnostics.drift_alarms import Earlier, drift_alarms
from raterlens.diagnostics.earlier_fit import changes, in_words, nested
from raterlens.diagnostics.residuals import Residuals, residuals
from raterlens.inference.result import Result
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import moment_words, time_of

COMPARED = ("standard", "sharpness")


@dataclass(frozen=True, slots=True, eq=False)
class Monitoring:
    """Drift of raters while marking runs."""

    changes: pl.DataFrame
    """rater, measure, before, now, clear: since the earlier fit; no rows without one"""
    alarms: pl.DataFrame | None
    """rater, readings, evidence, alarm, shift, shift_se, since, noticed; None where nothing tells earlier from later"""
    unit: str
    timed: bool

    def warnings(self) -> tuple[str, ...]:
        """Each alarm in one sentence."""
        if self.alarms is None:
            return ()
        found = []
        for row in self.alarms.filter("alarm").sort("evidence", descending=True).iter_rows(named=True):
            way = "more severe" if row["shift"] > 0 else "more lenient"
            low, high = (abs(row["shift"]) + side * 1.96 * row["shift_se"] for side in (-1, 1))
            found.append(
                f"drift alarm: {shortened(row['rater'])} is {abs(row['shift']):.2f} {self.unit} {way} since "
                f"{self.since(row['since'])} (95 % interval {low:.2f} to {high:.2f}). Next: review what was marked "
                "since then, and talk to the rater before more is marked"
            )
        if len(found) > 1:
            found.append(
                "A drifting rater can make others who mark the same students appear to drift the opposite way. Resolve "
                "the first alarm, then fit again"
            )
        return tuple(found)

    def since(self, moment: Any) -> str:
        """When a change began, in words."""
        return moment_words(moment) if self.timed else "the previous fit"

    def words(self) -> list[str]:
        """Sentences on what has changed, or that nothing has."""
        found = in_words(self.changes)
        if not found and self.changes.height:
            raters = counted(self.changes["rater"].n_unique(), "rater")
            found = [f"No rater's standard or sharpness has changed beyond chance ({raters} compared)."]
        if self.alarms is not None and not self.alarms["alarm"].any():
            found.append(
                f"No drift alarm ({counted(self.alarms.height, 'rater')}; valid however often you look)."
            )
        return [*found, *self.warnings()]


def monitor(
    fit: Result,
    ratings: Ratings | None,
    *,
    previous: Result | None = None,
    time: Any = None,
    passed: Residuals | None = None,
) -> Monitoring:
    """Compare with an earlier fit and, given the ratings, watch for drift.

    With a time, alarms are about a change at any time within the ratings. An earlier fit of other students adds what it
    knows of each rater's severity; without a time, it is what the ratings as a whole are compared with. One of the
    first of these very ratings adds nothing to them. `passed`: the residuals, where they were computed.
    """
    together = previous is not None and nested(fit, previous)
    found = changes(fit, previous, COMPARED) if previous is not None else pl.DataFrame(schema=_NO_CHANGES)
    earlier = None if previous is None or together else _earlier(fit, previous)
    alarms = None
    if ratings is not None and fit.calibration is not None and (time is not None or earlier):
        if time is None:
            moment, labels = np.zeros(ratings.n_ratings, np.int32), pl.Series("time", [0])
        else:
            moment, labels = time_of(time, ratings)
        alarms = drift_alarms(passed or residuals(fit, ratings), moment, labels, earlier=earlier)
    return Monitoring(found, alarms, unit_of(fit.link), time is not None)


_NO_CHANGES = {
    "rater": pl.String,
    "measure": pl.String,
    "before": pl.Float64,
    "now": pl.Float64,
    "clear": pl.Boolean,
}


def _earlier(fit: Result, previous: Result) -> dict[str, Earlier]:
    """Severities of both fits counted from those of the raters they share."""
    columns = ("rater", "eta", "eta_se")
    then, now = (
        {str(label): (eta, error) for label, eta, error in one.table("raters").select(columns).iter_rows()}
        for one in (previous, fit)
    )
    both = [label for label in now if label in then and np.isfinite(then[label][1] or np.nan)]
    if previous.link != fit.link or len(both) < 2:
        return {}
    apart = np.array([then[label][0] - now[label][0] for label in both])
    apart -= np.median(apart)
    return {label: Earlier(float(gap), then[label][1] ** 2) for label, gap in zip(both, apart, strict=True)}
