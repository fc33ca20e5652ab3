"""From a model's name and options to a model on the data."""

from dataclasses import replace

from raterlens.base.arrays import Indices
from raterlens.capability.links import get_link
from raterlens.config import FitConfig
from raterlens.config.fit_config import facets_of
from raterlens.models.facets import FacetsModel
from raterlens.models.marks import Marks
from raterlens.models.registry import MODELS, own_slopes
from raterlens.models.requested import PARTS, Options, Setting
from raterlens.models.responses import Adjacent, Capped, Graded, Linked, Response
from raterlens.models.term import Contexts, Term
from raterlens.models.terms.draws import Draws, drawing_raters
from raterlens.models.terms.halo import Halo, Impressions, Pieces, pieces_differ
from raterlens.models.terms.item_slopes import ItemSlopes
from raterlens.models.terms.known import KnownAnswers
from raterlens.models.terms.main_effects import Difficulties, FacetLevels, Severities, Slopes
from raterlens.models.terms.noise import Noise, OwnNoise
from raterlens.models.terms.rater_interactions import Interaction
from raterlens.models.terms.shared_bias import SharedBias
from raterlens.models.terms.students import GroupMeans, Population, Shape
from raterlens.models.terms.thresholds import RaterThresholds, Thresholds
from raterlens.ratings.coded import Ratings


def model_of(at: Setting) -> FacetsModel:
    """The model with all terms that its options ask for."""
    terms = [term for kind in KINDS for term in kind.asked_by(at)]
    return FacetsModel(at.rows, tuple(terms), at.response.lever)


def build(
    ratings: Ratings, options: Options, n_categories: int | None = None, known_highest: Indices | None = None
) -> tuple[FacetsModel, Response]:
    """The model's map from parameters, and the response it goes through.

    `n_categories` where the model has more of them than these ratings show, and `known_highest` (items,) where an item
    is known to have higher scores.
    """
    response = response_of(n_categories or ratings.n_categories, ratings.score_step, options)
    answered = options.known_slope is not None
    rows = Contexts.of(ratings, ratings.with_answers() if answered else None)
    return model_of(Setting(rows, response, options, known_highest, ratings)), response


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
    OwnNoise,
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
    known = ratings is not None and ratings.known is not None
    return Options(
        spec,
        get_link(config.link or spec.links[0]),
        config.shared_scale,
        config.item_slopes,
        halo=config.halo or "none",
        smooth=config.ability == "smooth",
        pieces=ratings is not None and pieces_differ(ratings),
        interactions=facets_of(config.interactions),
        groups="none" if ratings is None or ratings.group is None else config.group_means or "each",
        rater_thresholds=config.rater_thresholds,
        own_noise=spec.slopes is own_slopes,
        draws=None if ratings is None else drawing_raters(ratings, config),
        known_slope=config.known_slope if known else None,
    )


def as_modelled(ratings: Ratings, model: FacetsModel) -> Ratings:
    """The ratings as an engine takes them: with the known answers where the model has them, and with each reading as a
    piece of work where raters' impressions differ from ability."""
    for term in model.terms:
        ratings = term.as_modelled(ratings)
    return ratings


def response_of(n_categories: int, step: float, options: Options) -> Response:
    if options.scale == "continuous":
        found = options.marks or Marks.of(n_categories, step)
        return replace(found, n_categories=max(n_categories, found.n_categories))
    if n_categories > 2 and options.scale == "graded":
        return Graded(options.link, n_categories)
    if options.link.name == "logit":
        return Adjacent(n_categories)
    return Capped() if options.link.name == "log" else Linked(options.link)
