"""Data of each rater's page beyond the table, as plain JSON: curve, what-if, fit, surprises, feedback."""

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.diagnostics.what_if import Levers, levers
from raterlens.diagnostics.wording import letter
from raterlens.inference.measurement import Measurement
from raterlens.output.report.page_tables import coded, rounded, thousandths

if TYPE_CHECKING:
    from raterlens.diagnostics.diagnosis import Diagnosis
    from raterlens.diagnostics.findings import PanelFindings
    from raterlens.inference.result import Result


_NUMBERS = (
    *("mean_score", "kappa", "kappa_low", "kappa_high", "eta", "eta_se", "rho", "rho_se"),
    *("sharpness", "sharpness_low", "sharpness_high", "passes", "passes_low", "passes_high"),
)
_FAIR = ("fair_average", "fair_average_se")
_TEXTS = ("label", "mark", "status", "next_step", "standard", "sharpness_verdict", "costs_most")
ABILITIES = np.linspace(-3, 3, 31)
BANDS = 120
"""Up to this many raters have intervals around their curves: each rater and ability takes a covariance."""
SYMMETRIC = ("logit", "probit", "cauchit")
"""With other links, and with ordered scores, every step of an interval searches for the best severity: 1.5 s per rater,
too long for a page."""
SEVERITIES = 81
SURPRISES = 5


def rater_data(fit: "Result", found: "PanelFindings", raters: pl.DataFrame) -> dict[str, Any]:
    """Columns with one value per rater in the order of `raters`, the curves, and what belongs to single raters."""
    texts = {name: coded(raters[name]) for name in _TEXTS}
    columns: dict[str, Any] = {"rater": raters["rater"].to_list(), "n": raters["n"].to_list()}
    for name in _NUMBERS:
        columns[name] = rounded(raters[name])
    for name in ("sensitivity", "specificity"):
        if name in raters.columns:
            columns[name] = rounded(raters[name], 3)
    order, at = _places(fit, raters), levers(fit)
    low, high = at.ability_range()
    statistics = _fit_statistics(raters, found.diagnosis)
    return {
        **columns,
        **{name: {"texts": known, "codes": codes} for name, (known, codes) in texts.items()},
        "sentence": raters["sentence"].to_list(),
        "reasons": {place: found for place, found in enumerate(raters["reasons"]) if found},
        "curve": curves(fit, at.measurement, order),
        "what_if": what_ifs(at, order),
        "feedback": [letter(found.raters[r], float(low[r]), float(high[r])) for r in order],
        **statistics,
    }


def curves(fit: "Result", on: Measurement | None, order: NDArray[np.int64]) -> dict[str, Any] | None:
    """kappa(theta) of every rater, in this order; None for models in which it is the same for every student."""
    if on is None:
        return None
    names = fit.table("raters")["rater"]
    if _has_bands(fit):
        found = on.curves(names, ABILITIES.tolist())
        shape = (len(names), len(ABILITIES))
        middle, low, high = (
            found[name].to_numpy().reshape(shape)[order] for name in ("kappa", "kappa_low", "kappa_high")
        )
        bands = {"low": thousandths(low), "high": thousandths(high)}
    else:
        a, eta, best = on.on.a, on.on.eta, on.index.best(on.on.sigmas)
        rates = [on.index.rate_at(float(t), a, eta, on.on.halos) for t in ABILITIES]
        middle = (np.stack(rates, axis=1) / best[:, None])[order]
        bands = {}
    return {"theta": rounded(ABILITIES, 2), "kappa": thousandths(middle), **bands}


def _has_bands(fit: "Result") -> bool:
    known = fit.calibration is not None and fit.calibration.covariance is not None
    return known and fit.n_raters <= BANDS and fit.link in SYMMETRIC and not fit.ordered


def what_ifs(at: Levers, order: NDArray[np.int64]) -> dict[str, Any]:
    """Kappa-bar of every rater at other severities, and the best one of each."""
    widest = float(np.nanmax(np.abs(at.severity), initial=0.0))
    reach = float(np.clip(np.ceil(widest + 1), 3, 8))
    each = np.linspace(-reach, reach, SEVERITIES)
    slope, severity, halo = np.broadcast_arrays(at.slope[:, None], each, at.halo[:, None])
    kappa = at.kappa_at(slope, severity, halo)
    return {
        "severity": [-reach, reach],
        "kappa": thousandths(kappa[order]),
        "best": rounded(np.clip(at.best_severity, -reach, reach)[order], 2),
    }


def _places(fit: "Result", raters: pl.DataFrame) -> NDArray[np.int64]:
    """The position in the fit of each rater of the report."""
    places = {name: place for place, name in enumerate(fit.table("raters")["rater"].cast(pl.String))}
    return np.array([places[name] for name in raters["rater"]], np.int64)


def _fit_statistics(raters: pl.DataFrame, diagnosis: "Diagnosis | None") -> dict[str, Any]:
    """Infit, outfit, and the least expected ratings: student, item, score, expected, probability."""
    if diagnosis is None:
        return {}
    statistics = diagnosis.tables["raters"].with_columns(pl.col("rater").cast(pl.String))
    joined = raters.select("rater").join(statistics, on="rater", how="left", maintain_order="left")
    places = {name: place for place, name in enumerate(raters["rater"])}
    surprises: dict[int, list[tuple[Any, ...]]] = {}
    columns = ("rater", "student", "item", "score", "expected", "probability")
    for rater, *rating in diagnosis.tables["unexpected"].select(columns).iter_rows():
        student, item, score, expected, probability = rating
        listed = surprises.setdefault(places[str(rater)], [])
        if len(listed) < SURPRISES:
            listed.append((str(student), str(item), score, round(expected, 2), round(probability, 4)))
    return {
        **{name: rounded(joined[name], 2) for name in ("infit", "outfit")},
        **{name: rounded(joined[name]) for name in _FAIR if name in joined.columns},
        "unexpected": surprises,
    }
