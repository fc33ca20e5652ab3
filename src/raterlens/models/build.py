"""From a model's name and options to a model on the data."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.capability.links import Link
from raterlens.config import Fair, GroupMeansKind, HaloKind
from raterlens.models.facets import FacetsModel
from raterlens.models.marks import Marks
from raterlens.models.registry import Spec
from raterlens.models.responses import Adjacent, Capped, Graded, Linked, Response
from raterlens.models.term import Contexts, Term
from raterlens.models.terms.difficulties import Difficulties, FacetLevels
from raterlens.models.terms.draws import FLATTENING, Draws
from raterlens.models.terms.group_means import GroupMeans
from raterlens.models.terms.halo import IMPRESSION, Halo, Impressions, Pieces, readings_as_pieces
from raterlens.models.terms.item_slopes import ItemSlopes
from raterlens.models.terms.known import KNOWN, KnownAnswers
from raterlens.models.terms.noise import Noise
from raterlens.models.terms.per_rater import Effect, Severities, Slopes
from raterlens.models.terms.rater_interactions import Interaction
from raterlens.models.terms.rater_thresholds import RaterThresholds
from raterlens.models.terms.shape import Shape
from raterlens.models.terms.thresholds import Thresholds, highest_scores
from raterlens.ratings.coded import Ratings


@dataclass(frozen=True, slots=True)
class Options:
    """A user's choices about a facets model."""

    spec: Spec
    link: Link
    scale: str = "rating scale"
    """How ordered scores get their thresholds: `rating scale`, `partial credit` or `graded`; no matter with two
    categories. Marks on a `continuous` scale have none."""
    item_slopes: bool = False
    covariates: Array | None = None
    """(raters, columns), a column of ones first: slopes and severities are explained by them."""
    halo: HaloKind = "none"
    """Whether the scores of a reading share more than ability: in logits, as much by every rater (`common`) or not
    (`rater`), or on the scale of ability."""
    smooth: bool = False
    """Whether the shape of the students' distribution is estimated, or taken for normal."""
    pieces: bool = False
    """Whether a student's pieces of work differ."""
    interactions: tuple[str, ...] = ()
    """Facets that raters interact with, `item` among them."""
    groups: GroupMeansKind = "none"
    """Whether groups of students have means, and by what."""
    fair: Fair = "within"
    """Whether abilities rest on what a student's group says."""
    rater_thresholds: Literal["none", "drawn", "free"] = "none"
    """Whether raters have thresholds of their own around those of all, from a distribution or each by itself."""
    draws: Mask | None = None
    """(raters,): whose answers to the same question share more than ability; None: nobody's."""
    marks: Marks | None = None
    """The scale of marks, where it is continuous and that of an earlier fit; else it is that of the ratings."""


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
    groups = None
    if options.groups != "none":
        groups = GroupMeans.of(ratings, options.groups, across=options.fair == "across")
    response = response_of(n_categories or ratings.n_categories, ratings.score_step, options)
    return on_rows(Contexts.of(ratings), response, options, known_highest, groups), response


def on_rows(
    rows: Contexts,
    response: Response,
    options: Options,
    known_highest: Indices | None = None,
    groups: GroupMeans | None = None,
) -> FacetsModel:
    """The model on rows that may be those of ratings, or any others."""
    return FacetsModel(rows, tuple(_terms(rows, response, options, known_highest, groups)), response.lever)


def _terms(
    contexts: Contexts,
    response: Response,
    options: Options,
    known_highest: Indices | None,
    groups: GroupMeans | None,
) -> Iterator[Term]:
    """In the order of the parameters."""
    n, on_ability = contexts.n_raters, options.spec.difficulty_on_ability_scale
    yield Slopes(options.spec.slopes(n, options.covariates))
    yield Severities(Effect.each(n) if options.covariates is None else Effect.explained(options.covariates))
    if options.halo != "none":
        in_logits = Effect.common(n) if options.halo == "common" else Effect.each(n)
        yield Impressions() if options.halo == "ability" else Halo(in_logits)
    yield Difficulties(contexts.n_items, on_ability)
    if options.item_slopes:
        yield ItemSlopes(contexts.n_items)
    for place, (facet, size) in enumerate(contexts.facet_sizes.items()):
        yield FacetLevels.of(facet, place, size, on_ability_scale=on_ability)
    yield from _of_scores(contexts, response, options, known_highest)
    if options.smooth:
        yield Shape()
    if groups is not None:
        yield groups
    if options.pieces:
        yield Pieces()
    for facet in options.interactions:
        yield Interaction.of(contexts, facet)
    if options.rater_thresholds != "none" and response.n_categories > 2:
        graded, drawn = options.scale == "graded", options.rater_thresholds == "drawn"
        yield RaterThresholds(n, response.n_categories - 1, graded, drawn)
    if options.draws is not None and options.draws.any():
        yield Draws.of(options.draws, FLATTENING[options.link.name])


def _of_scores(
    contexts: Contexts, response: Response, options: Options, known_highest: Indices | None
) -> Iterator[Term]:
    """The noise of marks, or the thresholds that raters share."""
    n, n_steps = contexts.n_raters, response.n_categories - 1
    if response.least_noise:
        common = options.spec.slopes(n, None).size == 1
        yield Noise(Effect.common(n) if common else Effect.each(n), response.least_noise)
    elif n_steps > 1 and options.scale == "partial credit":
        highest = highest_scores(contexts, response.n_categories, known_highest)
        yield Thresholds("item", n_steps, graded=False, highest=highest)
    elif n_steps > 1:
        yield Thresholds.shared(n_steps, graded=options.scale == "graded")


def with_known(model: FacetsModel, response: Response, ratings: Ratings, slope: float) -> FacetsModel:
    """The model with the known answers of its ratings, seen through a rater of this slope."""
    graded = model.thresholds is not None and model.thresholds.graded
    term = KnownAnswers.of(ratings, response.n_categories - 1, slope, graded=graded)
    return model.plus(term, contexts=Contexts.with_answers(ratings, ratings.with_answers()))


def as_modelled(ratings: Ratings, model: FacetsModel) -> Ratings:
    """The ratings as an engine takes them: with the known answers where the model has them, and with each reading as a
    piece of work where raters' impressions differ from ability."""
    if IMPRESSION in model:
        return readings_as_pieces(ratings)
    return ratings.with_answers() if KNOWN in model else ratings


def response_of(n_categories: int, step: float, options: Options) -> Response:
    if options.scale == "continuous":
        found = options.marks or Marks.of(n_categories, step)
        return replace(found, n_categories=max(n_categories, found.n_categories))
    if n_categories > 2 and options.scale == "graded":
        return Graded(options.link, n_categories)
    if options.link.name == "logit":
        return Adjacent(n_categories)
    return Capped() if options.link.name == "log" else Linked(options.link)
