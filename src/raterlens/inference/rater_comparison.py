"""Raters of one fit against each other: who differs, who is best, and who has too few ratings to say."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError
from raterlens.base.notebook import Point, intervals, lines, shown
from raterlens.base.text import Message, Option, counted, listed
from raterlens.inference.measurement import Measurement, measured_fit
from raterlens.inference.ranks import (
    Tests,
    against_mean,
    each_pair,
    kappa_covariance,
    ranks,
    ratings_needed,
)
from raterlens.models.calibration import MOST_RATERS
from raterlens.models.panel import Panel
from raterlens.ratings.coded import Backend, to_backend

if TYPE_CHECKING:
    from raterlens.inference.result import Result

# Error variance of a slope that ran to its limit: the data say nothing about it but that it is large.
_UNKNOWN = 1e4


def common_error(panel: Panel) -> Array:
    """(2 raters, 2): C with C C' the part of the covariance that comes from the scale and origin of ability.

    Both are set by the sample of students: scaling abilities moves all slopes in proportion to a, shifting them all
    severities.
    """
    n, covariance = len(panel.slope), panel.covariance
    common = np.zeros((2 * n, 2))
    if isinstance(covariance, np.ndarray):
        left = covariance[: 2 * n, : 2 * n].copy()
        for part, rows in enumerate((slice(0, n), slice(n, 2 * n))):
            common[:, part] = _along(left, rows, panel.slope)
            left -= np.outer(common[:, part], common[:, part])
    return common


def _along(covariance: Array, rows: slice, direction: Array) -> Array:
    """c with c c' the largest part of a covariance in which these rows move along d.

    With V the rows' own block, it is the regression of everything on d' inv(V) x.
    """
    own = covariance[rows, rows]
    scale = np.sqrt(np.maximum(np.diag(own), 0.0))
    known = scale > 0
    scale = np.where(known, scale, 1.0)
    inverse = np.linalg.pinv(own / np.outer(scale, scale), rcond=1e-10, hermitian=True) / np.outer(
        scale, scale
    )
    solved = inverse @ (direction * known)
    strength = float(direction @ solved)
    return (
        np.asarray(covariance[:, rows] @ solved / np.sqrt(strength))
        if strength > 0
        else np.zeros(len(covariance))
    )


def own_error(panel: Panel, common: Array) -> Array:
    """(raters, 2, 2): error covariance of each rater's slope and severity, less the common part."""
    n = len(panel.slope)
    assert panel.covariance is not None
    variance = np.asarray(panel.covariance.diagonal()) - np.sum(common**2, axis=1)
    blocks = np.empty((n, 2, 2))
    blocks[:, 0, 0], blocks[:, 1, 1] = np.maximum(variance[:n], 0.0), np.maximum(variance[n : 2 * n], 0.0)
    both = np.asarray(panel.covariance.diagonal(n))[:n] - np.sum(common[:n] * common[n:], axis=1)
    blocks[:, 0, 1] = blocks[:, 1, 0] = both
    blocks[panel.at_limit, 0, 0] = _UNKNOWN
    return blocks


# A 95 % interval wider than this leaves open whether a rater is good or poor.
_TOO_WIDE = 0.5
_NORMAL = 1.96
# Pairs and raters named in the summary, the clearest first.
_NAMED = 5
_COLUMNS = ("difference", "difference_se", "p", "p_holm", "p_fdr")


