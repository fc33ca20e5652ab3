"""Latent class models (hierarchical raters, Dawid-Skene): standard errors, intervals of kappa = F(c) - F(c - a) and of
what else follows, and tables.

Sharpness is kappa at the best criterion, F(a / 2) - F(-a / 2), times how closely the true category follows ability, if
there is one. The standard is the share of passes where half of the students deserve one and the average rater passes
half.

Intervals are quantiles over normal draws, of (c, a) for kappa. On simulated panels of 6 raters with 150 to 1200
student-items, a fifth of the raters with an error rate estimated at 0, they covered the truth in 93 to 96 % of cases.

Tables are in the words of the other models:

rho = F(a / 2) - F(-a / 2)     the capability this rater would have with the best criterion, a / 2
eta = c - a / 2                how far above it the criterion stands: severity
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from raterlens import capability
from raterlens.base.arrays import Array, Mask
from raterlens.base.text import Message, Option, counted, listed
from raterlens.capability.formulas import sharpness
from raterlens.capability.links import get_link
from raterlens.config.limits import LATENT_PARAMETERS
from raterlens.estimation.latent_estimate import (
    SAME_MAXIMUM,
    LatentClassEstimate,
    posterior_truth,
)
from raterlens.inference.covariance import Covariance, covariance, in_full
from raterlens.inference.panel_draws import lattice, lower_root, outer_quantiles
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.true_category import NO_ABILITY
from raterlens.models.facets import Redundancy
from raterlens.models.signal_detection import LARGEST_SIGMA, LatentClassModel
from raterlens.ratings.coded import Ratings, level_table

# Fewer expected errors than this are none: the estimate is at infinity, wherever the optimiser stopped on its way.
_NO_ERROR = 0.01
_TAIL = 0.025
# Raters whose draws are evaluated at a time.
_BLOCK = 100


def no_errors_seen(found: LatentClassEstimate) -> Mask:
    """(raters,): no error on one of the true categories can be seen, so that the slope has no finite estimate."""
    answers, slope = found.complete.answers, found.of("slope")
    # Of who judges the wrong way round, an error is a right answer.
    errors = np.where(slope < 0, answers[:, [0, 1], [0, 1]].T, answers[:, [1, 0], [0, 1]].T)
    return np.asarray((np.abs(slope) >= found.model.largest_slope) | (errors < _NO_ERROR).any(axis=0))


def one_sided(found: LatentClassEstimate) -> Mask:
    """(items,): all students have the same true category, as far as can be told."""
    few = (found.complete.truths.sum(axis=2) < _NO_ERROR).any(axis=0)
    largest = found.model.largest_difficulty(float(found.of("sigma").sum()))  # 0 where there is none
    return np.asarray((np.abs(found.of("difficulty")) >= largest) | few)


def latent_class_covariance(found: LatentClassEstimate) -> Covariance | None:
    """Covariance of the parameters, with error rates of 0 made finite; None if there are too many."""
    if found.model.blocks.size > LATENT_PARAMETERS:
        return None
    none = np.zeros((0, found.model.blocks.size))
    information = found.problem.information(*_inside(found))
    return covariance(information, Redundancy(none, none), _at_a_limit(found))


@dataclass(frozen=True, slots=True)
class LatentClassErrors:
    """Standard errors and intervals; not-a-number for what is at a limit, and everywhere without a covariance."""

    bias: Array
    """(raters,), as the next eleven"""
    criterion: Array
    slope: Array
    kappa: Array
    kappa_low: Array
    kappa_high: Array
    sharpness: Array
    sharpness_low: Array
    sharpness_high: Array
    passes_low: Array
    passes_high: Array
    undetermined: Mask
    """The data say next to nothing about the rater."""
    delta: Array
    """(items,)"""
    sigma: float

    @staticmethod
    def of(found: LatentClassEstimate, known: Covariance | None) -> "LatentClassErrors":
        model, blocks = found.model, found.model.blocks
        if known is None:
            raters, items = np.full(model.n_raters, np.nan), np.full(model.n_items, np.nan)
            return LatentClassErrors(*(raters,) * 11, np.zeros(model.n_raters, dtype=bool), items, np.nan)
        inside, matrix, unseen = _inside(found)[0], in_full(known.matrix), no_errors_seen(found)
        joint = _criterion_and_slope(model, matrix)
        se, low, high = _kappa(model, inside, joint)
        kappa = capability.hrm(
            criterion=model.lines(found.parameters)[:, 0], slope=found.of("slope"), link=model.link.name
        )
        sharp, standard = sharpness_of_raters(model, found.parameters), passes(found)
        sharp_se, *sharp_ends = _sharpness_errors(model, inside, matrix)
        standard_ends = _passes_interval(found, inside, matrix)
        own = np.sqrt(np.where(_at_a_limit(found), np.nan, np.diag(matrix)))
        centring = np.eye(model.n_items) - 1 / model.n_items
        deltas = np.diag(centring @ matrix[blocks["difficulty"], blocks["difficulty"]] @ centring)
        undetermined = np.isin(np.arange(blocks.size), known.undetermined)
        return LatentClassErrors(
            np.where(unseen, np.nan, own[blocks["bias"]]),
            np.where(unseen, np.nan, np.sqrt(joint[:, 0, 0])),
            np.where(unseen, np.nan, np.sqrt(joint[:, 1, 1])),
            se,
            np.minimum(low, kappa),
            np.maximum(high, kappa),
            sharp_se,
            np.minimum(sharp_ends[0], sharp),
            np.maximum(sharp_ends[1], sharp),
            np.minimum(standard_ends[0], standard),
            np.maximum(standard_ends[1], standard),
            undetermined[blocks["bias"]] | undetermined[blocks["slope"]],
            np.where(one_sided(found), np.nan, np.sqrt(np.maximum(deltas, 0.0))),
            float(own[-1]) if model.rasch else np.nan,
        )


def _at_a_limit(found: LatentClassEstimate) -> Mask:
    """(parameters,): of items and of the spread of abilities."""
    held = np.zeros(found.model.blocks.size, dtype=bool)
    held[found.model.blocks["difficulty"]] = one_sided(found)
    held[found.model.blocks["sigma"]] = found.of("sigma") >= LARGEST_SIGMA
    return held


def _inside(found: LatentClassEstimate) -> tuple[Array, Nodes, Array]:
    """Parameters in which error rates of 0 have become finite, the nodes, and the half ratings that this takes.

    Around an estimate at infinity the likelihood has no curvature. Half a rating of each kind (Jeffreys's prior of
    a proportion) gives a finite one with a curvature that still knows how uncertain the true categories are.
    """
    answers, raters = found.complete.answers, no_errors_seen(found) | found.problem.extreme
    extra = np.where(raters[:, None, None], 0.5, np.zeros_like(answers))
    rate = (answers + extra)[raters, 1] / (answers + extra)[raters].sum(axis=1)
    inside, blocks = found.parameters.copy(), found.model.blocks
    inside[blocks["bias"]][raters], inside[blocks["slope"]][raters] = found.model.from_rates(rate)
    return inside, found.nodes, extra


def _criterion_and_slope(model: LatentClassModel, matrix: Array) -> Array:
    """(raters, 2, 2): covariance of (c_r, a_r), where c_r = b_r + a_r / 2."""
    raters = np.arange(model.n_raters)
    joint = _pairs(matrix, raters + model.blocks["bias"].start, raters + model.blocks["slope"].start)
    change = np.array([[1.0, 0.5], [0.0, 1.0]])
    return np.asarray(change @ joint @ change.T)


def _pairs(matrix: Array, first: Array, second: Array) -> Array:
    """(raters, 2, 2): covariances of two parameters of every rater."""
    index = np.stack([first, second], axis=1)
    return np.asarray(matrix[index[:, :, None], index[:, None, :]])


def _kappa(model: LatentClassModel, inside: Array, joint: Array) -> tuple[Array, Array, Array]:
    """Standard error by the delta method, interval by draws; one-sided for a slope at the bound 0."""
    criterion, slope, link = model.lines(inside)[:, 0], inside[model.blocks["slope"]], model.link.name
    density = get_link(link).density
    hit = density(criterion - slope)
    gradient = np.stack([density(criterion) - hit, hit], axis=1)
    low, high = _interval(
        np.stack([criterion, slope], axis=1),
        joint,
        lambda c, a: capability.hrm(criterion=c, slope=model.within(a), link=link),
        _at_zero(model, slope),
    )
    return _delta_method(gradient, joint), low, high


def _at_zero(model: LatentClassModel, slope: Array) -> Mask:
    """(raters,): whose slope is at its lower bound."""
    return np.asarray((slope == 0) & (not model.reversible))


def _delta_method(gradient: Array, joint: Array) -> Array:
    return np.asarray(np.sqrt(np.maximum(np.einsum("ri,rij,rj->r", gradient, joint, gradient), 0.0)))


def _interval(
    centre: Array, joint: Array, value: Callable[[Array, Array], Array], zero: Mask
) -> tuple[Array, Array]:
    """Quantiles of `value` over draws of two parameters per rater; one-sided from 0 for those at `zero`."""
    normal = lattice(2).T
    # The second parameter's number first: turning scores round turns the other one's.
    root = lower_root(joint[:, ::-1, ::-1])[:, ::-1]
    low, high = np.empty(len(centre)), np.empty(len(centre))
    for first in range(0, len(centre), _BLOCK):
        rows = slice(first, first + _BLOCK)
        draws = centre[rows, None] + np.einsum("rij,dj->rdi", root[rows], normal)
        found = value(draws[..., 0], draws[..., 1])
        low[rows], two_sided = outer_quantiles(found, _TAIL)
        high[rows] = np.where(zero[rows], outer_quantiles(found, 2 * _TAIL)[1], two_sided)
    return np.where(zero, 0.0, low), high


# ---------------------------------------------------------------------------------- sharpness and standard


def sharpness_of_raters(model: LatentClassModel, parameters: Array) -> Array:
    """(raters,)"""
    blocks = model.blocks
    return _sharpness(model, parameters[blocks["slope"]], parameters[blocks["sigma"]].sum())


def passes(found: LatentClassEstimate) -> Array:
    """(raters,): share of passes where half of the students deserve one and the average rater passes half."""
    bias = found.of("bias")
    return _passes(found.model, bias - _average(found) @ bias, found.of("slope"))


def _sharpness(model: LatentClassModel, slope: Array, sigma: Array) -> Array:
    detects = np.exp(model.link.log_pass(slope / 2)) - np.exp(model.link.log_pass(-slope / 2))
    return np.asarray(detects * sharpness(slope=sigma)) if model.rasch else detects


def _passes(model: LatentClassModel, bias: Array, slope: Array) -> Array:
    return np.asarray(
        (np.exp(model.link.log_fail(bias + slope / 2)) + np.exp(model.link.log_fail(bias - slope / 2))) / 2
    )


def _average(found: LatentClassEstimate) -> Array:
    """(raters,): weights of those in the average rater whose errors can be seen, of everybody where nobody's can."""
    seen = ~(no_errors_seen(found) | found.problem.extreme)
    return seen / seen.sum() if seen.any() else np.full(len(seen), 1 / len(seen))


