"""The hierarchical rater model and Dawid-Skene, from ratings to capability with standard errors and intervals."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from raterlens import capability
from raterlens.capability.links import get_link
from raterlens.engine.protocol import Moments, Nodes
from raterlens.errors import InputError, OptionError, choose
from raterlens.estimation.latent_class import LatentClassEstimate, estimate_latent_class, posterior_truth
from raterlens.estimation.latent_marginal import NO_ABILITY
from raterlens.estimation.optimiser import OnProgress, Optimiser
from raterlens.models.signal_detection import LARGEST_SLOPE, LatentClassModel
from raterlens.ratings.coded import Ratings
from raterlens.types import Array
from raterlens.uncertainty.latent_class_covariance import latent_class_spread
from raterlens.uncertainty.latent_class_warnings import latent_class_cautions

# Fine enough to average even the steepest prevalence (sigma at its limit) over the population.
_POPULATION = Nodes.equally_spaced(-8.0, 8.0, 0.05)


@dataclass(frozen=True, slots=True, eq=False)
class LatentClassFit:
    """Estimates of a latent class model; standard errors are NaN where unknown or at a limit.

    Dawid-Skene is the model without ability: sigma is 0, and prevalence = logistic(alpha - delta).
    """

    link: str
    rasch: bool
    bias: Array
    """(raters,): criterion seen from halfway between the categories, c - a / 2; positive is severe"""
    bias_se: Array
    criterion: Array
    """(raters,)"""
    criterion_se: Array
    slope: Array
    """(raters,)"""
    slope_se: Array
    sensitivity: Array
    """(raters,): P(y = 1 | xi = 1)"""
    specificity: Array
    """(raters,): P(y = 0 | xi = 0)"""
    kappa: Array
    kappa_se: Array
    kappa_low: Array
    kappa_high: Array
    flags: list[str]
    """(raters,): all pass, all fail, slope at 0, slope at limit, or nothing."""
    delta: Array
    """(items,), averaging 0"""
    delta_se: Array
    prevalence: Array
    """(items,): share of student-items in category 1, over the population of students."""
    alpha: float
    sigma: float
    sigma_se: float
    loglik: float
    n_parameters: int
    record: Optimiser
    reached: Array
    """Log-likelihood that each start reached, best first, for comparison among them."""
    warnings: tuple[str, ...]
    moments: Moments | None
    """Students' abilities; None for Dawid-Skene."""
    truth: pl.DataFrame
    """A row a student-item: student, item, n, mean_score, probability (that its true category is 1)."""


def fit_latent_class(
    ratings: Ratings,
    *,
    link: str = "logit",
    rasch: bool = True,
    starts: int = 8,
    seed: int = 0,
    standard_errors: bool = True,
    max_iterations: int = 500,
    on_progress: OnProgress | None = None,
) -> LatentClassFit:
    """Estimate raters' criteria and slopes together with the true category of every student-item.

    Parameters
    ----------
    link
        The distribution F of level 1, `logit` or `probit`. With a criterion and a slope for every rater both fit
        the ratings equally well; they differ in the scale of criteria and slopes, not in kappa.
    rasch
        Whether the true category depends on the student's ability (the hierarchical rater model); otherwise
        each item has its own prevalence (Dawid-Skene).
    starts
        Starts to try at most; three that agree on the best maximum are enough.
    seed
        Of the random starts.

    Examples
    --------
    >>> import raterlens as rl
    >>> fit = fit_latent_class(rl.load_example(), rasch=False)
    >>> fit.truth.columns
    ['student', 'item', 'n', 'mean_score', 'probability']
    """
    _check(ratings, link, rasch, starts)
    model = LatentClassModel(ratings.n_raters, ratings.n_items, get_link(link), rasch)
    found = estimate_latent_class(
        ratings, model, starts=starts, seed=seed, max_iterations=max_iterations, on_progress=on_progress
    )
    spread = latent_class_spread(found, ratings, standard_errors=standard_errors)
    line = model.lines(found.parameters)
    slope = found.parameters[model.blocks["slope"]]
    difficulty = found.parameters[model.blocks["difficulty"]]
    population = _POPULATION if rasch else NO_ABILITY
    prevalence = model.prevalence(found.parameters, population.points)[1] @ np.exp(population.log_weights)
    return LatentClassFit(
        link=link,
        rasch=rasch,
        bias=found.parameters[model.blocks["bias"]],
        bias_se=spread.bias_se,
        criterion=line[:, 0],
        criterion_se=spread.criterion_se,
        slope=slope,
        slope_se=spread.slope_se,
        sensitivity=np.exp(model.link.log_fail(line[:, 1])),
        specificity=np.exp(model.link.log_pass(line[:, 0])),
        kappa=capability.hrm(criterion=line[:, 0], slope=slope, link=link),
        kappa_se=spread.kappa_se,
        kappa_low=spread.kappa_low,
        kappa_high=spread.kappa_high,
        flags=spread.flags,
        delta=difficulty - difficulty.mean(),
        delta_se=spread.delta_se,
        prevalence=prevalence,
        alpha=float(-difficulty.mean()),
        sigma=float(found.parameters[model.blocks["sigma"]].sum()),
        sigma_se=spread.sigma_se,
        loglik=found.loglik,
        n_parameters=model.blocks.size,
        record=found.record,
        reached=found.reached,
        warnings=tuple(latent_class_cautions(ratings, found, spread)),
        moments=found.moments,
        truth=_truth_table(ratings, found),
    )


def _check(ratings: Ratings, link: str, rasch: bool, starts: int) -> None:
    choose("link for a latent class model", link, LARGEST_SLOPE)
    if starts < 1:
        raise OptionError(f"starts={starts}: give at least one")
    if ratings.n_categories > 2:
        raise InputError(
            f"scores go from {ratings.score.min()} to {ratings.score.max()}, but the true category of this model is "
            f"pass (1) or fail (0); say from which score on is a pass, for example cut={int(ratings.score.max())}"
        )
    _, n = np.unique(ratings.student.astype(np.int64) * ratings.n_items + ratings.item, return_counts=True)
    if not rasch and n.max() == 1:
        raise InputError(
            "every student-item has a single rating, so nothing tells a rater's errors from the true category; "
            "have some student-items rated by two or more raters, or use a model with ability ('hrm', 'gmf')"
        )


def _truth_table(ratings: Ratings, found: LatentClassEstimate) -> pl.DataFrame:
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
