"""Capability of a rater who were otherwise: less severe, sharper, or without halo.

Every such number comes from here, by the index that the fit's table is on, so what a fault costs in a verdict is what
the what-if gains by removing it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy import special

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError, choose
from raterlens.base.text import Message, Option
from raterlens.capability.formulas import hrm
from raterlens.capability.index import Index, passes_as_standard
from raterlens.capability.integrals import peaks
from raterlens.capability.population import Normal
from raterlens.inference.measurement import Measurement, measured_fit
from raterlens.inference.result import Result
from raterlens.ratings.coded import to_backend

if TYPE_CHECKING:
    from raterlens.inference.result import Result


_HALF_SLOPE: dict[str, Callable[[Array], Array]] = {
    "logit": lambda rho: special.logit((1 + rho) / 2),
    "probit": lambda rho: special.ndtri((1 + rho) / 2),
}


def capability_of_categories(link: str, rho: ArrayLike, eta: ArrayLike) -> Array:
    """Mean capability of raters who see a true category, by the two numbers of their table (broadcasts)."""
    # rho = F(a / 2) - F(-a / 2) and eta = c - a / 2.
    half = _HALF_SLOPE[link](np.clip(np.asarray(rho, np.float64), 0.0, 1 - 1e-9))
    return hrm(criterion=np.asarray(eta, np.float64) + half, slope=2 * half, link=link)


_ABILITIES = np.linspace(-3.0, 3.0, 121)
# Severities beyond this fail or pass nearly everybody.
_SEVEREST = 6.0
_GRID = 121
# Within this range of abilities a rater keeps at least half of what they have at their best ability.
_HALF = 0.5
# Slopes between which a just sharp enough one is looked for, by this many halvings.
_STEEPEST, _HALVINGS = 10.0, 40


class Levers:
    """The raters of a fit by what they could change, each (raters,)."""

    def __init__(self, fit: Result) -> None:
        self.link = fit.link
        self.measurement: Measurement | None = None
        if fit.calibration is None:
            # Raters see a true category. The best criterion is halfway between the categories.
            self.slope, self.severity = (
                fit.table("raters")[name].cast(pl.Float64).to_numpy() for name in ("rho", "eta")
            )
            self.halo = self.best_severity = np.zeros_like(self.slope)
        else:
            self.measurement = measured_fit(fit, fit.yardstick)
            on = self.measurement.on
            self.slope, self.severity = on.a, on.eta
            self.halo = np.zeros_like(on.a) if on.halo is None else on.halo
            """Variances of the reading effect"""
            self.best_severity = _best_severities(self.measurement.index, self.slope, self.halo)
        self.kappa = self.kappa_at(self.slope, self.severity, self.halo)
        self.best_kappa = np.maximum(self.kappa_at(self.slope, self.best_severity, self.halo), self.kappa)
        """At the best severity, all else being equal"""

    def kappa_at(self, slope: Array, severity: Array, halo: Array, rater: int | None = None) -> Array:
        """Mean capability of such raters, each as it uses the scale; or of such a rater as this one."""
        where = self.measurement
        if where is None:
            return capability_of_categories(self.link, slope, severity)
        if rater is not None:
            where = where.only(np.array([rater]))
        return np.asarray(
            where.index.kappa(slope, severity, np.full(np.shape(severity), where.on.sigmas[0]), halo)
        )

    def slope_of_sharpness(self, wanted: float) -> Array:
        """The slope at which each rater, all else being equal, would be this sharp."""
        if self.measurement is None:
            return np.full_like(self.slope, wanted)
        low, high = np.zeros_like(self.slope), np.full_like(self.slope, _STEEPEST)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            sharp = self.measurement.index.sharpness(middle, self.severity, self.halo) < wanted
            low, high = np.where(sharp, middle, low), np.where(sharp, high, middle)
        return (low + high) / 2

    def ability_range(self) -> tuple[Array, Array]:
        """Abilities between -3 and 3 at which each rater has at least half of their highest sensitivity there; NaN
        for latent classes, where a rater sees no ability."""
        nothing = np.full_like(self.slope, np.nan)
        if self.measurement is None:
            return nothing, nothing
        on, index = self.measurement.on, self.measurement.index
        rate = np.stack([index.rate_at(float(t), on.a, on.eta, on.halos) for t in _ABILITIES], axis=1)
        at = rate / index.best(on.sigmas)[:, None]
        inside = at >= _HALF * at.max(axis=1, keepdims=True)
        flat = at.max(axis=1) <= 0
        low = np.where(flat, np.nan, _ABILITIES[inside.argmax(axis=1)])
        high = np.where(flat, np.nan, _ABILITIES[len(_ABILITIES) - 1 - inside[:, ::-1].argmax(axis=1)])
        return low, high


def _best_severities(index: Index, slope: Array, halo: Array) -> Array:
    """For each rater; 0 for a rater with slope 0, who has none."""
    students = index.population
    if index.own is None and isinstance(students, Normal) and passes_as_standard(index.curve, students):
        return np.zeros_like(slope)
    end = np.full(len(slope), _SEVEREST)

    def rate(eta: Array) -> Array:
        # Points by raters, and an index of raters with their own curves wants raters first.
        a, variance = (np.broadcast_to(each, eta.shape) for each in (slope, halo))
        return index.rate(a.T, eta.T, variance.T).T

    return np.where(slope > 0, peaks(rate, -end, end, _GRID)[0], 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class WhatIf:
    """Capability of one rater at other severities."""

    rater: str
    severity: float
    kappa: float
    """As estimated"""
    curve: Any
    """severity, kappa: a dataframe of the kind that came in"""
    best_severity: float
    best_kappa: float

    @property
    def gain(self) -> float:
        """Gain at the best severity: the cost of severity in a verdict, if it is a fault."""
        return self.best_kappa - self.kappa


def what_if(
    fit: Result, rater: str, severity: float | Sequence[float] | None = None, *, halo: float | None = None
) -> WhatIf:
    """Kappa-bar of a rater if only their severity, or also their halo, were different.

    Parameters
    ----------
    severity
        A number or several, on the scale of `eta` in `fit.raters`; a range of them where left out.
    halo
        The spread of the reading effect: 0 shows what a rater without it could reach. As estimated where left out.

    Examples
    --------
    >>> import raterlens as rl
    >>> fit = rl.fit(rl.load_example(), model="gmf")
    >>> found = fit.what_if(fit.raters["rater"][0], severity=[0.0, 1.0])
    >>> found.curve.height, found.gain >= 0
    (2, True)
    """
    where, found = _measurement(fit), Levers(fit)
    labels = fit.table("raters")["rater"].cast(pl.String).to_list()
    r = labels.index(choose("rater", str(rater), labels))
    wanted = np.linspace(-4, 4, 81) if severity is None else np.atleast_1d(np.asarray(severity, np.float64))
    if wanted.ndim != 1 or not np.isfinite(wanted).all():
        raise OptionError(
            Message(Option("severity", severity)),
            "give a number or several, all finite",
        )
    if halo is not None and not (np.isfinite(halo) and halo >= 0):
        raise OptionError(Message(Option("halo", halo)), "give a spread of at least 0")
    slope, variance = found.slope[[r]], found.halo[[r]] if halo is None else np.array([float(halo) ** 2])
    kappa = found.kappa_at(np.full(len(wanted), slope[0]), wanted, variance, r)
    best = (
        found.best_severity[[r]]
        if halo is None
        else _best_severities(where.index.of(np.array([r])), slope, variance)
    )
    return WhatIf(
        rater=labels[r],
        severity=float(found.severity[r]),
        kappa=float(found.kappa[r]),
        curve=to_backend(pl.DataFrame({"severity": wanted, "kappa": kappa}), fit.backend),
        best_severity=float(best[0]),
        best_kappa=float(found.kappa_at(slope, best, variance, r)[0]),
    )


def assignment(fit: Result, abilities: Sequence[float]) -> pl.DataFrame:
    """Rank raters by their capability at each ability: `Fit.assignment`."""
    curves = _measurement(fit).curves(fit.table("raters")["rater"], list(abilities))
    return curves.sort(["theta", "kappa"], descending=[False, True], maintain_order=True)


def _measurement(fit: Result) -> Measurement:
    if fit.calibration is None:
        raise OptionError(
            f"model {fit.model!r} has no severity to change",
            "fit 'gmf', 'tfm' or 'probit' for advice",
            option="model",
        )
    return measured_fit(fit, fit.yardstick)
