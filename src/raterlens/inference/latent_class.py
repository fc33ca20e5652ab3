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

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from raterlens import capability
from raterlens.base.arrays import Array, Mask
from raterlens.base.text import Message, Option, counted, listed
from raterlens.capability.formulas import sharpness
from raterlens.config.limits import LATENT_PARAMETERS
from raterlens.estimation.facets_estimate import Covariance
from raterlens.estimation.latent_estimate import (
    SAME_MAXIMUM,
    LatentClassEstimate,
    posterior_truth,
)
from raterlens.inference.covariance import covariance, in_full
from raterlens.inference.intervals import lattice, lower_root, outer_quantiles
from raterlens.inference.measurement import PASSES, RATER_COLUMNS
from raterlens.inference.tables import rater_table
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.true_category import NO_ABILITY
from raterlens.models.facets import Redundancy
from raterlens.models.signal_detection import LARGEST_SIGMA
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

    raters: Mapping[str, Array]
    """Columns of the table of raters."""
    undetermined: Mask
    """(raters,): the data say next to nothing about the rater."""
    delta: Array
    """(items,)"""
    sigma: float

    @staticmethod
    def of(found: LatentClassEstimate, known: Covariance | None) -> "LatentClassErrors":
        model, blocks = found.model, found.model.blocks
        columns: dict[str, Array] = dict.fromkeys(_ERRORS, np.full(model.n_raters, np.nan))
        if known is None:
            nobody, items = np.zeros(model.n_raters, dtype=bool), np.full(model.n_items, np.nan)
            return LatentClassErrors(columns, nobody, items, np.nan)
        inside, matrix, unseen = _inside(found)[0], in_full(known.matrix), no_errors_seen(found)
        asked, at_zero = quantities(found), (inside[blocks["slope"]] == 0) & (not model.reversible)
        for name, quantity in asked.items():
            se, low, high = _measured(quantity, inside, matrix, at_zero)
            here = quantity.at(found.parameters)
            ends = {f"{name}_low": np.minimum(low, here), f"{name}_high": np.maximum(high, here)}
            columns |= {f"{name}_se": se} | ends
        own = np.sqrt(np.where(_at_a_limit(found), np.nan, np.diag(matrix)))
        along = np.array([1.0, 0.5])  # c = b + a / 2
        criterion = np.sqrt(np.maximum(along @ asked["kappa"].covariance(matrix) @ along, 0.0))
        centring = np.eye(model.n_items) - 1 / model.n_items
        deltas = np.diag(centring @ matrix[blocks["difficulty"], blocks["difficulty"]] @ centring)
        undetermined = np.isin(np.arange(blocks.size), known.undetermined)
        parts = {"eta_se": own[blocks["bias"]], "criterion_se": criterion, "slope_se": own[blocks["slope"]]}
        return LatentClassErrors(
            columns | {name: np.where(unseen, np.nan, each) for name, each in parts.items()},
            undetermined[blocks["bias"]] | undetermined[blocks["slope"]],
            np.where(one_sided(found), np.nan, np.sqrt(np.maximum(deltas, 0.0))),
            float(own[-1]) if model.rasch else np.nan,
        )


