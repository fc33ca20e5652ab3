"""Do the scores of a reading share more than ability? Likelihood-ratio tests of the reading effect, and what to do by
default.

A variance cannot be negative, so the statistic is 0 half of the time where there is no effect: one common variance has
p = P(chi2_1 > x) / 2, and R variances a mixture of chi-squared distributions with binomial weights (chi-bar-squared).
By default, and with many ratings, where a second fit takes time, the test is that of the score (`halo_score.py`).
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy import special

from raterlens.base.arrays import Array
from raterlens.config import FitConfig
from raterlens.diagnostics import assumption
from raterlens.diagnostics.assumption import MOST_REFITTED, refitted
from raterlens.diagnostics.differences import p_words
from raterlens.diagnostics.halo_score import Readings, halo_score
from raterlens.estimation.scoring import Placed, place, placed
from raterlens.likelihood.grid import nodes_for
from raterlens.likelihood.readings import HaloMarginal
from raterlens.models.calibration import Calibration
from raterlens.models.terms.piece_effect import PIECE
from raterlens.ratings.coded import Ratings
from raterlens.ratings.packed import StoredRatings

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit

CLEAR = 0.01
"""From this p-value down, an effect is clear enough for a default."""
_MOST_RATINGS = 2_000_000
"""With more, nobody is asked by default: a second fit would take as long as the first."""
_MOST_ITERATIONS = 60
"""Limit of the second fit, which rises slowly if few ratings leave the effect open: it is not clear then."""
_LIKELY = 0.8
"""Standard errors of the score, roughly, below which no second fit is made to test it."""


@dataclass(frozen=True, slots=True)
class HaloTest:
    """Log-likelihoods without a reading effect, with a common one and with one per rater, and tests between them."""

    loglik: float
    common: float
    rater: float
    spread: float
    """Spread of the common effect."""
    n_raters: int

    @property
    def table(self) -> pl.DataFrame:
        """test, statistic, df, p"""
        common, own = 2 * (self.common - self.loglik), 2 * (self.rater - self.loglik)
        more, df = max(own - common, 0.0), self.n_raters - 1
        rows = [
            ("common against none", common, 1, of_common(common)),
            ("rater against none", own, self.n_raters, of_raters(own, self.n_raters)),
            ("rater against common", more, df, float(special.chdtrc(df, more)) if df else 1.0),
        ]
        return pl.DataFrame(rows, schema=["test", "statistic", "df", "p"], orient="row")


def of_common(statistic: float) -> float:
    """p-value of one variance that may be 0.

    Examples
    --------
    >>> round(of_common(2.706), 3)
    0.05
    """
    return 1.0 if statistic <= 0 else float(special.chdtrc(1, statistic)) / 2


def of_raters(statistic: float, n_raters: int) -> float:
    """p-value of several variances that may be 0.

    Examples
    --------
    >>> round(of_raters(7.48, 5), 2)
    0.05
    """
    if statistic <= 0:
        return 1.0
    df = np.arange(1, n_raters + 1)
    logs = special.gammaln(n_raters + 1) - special.gammaln(df + 1) - special.gammaln(n_raters - df + 1)
    return float(np.exp(logs - n_raters * np.log(2)) @ special.chdtrc(df, statistic))


def halo_test(fit: "Fit", ratings: Ratings) -> HaloTest:
    """Fit with each kind of reading effect: `Fit.halo_test`."""
    found = {kind: refitted(fit, ratings, "halo", kind) for kind in ("none", "common", "rater")}
    spread = float(found["common"].table("raters")["halo"][0])
    none, common, rater = (found[kind].loglik for kind in ("none", "common", "rater"))
    return HaloTest(none, common, rater, spread, fit.n_raters)


def clear_halo(fit: "Fit", ratings: Ratings) -> float | None:
    """The p-value of a common reading effect, where it is clear and nothing was said about it; None otherwise."""
    known = fit.calibration
    if known is None or "bias" in known.effects or not _testable(fit.config, ratings):
        return None
    if PIECE not in known.effects:
        score = halo_score(placed(known, ratings), Readings.of(ratings))
        if score <= _LIKELY:
            return None
        if fit.n_ratings > MOST_REFITTED and np.isfinite(score):
            return p if (p := float(special.ndtr(-score))) <= CLEAR else None
    elif not _likely(known, ratings):
        return None
    common = refitted(fit, ratings, "halo", "common", most=_MOST_ITERATIONS)
    p = of_common(2 * (common.loglik - fit.loglik))
    return p if p <= CLEAR else None


def beforehand(config: FitConfig, at: Placed) -> None:
    """Prepare the slow part of `clear_halo`, as soon as there are estimates."""
    if _testable(config, at.ratings) and PIECE not in at.problem.model:
        halo_score(at)


def _testable(config: FitConfig, ratings: Ratings) -> bool:
    """Whether nothing was said about it, and ratings are such that it can be seen in passing."""
    asked = (
        config.halo is not None
        or ratings.known is not None
        or config.method != "mml"
        or config.link == "log"
        or config.covariance != "observed"
    )
    if asked or isinstance(ratings, StoredRatings) or ratings.n_ratings > _MOST_RATINGS:
        return False
    readings = Readings.of(ratings)
    return readings.long and readings.second


def _likely(known: Calibration, ratings: Ratings) -> bool:
    """Whether the log-likelihood rises as the variance leaves 0, by more than chance does half of the time: for fits
    that tell pieces apart, where a student's scores are not those of independent ratings."""
    none = np.zeros_like(known.effects["slope"])
    at = place(replace(known, effects={**known.effects, "halo": none}, covariance=None), ratings)
    problem, moments = at.problem, at.abilities()
    assert isinstance(problem, HaloMarginal)
    found = problem.derivatives(at.parameters, nodes_for(moments, 1e-3 * len(moments.sd)))
    assert found.d_halo is not None
    return float(found.d_halo.sum()) > _LIKELY * _score_error(problem, found.counts)


def _score_error(problem: HaloMarginal, seen: Array) -> float:
    """Rough standard error of the score of the variance at 0: half the square of what a reading tells about its
    effect."""
    lever = float(problem.response.lever[-1])
    members = problem.kinds.members.sum(axis=1)
    typical = float(np.sum(members**2) / np.sum(members))
    readings = float(seen.sum()) / typical
    return float(np.sqrt(readings / 2)) * 0.15 * typical * lever**2


def warning(p: float) -> str:
    """The warning in Python, with what to do."""
    seen = f"{_seen(p)}: intervals of severity, capability and ability are too narrow"
    return assumption.advised(seen, "halo", "common", instead="none", to="keep it out")


def done(p: float) -> str:
    """The note on what the command did."""
    seen = f"{_seen(p)}, so the model has a reading effect and intervals allow for it"
    return assumption.done(seen, "halo", "common", instead="none", does="keeps it out")


def _seen(p: float) -> str:
    return f"scores that a student gets from one rater share more than ability explains ({p_words(p)})"
