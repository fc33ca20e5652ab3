"""Parameters held at given values: those of an earlier fit, or a user's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from raterlens.errors import OptionError, choose
from raterlens.models.calibration import Calibration
from raterlens.models.facets import FacetsModel
from raterlens.models.population_shift import ShiftedModel
from raterlens.ratings.coded import Ratings
from raterlens.text import listed
from raterlens.types import Array


@dataclass(frozen=True, slots=True)
class Anchors:
    """What a fit must not estimate.

    Everything is on the scale of the predictor, ``S = slope * theta - severity - difficulty``: a slope is rho times
    sigma, and a severity is eta minus alpha. `rl.fit(..., anchors=earlier_fit)` takes them from a fit. Where a rater's
    slope and severity and an item's difficulty are held, they fix the scale of ability, and the mean and standard
    deviation of the students on it are estimated (`fit.table("population")`); otherwise students are standard normal.

    Parameters
    ----------
    raters
        A rater's (slope, severity); None in place of either leaves it free.
    items
        An item's difficulty.
    item_slopes
        An item's slope, for a fit with `item_slopes=True`.
    facets
        For each further facet, the effects of its levels.
    thresholds
        Between ordered scores: one list for the scales `rating scale` and `graded`, or each item's own list for
        `partial credit`.

    Examples
    --------
    >>> import raterlens as rl
    >>> fit = rl.fit(rl.load_example(), anchors=rl.Anchors(items={"specificity": -1.4, "content": 1.9}))
    >>> fit.items.filter(item="specificity")["delta"].item()
    -1.4
    """

    raters: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    items: Mapping[str, float] = field(default_factory=dict)
    item_slopes: Mapping[str, float] = field(default_factory=dict)
    facets: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    thresholds: Sequence[float] | Mapping[str, Sequence[float]] | None = None


def anchors_from(calibration: Calibration, ratings: Ratings) -> Anchors:
    """All that was calibrated of the raters, items and levels in these ratings."""

    def found(effect: str, labels: pl.Series) -> dict[str, float]:
        known = calibration.known(effect)
        return {label: known[label] for label in labels.cast(pl.String) if label in known}

    slope, severity = found("slope", ratings.raters), found("severity", ratings.raters)
    steps = calibration.effects.get("threshold")
    thresholds: Sequence[float] | Mapping[str, Sequence[float]] | None = None
    if steps is not None and len(steps) == 1:
        thresholds = steps[0].tolist()
    elif steps is not None:
        items = dict(zip(calibration.labels["item"].cast(pl.String), steps.tolist(), strict=True))
        thresholds = {label: items[label] for label in ratings.items.cast(pl.String) if label in items}
    anchors = Anchors(
        raters={label: (slope[label], severity[label]) for label in slope},
        items=found("difficulty", ratings.items),
        item_slopes={label: float(np.exp(g)) for label, g in found("item_slope", ratings.items).items()},
        facets={
            facet.name: found(name, facet.labels)
            for facet in ratings.facets
            if (name := f"facet {facet.name}") in calibration.effects
        },
        thresholds=thresholds,
    )
    if not anchors.raters and not anchors.items:
        raise OptionError(
            f"anchors: the fit knows none of these raters ({listed(ratings.raters)}) or items "
            f"({listed(ratings.items)}); anchor by a fit that shares some, spelled alike"
        )
    return anchors


def anchor(anchors: Anchors, ratings: Ratings, model: FacetsModel) -> tuple[FacetsModel, Array]:
    """The model with a population of its own where the anchors fix the scale; and what is held, NaN where free."""
    held = hold(anchors, ratings, model)
    slope, severity, difficulty = (
        np.isfinite(held[model.blocks[name]]) for name in ("slope", "severity", "difficulty")
    )
    if not (np.any(slope & severity) and np.any(difficulty)):
        return model, held
    return ShiftedModel.of(model), np.append(held, [np.nan, np.nan])


def hold(anchors: Anchors, ratings: Ratings, model: FacetsModel) -> Array:
    """The parameters to be held; NaN where they are free."""
    held = np.full(model.blocks.size, np.nan)

    def put(block: str, what: str, labels: pl.Series, values: Mapping[str, float | None]) -> None:
        at, names = model.blocks[block].start, list(labels.cast(pl.String))
        for label, value in values.items():
            place = names.index(choose(f"{what} in anchors", str(label), names))
            if value is not None:
                held[at + place] = _number(what, label, value)

    slopes = {label: pair[0] for label, pair in anchors.raters.items()}
    put("severity", "rater", ratings.raters, {label: pair[1] for label, pair in anchors.raters.items()})
    if model.slope.size == ratings.n_raters:
        put("slope", "rater", ratings.raters, slopes)
    else:
        held[model.blocks["slope"]] = _common(slopes)
    put("difficulty", "item", ratings.items, anchors.items)
    if anchors.item_slopes and not model.item_slopes:
        raise OptionError("anchors hold item slopes, but the fit has none; add item_slopes=True")
    if model.item_slopes:
        logs = {label: float(np.log(_positive(label, g))) for label, g in anchors.item_slopes.items()}
        put("item_slope", "item", ratings.items, logs)
    facets = {facet.name: facet for facet in ratings.facets}
    for name, levels in anchors.facets.items():
        facet = facets[choose("facet in anchors", name, facets)]
        put(f"facet {name}", f"level of {name!r}", facet.labels, levels)
    _hold_thresholds(held, anchors, ratings, model)
    return held


def _hold_thresholds(held: Array, anchors: Anchors, ratings: Ratings, model: FacetsModel) -> None:
    if anchors.thresholds is None:
        return
    if model.thresholds is None:
        raise OptionError("anchors hold thresholds, but ratings of pass or fail have none; leave them out")
    per_item, steps = model.thresholds.n_scales > 1, model.thresholds.n_steps
    rows = anchors.thresholds if isinstance(anchors.thresholds, Mapping) else {"all": anchors.thresholds}
    if isinstance(anchors.thresholds, Mapping) != per_item and ratings.n_items > 1:
        wanted = "a list for each item" if per_item else "one list for all items"
        raise OptionError(f"anchors: thresholds of this scale are {wanted}, not {anchors.thresholds!r}")
    names = list(ratings.items.cast(pl.String)) if per_item else list(rows)
    for label, row in rows.items():
        values = np.asarray(row, float)
        if values.shape != (steps,) or not np.isfinite(values).all():
            raise OptionError(f"anchors: {steps} thresholds are needed between the scores, not {row!r}")
        first = model.blocks["threshold"].start + steps * names.index(choose("item in anchors", label, names))
        held[first : first + steps] = model.thresholds.parameters(values[None])


def _common(slopes: Mapping[str, float | None]) -> float:
    """The slope that all raters share in the three-facets model."""
    given = {value for value in slopes.values() if value is not None}
    if len(given) > 1:
        raise OptionError(
            f"anchors hold slopes from {min(given):g} to {max(given):g}, but in this model all raters have the same; "
            "use model 'gmf', or give None for each slope"
        )
    return given.pop() if given else np.nan


def _number(what: str, label: object, value: float) -> float:
    if not isinstance(value, int | float | np.number) or not np.isfinite(value):
        raise OptionError(f"anchors hold {what} {label!r} at {value!r}; give a finite number")
    return float(value)


def _positive(label: object, slope: float) -> float:
    if not _number("item", label, slope) > 0:
        raise OptionError(f"anchors hold the slope of item {label!r} at {slope:g}; it must be above 0")
    return slope