def _sharpness_errors(model: LatentClassModel, inside: Array, matrix: Array) -> tuple[Array, Array, Array]:
    """Standard errors by the delta method, and intervals over draws of (slope, sigma)."""
    slope, sigma = inside[model.blocks["slope"]], float(inside[model.blocks["sigma"]].sum())
    raters = np.arange(model.n_raters) + model.blocks["slope"].start
    joint, step = np.zeros((len(slope), 2, 2)), 1e-5
    if model.rasch:
        joint = _pairs(matrix, raters, np.full_like(raters, model.blocks["sigma"].start))
    else:
        joint[:, 0, 0] = matrix.diagonal()[raters]

    def value(a: Array, spread: Array) -> Array:
        return _sharpness(model, model.within(a), np.maximum(spread, 0.0))

    moves = ((step, 0.0), (0.0, step))
    spread = np.full_like(slope, sigma)
    gradient = np.stack(
        [(value(slope + a, spread + s) - value(slope, spread)) / step for a, s in moves], axis=1
    )
    centre = np.stack([slope, spread], axis=1)
    return _delta_method(gradient, joint), *_interval(centre, joint, value, _at_zero(model, slope))


def _passes_interval(found: LatentClassEstimate, inside: Array, matrix: Array) -> tuple[Array, Array]:
    """Over draws of (bias from the average, slope)."""
    model, blocks, weights = found.model, found.model.blocks, _average(found)
    bias, slope = inside[blocks["bias"]], inside[blocks["slope"]]
    through = np.eye(blocks.size)
    through[blocks["bias"], blocks["bias"]] -= weights
    raters = np.arange(model.n_raters)
    joint = _pairs(
        through @ matrix @ through.T, raters + blocks["bias"].start, raters + blocks["slope"].start
    )
    return _interval(
        np.stack([bias - weights @ bias, slope], axis=1),
        joint,
        lambda b, a: _passes(model, b, model.within(a)),
        np.zeros(len(raters), dtype=bool),
    )


