"""Parameters held at given values: those of an earlier fit, or a user's own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import polars as pl

from raterlens.base.arrays import Array, Indices
from raterlens.base.errors import OptionError, choose
from raterlens.base.text import Message, Option, listed, shortened
from raterlens.config import Anchors, EarlierScale
from raterlens.models.calibration import Calibration
from raterlens.models.facets import FacetsModel
from raterlens.models.terms.item_slopes import ITEM_SLOPE
from raterlens.models.terms.students import Population
from raterlens.ratings.coded import Ratings

Value = TypeVar("Value")


def anchors_from(calibration: Calibration, earlier: EarlierScale | None = None) -> Anchors:
    """Everything that was calibrated, held where the ratings to be fitted have it."""
    slope, severity = calibration.known("slope"), calibration.known("severity")
    steps = calibration.effects.get("threshold")
    thresholds: Sequence[float] | Mapping[str, Sequence[float]] | None = None
    if steps is not None and len(steps) == 1:
        thresholds = steps[0].tolist()
    elif steps is not None:
        own = [row[np.isfinite(row)].tolist() for row in steps]
        thresholds = dict(zip(calibration.labels["item"].cast(pl.String), own, strict=True))
    return Anchors(
        raters={label: (slope[label], severity[label]) for label in slope},
        items=calibration.known("difficulty"),
        item_slopes={label: float(np.exp(g)) for label, g in calibration.known("item_slope").items()},
        facets={
            name.removeprefix("facet "): calibration.known(name)
            for name in calibration.effects
            if name.startswith("facet ")
        },
        thresholds=thresholds,
        earlier=earlier,
    )


def known_here(anchors: Anchors, ratings: Ratings) -> Anchors:
    """The anchors of an earlier fit, of the raters, items and levels in these ratings."""

    def here(values: Mapping[str, Value], labels: pl.Series) -> dict[str, Value]:
        return {label: values[label] for label in labels.cast(pl.String) if label in values}

    thresholds = anchors.thresholds
    found = replace(
        anchors,
        raters=here(anchors.raters, ratings.raters),
        items=here(anchors.items, ratings.items),
        item_slopes=here(anchors.item_slopes, ratings.items),
        facets={
            facet.name: here(anchors.facets[facet.name], facet.labels)
            for facet in ratings.facets
            if facet.name in anchors.facets
        },
        thresholds=here(thresholds, ratings.items) if isinstance(thresholds, Mapping) else thresholds,
    )
    if not found.raters and not found.items:
        raise OptionError(
            f"anchors: the fit knows none of these raters ({listed(ratings.raters)}) or items "
            f"({listed(ratings.items)})",
            "anchor by a fit that shares some, spelled alike",
            option="anchors",
        )
    return found


def anchor(anchors: Anchors, ratings: Ratings, model: FacetsModel) -> tuple[FacetsModel, Array]:
    """The model with a population of its own where the anchors fix the scale; and what is held, NaN where free."""
    held = hold(anchors, ratings, model)
    slope, severity, difficulty = (
        np.isfinite(held[model.blocks[name]]) for name in ("slope", "severity", "difficulty")
    )
    if not (np.any(slope & severity) and np.any(difficulty)):
        return model, held
    return model.plus(Population()), np.append(held, [np.nan, np.nan])


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
    if model.slope.own:
        put("slope", "rater", ratings.raters, slopes)
    elif model.slope.size == 1:
        held[model.blocks["slope"]] = _common(slopes)
    else:
        held[model.blocks["slope"]] = _of_some_kinds(slopes, ratings, model)
    put("difficulty", "item", ratings.items, anchors.items)
    if anchors.item_slopes and ITEM_SLOPE not in model:
        raise OptionError(
            "anchors hold item slopes, but the fit has none",
            Message("add ", Option("item_slopes", True)),
            option="anchors",
        )
    if ITEM_SLOPE in model:
        logs = {label: float(np.log(_positive(label, g))) for label, g in anchors.item_slopes.items()}
        put("item_slope", "item", ratings.items, logs)
    facets = {facet.name: facet for facet in ratings.facets}
    for name, levels in anchors.facets.items():
        facet = facets[choose("facet in anchors", name, facets)]
        put(f"facet {name}", f"level of {name!r}", facet.labels, levels)
    _hold_thresholds(held, anchors, ratings, model)
    return held


def held_highest(anchors: Anchors, ratings: Ratings) -> Indices | None:
    """(items,): how many thresholds are held of each item that has its own."""
    held = anchors.thresholds
    if not isinstance(held, Mapping):
        return None
    return np.array([len(held.get(label, ())) for label in ratings.items.cast(pl.String)], dtype=np.int64)


def _hold_thresholds(held: Array, anchors: Anchors, ratings: Ratings, model: FacetsModel) -> None:
    if anchors.thresholds is None:
        return
    if model.thresholds is None:
        raise OptionError(
            "anchors hold thresholds, but pass/fail ratings have none", "leave them out", option="anchors"
        )
    per_item = model.thresholds.n_scales > 1
    rows = anchors.thresholds if isinstance(anchors.thresholds, Mapping) else {"all": anchors.thresholds}
    if isinstance(anchors.thresholds, Mapping) != per_item and ratings.n_items > 1:
        wanted = "a list for each item" if per_item else "one list for all items"
        raise OptionError(
            f"anchors hold the thresholds {anchors.thresholds!r}",
            f"this scale takes {wanted}",
            option="anchors",
        )
    names = list(ratings.items.cast(pl.String)) if per_item else list(rows)
    for label, row in rows.items():
        values, scale = np.asarray(row, float), names.index(choose("item in anchors", label, names))
        steps = int(model.thresholds.highest[scale])
        if values.shape != (steps,) or not np.isfinite(values).all():
            raise OptionError(
                f"anchors hold the thresholds {row!r}",
                f"give the {steps} finite thresholds between the scores",
                option="anchors",
            )
        first = model.blocks["threshold"].start + model.thresholds.of_scale(scale).start
        if model.thresholds.graded:
            values = np.diff(values, prepend=0.0)
        held[first : first + steps] = values


def _common(slopes: Mapping[str, float | None]) -> float:
    """The slope that all raters share in the three-facets model."""
    given = {value for value in slopes.values() if value is not None}
    if len(given) > 1:
        raise OptionError(
            f"anchors hold slopes from {min(given):g} to {max(given):g}, but in this model all raters share one",
            Message("use ", Option("model", "gmf"), ", or give None for each slope"),
            option="anchors",
        )
    return given.pop() if given else np.nan


def _of_some_kinds(slopes: Mapping[str, float | None], ratings: Ratings, model: FacetsModel) -> Array:
    """Parameters of a model with fewer slopes than raters; NaN unless all of the raters' slopes are given."""
    given = np.array([slopes.get(label) for label in ratings.raters.cast(pl.String)], dtype=float)
    if np.isnan(given).any():
        return np.full(model.slope.size, np.nan)
    found = model.slope.invert(given)
    if not np.allclose(model.slope(found), given, rtol=1e-6):
        raise OptionError(
            f"anchors hold slopes from {given.min():g} to {given.max():g} that raters of this model cannot have",
            Message("use ", Option("model", "gmf"), ", or give None for each slope"),
            option="anchors",
        )
    return found


def _number(what: str, label: object, value: float) -> float:
    if not isinstance(value, int | float | np.number) or not np.isfinite(value):
        raise OptionError(
            f"anchors hold {what} {shortened(label)} at {value!r}", "give a finite number", option="anchors"
        )
    return float(value)


def _positive(label: object, slope: float) -> float:
    if not _number("item", label, slope) > 0:
        raise OptionError(
            f"anchors hold the slope of item {shortened(label)} at {slope:g}",
            "give a number above 0",
            option="anchors",
        )
    return slope
