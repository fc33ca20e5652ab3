"""A second ability that raters share: what they agree on besides the truth.

    S = a_r theta + b_r zeta - eta_r - delta_i,      theta, zeta ~ N(0, 1), independent

b is 0 for trusted raters and known answers, which fix what theta is. Independence loses nothing: a correlation would
only relabel a_r. Of zeta's two directions the one is taken in which most raters follow it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy import sparse

from raterlens.base.arrays import NORMAL_95, Array, Mask
from raterlens.base.errors import OptionError, choose
from raterlens.base.text import Message, Option, counted
from raterlens.capability.yardstick import LARGEST_SLOPE
from raterlens.config import FitConfig
from raterlens.models.requested import Part, Setting, says
from raterlens.models.term import Beside, Contexts, Effect, Estimated, LevelTerm, Redrawn, Tables, Term
from raterlens.ratings.coded import Ratings
from raterlens.ratings.packed import StoredRatings

BIAS = "bias"
ENOUGH_KNOWN = 20
"""Known answers from which on it is tested whether raters share something. `python -m benchmarks.truth.known_answers
--known 20` measures what it gains there, and what a false find costs."""
FEWEST, FEWEST_SHARING = 5, 3
"""Raters, and raters who are not trusted, below which nothing tells what they share from what each sees."""


class SharedBias(LevelTerm):
    """b_r: how much each rater who is not trusted follows what is shared."""

    name = BIAS
    predictor = "loading"
    bound = (-LARGEST_SLOPE, LARGEST_SLOPE)
    covarying = True
    asks = (("biased", True),)
    parts = (
        Part(
            "shared",
            says("shared", "yes"),
            (
                *("method", "covariance", "panel", "halo", "smooth", "anchors", "covariates", "item slopes"),
                *("log link", "cauchit"),
            ),
        ),
    )

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        if at.options.biased:
            yield cls(Effect.each(at.rows.n_raters))

    @classmethod
    def check(cls, ratings: Ratings, config: FitConfig) -> None:
        for rater in config.trusted or ():
            choose("rater", rater, ratings.raters.cast(pl.String), option="trusted")
        if config.shared == "yes" and (found := obstacle(ratings, config)) is not None:
            asked = Message(Option("shared", "yes"), f": {found.what}")
            raise OptionError(asked, found.remedy, option=found.option)

    @classmethod
    def cautions(cls, ratings: Ratings, config: FitConfig) -> Iterator[str]:
        """Raters or known answers that are too few to test whether raters share a bias."""
        told = ratings.known is not None or config.trusted
        if config.shared == "auto" and told and (found := obstacle(ratings, config)) is not None:
            yield Message(
                "raters who share a bias outvote what is known and look better than they are, and whether they do is "
                f"not tested: {found.what}; ",
                found.remedy,
            )

    def beside(self, x: Array, rows: Contexts, slope: Array) -> Beside:
        by = self.designs(rows)["loading"]
        follows = by @ x
        return follows**2, None, sparse.csr_array(sparse.diags_array(2 * follows) @ by)

    def redraw(self, x: Array, at: Redrawn) -> Redrawn:
        ratings = at.ratings
        second = at.random.standard_normal(ratings.n_students)[ratings.student]
        return replace(at, besides=at.besides + np.append(self.effect(x), 0.0)[ratings.rater] * second)

    def tables(self, found: Estimated) -> Tables:
        """How much each rater follows what raters share, exactly 0 for those who are trusted; and each student's place
        on it, with how much that raises the mean score, as a share of the highest, that the raters who are not trusted
        would give it, all of them."""
        bias, error = found.of(self.name)
        reach = NORMAL_95 * error
        raters = {"bias": bias, "bias_se": error, "bias_low": bias - reach, "bias_high": bias + reach}
        model, response, second = found.model, found.response, found.second()
        loading, predictor = model.design("loading"), model.predictor(found.parameters)
        others, follows = np.flatnonzero(np.diff(loading.indptr)), loading @ found.parameters
        total = np.zeros(len(second.mean))
        for context in others:
            row, reached = np.full(len(total), context), predictor.slope[context] * found.ability
            total += response.mean_of(predictor, row, reached + follows[context] * second.mean)
            total -= response.mean_of(predictor, row, reached)
        total /= max(1, len(others)) * (response.n_categories - 1)
        students = {"shared": second.mean, "shared_se": second.sd, "misled": total}
        return {"raters": pl.DataFrame(raters), "students": pl.DataFrame(students)}


@dataclass(frozen=True, slots=True)
class Obstacle:
    what: str
    remedy: str
    option: str


def trusted_raters(ratings: Ratings, config: FitConfig) -> Mask:
    """(raters,)"""
    return np.asarray(ratings.raters.cast(pl.String).is_in(list(config.trusted or ())).to_numpy())


def obstacle(ratings: Ratings, config: FitConfig) -> Obstacle | None:
    """Tell why these ratings cannot show whether raters share a bias; None where they can."""
    trusted = trusted_raters(ratings, config)
    if ratings.known is None and not trusted.any():
        return Obstacle(
            "no answer is known and no rater trusted, so nothing tells what raters share from the truth",
            Message("give ", Option("known"), " or ", Option("trusted")),
            "known",
        )
    if config.shared == "auto" and not trusted.any() and len(ratings.known or ()) < ENOUGH_KNOWN:
        return Obstacle(
            f"{counted(len(ratings.known or ()), 'known answer')} may be taken for what raters share",
            f"look up {ENOUGH_KNOWN} answers or more",
            "known",
        )
    if isinstance(ratings, StoredRatings):
        return Obstacle("packed ratings are not read at once", "read the table itself", "shared")
    if ratings.n_raters < FEWEST or int((~trusted).sum()) < FEWEST_SHARING:
        return Obstacle(
            f"{counted(ratings.n_raters, 'rater')}, {int(trusted.sum())} of them trusted, are too few to tell what "
            "they share from what each sees",
            f"it takes {FEWEST} raters, {FEWEST_SHARING} of whom are not trusted",
            "trusted",
        )
    if ratings.known is None:
        by_trusted = np.zeros(ratings.n_students, dtype=bool)
        by_trusted[ratings.student[trusted[ratings.rater]]] = True
        if not by_trusted[ratings.student[~trusted[ratings.rater]]].any():
            return Obstacle(
                "the trusted raters and the others share no student",
                "have some students rated by both",
                "trusted",
            )
    return None
