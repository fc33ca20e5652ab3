"""From a model's name and options to a model on the data."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from raterlens.base.arrays import Array, Indices
from raterlens.capability.links import Link
from raterlens.config import HaloKind
from raterlens.models.capped_log import Capped
from raterlens.models.contexts import Contexts
from raterlens.models.effects import Linear
from raterlens.models.facets import FacetsModel
from raterlens.models.registry import FacetsSpec
from raterlens.models.responses import Adjacent, Graded, Linked, Response
from raterlens.models.thresholds import Thresholds, highest_scores
from raterlens.ratings.coded import Ratings


@dataclass(frozen=True, slots=True)
class Options:
    """What a user chooses about a facets model."""

    spec: FacetsSpec
    link: Link
    scale: str = "rating scale"
    """How ordered scores get their thresholds, one of `config.Scale`; no matter with two categories."""
    item_slopes: bool = False
    covariates: Array | None = None
    """(raters, columns), a column of ones first: slopes and severities are explained by them."""
    halo: HaloKind = "none"
    """Whether the scores of a reading share more than ability, as much by every rater (`common`) or not (`rater`)."""
    smooth: bool = False
    """Whether the shape of the students' distribution is estimated, or taken for normal."""
    pieces: bool = False
    """Whether a student's pieces of work differ."""
    interactions: tuple[str, ...] = ()
    """Facets that raters interact with, `item` among them."""


def build(
    ratings: Ratings,
    options: Options,
    n_categories: int | None = None,
    known_highest: Indices | None = None,
) -> tuple[FacetsModel, Response]:
    """The model's map from parameters, and the response it goes through.

    `n_categories` where the model has more of them than these ratings show, and `known_highest` (items,) where an item
    is known to have higher scores.
    """
    contexts = Contexts.of(ratings)
    response = _response(n_categories or ratings.n_categories, options)
    graded, per_item = options.scale == "graded", options.scale == "partial credit"
    ordered = response.n_categories > 2
    thresholds = None
    if ordered:
        highest = highest_scores(contexts, response.n_categories) if per_item else None
        if highest is not None and known_highest is not None:
            highest = np.maximum(highest, known_highest)
        thresholds = Thresholds.build(contexts, response.n_categories, graded=graded, highest=highest)
    severity = (
        Linear.own(contexts.n_raters) if options.covariates is None else Linear.explained(options.covariates)
    )
    model = FacetsModel.build(
        contexts,
        options.spec.slopes(contexts.n_raters, options.covariates),
        severity,
        response.lever,
        item_slopes=options.item_slopes,
        difficulty_on_ability_scale=options.spec.difficulty_on_ability_scale,
        thresholds=thresholds,
        halo=_HALO[options.halo](contexts.n_raters),
    )
    if options.smooth:
        model = model.smoothed()
    if options.pieces:
        model = model.with_pieces()
    return model.interacting(options.interactions), response


_HALO: dict[HaloKind, Callable[[int], Linear | None]] = {
    "none": lambda n_raters: None,
    "common": Linear.common,
    "rater": Linear.own,
}


def _response(n_categories: int, options: Options) -> Response:
    if n_categories > 2 and options.scale == "graded":
        return Graded(options.link, n_categories)
    if options.link.name == "logit":
        return Adjacent(n_categories)
    return Capped() if options.link.name == "log" else Linked(options.link)
