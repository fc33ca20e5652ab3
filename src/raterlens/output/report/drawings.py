"""The pictures of the report, each for wide and narrow screens, and frames in which its scripts draw curves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from raterlens.base.arrays import NORMAL_95
from raterlens.output.report import english as words
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
    rows = {str(name): part.sort("place") for (name,), part in shares.group_by("label")}
    columns = {
        "observed": pl.col("observed"),
        "expected": pl.col("expected"),
        "margin": NORMAL_95 * pl.col("se"),
    }
    return {
        name: [
            rows[rater].select((1000 * values).round(0).cast(pl.Int64)).to_series().to_list()
            if rater in rows
            else None
            for rater in raters
        ]
        for name, values in columns.items()
    }


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
