"""How often would chance alone make raters look as different? The likelihood ratio on ratings drawn from equal raters.

On small panels the ratio of one slope per rater against one for all need not follow its chi-squared distribution:
slopes end at 0 or at a limit. Ratings drawn from the model with one slope, on the same design, show what it follows.
"""

from typing import TYPE_CHECKING

import numpy as np

from raterlens.base.errors import RaterlensError
from raterlens.estimation.scoring import place
from raterlens.inference.resampling import redrawn

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit
    from raterlens.ratings.coded import Ratings

# So many replicates at or above what was seen settle that it is nothing unusual (Besag and Clifford's rule).
ENOUGH = 20


def bootstrap_p(equal: "Fit", own: "Fit", ratings: "Ratings", replicates: int, seed: int = 0) -> float | None:
    """The share of panels of equal raters with a likelihood ratio as large as that between two fits.

    None where none of the panels drawn could be fitted.

    Parameters
    ----------
    equal, own
        Fits of the same ratings without a prior, the first with one slope for all raters.
    replicates
        At most; fewer where it is soon plain that the ratio is nothing unusual.
    """
    assert equal.calibration is not None
    seen = own.loglik - equal.loglik
    placed = place(equal.calibration, ratings)
    problem, scores = placed.problem, np.asarray(equal.calibration.scores, dtype=np.int16)
    above = done = 0
    for index in range(replicates):
        random = np.random.default_rng([seed, index])
        drawn = redrawn(placed.ratings, problem.model, problem.response, placed.parameters, random)
        drawn = drawn.with_scores(scores)
        try:
            one, each = (
                fit.refit(
                    drawn,
                    start=fit,
                    standard_errors=fit.yardstick.follows_from_errors,
                    **fit.settled(),
                )
                for fit in (equal, own)
            )
        except RaterlensError:  # all scores alike: no panel to compare with
            continue
        done += 1
        above += each.loglik - one.loglik >= seen
        if above == ENOUGH:
            return above / done
    return (above + 1) / (done + 1) if done else None
