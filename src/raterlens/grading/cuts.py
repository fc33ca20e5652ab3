"""Cuts between grades, on the scale of scores and on that of ability.

The scale of scores is that of the average rater: the mean score which a student of some ability can expect from that
rater over all items. It rises with ability, so each cut on it is a cut on ability, and the other way round.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np

from raterlens.base.arrays import Array, Indices
from raterlens.base.errors import OptionError, choose
from raterlens.diagnostics.expected_scores import average_scores, rater_effects
from raterlens.models.calibration import Calibration

On = Literal["score", "ability"]
Cut = float | Sequence[float] | str

# How far from the students' mean a cut may be, in standard deviations: beyond, nobody is.
_FARTHEST = 12.0
# A mean score that misses a cut by less does so by rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Where each grade but the lowest begins."""

    score: Array
    """(cuts,): mean scores, in the numbers that raters gave"""
    ability: Array
    """(cuts,)"""
    grades: tuple[str, ...]
    """Lowest first, one more than cuts"""
    on: On
    """The scale they were given on"""

    def grade_of(self, mean_score: Array) -> Indices:
        """The grades of raw results; a result on a cut has reached it."""
        return np.searchsorted(self.score, np.asarray(mean_score) + _ROUNDING, side="right")

    @property
    def text(self) -> str:
        """As options write them."""
        given = ",".join(f"{cut:g}" for cut in (self.score if self.on == "score" else self.ability))
        return given if self.on == "score" else f"ability {given}"


def cuts_of(known: Calibration, cut: Cut, on: On = "score", grades: Sequence[str] | None = None) -> Cuts:
    """Check cuts and put them on both scales."""
    numbers, on = given_cuts(cut, on)
    cuts = np.array(numbers)
    mean, sd = known.effects.get("population", (0.0, 1.0))
    ends = np.array([mean - _FARTHEST * sd, mean + _FARTHEST * sd])
    if rater_effects(known)[1].slope[0] <= 0:
        raise OptionError(
            "the average rater's scores do not rise with ability, so no result is fair",
            "look at the raters first: fit.verdicts() says what is wrong",
            option="decide",
        )
    low, high = ends if on == "ability" else average_scores(known, ends)
    if cuts[0] <= low or cuts[-1] >= high:
        scale = "abilities" if on == "ability" else "mean scores by the average rater"
        raise OptionError(
            f"a cut at {cuts[0] if cuts[0] <= low else cuts[-1]:g}, but {scale} go from {low:.2f} to {high:.2f}",
            "give a cut between them",
            value=cut,
            option="decide",
        )
    if on == "score":
        score, ability = cuts, np.array([_ability_at(known, one, ends) for one in cuts])
    else:
        score, ability = average_scores(known, cuts), cuts
    return Cuts(score, ability, _names(grades, numbers), on)


def given_cuts(cut: Cut, on: On = "score") -> tuple[list[float], On]:
    """Numbers in rising order, and their scale, which text may name.

    Examples
    --------
    >>> given_cuts(3), given_cuts("1.5, 2.5"), given_cuts("ability 0.3")
    (([3.0], 'score'), ([1.5, 2.5], 'score'), ([0.3], 'ability'))
    """
    choose("scale of cuts", on, get_args(On), option="on")
    if isinstance(cut, str):
        numbers, on = _read(cut, on)
    else:
        numbers = [float(one) for one in np.atleast_1d(np.asarray(cut, np.float64))]
    if not numbers or not np.all(np.isfinite(numbers)) or np.any(np.diff(numbers) <= 0):
        raise OptionError(
            f"cuts are {cut!r}", "give one number, or several in rising order", value=cut, option="decide"
        )
    return numbers, on


def _read(text: str, on: On) -> tuple[list[float], On]:
    first, _, rest = text.strip().partition(" ")
    numbers = rest if first in get_args(On) else text
    try:
        return [float(one) for one in numbers.split(",")], (first if first in get_args(On) else on)  # type: ignore[return-value]
    except ValueError:
        raise OptionError(
            f"cuts are {text!r}",
            "give numbers with commas between them, such as 1.5,2.5, or 'ability 0.3' for the ability scale",
            value=text,
            option="decide",
        ) from None


def _names(grades: Sequence[str] | None, cuts: Sequence[float]) -> tuple[str, ...]:
    if grades is None:
        if len(cuts) == 1:
            return ("fail", "pass")
        between = (f"{low:g} to {high:g}" for low, high in pairwise(cuts))
        return (f"below {cuts[0]:g}", *between, f"{cuts[-1]:g} or more")
    names = tuple(str(grade) for grade in grades)
    if len(set(names)) != len(cuts) + 1:
        raise OptionError(
            f"{len(set(names))} different names of grades for {len(cuts)} cuts",
            f"give {len(cuts) + 1} names, the lowest grade first",
            value=grades,
            option="grades",
        )
    return names


def _ability_at(known: Calibration, score: float, ends: Array) -> float:
    def above(theta: float) -> float:
        return float(average_scores(known, np.array([theta]))[0]) - score

    from scipy.optimize import brentq  # only here, and slow to load

    return float(brentq(above, *ends, xtol=1e-10))
