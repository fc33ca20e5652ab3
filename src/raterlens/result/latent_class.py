"""Tables of latent class models (hierarchical raters, Dawid-Skene), in the words of the other models.

rho = F(a / 2) - F(-a / 2)     the capability this rater would have with the best criterion, a / 2
eta = c - a / 2                how far above it the criterion stands: severity
"""

import numpy as np
import polars as pl

from raterlens import capability
from raterlens.engine.protocol import Nodes
from raterlens.estimation.latent_estimate import LatentClassEstimate, posterior_truth
from raterlens.inference.latent_class_covariance import (
    LatentClassErrors,
    no_errors_seen,
    passes,
    sharpness_of_raters,
)
from raterlens.likelihood.true_category import NO_ABILITY
from raterlens.ratings.coded import Ratings
from raterlens.ratings.level_tables import level_table

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