# Fine enough to average even the steepest prevalence (sigma at its limit) over the population.
_POPULATION = Nodes.equally_spaced(-8.0, 8.0, 0.05)


def latent_class_tables(
    ratings: Ratings, found: LatentClassEstimate, errors: LatentClassErrors
) -> dict[str, pl.DataFrame]:
    """All tables of a latent class fit. Dawid-Skene knows no ability; its students have none."""
    abilities = {"theta": found.moments.mean, "theta_se": found.moments.sd}
    return {
        "raters": _raters(ratings, found, errors),
        "items": _items(ratings, found, errors),
        "students": level_table(ratings, ratings.students, "student", abilities),
        "truth": _truth(ratings, found),
    }


def _raters(ratings: Ratings, found: LatentClassEstimate, errors: LatentClassErrors) -> pl.DataFrame:
    link, slope, half = found.model.link, found.of("slope"), found.of("slope") / 2
    criterion, line = found.model.lines(found.parameters).T
    columns = {
        "rho": np.exp(link.log_pass(half)) - np.exp(link.log_pass(-half)),
        "rho_se": link.density(half) * errors.slope,
        "eta": found.of("bias"),
        "eta_se": errors.bias,
        "kappa": capability.hrm(criterion=criterion, slope=slope, link=link.name),
        "kappa_se": errors.kappa,
        "kappa_low": errors.kappa_low,
        "kappa_high": errors.kappa_high,
        "sharpness": sharpness_of_raters(found.model, found.parameters),
        "sharpness_se": errors.sharpness,
        "sharpness_low": errors.sharpness_low,
        "sharpness_high": errors.sharpness_high,
        "passes": passes(found),
        "passes_low": errors.passes_low,
        "passes_high": errors.passes_high,
    }
    more = {
        "criterion": criterion,
        "criterion_se": errors.criterion,
        "slope": slope,
        "slope_se": errors.slope,
        "sensitivity": np.exp(link.log_fail(line)),
        "specificity": np.exp(link.log_pass(criterion)),
    }
    if found.draw_correlation is not None:
        more["draw_correlation"] = found.draw_correlation
    table = level_table(ratings, ratings.raters, "rater", columns)
    return table.with_columns(
        pl.Series("flag", _flags(ratings, found), dtype=pl.String),
        *(pl.Series(name, values) for name, values in more.items()),
    )


