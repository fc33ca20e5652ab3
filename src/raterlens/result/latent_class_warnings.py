"""What a user must know before trusting a latent class fit: what, how much, and the next step."""

from collections.abc import Iterator

import numpy as np

from raterlens.base.text import Message, Option, counted, listed
from raterlens.estimation.latent_estimate import MOST_PARAMETERS, SAME_MAXIMUM, LatentClassEstimate
from raterlens.inference.latent_class_covariance import LatentClassErrors, no_errors_seen, one_sided
from raterlens.models.signal_detection import LARGEST_SIGMA
from raterlens.ratings.coded import Ratings

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
