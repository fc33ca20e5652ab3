"""A calibrated panel on a yardstick: what `fit.raters` shows, and what `fit.capability` restates."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import Array, Mask
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.capability.index import Index, Usual
from raterlens.capability.yardstick import (
    ABSOLUTE,
    AVERAGE,
    CORRECTED,
    MAX,
    PERFECT,
    Measure,
    Yardstick,
    severity_of_origin,
    slope_of_yardstick,
    students_of,
)
from raterlens.inference.covariance import dense
from raterlens.inference.intervals import (
    Measured,
    RaterEstimates,
    curve_estimates,
    measure,
    rater_estimates,
)
from raterlens.likelihood.engines.contract import Matrix
from raterlens.models.calibration import MOST_RATERS, Calibration, Panel

if TYPE_CHECKING:
    from raterlens.inference.result import Result

RATER_COLUMNS = (
    *("rho", "rho_se", "eta", "eta_se", "kappa", "kappa_se", "kappa_low", "kappa_high"),
    *("sharpness", "sharpness_se", "sharpness_low", "sharpness_high"),
)
PASSES = ("passes", "passes_low", "passes_high")


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """Raters, where they stand on the yardstick, and the index that follows."""

    panel: Panel
    on: Measured
    index: Index
    sigma: Measure
    origin: Measure
    absolute: bool
    """Severities are counted from none of the raters."""

    def raters(self, *, with_intervals: bool = True) -> RaterEstimates:
        """Estimates of each rater; standards count from the average rater, whatever the origin of severities."""
        found = rater_estimates(self.panel, self.on, self.index, with_intervals=with_intervals)
        if not self.absolute:
            return found
        average = severity_of_origin(AVERAGE, len(self.panel.slope), self.panel.aside)
        on = measure(self.panel, self.sigma, average, is_most=self.on.is_most)
        usual = rater_estimates(self.panel, on, self.index, with_intervals=with_intervals)
        return replace(found, **{name: getattr(usual, name) for name in PASSES})

    def only(self, rows: NDArray[np.int64]) -> "Measurement":
        """The same for these raters alone."""
        return replace(self, on=self.on.of(rows), index=self.index.of(rows))

    def curves(self, raters: pl.Series, abilities: float | Sequence[float]) -> pl.DataFrame:
        """kappa(theta): a row for every rater (`raters` names those that are measured) and ability."""
        try:
            theta = np.atleast_1d(np.asarray(abilities, np.float64))
        except (TypeError, ValueError):
            theta = np.empty(0)
        if theta.ndim != 1 or not theta.size or not np.isfinite(theta).all():
            raise OptionError(
                Message(Option("theta", abilities)),
                "give an ability or a list of abilities, all finite",
            )
        names = {"rater": raters.gather(np.repeat(np.arange(len(raters)), len(theta)))}
        found = {name: values.ravel() for name, values in curve_estimates(self.on, self.index, theta).items()}
        return pl.DataFrame({**names, "theta": np.tile(theta, len(raters)), **found})


def measured(
    calibration: Calibration, yardstick: Yardstick, ability: Array, error: Array, item: str | None = None
) -> Measurement:
    """Put a panel on a yardstick; abilities and their errors for the population `estimated`."""
    panel, raters = calibration.panel(item), calibration.labels["rater"]
    students = students_of(
        yardstick.population,
        ability,
        error,
        calibration.shape,
        calibration.piece_variance + calibration.between_variance,
    )
    sigma = _slope(yardstick, raters, panel)
    origin = severity_of_origin(yardstick.origin, len(raters), panel.aside)
    on = measure(panel, sigma, origin, is_most=yardstick.reference in (MAX, CORRECTED))
    curve, kept = calibration.curve(item), ~panel.aside if not panel.aside.all() else panel.aside
    usual = Usual(curve, float(np.abs(panel.slope[kept]).mean()), -float(panel.severity[kept].mean()))
    perfect, own = yardstick.reference == PERFECT, calibration.own_curves(item)
    index = Index(curve, students, perfect, own, usual)
    return Measurement(panel, on, index, sigma, origin, yardstick.origin == ABSOLUTE)


def measured_fit(fit: "Result", yardstick: Yardstick, item: str | None = None) -> Measurement:
    """The panel of a facets fit on any yardstick."""
    calibration = fit.calibration
    assert calibration is not None
    has_errors = calibration.covariance is not None
    check_measurable(yardstick, standard_errors=has_errors)
    students = fit.table("students").select("theta", "theta_se").to_numpy()
    return measured(calibration, yardstick, students[:, 0], students[:, 1], item)


def _slope(yardstick: Yardstick, raters: pl.Series, panel: Panel) -> Measure:
    """Sigma as a function of the slopes."""
    if panel.largest is not None and yardstick.reference in (MAX, CORRECTED):
        # Of a sample of raters the largest slope is expected to be larger than the largest of their means.
        weights = np.zeros(len(panel.slope)) if panel.covariance is None else expected_largest(panel).weights
        return Measure(panel.largest - float(weights @ np.abs(panel.slope)), weights)
    many = len(raters) > MOST_RATERS and np.ptp(panel.slope) > 0
    if many and panel.covariance is not None and yardstick.reference == MAX:
        return likely_largest(panel)
    slope = slope_of_yardstick(yardstick.reference, raters, panel.slope, panel.candidates)
    if panel.covariance is not None and yardstick.follows_from_errors:
        return corrected_largest(panel, slope)
    return slope


def largest_of(calibration: Calibration) -> float:
    """The largest slope of a sample of raters, on average over what is known of all of them."""
    panel = calibration.panel()
    size = np.abs(panel.slope)
    return float(size.max()) if panel.covariance is None else expected_largest(panel).of(size)


def check_measurable(yardstick: Yardstick, *, standard_errors: bool) -> None:
    """Raise where the yardstick needs more than there is, before any work."""
    if yardstick.follows_from_errors and not standard_errors:
        raise OptionError(
            Message(Option("reference", CORRECTED), " follows from standard errors"),
            Message("leave out ", Option("standard_errors", False)),
        )


_DRAWS, _MOST_NUMBERS = 4_000, 8_000_000
_SEED = 20250212
# In standard errors: who is so far below another is not the largest.
_REACH = 5.0
# Newton's steps for a variance, and when a sum of squares is its degrees of freedom.
_STEPS, _SAME = 50, 1e-9


def expected_largest(panel: Panel) -> Measure:
    """The largest slope on average over what is known of the slopes, rather than the largest of their estimates.

    Its derivative in a slope is the probability that this one is the largest.
    """
    n, size = len(panel.slope), np.abs(panel.slope)
    assert panel.covariance is not None
    deviation = np.sqrt(np.maximum(panel.covariance.diagonal()[:n], 0.0))
    some = np.flatnonzero(panel.candidates & _could_be_largest(size, deviation, panel.candidates))
    if dense(panel.covariance):
        root: Matrix = symmetric_root(panel.covariance[np.ix_(some, some)])
    else:
        root = sparse.diags_array(deviation[some], format="csr")
    found = _largest(size[some], panel.slope[some], root, np.full(len(some), True))
    weights = np.zeros(n)
    weights[some] = found.weights
    return Measure(found.constant, weights)


def likely_largest(panel: Panel) -> Measure:
    """The largest slope of very many raters with few ratings each, on average over what is known of all of them.

    The largest of thousands of noisy estimates is the luckiest one. So slopes are taken for a sample around a mean,
    whose variance is what the estimates vary beyond their errors, and each is drawn to the mean by as much as it is
    uncertain.
    """
    n, size, may = len(panel.slope), np.abs(panel.slope), panel.candidates
    assert panel.covariance is not None
    # On a scale on which steep slopes are known about as well as others.
    even, rise = np.arcsinh(size), 1 / np.sqrt(1 + size**2)
    error = np.maximum(panel.covariance.diagonal()[:n] * rise**2, 1e-12)

    variance = variance_between(even[may], error[may])
    kept = variance / (variance + error)
    mean = np.average(even[may], weights=1 / (variance + error[may]))
    centre, deviation = mean + kept * (even - mean), np.sqrt(kept * error)
    might = may & _could_be_largest(centre, deviation, may)
    found = _largest(centre, centre, sparse.diags_array(deviation, format="csr"), might)
    largest = float(np.sinh(found.of(centre)))
    weights = found.weights * kept * rise * np.sqrt(1 + largest**2)
    return Measure(largest - float(weights @ size), weights)


def _could_be_largest(size: Array, deviation: Array, candidates: Mask) -> Mask:
    return np.asarray(size + _REACH * deviation >= np.max((size - _REACH * deviation)[candidates]))


def variance_between(values: Array, variance: Array) -> float:
    """The variance between values beyond that of their errors (Paule and Mandel 1982): squares, weighted by the inverse
    of both, sum to their degrees of freedom. They fall ever more slowly as it rises, so Newton's steps never go too
    far."""
    between, df = 0.0, len(values) - 1
    for _ in range(_STEPS if df > 0 else 0):
        weight = 1 / (between + variance)
        off = values - weight @ values / weight.sum()
        excess = weight @ off**2 - df
        if excess <= _SAME * df:
            break
        between += float(excess / (weight**2 @ off**2))
    return between


def _largest(size: Array, slope: Array, root: Matrix, might: Mask) -> Measure:
    """Over draws around the slopes, of those who might be the largest; what the others would draw is left out. Random
    numbers go to raters in the order of their slopes, so that labels and the order of rows do not matter."""
    n, some = len(slope), np.flatnonzero(might)
    some = some[np.argsort(-size[some], kind="stable")]
    draws = min(_DRAWS, max(_MOST_NUMBERS // n, 100))
    half = np.random.default_rng(_SEED).standard_normal((len(some), draws // 2))
    away = root[some][:, some] @ half
    drawn = np.abs(slope[some, None] + np.concatenate([away, -away], axis=1))
    weights = np.bincount(some[drawn.argmax(axis=0)], minlength=n) / drawn.shape[1]
    return Measure(float(drawn.max(axis=0).mean() - weights @ size), weights)


def corrected_largest(panel: Panel, largest: Measure) -> Measure:
    """The largest slope less what chance adds to the largest of noisy slopes, on average."""
    size = np.abs(panel.slope)
    excess = expected_largest(panel).of(size) - largest.of(size)
    return Measure(largest.constant - min(excess, 0.9 * largest.of(size)), largest.weights)


def symmetric_root(matrix: Array) -> Array:
    """The symmetric root, whose rows follow those of the matrix in any order."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]) @ vectors.swapaxes(-1, -2))
