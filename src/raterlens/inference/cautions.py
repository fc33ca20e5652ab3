"""Cautions about a fit: each warning says what, how much, and the next step."""

from collections.abc import Iterator

import numpy as np
import polars as pl
from scipy import special

from raterlens.base.text import Message, Option, listed, shortened
from raterlens.capability.yardstick import (
    CORRECTED,
    LARGEST_EFFECT,
    MAX,
    PERFECT,
    Yardstick,
)
from raterlens.estimation.facets_estimate import Covariance, FacetsEstimate
from raterlens.estimation.methods import sharp_nodes
from raterlens.inference.tables import Estimates
from raterlens.likelihood.nodes import MOST_NODES
from raterlens.models.calibration import Calibration
from raterlens.models.term import SLOPE_AT_LIMIT
from raterlens.ratings.coded import Ratings

# Of the mean, or of the logarithm of the standard deviation, of abilities; more where chance alone may do it.
_SHIFTED = 0.1


# Log-likelihoods this close are about equally good, and sharpness that differs by so much says something else.
_AS_GOOD, _SOMETHING_ELSE = 2.0, 0.4


def facets_warnings(ratings: Ratings, shown: Estimates, table: pl.DataFrame) -> Iterator[str]:
    """Warnings about a facets fit."""
    found, spread = shown.found, shown.covariance
    yield from _convergence(found)
    # By columns: a query of the table wakes a pool of threads.
    limit = table["rater"].filter(table["flag"] == "slope at limit")
    if len(limit):
        yield (
            f"the discrimination of {listed(limit)} ran to its limit: their few ratings order students perfectly. They "
            "are shown as discriminating as well as the best of the others, and neither set the yardstick nor count in "
            "the average severity; collect more of their ratings before trusting their kappa"
        )
    yield from _two_stories(ratings, found)
    if found.model.without_ability(found.parameters):
        yield (
            "these ratings hold no information about ability: no rater can be seen to tell students apart, so "
            "capability cannot be estimated, whatever the table of raters shows. Have each student rated by more "
            "raters or on more items"
        )
    for term in found.model.terms:
        yield from term.warnings(shown)
    yield from _limits(found)
    if found.problem.response.cornered:
        yield _capped(found)
    if found.held.any() and not found.model.enters("mean"):
        yield from _shifted(found)
    groups = int(found.model.item_group.max()) + 1
    if groups > 1:
        smallest = np.argmin(np.bincount(found.model.rater_group))
        some = ratings.raters.filter(pl.Series(found.model.rater_group == smallest))
        yield (
            f"raters and items fall into {groups} groups that share no item, so severity and difficulty cannot be told "
            f"apart between them (one group: {listed(some)}). Comparing severities across groups assumes that their "
            "items are equally difficult on average; have some raters rate items of both groups"
        )
    if spread is not None and len(spread.undetermined):
        yield from _undetermined(ratings, found, spread)
    if spread is not None and spread.steadied:
        yield (
            f"{spread.steadied:.1%} was added to the information on every parameter, because raters together leave "
            f"something undetermined: standard errors are up to {1 - (1 + spread.steadied) ** -0.5:.1%} too small. "
            "`raterlens check` names raters with few ratings and weak links; leave them out, or have them rate more"
        )


def beyond_the_rest(calibration: Calibration, yardstick: Yardstick) -> Iterator[str]:
    """Raters who are not linked to the rest, and would be the yardstick otherwise."""
    if calibration.apart is None or yardstick.reference not in (MAX, CORRECTED, PERFECT):
        return
    panel = calibration.without_errors.panel()
    size, may = np.abs(panel.slope), panel.candidates
    beyond = calibration.apart & ~may & ~panel.at_limit & (size > size[may].max())
    if beyond.any():
        yield (
            f"{listed(calibration.labels['rater'].filter(pl.Series(beyond)))} would be the yardstick, but shared no "
            "student with the rest of the panel. They are shown as discriminating as well as the best of the others; "
            "have them rate students whom others rate too"
        )


def _two_stories(ratings: Ratings, found: FacetsEstimate) -> Iterator[str]:
    """Raters of whom another maximum, about as good as the best, says something else."""
    slopes = found.model.blocks["slope"]
    here = found.model.slope(found.parameters[slopes])
    for other in found.maxima[1:]:
        there = found.model.slope(other.parameters[slopes])
        if other.objective < found.value.objective - _AS_GOOD or len(here) != ratings.n_raters:
            continue
        apart = np.abs(here / np.hypot(1, here) - there / np.hypot(1, there)) > _SOMETHING_ELSE
        for rater in np.flatnonzero(apart)[:1]:
            yield (
                f"the ratings of {listed(ratings.raters.filter(pl.Series(apart)))} can be explained in two ways that "
                f"are about equally likely (log-likelihoods {found.value.objective:.2f} and {other.objective:.2f}): "
                f"{shortened(str(ratings.raters[int(rater)]))} has a slope of {here[rater]:.2f} here and of "
                f"{there[rater]:.2f} there. Collect more of their ratings before judging them"
            )
            return


