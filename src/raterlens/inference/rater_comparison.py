"""Raters against each other: tests of differences with multiplicity control, and ranks with their uncertainty.

All on one yardstick, which scales every difference alike and so decides nothing:
kappa_i - kappa_j = (T_i - T_j) / Delta, with T the sensitivity of a rater's scores to ability. The covariance of all
slopes and severities is carried. Where intervals reach as far as profile likelihood says, draws of all raters do, too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse, stats

from raterlens.base.arrays import NORMAL_95, Array
from raterlens.base.errors import OptionError
from raterlens.base.notebook import Point, intervals, lines, shown
from raterlens.base.text import Message, Option, counted, listed
from raterlens.inference.covariance import dense
from raterlens.inference.intervals import within_limits
from raterlens.inference.measurement import Measurement, measured_fit, symmetric_root
from raterlens.models.calibration import MOST_RATERS, Panel
from raterlens.ratings.coded import Backend, to_backend

if TYPE_CHECKING:
    from raterlens.inference.result import Result


_SEED = 20250212
_DRAWS = 2_000
# Numbers drawn at a time.
_BLOCK = 2**20
# As many times the ratings that a rater has are not worth asking for.
_MOST_TIMES = 50


@dataclass(frozen=True, slots=True)
class Tests:
    """Differences with their standard errors, and p-values: each by itself, and safe for many at once."""

    difference: Array
    se: Array
    p: Array
    holm: Array
    """Chance of any false finding below alpha (Holm)."""
    fdr: Array
    """Expected share of false findings below alpha (Benjamini and Hochberg)."""

    @staticmethod
    def of(difference: Array, variance: Array) -> "Tests":
        se = np.sqrt(np.maximum(variance, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(se > 0, difference / se, np.where(difference == 0, 0.0, np.inf))
        p = 2 * stats.norm.sf(np.abs(z))
        return Tests(difference, se, p, holm(p), np.asarray(stats.false_discovery_control(p)))

    @property
    def columns(self) -> dict[str, Array]:
        found = (self.difference, self.se, self.p, self.holm, self.fdr)
        return dict(zip(_COLUMNS, found, strict=True))


def kappa_covariance(where: Measurement) -> Array | sparse.csr_array:
    """(raters, raters): covariance of all kappas, the yardstick and halos taken as given: by the delta method, or over
    draws where standard errors say too little."""
    on, covariance, n = where.on, where.panel.covariance, len(where.on.a)
    if on.limits is not None:
        return np.asarray(np.cov(np.concatenate(list(_drawn(where))), rowvar=False))
    by_slope, by_severity, *_ = where.index.gradient(on.a, on.eta, on.sigmas, on.halos)
    slopes, severities = sparse.diags_array(by_slope), sparse.diags_array(by_severity)
    if dense(covariance):
        from_origin = np.eye(n) - where.origin.weights
        through = np.hstack([slopes.toarray(), severities @ from_origin])
        return np.asarray(through @ covariance @ through.T)
    # With many raters the origin hardly depends on any one of them.
    through = sparse.hstack([slopes, severities], format="csr")
    return sparse.csr_array(through @ covariance @ through.T)


def against_mean(kappa: Array, covariance: Array | sparse.csr_array) -> Tests:
    """Every rater against the mean of the panel."""
    n = len(kappa)
    with_mean = np.asarray(covariance @ np.full(n, 1 / n))
    variance = np.asarray(covariance.diagonal()) - 2 * with_mean + with_mean.mean()
    return Tests.of(kappa - kappa.mean(), variance)


def each_pair(kappa: Array, covariance: Array) -> tuple[NDArray[np.int64], NDArray[np.int64], Tests]:
    """Every pair of raters, the first with the higher kappa."""
    one, other = np.triu_indices(len(kappa), 1)
    swapped = kappa[one] < kappa[other]
    one, other = np.where(swapped, other, one), np.where(swapped, one, other)
    diagonal = np.diag(covariance)
    variance = diagonal[one] + diagonal[other] - 2 * covariance[one, other]
    return one, other, Tests.of(kappa[one] - kappa[other], variance)


def ranks(where: Measurement, k: int) -> dict[str, NDArray[np.int64] | Array]:
    """Ranks over joint draws of all raters' slopes and severities, 1 the most capable, with their 95 % limits; and the
    probabilities of being among the best k and the worst k."""
    on = where.on
    n, kappa = len(on.a), where.index.kappa(on.a, on.eta, on.sigmas, on.halos)
    drawn = np.concatenate([stats.rankdata(-value, axis=1, method="ordinal") for value in _drawn(where)])
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0, method="inverted_cdf")
    return {
        "rank": stats.rankdata(-kappa, method="min").astype(np.int64),
        "rank_low": low,
        "rank_high": high,
        "p_best": np.asarray((drawn <= k).mean(axis=0)),
        "p_worst": np.asarray((drawn > n - k).mean(axis=0)),
    }


def _drawn(where: Measurement) -> Iterator[Array]:
    """(draws, raters), some at a time: kappas of joint draws from the normal approximation, or within the limits."""
    on, origin, covariance = where.on, where.origin, where.panel.covariance
    n, random = len(on.a), np.random.default_rng(_SEED)
    # Between very many raters covariances are not kept: each is drawn by itself.
    joint = symmetric_root(covariance) if dense(covariance) else symmetric_root(_blocks(where.panel))
    step = max(1, _BLOCK // n)
    for first in range(0, _DRAWS, step):
        size = min(step, _DRAWS - first)
        normal = random.standard_normal((2 * n, size))
        if joint.ndim == 2:
            slopes, severities = np.split(joint @ normal, 2)
        else:
            slopes, severities = np.einsum("rij,jrs->irs", joint, normal.reshape(2, n, size))
        a = on.a[:, None] + slopes
        eta = on.eta[:, None] + severities - origin.weights @ severities
        slope = a if on.reversible else np.maximum(a, 0.0)
        if on.limits is not None:
            slope, eta = within_limits(on, slice(None), a, eta, random.standard_normal((n, size)))
        halo = np.reshape(on.halos, (-1, 1))
        yield where.index.kappa(slope, eta, np.full_like(a, on.sigmas[0]), halo).T


def ratings_needed(given: NDArray[np.int64], own: Array, total: Array, target: float) -> Array:
    """Further ratings that bring a kappa's standard error to `target`; infinite where no sensible number would.

    A rater's own part of the variance falls as 1 / n; the rest comes from the yardstick and stays.
    """
    rest = np.maximum(total**2 - own**2, 0.0)
    factor = np.minimum(own, total) ** 2 / np.maximum(target**2 - rest, 1e-300)
    needed = np.where(factor > _MOST_TIMES, np.inf, np.ceil(given * np.maximum(factor - 1, 0.0)))
    return np.asarray(np.where(total <= target, 0.0, needed))


def holm(p: Array) -> Array:
    """Holm's step-down adjustment."""
    order = np.argsort(p)
    stepped = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted


