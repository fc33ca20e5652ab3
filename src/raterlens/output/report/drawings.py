"""The pictures of the report, each for wide and narrow screens, and plain JSON for each rater's page: curve, what-if,
fit, surprises, feedback, which its scripts draw in frames."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from markupsafe import Markup
from numpy.typing import NDArray

from raterlens.base.arrays import NORMAL_95
from raterlens.diagnostics.what_if import Levers
from raterlens.diagnostics.wording import letter
from raterlens.inference.measurement import Measurement
from raterlens.output.report import english as words
from raterlens.output.report.page_tables import coded, rounded, thousandths
from raterlens.pictures.category_use import categories, category_frame, side_by_side
from raterlens.pictures.line_charts import abilities, asking_again, curve_frame, what_if_frame
from raterlens.pictures.rater_pictures import capability, rater_rows, severity, severity_strip
from raterlens.pictures.wright import wright

if TYPE_CHECKING:
    from raterlens.base.picture import Picture
    from raterlens.diagnostics.diagnosis import Diagnosis
    from raterlens.diagnostics.findings import PanelFindings
    from raterlens.inference.result import Result
    from raterlens.ratings.coded import Ratings

WIDE, NARROW = 960, 360
_FRAME, _STRIP = 400, 600
MAX_CATEGORY_USE = 2_000_000
"""Ratings up to which the report looks at how raters use the scale, which takes 1.4 s per million."""


def category_shares(diagnosis: "Diagnosis | None", ratings: "Ratings | None") -> pl.DataFrame | None:
    """How raters use the scale; None for other than ordered scores, and where that would take too long."""
    if diagnosis is None or ratings is None or ratings.n_ratings > MAX_CATEGORY_USE:
        return None
    return diagnosis.tables.get("category use")


def pictures(
    fit: "Result", found: "PanelFindings", numbers: dict[str, Any], shares: pl.DataFrame | None
) -> dict[str, Any]:
    """`map`, `abilities`, `capability`, `severity`, `categories`, `draws` and `category_use`, each wide and narrow, and
    the `frames` of the raters' pages, whose curves `numbers` has; `shares` are `category_shares`."""
    known, rows = fit.calibration, rater_rows(fit, found.raters)
    placed = known is not None and bool((known.effects["slope"] != 0).any())
    ordered = known is not None and "thresholds" in fit.tables
    return {
        "map": both_widths(wright(fit) if placed else None),
        "abilities": both_widths(abilities(fit)),
        "capability": both_widths(capability(fit, ranked=found.ranked, rows=rows)),
        "severity": both_widths(severity(fit, rows=rows)),
        "categories": both_widths(categories(fit) if ordered else None),
        "draws": both_widths(asking_again(fit) if "draws" in fit.tables else None),
        "category_use": both_widths(None if shares is None else side_by_side(shares)),
        "frames": frames(fit, rows, numbers, shares),
    }


def both_widths(picture: "Picture | None") -> tuple[Markup, ...]:
    """A picture for wide and for narrow screens; none where there is nothing to show."""
    return () if picture is None else (picture.svg(WIDE), picture.svg(NARROW))


def category_numbers(shares: pl.DataFrame | None, raters: Sequence[str]) -> dict[str, Any] | None:
    """Observed and expected shares of each score and their 95 % margin in thousandths, by rater in this order."""
    if shares is None:
        return None
    names, by = (
        {"observed": "observed", "expected": "expected", "margin": "se"},
        pl.col("label").cast(pl.String),
    )
    whole = shares.with_columns(se=NORMAL_95 * pl.col("se")).sort("place").group_by(by)
    lists = whole.agg((pl.col(*names.values()) * 1000).round(0).cast(pl.Int64))
    ordered = pl.DataFrame({"label": raters}).join(lists, on="label", how="left", maintain_order="left")
    return {name: ordered[column].to_list() for name, column in names.items()}


