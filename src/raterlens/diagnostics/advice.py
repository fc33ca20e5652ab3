"""What would help a rater: capability as a function of severity, what was lost to what, and a letter to send.

Losses, cause and next step are those of the rater's verdict (`verdicts.py`); the letter says nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError, choose
from raterlens.base.text import Message, Option
from raterlens.capability.peak import peaks
from raterlens.diagnostics.verdicts import verdicts_of
from raterlens.inference.measurement import Measurement, measured_fit
from raterlens.inference.result import Result
from raterlens.ratings.coded import to_backend

_ABILITIES = np.linspace(-3.0, 3.0, 121)
# Severities beyond this fail or pass nearly everybody.
_SEVEREST = 6.0
_GRID = 121
# Within this range of abilities a rater keeps at least half of what they have at their best ability.
_HALF = 0.5


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
        """What the best severity would bring."""
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
    >>> fit = rl.fit(rl.load_example())
    >>> found = fit.what_if(fit.raters["rater"][0], severity=[0.0, 1.0])
    >>> found.curve.height, found.gain >= 0
    (2, True)
    """
    on = _measurement(fit)
    labels = fit.table("raters")["rater"].cast(pl.String).to_list()
    r = labels.index(choose("rater", str(rater), labels))
    wanted = np.linspace(-4, 4, 81) if severity is None else np.atleast_1d(np.asarray(severity, np.float64))
    if wanted.ndim != 1 or not np.isfinite(wanted).all():
        raise OptionError(
            Message(Option("severity", severity)),
            "give a number or several, all finite",
            value=severity,
            option="severity",
        )
    if halo is not None and not (np.isfinite(halo) and halo >= 0):
        raise OptionError(
            Message(Option("halo", halo)), "give a spread of at least 0", value=halo, option="halo"
        )
    own = _halos(on)[[r]]
    variance = own if halo is None else np.array([float(halo) ** 2])
    kappa = _kappa(on, np.full(len(wanted), on.on.a[r]), wanted, variance)
    best = _best(on, on.on.a[[r]], variance)
    now = float(_kappa(on, on.on.a[[r]], on.on.eta[[r]], own)[0])
    top = float(_kappa(on, on.on.a[[r]], best, variance)[0])
    curve = to_backend(pl.DataFrame({"severity": wanted, "kappa": kappa}), fit.backend)
    return WhatIf(labels[r], float(on.on.eta[r]), now, curve, float(best[0]), top)


def advice(fit: Result) -> pl.DataFrame:
    """A row per rater: kappa, what severity, discrimination and halo cost and which of them costs most (all from the
    verdict; a halo that is common to all is no rater's own), the best severity and kappa there, the abilities judged
    best (`from` - `to`: where sensitivity is at least half of the rater's highest), and `feedback`, a paragraph to
    send. Under latent classes a rater sees a true category and no ability, so there is no range."""
    table = fit.table("raters")
    if fit.calibration is None:
        # The best criterion is halfway between the categories, where capability is rho.
        kappa, best_kappa = (table[name].to_numpy() for name in ("kappa", "rho"))
        best_severity, low = np.zeros(len(kappa)), np.full(len(kappa), np.nan)
        high = low
    else:
        on = _measurement(fit)
        kappa = _kappa(on, on.on.a, on.on.eta, _halos(on))
        best_severity, best_kappa = _best_of_all(on)
        low, high = _range(on)
    found, ordered = verdicts_of(fit), "thresholds" in fit.tables
    rows = table.hstack(found).iter_rows(named=True)
    feedback = [_letter(row, float(low[r]), float(high[r]), ordered) for r, row in enumerate(rows)]
    return pl.DataFrame(
        {
            "rater": table["rater"],
            "kappa": kappa,
            "lost_to_severity": found["lost_to_severity"],
            "lost_to_discrimination": found["lost_to_discrimination"],
            "lost_to_halo": found["lost_to_halo"],
            "costs_most": found["costs_most"],
            "best_severity": best_severity,
            "best_kappa": best_kappa,
            "from": low,
            "to": high,
            "feedback": feedback,
        }
    )


def assignment(fit: Result, abilities: Sequence[float]) -> pl.DataFrame:
    """Who should mark whom: `Fit.assignment`."""
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


