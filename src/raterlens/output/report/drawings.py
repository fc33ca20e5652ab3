"""The pictures of the report, each for wide and narrow screens, and frames in which its scripts draw curves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from raterlens.base.arrays import Array
from raterlens.output.report import english as words
from raterlens.pictures.capability_curves import abilities, curve_frame, what_if_frame
from raterlens.pictures.category_curves import categories
from raterlens.pictures.category_use import category_use
from raterlens.pictures.decision_chart import decisions
from raterlens.pictures.ranking import capability
from raterlens.pictures.severity import severity
from raterlens.pictures.wright import wright

if TYPE_CHECKING:
    from raterlens.base.picture import Picture
    from raterlens.grading.decisions import Decisions
    from raterlens.inference.result import Result
    from raterlens.ratings.coded import Ratings

WIDE, NARROW = 960, 360
_FRAME = 400
MAX_CATEGORY_USE = 2_000_000
"""Ratings up to which the report looks at how raters use the scale, which takes 1.4 s per million."""


def pictures(fit: "Result", ratings: "Ratings | None" = None, *, ranked: bool = True) -> dict[str, Any]:
    """`map`, `abilities`, `capability`, `severity`, `categories` and `category_use`, each wide and narrow."""
    ordered = "thresholds" in fit.tables and fit.calibration is not None
    used = ordered and ratings is not None and ratings.n_ratings <= MAX_CATEGORY_USE
    return {
        "map": both_widths(None if fit.calibration is None else wright(fit)),
        "abilities": both_widths(abilities(fit)),
        "capability": both_widths(capability(fit, ranked=ranked)),
        "severity": both_widths(severity(fit)),
        "categories": both_widths(categories(fit) if ordered else None),
        "category_use": both_widths(category_use(fit, ratings) if used else None),  # type: ignore[arg-type]
    }


def decision_picture(found: "Decisions") -> tuple[Markup, ...]:
    """Students, the cuts, and the decisions that are not safe."""
    return both_widths(decisions(found))


def both_widths(picture: "Picture | None") -> tuple[Markup, ...]:
    """A picture for wide and for narrow screens; none where there is nothing to show."""
    return () if picture is None else (picture.svg(WIDE), picture.svg(NARROW))


def frames(fit: "Result", numbers: dict[str, Any]) -> dict[str, Any]:
    """Frames in which scripts draw the curves of a rater's page; `numbers` has them all."""
    curve, what_if = numbers["curve"], numbers["what_if"]
    by_severity = what_if_frame(what_if["severity"], _thousandths(what_if["kappa"]), words.RATER["what_if"])
    by_ability = (
        None
        if curve is None
        else curve_frame(fit, curve["theta"], _thousandths(curve["kappa"]), words.RATER["curve"])
    )
    return {
        "curve": None if by_ability is None else by_ability.svg(_FRAME),
        "what_if": by_severity.svg(_FRAME),
        "band": "low" in (curve or ()),
    }


def _thousandths(rows: Sequence[Sequence[int | None]]) -> Array:
    return np.array([[np.nan if v is None else v for v in row] for row in rows], np.float64) / 1000
