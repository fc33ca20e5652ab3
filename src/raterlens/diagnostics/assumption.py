"""Common parts of tests of assumptions: another fit of the same ratings, and the message if one fails."""

from typing import TYPE_CHECKING

from raterlens.base.text import Message, Option

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit
    from raterlens.ratings.coded import Ratings

MOST_REFITTED = 10_000
"""With more ratings, no second fit is made in passing: the score at the fit is the test."""


def refitted(fit: "Fit", ratings: "Ratings", option: str, kind: str, *, most: int | None = None) -> "Fit":
    """The same fit under another assumption, without standard errors if it can be, in at most this many iterations."""
    known = fit.calibration
    start = None if known is None or known.covariates else fit
    asked = fit.config.max_iterations
    changes = {option: kind, "max_iterations": asked if most is None else min(most, asked)}
    # The option's name is known when this runs, not before.
    errors = fit.yardstick.follows_from_errors
    return fit.refit(ratings, start=start, standard_errors=errors, **changes)  # type: ignore[arg-type]


def advised(seen: str, option: str, kind: str, *, instead: str, to: str) -> str:
    """The warning in Python: use an option, or say that it is not wanted."""
    return Message(
        f"{seen}. Fit with ", Option(option, kind), ", or say ", Option(option, instead), f" to {to}"
    )


def done(seen: str, option: str, kind: str, *, instead: str, does: str) -> str:
    """The note on what the command did, and how to prevent it."""
    return Message(f"{seen} (", Option(option, kind), "); ", Option(option, instead), f" {does}")