def _convergence(found: FacetsEstimate) -> Iterator[str]:
    record = found.record
    if not record.converged:
        without = (term.simpler for term in found.model.terms if term.simpler)
        simpler = [part for option, why in without for part in (option, f", {why}; ")]
        yield Message(
            f"the estimates have not converged: {record.stopped}, with a gradient of {record.gradient:.2g} "
            "standard errors left. Try, in this order: ",
            *simpler,
            Option("model", "tfm"),
            "; leaving out raters with very few ratings; more iterations, for example ",
            Option("max_iterations", 10 * record.max_iterations),
        )


def _limits(found: FacetsEstimate) -> Iterator[str]:
    """Effects that ran as far as they may, and a grid that did."""
    terms = [
        term for term in found.model.terms if term.name != "slope" and term.at_limit_flag != SLOPE_AT_LIMIT
    ]
    if limited := [term.name for term in terms if found.at_limit[found.model.blocks[term.name]].any()]:
        yield (
            f"{' and '.join(limited)} ran to the limit of {LARGEST_EFFECT:g}, where some ratings are all but certain; "
            "collect more ratings of the raters and items concerned, or leave them out"
        )
    fine = found.nodes
    if found.record.n_nodes is not None:
        fine = sharp_nodes(found.problem, found.parameters, found.moments)
    if found.nodes.at_limit or fine.at_limit:
        steepest = float(np.abs(found.model.predictor(found.parameters).slope).max())
        without = [part for term in found.model.terms if term.simpler for part in (term.simpler[0], ", ")]
        yield Message(
            f"slopes as steep as {steepest:.3g} would need more than {MOST_NODES:,} ability nodes, and no more are "
            "used: the log-likelihood and the abilities may be slightly off. Use ",
            *without,
            Option("model", "tfm"),
            ", or leave out raters with few, perfectly ordered ratings",
        )


def renumbered(scores: tuple[int, ...]) -> str:
    """Scores between others that nobody gave: the model knows only those that occur."""
    never = sorted(set(range(scores[0], scores[-1])) - set(scores))
    return Message(
        f"nobody ever gave a score of {listed(never)}, so its threshold cannot be estimated: the scores "
        f"{listed(scores)} count as {listed(range(len(scores)))}. If that is not what the scale means, combine "
        "scores before reading, or give the lowest passing score, for example ",
        Option("cut", scores[-1]),
    )


def _capped(found: FacetsEstimate) -> str:
    """How often the log link's predictor exceeds 0: S = a theta + e > 0 for a share Phi(e / a) of students."""
    predictor, contexts = found.model.predictor(found.parameters), found.model.contexts
    given = contexts.given.sum(axis=1)
    reach = predictor.intercepts[:, 0] / np.maximum(np.abs(predictor.slope), 1e-9)
    share = float(given @ special.ndtr(reach) / given.sum())
    return Message(
        f"the log link's predictor exceeds 0 in {share:.1%} of ratings over the population, where the pass rate is "
        "capped at 1. If that share is large, use ",
        Option("link", "cloglog"),
        ", which has the same shape for low pass rates and needs no cap",
    )


def _shifted(found: FacetsEstimate) -> Iterator[str]:
    """Anchors that do not fix the scale of ability leave students where they are assumed to be."""
    mean, spread = found.moments.mean.mean(), np.sqrt(np.mean(found.moments.sd**2) + found.moments.mean.var())
    notable = max(_SHIFTED, 3 / np.sqrt(len(found.moments.mean)))
    if abs(mean) > notable or abs(np.log(spread)) > notable:
        yield (
            f"on the anchors' scale these students' abilities average {mean:.2f} with a standard deviation of "
            f"{spread:.2f}, but the model assumes 0 and 1: estimates of raters and items that are not anchored lean "
            "towards that. Hold a rater's slope and severity and an item's difficulty, and the students' mean and "
            "standard deviation will be estimated"
        )


def _undetermined(ratings: Ratings, found: FacetsEstimate, spread: Covariance) -> Iterator[str]:
    """Name the raters and items behind the parameters that the data do not determine."""
    touched = np.zeros(found.model.blocks.size)
    touched[spread.undetermined] = 1.0
    slopes, severities, what = (
        found.model.effect_jacobian(found.parameters, name) @ touched != 0
        for name in ("slope", "severity", "difficulty")
    )
    names = [
        f"{kind} {listed(labels.filter(pl.Series(chosen)))}"
        for kind, labels, chosen in (
            ("raters", ratings.raters, slopes | severities),
            ("items", ratings.items, what),
        )
        if chosen.any()
    ]
    yield (
        f"the ratings say next to nothing about {' and '.join(names) or 'some parameters'}; their standard "
        "errors are nominal. Have them rate students whom others rate too, or leave them out"
    )