def _flags(ratings: Ratings, found: LatentClassEstimate) -> list[str]:
    """(raters,): all pass, all fail, slope at 0, slope at limit, or nothing."""
    tally = ratings.tally("rater")
    flags = np.full(ratings.n_raters, "", dtype=object)
    flags[found.of("slope") == 0] = "slope at 0"
    flags[no_errors_seen(found)] = "slope at limit"
    flags[tally.total == 0], flags[tally.total == tally.n] = "all fail", "all pass"
    return list(flags)


def _items(ratings: Ratings, found: LatentClassEstimate, errors: LatentClassErrors) -> pl.DataFrame:
    population = _POPULATION if found.model.rasch else NO_ABILITY
    succeed = found.model.prevalence(found.parameters, population.points)[1]
    difficulty = found.of("difficulty")
    columns = {
        "delta": difficulty - difficulty.mean(),
        "delta_se": errors.delta,
        # Share of student-items in category 1, over the population of students.
        "prevalence": succeed @ np.exp(population.log_weights),
    }
    return level_table(ratings, ratings.items, "item", columns)


def _truth(ratings: Ratings, found: LatentClassEstimate) -> pl.DataFrame:
    """A row per student-item, with the probability that its true category is 1."""
    units = found.problem.units
    return pl.DataFrame(
        {
            "student": ratings.students.gather(units.student),
            "item": ratings.items.gather(units.item),
            "n": units.n,
            "mean_score": units.passes / units.n,
            "probability": posterior_truth(found.problem, found.parameters, found.nodes),
        }
    )