@dataclass(frozen=True, slots=True, eq=False)
class RaterComparison:
    """Raters compared with each other."""

    tables: Mapping[str, pl.DataFrame]
    """`raters` and `pairs`, as polars has them."""
    alpha: float
    k: int
    target_se: float
    backend: Backend = "polars"

    @property
    def raters(self) -> Any:
        """A row per rater: kappa with its interval; difference from the panel's mean with standard error, p and
        adjusted p (p_holm, p_fdr); verdict; rank with its 95 % limits; probability of being among the best and the
        worst; whether the ratings are too few to say anything, and how many more would bring the standard error to the
        target (null where no number of this rater's own would)."""
        return to_backend(self.tables["raters"], self.backend)

    @property
    def pairs(self) -> Any:
        """A row per pair, the more capable first: difference with standard error, p and adjusted p; the clearest
        first. Empty beyond 500 raters."""
        return to_backend(self.tables["pairs"], self.backend)

    def summary(self) -> str:
        """The comparison in plain words."""
        above, below, unclear = (
            self.tables["raters"]
            .filter(pl.col("verdict") == verdict)
            .sort("kappa", descending=True)["rater"]
            .to_list()
            for verdict in ("above the mean", "below the mean", "no clear difference")
        )
        n = self.tables["raters"].height
        lines = [
            f"{counted(n, 'rater')}; findings at {self.alpha:.0%}, corrected for the number of comparisons (Holm).",
            f"More capable than the panel's mean: {listed(above) or 'nobody, for certain'}.",
            f"Less capable than the panel's mean: {listed(below) or 'nobody, for certain'}.",
            f"No clear difference from the mean: {listed(unclear) or 'nobody'}.",
        ]
        if self.tables["pairs"].height:
            lines += self._pairs()
        group = "the best rater" if self.k == 1 else f"among the best {self.k}"
        likely = self.tables["raters"].sort("p_best", "kappa", descending=True).head(min(self.k, _NAMED))
        for row in likely.iter_rows(named=True):
            lines.append(
                f"{row['rater']}: rank {row['rank']} (between {row['rank_low']} and {row['rank_high']}), {group} with "
                f"probability {row['p_best']:.0%}."
            )
        few = self.tables["raters"].filter("too_few").sort("more", nulls_last=True)
        for row in few.head(_NAMED).iter_rows(named=True):
            wish = (
                f"about {row['more']:,.0f} more ratings would bring the standard error to {self.target_se:g}"
                if row["more"] is not None
                else "more ratings by this rater alone would not be enough, because the yardstick is uncertain too"
            )
            lines.append(f"Too few ratings to say anything about {row['rater']} ({row['n']:,}): {wish}.")
        if few.height > _NAMED:
            lines.append(
                f"Too few ratings to say anything about {few.height - _NAMED:,} more: column `too_few`."
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<RaterComparison of {counted(self.tables['raters'].height, 'rater')}: see summary()>"

    def _repr_html_(self) -> str:
        heading, *rest = self.summary().splitlines()
        rows = self.tables["raters"].sort("kappa", descending=True)
        points: list[Point] = [
            (str(label), *numbers)
            for label, *numbers in rows.select("rater", "kappa", "kappa_low", "kappa_high").iter_rows()
        ]
        return shown(heading, lines(rest), intervals(points, (0.0, 1.0), "capability"))

    def _pairs(self) -> list[str]:
        clear = self.tables["pairs"].filter(pl.col("p_holm") < self.alpha).sort("p")
        lines = [
            f"{clear.height:,} of {counted(self.tables['pairs'].height, 'pair')} of raters clearly differ."
        ]
        if clear.height:
            named = [
                f"{row['rater']} over {row['other']} ({row['difference']:.2f})"
                for row in clear.head(_NAMED).iter_rows(named=True)
            ]
            lines.append(f"The clearest differences: {', '.join(named)}.")
        return lines


def compare_raters(fit: "Result", *, k: int | None, alpha: float, target_se: float) -> RaterComparison:
    """Who differs from whom and from the panel's mean, and who is among the best: `Fit.compare_raters`."""
    where = _measured(fit)
    table = fit.table("raters")
    n = table.height
    k = max(1, n // 5) if k is None else k
    _check(k, n, alpha, target_se)
    found = where.raters()
    spread = kappa_covariance(where.panel, where.on, where.origin, where.index)
    mean = against_mean(found.kappa, spread)
    placed = ranks(where.panel, where.on, where.origin, where.index, k)
    given = table["n"].to_numpy()
    # The interval, not the delta method, knows that the estimated yardstick might not be the best rater.
    se = (found.kappa_high - found.kappa_low) / (2 * _NORMAL)
    more = ratings_needed(given, _own_se(where), se, target_se)
    verdict = np.where(
        mean.holm >= alpha,
        "no clear difference",
        np.where(mean.difference > 0, "above the mean", "below the mean"),
    )
    raters = pl.DataFrame(
        {
            "rater": table["rater"],
            "n": given,
            "kappa": found.kappa,
            "kappa_low": found.kappa_low,
            "kappa_high": found.kappa_high,
            **_tested(mean),
            "verdict": verdict,
            "rank": placed.rank,
            "rank_low": placed.low,
            "rank_high": placed.high,
            "p_best": placed.best,
            "p_worst": placed.worst,
            "too_few": found.kappa_high - found.kappa_low > _TOO_WIDE,
            "more": pl.Series(more).replace(np.inf, None),
        }
    )
    tables = {"raters": raters, "pairs": _pairs(table["rater"], found.kappa, spread)}
    return RaterComparison(tables, alpha, int(k), target_se, fit.backend)


def _check(k: int, n: int, alpha: float, target_se: float) -> None:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k < n:
        raise OptionError(
            Message(Option("k", k)),
            f"give how many of the {n} raters count as the best, from 1 to {n - 1}",
            value=k,
            option="k",
        )
    if not 0 < alpha < 1:
        raise OptionError(
            Message(Option("alpha", alpha)), "give a number between 0 and 1", value=alpha, option="alpha"
        )
    if not target_se > 0:
        raise OptionError(
            Message(Option("target_se", target_se)),
            "give a number above 0",
            value=target_se,
            option="target_se",
        )


def _measured(fit: "Result") -> Measurement:
    calibration = fit.calibration
    if calibration is None or calibration.covariance is None:
        raise OptionError(
            f"this fit of model {fit.model!r} has no covariance of its raters to compare them by",
            Message("fit 'gmf', 'tfm' or 'probit' with ", Option("standard_errors", True)),
            option="standard_errors",
        )
    raters = fit.table("raters")
    if raters.height < 2:
        raise OptionError("there is only one rater", "it takes two to compare")
    return measured_fit(fit, fit.yardstick)


def _own_se(where: Measurement) -> Array:
    """The part of each kappa's standard error that the rater's own ratings decide."""
    on, panel = where.on, where.panel
    by_slope, by_severity, *_ = where.index.gradient(on.a, on.eta, on.sigmas, on.halos)
    by = np.stack([by_slope, by_severity], axis=1)
    blocks = own_error(panel, common_error(panel))
    return np.asarray(np.sqrt(np.maximum(np.einsum("ri,rij,rj->r", by, blocks, by), 0.0)))


def _pairs(raters: pl.Series, kappa: Array, spread: object) -> pl.DataFrame:
    if len(kappa) > MOST_RATERS or not isinstance(spread, np.ndarray):
        nothing = {"rater": raters[:0], "other": raters[:0], "kappa": [], "other_kappa": []}
        return pl.DataFrame({**nothing, **{name: pl.Series([], dtype=pl.Float64) for name in _COLUMNS}})
    one, other, tests = each_pair(kappa, spread)
    columns = {"rater": raters.gather(one), "other": raters.gather(other).alias("other")}
    return pl.DataFrame({**columns, "kappa": kappa[one], "other_kappa": kappa[other], **_tested(tests)}).sort(
        "p"
    )


def _tested(tests: Tests) -> dict[str, Array]:
    return dict(zip(_COLUMNS, (tests.difference, tests.se, tests.p, tests.holm, tests.fdr), strict=True))
