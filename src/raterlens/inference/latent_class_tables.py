"""Tables of latent class models (hierarchical raters, Dawid-Skene), in the words of the other models.

rho = F(a / 2) - F(-a / 2)     the capability this rater would have with the best criterion, a / 2
eta = c - a / 2                how far above it the criterion stands: severity
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from raterlens import capability
from raterlens.base.text import Message, Option, counted, listed
from raterlens.estimation.latent_estimate import (
    MOST_PARAMETERS,
    SAME_MAXIMUM,
    LatentClassEstimate,
    posterior_truth,
)
from raterlens.inference.latent_class_covariance import (
    LatentClassErrors,
    no_errors_seen,
    one_sided,
    passes,
    sharpness_of_raters,
)
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.true_category import NO_ABILITY
from raterlens.models.signal_detection import LARGEST_SIGMA
from raterlens.ratings.coded import Ratings, level_table

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
    if model.blocks.size > MOST_PARAMETERS:
        yield (
            f"no standard errors: {model.blocks.size:,} parameters are more than the {MOST_PARAMETERS:,} for which "
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
