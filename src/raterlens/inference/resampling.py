"""Ratings that could have been: drawn from a fitted model on the same design, or the same students drawn again."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special

from raterlens.base.arrays import Array
from raterlens.base.errors import InputError
from raterlens.models.build import as_modelled
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Predictor, Response
from raterlens.models.terms.draws import DRAW, Draws
from raterlens.models.terms.group_means import GROUP_MEAN
from raterlens.models.terms.halo import HALO
from raterlens.models.terms.known import KNOWN
from raterlens.models.terms.shape import SHAPE
from raterlens.models.terms.shared_bias import BIAS
from raterlens.ratings.coded import Ratings, renumbered
from raterlens.ratings.groupings import by_piece, questions, readings_of

if TYPE_CHECKING:
    from raterlens.inference.result import Result

# Ratings drawn at a time.
_BLOCK = 2**20


def redrawn(
    ratings: Ratings, model: FacetsModel, response: Response, parameters: Array, random: Generator
) -> Ratings:
    """New abilities from the population, new impressions where the model has them, and new scores from
    the model, for every rating and known answer."""
    model, response = model.single, response.single
    if KNOWN in model:
        return _with_answers_redrawn(ratings, model, response, parameters, random)
    return replace(ratings, score=_scores(ratings, model, response, parameters, random))


def _with_answers_redrawn(
    ratings: Ratings, model: FacetsModel, response: Response, parameters: Array, random: Generator
) -> Ratings:
    assert ratings.known is not None
    every = ratings.with_answers()
    drawn = _scores(every, model, response, parameters, random)
    answered = every.rater == ratings.n_raters
    score = np.empty(ratings.n_ratings, dtype=np.int16)
    score[np.argsort(ratings.student, kind="stable")] = drawn[~answered]
    return replace(ratings, score=score, known=replace(ratings.known, answer=drawn[answered]))


def _scores(
    ratings: Ratings, model: FacetsModel, response: Response, parameters: Array, random: Generator
) -> NDArray[np.int16]:
    """(ratings,)"""
    ability = random.standard_normal(ratings.n_students)
    if SHAPE in model:
        ability = model.shape(parameters).at(special.ndtr(ability))
    if GROUP_MEAN in model:
        ability = ability + parameters[model.blocks[GROUP_MEAN]][ratings.student_groups]
    predictor = model.predictor(parameters)
    score = np.empty(ratings.n_ratings, dtype=np.int16)
    contexts = model.contexts.places(ratings)
    impression = np.zeros(ratings.n_ratings)
    if HALO in model:
        whose = ratings.student if ratings.piece is None else by_piece(ratings).ratings.student
        reading, number = readings_of(whose, ratings.rater, ratings.item)
        spread = np.sqrt(model.halo_variances(parameters))
        impression = spread[ratings.rater] * random.standard_normal(number)[reading]
    if BIAS in model:
        bias = (model.design("loading") @ parameters)[contexts]
        impression = bias * random.standard_normal(ratings.n_students)[ratings.student]
    if DRAW in model:
        predictor, own = _given_readings(ratings, model, parameters, random)
        impression = impression + own
    ability = ability[ratings.student]
    if model.nested:
        pieces = by_piece(as_modelled(ratings, model))
        own = np.sqrt(model.piece_variance(parameters)) * random.standard_normal(len(pieces.student))
        ability = ability + own[pieces.ratings.student]
    for first in range(0, ratings.n_ratings, _BLOCK):
        rows = slice(first, first + _BLOCK)
        context = contexts[rows]
        reach = predictor.slope[context] * ability[rows] + impression[rows]
        at = predictor.of_ratings(context, reach, response.lever)
        chance = np.exp(response.log_prob(at, np.zeros(1))[..., 0])
        passed = random.random(len(context))[:, None] > np.cumsum(chance, axis=1)[:, :-1]
        score[rows] = passed.sum(axis=1)
    return score


def _given_readings(
    ratings: Ratings, model: FacetsModel, parameters: Array, random: Generator
) -> tuple[Predictor, Array]:
    """The predictor of one answer given the rater's reading of the question, and what that adds to each rating."""
    term, plain = model.term(DRAW, Draws), model.predictor(parameters)
    x = term.effect(parameters[model.blocks[DRAW]])
    stretch = np.exp(np.append(x, 0.0))[model.contexts.rater]
    asked = questions(ratings)
    own = np.append(term.spread(x), 0.0)[ratings.rater] * random.standard_normal(len(asked.first))[asked.of]
    return Predictor(stretch * plain.slope, stretch[:, None] * plain.intercepts), own


def resampled(ratings: Ratings, random: Generator) -> Ratings:
    """As many students, drawn with replacement, each with all ratings; levels that were not drawn are left out."""
    n = ratings.n_students
    order = np.argsort(ratings.student, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(ratings.student, minlength=n))])
    drawn = random.integers(n, size=n)
    size = first[drawn + 1] - first[drawn]
    start = np.repeat(first[drawn] - np.concatenate([[0], np.cumsum(size)[:-1]]), size)
    rows = order[start + np.arange(size.sum())]
    known = None if ratings.known is None else ratings.known.of_students(drawn)
    if known is not None:
        known = known.among(np.arange(n), renumbered(ratings.item[rows], ratings.n_items))
    return replace(
        ratings.subset(rows),
        student=np.repeat(np.arange(n, dtype=np.int32), size),
        students=pl.Series("student", np.arange(n)),
        known=known,
    )


def check_same(fit: "Result", ratings: Ratings) -> None:
    """Raise where these are not the ratings that were fitted."""
    table = fit.table("raters")
    counts = np.bincount(ratings.rater, minlength=ratings.n_raters)
    same = (fit.n_ratings, fit.n_students, fit.n_items) == (
        ratings.n_ratings,
        ratings.n_students,
        ratings.n_items,
    )
    labels = ratings.raters.cast(pl.String).to_list()
    same = same and table["rater"].cast(pl.String).to_list() == labels
    if not same or table["n"].to_list() != counts.tolist():
        raise InputError(
            f"these are not the ratings that were fitted: {ratings.n_ratings:,} of {ratings.n_students:,} students, "
            f"where the fit had {fit.n_ratings:,} of {fit.n_students:,}",
            "give the ratings that went into rl.fit",
            value=ratings.n_ratings,
        )