# A sigma below this moves no probability by more than a quarter of a percent.
_NO_SPREAD = 0.01


def latent_class_warnings(
    ratings: Ratings, found: LatentClassEstimate, errors: LatentClassErrors
) -> Iterator[str]:
    """Warnings about a latent class fit."""
    model = found.model
    if not found.record.converged:
        yield Message(
            f"the estimates have not converged: {found.record.stopped} with a gradient of "
            f"{found.record.gradient:.2g} standard errors left. Try, in this order: more iterations, for example ",
            Option("max_iterations", 2 * found.record.max_iterations),
            ", or leaving out raters with very few ratings",
        )
    yield from _single_ratings(found)
    yield from _several_maxima(found)
    unseen = no_errors_seen(found) & ~found.problem.extreme
    if unseen.any():
        limit = ratings.raters.filter(unseen.tolist())
        yield (
            f"no error of {listed(limit)} on one of the true categories can be seen, so their slope has no finite "
            "estimate. Their intervals allow for half an error per category; give them more ratings "
            "of student-items that others rate too"
        )
    if (turned := errors.kappa_high < 0).any():
        wrong = ratings.raters.filter(turned.tolist())
        yield (
            f"{listed(wrong)} pass failing work more often than passing work (kappa below 0). Check whether their "
            "scores were recorded the other way round"
        )
    if (alike := one_sided(found)).any():
        items = ratings.items.filter(alike.tolist())
        yield (
            f"on {listed(items)} every student seems to have the same true category, which tells nothing about "
            "raters; add students of both kinds, or leave the item out"
        )
    sigma = found.of("sigma")
    if (sigma < _NO_SPREAD).any():
        yield Message(
            "true categories do not go together within students (sigma is 0), so ability cannot be estimated; ",
            Option("model", "dawid-skene"),
            " says the same with fewer parameters",
        )
    if (sigma >= LARGEST_SIGMA).any():
        yield Message(
            f"sigma ran to its limit of {LARGEST_SIGMA:g}: a student's true categories are all but fixed by the "
            "ability. Have more items, or fit each item by itself with ",
            Option("model", "dawid-skene"),
        )
    if model.blocks.size > LATENT_PARAMETERS:
        yield (
            f"no standard errors: {model.blocks.size:,} parameters are more than the {LATENT_PARAMETERS:,} for which "
            "the full covariance is computed"
        )
    if errors.undetermined.any():
        raters = ratings.raters.filter(errors.undetermined.tolist())
        yield (
            f"the ratings say next to nothing about raters {listed(raters)}; their standard errors are nominal. "
            "Have them rate student-items that two or more others rate too"
        )


def _single_ratings(found: LatentClassEstimate) -> Iterator[str]:
    n = found.problem.units.n
    single = int(np.sum(n == 1))
    if single:
        yield (
            f"{single:,} of {counted(len(n), 'student-item')} ({single / len(n):.0%}) have a single rating, which says "
            "little about how well its rater tells the true categories apart; have some student-items rated by "
            "two or more raters"
        )


def _several_maxima(found: LatentClassEstimate) -> Iterator[str]:
    tried, spread = len(found.reached), float(found.reached[0] - found.reached[-1])
    if spread <= SAME_MAXIMUM:
        return
    told = (
        f"the likelihood has several maxima: of {tried} starts, {found.agreeing} reached the best, and the others fell "
        f"short by up to {spread:.1f} log-likelihood units. The best is shown; "
    )
    if found.agreeing > 1:
        yield (
            told + "if another seed gives another answer, have more student-items rated by two or more raters"
        )
        return
    yield Message(
        told,
        "as no second start found it, try more, for example ",
        Option("starts", 4 * tried),
        ", and another seed, and have more student-items rated twice",
    )