def _blocks(panel: Panel) -> Array:
    """(raters, 2, 2): the covariance of each rater's slope and severity."""
    n, covariance = len(panel.slope), panel.covariance
    assert covariance is not None
    variance, both = covariance.diagonal(), covariance.diagonal(n)[:n]
    return np.moveaxis(np.array([[variance[:n], both], [both, variance[n : 2 * n]]]), -1, 0)


_UNKNOWN = 1e4
"""Error variance of a slope that ran to its limit: the data say nothing about it but that it is large."""


def own_error(panel: Panel) -> Array:
    """(raters, 2, 2): error covariance of each rater's slope and severity where all others are known, as far as the
    rater's own ratings decide it: the inverse of its block of the information."""
    n, covariance = len(panel.slope), panel.covariance
    if dense(covariance):
        scale = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
        scale = np.where(scale > 0, scale, 1.0)
        known = np.linalg.pinv(covariance / np.outer(scale, scale), rcond=1e-10, hermitian=True)
        known = (known / np.outer(scale, scale)).reshape(2, n, 2, n)
        own = np.linalg.inv(np.einsum("irjr->rij", known) + np.eye(2) / _UNKNOWN)
    else:
        own = _blocks(panel)
    own[panel.at_limit, 0, 0] = _UNKNOWN
    return own