_ERRORS = (
    *("eta_se", "criterion_se", "slope_se", "passes_low", "passes_high"),
    *("kappa_se", "kappa_low", "kappa_high", "sharpness_se", "sharpness_low", "sharpness_high"),
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


class Quantity(NamedTuple):
    """A function of two of each rater's numbers, which are linear in the parameters."""

    value: Callable[[Array, Array], Array]
    through: Array
    """(raters, 2, parameters)"""
    falls: bool = True
    """Whether it is 0 where the slope is."""

    def at(self, parameters: Array) -> Array:
        return self.value(*(self.through @ parameters).T)

    def covariance(self, matrix: Array) -> Array:
        """(raters, 2, 2)"""
        return np.asarray((self.through @ matrix) @ self.through.swapaxes(1, 2))


def quantities(found: LatentClassEstimate) -> dict[str, Quantity]:
    """kappa; sharpness; and passes, the share where half of the students deserve one and the average rater passes
    half."""
    model, blocks, average = found.model, found.model.blocks, _average(found)

    def kappa(bias: Array, slope: Array) -> Array:
        return capability.hrm(criterion=bias + slope / 2, slope=model.within(slope), link=model.link.name)

    def sharp(slope: Array, sigma: Array) -> Array:
        half = model.within(slope) / 2
        detects = np.exp(model.link.log_pass(half)) - np.exp(model.link.log_pass(-half))
        return np.asarray(detects * sharpness(slope=np.maximum(sigma, 0.0)) if model.rasch else detects)

    def passes(bias: Array, slope: Array) -> Array:
        half = model.within(slope) / 2
        return np.asarray(
            (np.exp(model.link.log_fail(bias + half)) + np.exp(model.link.log_fail(bias - half))) / 2
        )

    every = np.eye(blocks.size)
    bias, slope = every[blocks["bias"]], every[blocks["slope"]]
    sigma = np.broadcast_to(every[blocks["sigma"]].sum(axis=0), slope.shape)
    return {
        "kappa": Quantity(kappa, np.stack([bias, slope], axis=1)),
        "sharpness": Quantity(sharp, np.stack([slope, sigma], axis=1)),
        "passes": Quantity(passes, np.stack([bias - average @ bias, slope], axis=1), falls=False),
    }


def _average(found: LatentClassEstimate) -> Array:
    """(raters,): weights of those in the average rater whose errors can be seen, of everybody where nobody's can."""
    seen = ~(no_errors_seen(found) | found.problem.extreme)
    return seen / seen.sum() if seen.any() else np.full(len(seen), 1 / len(seen))


_NEARBY = 1e-5


def _measured(quantity: Quantity, parameters: Array, matrix: Array, zero: Mask) -> tuple[Array, Array, Array]:
    """Standard error by the delta method, and the quantiles over draws of the two numbers: one-sided, from 0, where a
    slope is at the bound 0."""
    value, centre, joint = quantity.value, quantity.through @ parameters, quantity.covariance(matrix)
    one, two = centre.T
    rises = np.stack([value(one + _NEARBY, two), value(one, two + _NEARBY)], axis=1)
    gradient = (rises - value(one, two)[:, None]) / _NEARBY
    error = np.sqrt(np.maximum(np.einsum("ri,rij,rj->r", gradient, joint, gradient), 0.0))
    normal, zero = lattice(2).T, zero & quantity.falls
    # The second parameter's number first: turning scores round turns the other one's.
    root = lower_root(joint[:, ::-1, ::-1])[:, ::-1]
    low, high = np.empty(len(centre)), np.empty(len(centre))
    for first in range(0, len(centre), _BLOCK):
        rows = slice(first, first + _BLOCK)
        draws = centre[rows, None] + np.einsum("rij,dj->rdi", root[rows], normal)
        found = value(draws[..., 0], draws[..., 1])
        low[rows], two_sided = outer_quantiles(found, _TAIL)
        high[rows] = np.where(zero[rows], outer_quantiles(found, 2 * _TAIL)[1], two_sided)
    return error, np.where(zero, 0.0, low), high


# Fine enough to average even the steepest prevalence (sigma at its limit) over the population.
_POPULATION = Nodes.equally_spaced(-8.0, 8.0, 0.05)


def latent_class_tables(
    ratings: Ratings, found: LatentClassEstimate, errors: LatentClassErrors
) -> dict[str, pl.DataFrame]:
    """All tables of a latent class fit. Dawid-Skene knows no ability; its students have none."""
    abilities = {"theta": found.moments.mean, "theta_se": found.moments.sd}
    population, difficulty = _POPULATION if found.model.rasch else NO_ABILITY, found.of("difficulty")
    succeed = found.model.prevalence(found.parameters, population.points)[1]
    of_items = {
        "delta": difficulty - difficulty.mean(),
        "delta_se": errors.delta,
        # Share of student-items in category 1, over the population of students.
        "prevalence": succeed @ np.exp(population.log_weights),
    }
    units = found.problem.units
    truth = {
        "student": ratings.students.gather(units.student),
        "item": ratings.items.gather(units.item),
        "n": units.n,
        "mean_score": units.passes / units.n,
        "probability": posterior_truth(found.problem, found.parameters, found.nodes),  # of category 1
    }
    return {
        "raters": _raters(ratings, found, errors),
        "items": level_table(ratings, ratings.items, "item", of_items),
        "students": level_table(ratings, ratings.students, "student", abilities),
        "truth": pl.DataFrame(truth),
    }


def _raters(ratings: Ratings, found: LatentClassEstimate, errors: LatentClassErrors) -> pl.DataFrame:
    link, slope, half = found.model.link, found.of("slope"), found.of("slope") / 2
    criterion, line = found.model.lines(found.parameters).T
    known = {
        **errors.raters,
        "rho": np.exp(link.log_pass(half)) - np.exp(link.log_pass(-half)),
        "rho_se": link.density(half) * errors.raters["slope_se"],
        "eta": found.of("bias"),
        **{name: quantity.at(found.parameters) for name, quantity in quantities(found).items()},
    }
    columns = {name: known[name] for name in (*RATER_COLUMNS, *PASSES)}
    more = {
        "criterion": criterion,
        "criterion_se": known["criterion_se"],
        "slope": slope,
        "slope_se": known["slope_se"],
        "sensitivity": np.exp(link.log_fail(line)),
        "specificity": np.exp(link.log_pass(criterion)),
    }
    if found.draw_correlation is not None:
        more["draw_correlation"] = found.draw_correlation
    table = rater_table(ratings, columns, slope, no_errors_seen(found), np.array([0.0, 1.0]))
    return table.with_columns(pl.Series(name, values) for name, values in more.items())


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
    if (turned := errors.raters["kappa_high"] < 0).any():
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
    if single := int(np.sum(n == 1)):
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
