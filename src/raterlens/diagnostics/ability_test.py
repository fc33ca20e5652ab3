"""Are abilities normally distributed? The likelihood ratio of a smooth shape against a normal one, and what to do by
default.

The shape has two parameters (`capability/population.py`), both 0 where abilities are normal, so the ratio has two
degrees of freedom. Whether it is worth a second fit is asked of the score at 0 first; with many ratings, where a second
fit takes time, that score is the test.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy import special

from raterlens.base.arrays import Array
from raterlens.diagnostics import assumption
from raterlens.diagnostics.assumption import MOST_REFITTED, refitted
from raterlens.diagnostics.differences import p_words
from raterlens.diagnostics.shape_score import shape_score
from raterlens.estimation.scoring import Placed, placed
from raterlens.inference.result import Result
from raterlens.models.registry import facets_spec, own_slopes
from raterlens.models.terms.piece_effect import PIECE
from raterlens.models.terms.shape import SHAPE
from raterlens.ratings.coded import Ratings
from raterlens.ratings.packed import StoredRatings

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit

CLEAR = 0.005
"""From this p-value down, another shape is clear enough for a default."""
_MOST_RATINGS, _MOST_PARAMETERS = 500_000, 500
"""With more, nobody is asked by default."""
_LARGEST_STEP = 0.3
_UNLIKELY = 0.2
"""p-value of the score test from which on no second fit is made."""
_SKEWED, _PEAKS = 0.1, 0.02
"""Limits for the mean of abilities in half-widths from their median, and for a valley between two peaks, of the lower
of them: from here on they are named."""


@dataclass(frozen=True, slots=True)
class AbilityTest:
    """Whether abilities are normal."""

    test: str
    """`likelihood ratio`, or `score` where that leaves no doubt, or a second fit would take long."""
    statistic: float
    shape: tuple[float, float]
    """c3 and c4; of a score test, where one step of Newton's method leads."""

    @property
    def p(self) -> float:
        return float(special.chdtrc(2, max(self.statistic, 0.0)))

    @property
    def clear(self) -> bool:
        """Whether another shape than a normal one is clear enough for a default."""
        return self.p <= CLEAR

    @property
    def finding(self) -> str:
        """In a few words: what the distribution is like."""
        if not self.clear:
            return "no evidence against a normal distribution"
        return described(self.shape)

    @property
    def table(self) -> pl.DataFrame:
        """test, statistic, df, p, finding"""
        row = (self.test, self.statistic, 2, self.p, self.finding)
        return pl.DataFrame([row], schema=["test", "statistic", "df", "p", "finding"], orient="row")


def described(shape: tuple[float, float]) -> str:
    """Describe students of this shape.

    Examples
    --------
    >>> described((0.25, -0.02)), described((0.0, -0.2)), described((0.0, 0.05))
    ('skewed to the right', 'two groups', 'heavy tails')
    """
    from raterlens.capability.population import AbilityShape  # loads splines

    found = AbilityShape.of(*shape)
    theta = np.linspace(-5, 5, 1001)
    density = np.exp(found.log_density(theta))
    said = []
    if _two_peaks(density):
        said.append("two groups")
    mean = float(theta @ density / density.sum())
    if abs(mean) > _SKEWED:
        said.append(f"skewed to the {'right' if mean > 0 else 'left'}")
    return ", ".join(said) or ("heavy tails" if shape[1] > 0 else "light tails")


def _two_peaks(density: Array) -> bool:
    rises = np.diff(density) > 0
    peaks = np.flatnonzero(rises[:-1] & ~rises[1:]) + 1
    if len(peaks) < 2:
        return False
    first, last = peaks[0], peaks[-1]
    valley = float(density[first:last].min())
    return valley < (1 - _PEAKS) * float(min(density[first], density[last]))


def ability_test(fit: "Fit", ratings: Ratings) -> AbilityTest:
    """Fit with a smooth shape and with a normal one: `Fit.ability_test`."""
    found = {kind: refitted(fit, ratings, "ability", kind) for kind in ("normal", "smooth")}
    return compared(found["normal"], found["smooth"])


def diagnosed(fit: "Fit", ratings: Ratings) -> AbilityTest | None:
    """The test where it can be made in passing; None otherwise."""
    if not _testable(fit, ratings):
        return None
    if fit.config.ability == "smooth":
        return compared(refitted(fit, ratings, "ability", "normal"), fit)
    assert fit.calibration is not None
    score = _score_test(placed(fit.calibration, ratings))
    if score.p > _UNLIKELY or ratings.n_ratings > MOST_REFITTED:
        return score
    return compared(fit, refitted(fit, ratings, "ability", "smooth"))


def without_refitting(fit: "Fit", ratings: Ratings, bound: Placed | None) -> AbilityTest | None:
    """The score test of a normal distribution, where abilities were taken for normal and it is offered; `bound`: the
    model on the ratings."""
    if fit.config.ability == "smooth" or not _testable(fit, ratings):
        return None
    assert fit.calibration is not None
    own = facets_spec(fit.calibration.model).slopes is own_slopes
    return _score_test(bound if own and bound is not None else placed(fit.calibration, ratings))


def unasked(fit: "Fit", ratings: Ratings) -> AbilityTest | None:
    """The test, where nothing was said about the distribution and it can be made in passing; None otherwise."""
    return diagnosed(fit, ratings) if fit.config.ability is None else None


def _testable(fit: "Fit", ratings: Ratings) -> bool:
    known, config = fit.calibration, fit.config
    offered = config.method == "mml" and fit.link != "log" and config.covariance in ("observed", "expected")
    large = fit.n_ratings > _MOST_RATINGS or fit.n_parameters > _MOST_PARAMETERS
    return (
        known is not None
        and PIECE not in known.effects
        and offered
        and not (large or isinstance(ratings, StoredRatings))
        and config.anchors is None
        and config.covariates is None
        and config.trusted is None
        and ratings.known is None
        and config.prior == "none"
        and ratings.n_ratings == fit.n_ratings
    )


def compared(normal: Result, smooth: Result) -> AbilityTest:
    """The likelihood ratio of two fits of the same ratings."""
    assert smooth.calibration is not None
    c3, c4 = smooth.calibration.effects[SHAPE].tolist()
    return AbilityTest("likelihood ratio", 2 * (smooth.loglik - normal.loglik), (c3, c4))


def _score_test(bound: Placed) -> AbilityTest:
    """Rao's, at a normal shape."""
    found = shape_score(bound)
    c3, c4 = np.clip(found.step, -_LARGEST_STEP, _LARGEST_STEP).tolist()
    return AbilityTest("score", found.statistic, (c3, c4))


def warning(found: AbilityTest) -> str:
    """The warning in Python, with what to do."""
    seen = f"{_seen(found)}. Severities and capabilities that take them for normal are biased"
    return assumption.advised(seen, "ability", "smooth", instead="normal", to="keep to it")


def done(found: AbilityTest) -> str:
    """The note on what the command did."""
    seen = f"{_seen(found)}, so their distribution is estimated with the rest"
    return assumption.done(seen, "ability", "smooth", instead="normal", does="takes them for normal")


def _seen(found: AbilityTest) -> str:
    return f"abilities are not normally distributed: {found.finding} ({p_words(found.p)})"