# A 95 % interval wider than this leaves open whether a rater is good or poor.
_TOO_WIDE = 0.5
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
        if n_pairs := self.tables["pairs"].height:
            clear = self.tables["pairs"].filter(pl.col("p_holm") < self.alpha).sort("p")
            lines.append(f"{clear.height:,} of {counted(n_pairs, 'pair')} of raters clearly differ.")
            named = [
                f"{row['rater']} over {row['other']} ({row['difference']:.2f})"
                for row in clear.head(_NAMED).iter_rows(named=True)
            ]
            if named:
                lines.append(f"The clearest differences: {', '.join(named)}.")
        group = "the best rater" if self.k == 1 else f"among the best {self.k}"
        likely = self.tables["raters"].sort("p_best", "kappa", descending=True).head(min(self.k, _NAMED))
        lines += [
            f"{row['rater']}: rank {row['rank']} (between {row['rank_low']} and {row['rank_high']}), {group} with "
            f"probability {row['p_best']:.0%}."
            for row in likely.iter_rows(named=True)
        ]
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


def compare_raters(fit: "Result", *, k: int | None, alpha: float, target_se: float) -> RaterComparison:
    """Who differs from whom and from the panel's mean, and who is among the best: `Fit.compare_raters`."""
    where = _measured(fit)
    table = fit.table("raters")
    n = table.height
    k = max(1, n // 5) if k is None else k
    _check(k, n, alpha, target_se)
    found = where.raters()
    spread = kappa_covariance(where)
    mean = against_mean(found.kappa, spread)
    given = table["n"].to_numpy()
    # The interval, not the delta method, knows that the estimated yardstick might not be the best rater.
    se = (found.kappa_high - found.kappa_low) / (2 * NORMAL_95)
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
            **mean.columns,
            "verdict": verdict,
            **ranks(where, k),
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
        )
    if not 0 < alpha < 1:
        raise OptionError(Message(Option("alpha", alpha)), "give a number between 0 and 1")
    if not target_se > 0:
        raise OptionError(
            Message(Option("target_se", target_se)),
            "give a number above 0",
        )


def _measured(fit: "Result") -> Measurement:
    calibration = fit.calibration
    if calibration is None or calibration.covariance is None:
        raise OptionError(
            f"this fit of model {fit.model!r} has no covariance of its raters to compare them by",
            Message("fit 'gmf', 'tfm' or 'probit' with ", Option("standard_errors", True)),
        )
    raters = fit.table("raters")
    if raters.height < 2:
        raise OptionError("there is only one rater", "it takes two to compare")
    return measured_fit(fit, fit.yardstick)


def _own_se(where: Measurement) -> Array:
    """The part of each kappa's standard error that the rater's own ratings decide."""
    on = where.on
    by = np.stack(where.index.gradient(on.a, on.eta, on.sigmas, on.halos)[:2], axis=1)
    return np.asarray(np.sqrt(np.maximum(np.einsum("ri,rij,rj->r", by, own_error(where.panel), by), 0.0)))


def _pairs(raters: pl.Series, kappa: Array, spread: Array | sparse.csr_array) -> pl.DataFrame:
    if len(kappa) > MOST_RATERS or not dense(spread):
        nothing = {"rater": raters[:0], "other": raters[:0], "kappa": [], "other_kappa": []}
        return pl.DataFrame({**nothing, **{name: pl.Series([], dtype=pl.Float64) for name in _COLUMNS}})
    one, other, tests = each_pair(kappa, spread)
    columns = {"rater": raters.gather(one), "other": raters.gather(other).alias("other")}
    return pl.DataFrame({**columns, "kappa": kappa[one], "other_kappa": kappa[other], **tests.columns}).sort(
        "p"
    )
