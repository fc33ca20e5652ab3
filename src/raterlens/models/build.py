"""From a model's name and options to a model on the data."""

from dataclasses import dataclass, replace
from typing import Literal

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.capability.links import Link, get_link
from raterlens.config import Fair, FitConfig, GroupMeansKind, HaloKind
from raterlens.config.fit_config import facets_of
from raterlens.models.facets import FacetsModel
from raterlens.models.marks import Marks
from raterlens.models.registry import MODELS, Spec
from raterlens.models.requested import PARTS
from raterlens.models.responses import Adjacent, Capped, Graded, Linked, Response
from raterlens.models.term import Contexts, Term
from raterlens.models.terms.difficulties import Difficulties, FacetLevels
from raterlens.models.terms.draws import Draws
from raterlens.models.terms.group_means import GroupMeans, means_of
from raterlens.models.terms.halo import (
    IMPRESSION,
    Halo,
    Impressions,
    Pieces,
    pieces_differ,
    readings_as_pieces,
)
from raterlens.models.terms.item_slopes import ItemSlopes
from raterlens.models.terms.known import KNOWN, KnownAnswers
from raterlens.models.terms.noise import Noise
from raterlens.models.terms.per_rater import Severities, Slopes
from raterlens.models.terms.rater_interactions import Interaction
from raterlens.models.terms.rater_thresholds import RaterThresholds
from raterlens.models.terms.shape import Population, Shape
from raterlens.models.terms.shared_bias import SharedBias
from raterlens.models.terms.thresholds import Thresholds
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
    population: bool = False
    """Whether students are of another population than the one that the scale was made for."""
    biased: bool = False
    """Whether raters share a second ability."""
    marks: Marks | None = None
    """The scale of marks, where it is continuous and that of an earlier fit; else it is that of the ratings."""


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """All that terms are made from."""

    rows: Contexts
    """Those of ratings, or any others."""
    response: Response
    options: Options
    known_highest: Indices | None = None
    """(items,): the highest score of each, as far as it is known beside the rows."""
    ratings: Ratings | None = None
    """Those that the rows are of, if any."""

    @property
    def model(self) -> FacetsModel:
        terms = [term for kind in KINDS for term in kind.asked_by(self)]
        return FacetsModel(self.rows, tuple(terms), self.response.lever)


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
    response = response_of(n_categories or ratings.n_categories, ratings.score_step, options)
    return Setting(Contexts.of(ratings), response, options, known_highest, ratings).model, response


KINDS: tuple[type[Term], ...] = (
    Slopes,
    Severities,
    Halo,
    Impressions,
    Difficulties,
    ItemSlopes,
    FacetLevels,
    Noise,
    Thresholds,
    Shape,
    GroupMeans,
    Pieces,
    Interaction,
    RaterThresholds,
    Draws,
    Population,
    KnownAnswers,
    SharedBias,
)
"""All terms, in the order of the parameters."""
COVARYING = tuple(
    kind.name for kind in sorted(KINDS, key=lambda kind: kind.levels != ("rater",)) if kind.covarying
)
"""Effects whose covariances are kept with a fit, those of raters first."""
EVERY_PART = (*(part for kind in KINDS for part in kind.parts), *PARTS)
"""All parts of a request that something may not go with."""


def model_options(config: FitConfig, ratings: Ratings | None = None) -> Options:
    """The model that a request asks for, with what its ratings have."""
    spec = MODELS[config.model_name]
    options = Options(
        spec,
        get_link(config.link or spec.links[0]),
        config.shared_scale,
        config.item_slopes,
        halo=config.halo or "none",
        smooth=config.ability == "smooth",
        interactions=facets_of(config.interactions),
        rater_thresholds=config.rater_thresholds,
    )
    if ratings is None:
        return options
    return replace(options, pieces=pieces_differ(ratings), groups=means_of(ratings, config))


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