def frames(
    fit: "Result", rows: pl.DataFrame, numbers: dict[str, Any], shares: pl.DataFrame | None
) -> dict[str, Any]:
    """Frames in which scripts draw the curves of a rater's page."""
    curve, what_if, said = numbers["curve"], numbers["what_if"], words.RATER
    drawn = {
        "curve": curve and curve_frame(fit, curve["theta"], _ends(curve["kappa"]), said["curve"]),
        "what_if": what_if_frame(what_if["severity"], _ends(what_if["kappa"]), said["what_if"]),
        "categories": None if shares is None else category_frame(shares, said["categories"]),
    }
    return {
        **{name: picture and picture.svg(_FRAME) for name, picture in drawn.items()},
        "strip": severity_strip(fit, words.LETTER_PICTURE, rows).svg(_STRIP),
        "band": "low" in (curve or ()),
    }


def _ends(thousandths: Sequence[Sequence[int | None]]) -> tuple[float, float]:
    """The lowest and the highest value of all curves."""
    known = [value for row in thousandths for value in row if value is not None]
    return min(known) / 1000, max(known) / 1000


# ------------------------------------------------------------------------------------------ numbers of raters' pages

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
    places = {name: place for place, name in enumerate(fit.table("raters")["rater"].cast(pl.String))}
    order, at = np.array([places[name] for name in raters["rater"]], np.int64), Levers(fit)
    low, high = at.ability_range()
    of_categories = [name for name in ("sensitivity", "specificity") if name in raters.columns]
    return {
        **{name: raters[name].to_list() for name in ("rater", "n", "sentence")},
        **{name: rounded(raters[name]) for name in _NUMBERS},
        **{name: rounded(raters[name], 3) for name in of_categories},
        **{name: {"texts": known, "codes": codes} for name, (known, codes) in texts.items()},
        "reasons": {place: found for place, found in enumerate(raters["reasons"]) if found},
        "curve": curves(fit, at.measurement, order),
        "what_if": what_ifs(at, order),
        "feedback": [letter(found.raters[r], float(low[r]), float(high[r])) for r in order],
        **_fit_statistics(raters, found.diagnosis),
    }


def curves(fit: "Result", on: Measurement | None, order: NDArray[np.int64]) -> dict[str, Any] | None:
    """kappa(theta) of every rater, in this order; None for models in which it is the same for every student."""
    if on is None:
        return None
    known = fit.calibration is not None and fit.calibration.covariance is not None
    bands: dict[str, Any] = {}
    if known and fit.n_raters <= BANDS and fit.link in SYMMETRIC and not fit.ordered:
        found = on.curves(fit.table("raters")["rater"], ABILITIES.tolist())
        columns = found.select("kappa", "kappa_low", "kappa_high").to_numpy().T
        middle, low, high = columns.reshape(3, -1, len(ABILITIES))[:, order]
        bands = {"low": thousandths(low), "high": thousandths(high)}
    else:
        rates = [on.index.rate_at(float(t), on.on.a, on.on.eta, on.on.halos) for t in ABILITIES]
        middle = (np.stack(rates, axis=1) / on.index.best(on.on.sigmas)[:, None])[order]
    return {"theta": rounded(ABILITIES, 2), "kappa": thousandths(middle), **bands}


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


def _fit_statistics(raters: pl.DataFrame, diagnosis: "Diagnosis | None") -> dict[str, Any]:
    """Infit, outfit, and the least expected ratings: student, item, score, expected, probability."""
    if diagnosis is None:
        return {}
    statistics = diagnosis.tables["raters"].with_columns(pl.col("rater").cast(pl.String))
    joined = raters.select("rater").join(statistics, on="rater", how="left", maintain_order="left")
    places = {name: place for place, name in enumerate(raters["rater"])}
    surprises: dict[int, list[tuple[Any, ...]]] = {}
    rows = diagnosis.tables["unexpected"].select(
        pl.col("rater", "student", "item").cast(pl.String),
        "score",
        pl.col("expected").round(2),
        pl.col("probability").round(4),
    )
    for rater, *rating in rows.group_by("rater", maintain_order=True).head(SURPRISES).iter_rows():
        surprises.setdefault(places[rater], []).append(tuple(rating))
    return {
        **{name: rounded(joined[name], 2) for name in ("infit", "outfit")},
        **{name: rounded(joined[name]) for name in _FAIR if name in joined.columns},
        "unexpected": surprises,
    }
