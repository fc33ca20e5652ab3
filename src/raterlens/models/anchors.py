"""Parameters held at given values: those of an earlier fit, or a user's own."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from raterlens.base.arrays import Array, Indices
from raterlens.base.errors import OptionError, choose
from raterlens.base.text import Message, Option, listed, shortened
from raterlens.config import Anchors, EarlierScale
from raterlens.models.calibration import Calibration
from raterlens.models.facets import FacetsModel
from raterlens.models.terms.students import Population
from raterlens.ratings.coded import Ratings


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


def anchor(anchors: Anchors, ratings: Ratings, model: FacetsModel) -> tuple[FacetsModel, Array]:
    """The model with a population of its own where the anchors fix the scale; and what is held, NaN where free."""
    held = hold(anchors, ratings, model, pass_over=anchors.earlier is not None)
    slope, severity, difficulty = (
        np.isfinite(held[model.blocks[name]]) for name in ("slope", "severity", "difficulty")
    )
    if not (np.any(slope & severity) and np.any(difficulty)):
        return model, held
    return model.plus(Population()), np.append(held, [np.nan, np.nan])


def hold(anchors: Anchors, ratings: Ratings, model: FacetsModel, *, pass_over: bool = False) -> Array:
    """The parameters to be held; NaN where they are free.

    `pass_over`: of an earlier fit, raters, items and levels may be held that these ratings do not have.
    """
    held = np.full(model.blocks.size, np.nan)
    places = {"rater": _places(ratings.raters), "item": _places(ratings.items)}
    known = (places["rater"].keys() & anchors.raters.keys()) | (places["item"].keys() & anchors.items.keys())
    if pass_over and not known:
        raise OptionError(
            f"anchors: the fit knows none of these raters ({listed(ratings.raters)}) or items "
            f"({listed(ratings.items)})",
            "anchor by a fit that shares some, spelled alike",
            option="anchors",
        )
    if anchors.item_slopes and "item_slope" not in model:
        raise OptionError(
            "anchors hold item slopes, but the fit has none",
            Message("add ", Option("item_slopes", True)),
            option="anchors",
        )
    further = {f"facet {facet.name}": _places(facet.labels) for facet in ratings.facets}
    asked: list[tuple[str, str, Mapping[str, int], Mapping[str, float | None]]] = [
        ("severity", "rater", places["rater"], {label: pair[1] for label, pair in anchors.raters.items()}),
        ("slope", "rater", places["rater"], {label: pair[0] for label, pair in anchors.raters.items()}),
        ("difficulty", "item", places["item"], anchors.items),
        ("item_slope", "item", places["item"], anchors.item_slopes),
    ]
    for name, levels in anchors.facets.items():
        if not pass_over or f"facet {name}" in further:
            choose("facet in anchors", name, [facet.name for facet in ratings.facets])
            asked.append((f"facet {name}", f"level of {name!r}", further[f"facet {name}"], levels))
    for block, what, where, values in asked:
        own = np.full(len(where), np.nan)
        for label, value in values.items():
            if pass_over and label not in where:
                continue
            place = where[choose(f"{what} in anchors", str(label), where)]
            if value is not None:
                own[place] = _number(what, label, value, above_0=block == "item_slope")
        if block in model:
            own = _slopes(own, model) if block == "slope" else own
            held[model.blocks[block]] = np.log(own) if block == "item_slope" else own
    _hold_thresholds(held, anchors, places["item"], model, pass_over=pass_over)
    return held


def _slopes(given: Array, model: FacetsModel) -> Array:
    """Parameters with these slopes of raters; NaN where the slopes given do not say them."""
    if model.slope.own or np.isnan(given).all():
        return given if model.slope.own else np.full(model.slope.size, np.nan)
    least, most = np.nanmin(given), np.nanmax(given)
    shared = model.slope.size == 1
    given = np.full(len(given), least) if shared else given
    if np.isnan(given).any():
        return np.full(model.slope.size, np.nan)
    found = model.slope.invert(given)
    if least != most if shared else not np.allclose(model.slope(found), given, rtol=1e-6):
        why = (
            ", but in this model all raters share one" if shared else " that raters of this model cannot have"
        )
        raise OptionError(
            f"anchors hold slopes from {least:g} to {most:g}{why}",
            Message("use ", Option("model", "gmf"), ", or give None for each slope"),
            option="anchors",
        )
    return found


def _places(labels: pl.Series) -> dict[str, int]:
    return {label: place for place, label in enumerate(labels.cast(pl.String))}


def held_highest(anchors: Anchors, ratings: Ratings) -> Indices | None:
    """(items,): how many thresholds are held of each item that has its own."""
    held = anchors.thresholds
    if not isinstance(held, Mapping):
        return None
    return np.array([len(held.get(label, ())) for label in ratings.items.cast(pl.String)], dtype=np.int64)


def _hold_thresholds(
    held: Array, anchors: Anchors, items: Mapping[str, int], model: FacetsModel, *, pass_over: bool
) -> None:
    if anchors.thresholds is None:
        return
    if model.thresholds is None:
        raise OptionError(
            "anchors hold thresholds, but pass/fail ratings have none", "leave them out", option="anchors"
        )
    per_item = model.thresholds.n_scales > 1
    rows = anchors.thresholds if isinstance(anchors.thresholds, Mapping) else {"all": anchors.thresholds}
    if isinstance(anchors.thresholds, Mapping) != per_item and len(items) > 1:
        wanted = "a list for each item" if per_item else "one list for all items"
        raise OptionError(
            f"anchors hold the thresholds {anchors.thresholds!r}",
            f"this scale takes {wanted}",
            option="anchors",
        )
    places = items if per_item else dict.fromkeys(rows, 0)
    known = np.full((model.thresholds.n_scales, model.thresholds.n_steps), np.nan)
    for label, row in rows.items():
        if pass_over and label not in places:
            continue
        values, scale = np.asarray(row, float), places[choose("item in anchors", label, places)]
        steps = int(model.thresholds.highest[scale])
        if values.shape != (steps,) or not np.isfinite(values).all():
            raise OptionError(
                f"anchors hold the thresholds {row!r}",
                f"give the {steps} finite thresholds between the scores",
                option="anchors",
            )
        known[scale, :steps] = values
    held[model.blocks["threshold"]] = model.thresholds.parameters(known)


def _number(what: str, label: object, value: float, *, above_0: bool) -> float:
    if not isinstance(value, int | float | np.number) or not np.isfinite(value):
        raise OptionError(
            f"anchors hold {what} {shortened(label)} at {value!r}", "give a finite number", option="anchors"
        )
    if above_0 and value <= 0:
        raise OptionError(
            f"anchors hold the slope of item {shortened(label)} at {value:g}",
            "give a number above 0",
            option="anchors",
        )
    return float(value)