def _halos(on: Measurement) -> Array:
    """(raters,): variances of the reading effect."""
    return np.zeros_like(on.on.a) if on.on.halo is None else on.on.halo


def _kappa(on: Measurement, a: Array, eta: Array, halo: Array) -> Array:
    return np.asarray(on.index.kappa(a, eta, np.full(len(a), on.on.sigmas[0]), halo))


def _best(on: Measurement, a: Array, halo: Array) -> Array:
    """The best severity for each slope. A rater with slope 0 has none: 0."""
    end = np.full(len(a), _SEVEREST)

    def rate(eta: Array) -> Array:
        slope, variance = (np.broadcast_to(each, eta.shape) for each in (a, halo))
        return on.index.population.rate(on.index.curve, slope, eta, variance)

    place, _ = peaks(
        rate,
        -end,
        end,
        _GRID,
    )
    return np.where(a > 0, place, 0.0)


def _best_of_all(on: Measurement) -> tuple[Array, Array]:
    """For every rater; between a few slopes by interpolation, since the best severity is smooth in the slope."""
    a, halo = on.on.a, _halos(on)
    if np.ptp(halo) > 0:
        severity = _best(on, a, halo)
    else:
        knots = np.unique(a) if len(a) <= 64 else np.linspace(a.min(), a.max(), 65)
        severity = np.interp(a, knots, _best(on, knots, np.full_like(knots, halo[0])))
    return severity, np.maximum(_kappa(on, a, severity, halo), _kappa(on, a, on.on.eta, halo))


def _range(on: Measurement) -> tuple[Array, Array]:
    """Abilities between -3 and 3 at which a rater has at least half of their highest sensitivity there."""
    a, eta = on.on.a, on.on.eta
    rate = np.stack([on.index.rate_at(float(t), a, eta, on.on.halos) for t in _ABILITIES], axis=1)
    at = rate / on.index.best(on.on.sigmas)[:, None]
    inside = at >= _HALF * at.max(axis=1, keepdims=True)
    flat = at.max(axis=1) <= 0
    low = np.where(flat, np.nan, _ABILITIES[inside.argmax(axis=1)])
    high = np.where(flat, np.nan, _ABILITIES[len(_ABILITIES) - 1 - inside[:, ::-1].argmax(axis=1)])
    return low, high


_WHERE = ((-0.75, "weaker"), (0.75, "middling"), (np.inf, "stronger"))


def _letter(row: dict[str, Any], low: float, high: float, ordered: bool) -> str:
    """Thanks, what is seen, what costs most and what would help; nothing that chance could have done."""
    lines = [f"Dear {row['rater']}, thank you for your {row['n']:,} ratings."]
    if row["standing"] == "unclear" and row["costs_most"] == "nothing":
        return f"{lines[0]} They are too few to say how you rate yet."
    lines.append(_OPENINGS.get(row["costs_most"], _GOOD if row["standing"] == "fine" else _OPEN))
    if row["costs_most"] == "severity":
        severe = row["standard"].endswith("severe")
        seen = (
            "gives 50 % of the marks, you give about {:.0f} %"
            if ordered
            else "passes 50 of 100, you pass about {:.0f}"
        )
        lines.append(
            f"Where the average rater {seen.format(100 * row['passes'])}: you are "
            f"{'stricter' if severe else 'more generous'} than your colleagues with borderline work."
        )
    elif row["sharpness_verdict"] == "reversed":
        lines.append("They are lower where other raters see better work.")
    if "sensitivity" in row:
        lines.append(
            f"Of work that deserves to pass you passed about {100 * row['sensitivity']:.0f} %; of work that does not, "
            f"you failed about {100 * row['specificity']:.0f} %."
        )
    if np.isfinite(low) and row["costs_most"] != "discrimination":
        where = next(word for limit, word in _WHERE if (low + high) / 2 < limit)
        lines.append(f"You tell {where} work apart best.")
    if row["costs_most"] != "nothing":
        lines.append(f"Suggested next step: {row['next_step']}")
    return " ".join(lines)


_GOOD = "They tell students apart well and are a good basis for fair results."
_OPEN = "So far they are in line with those of your colleagues."
_OPENINGS = {
    "severity": "What costs most is the standard that you apply.",
    "discrimination": "What costs most is that your scores follow the quality of the work only loosely.",
    "halo": "What costs most is that one impression of a student colours all the scores you give.",
}
