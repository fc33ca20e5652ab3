"""The user's yardstick: against which rater, over which students and from which origin capability is measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
import polars as pl

from raterlens.base.arrays import Array, Mask
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option, listed, shortened
from raterlens.capability.population import Histogram, Normal, Population, Window

Reference = str | float
Origin = str | float
Students = str | tuple[float, float] | Normal | Histogram

MAX, PERFECT, AVERAGE, ABSOLUTE = "max", "perfect", "average", "absolute"
CORRECTED = "max corrected"
STANDARD, ESTIMATED = "standard", "estimated"
# A slope of 10 takes a rater from 1 % to 99 % passes within a standard deviation of ability. Beyond it data
# cannot tell slopes apart, and an estimate that runs there (a rater with few, perfectly ordered ratings) is flagged.
LARGEST_SLOPE = 10.0
# An item's slope is relative to the other items': at 20 times theirs it splits students at a point, at a twentieth it
# says nothing about them. Data cannot tell more extreme ones apart.
LARGEST_ITEM_SLOPE = 20.0
# Of severities, difficulties and thresholds, in units of the predictor: at 30 a score has a probability of 1e-13.
LARGEST_EFFECT = 30.0


@dataclass(frozen=True, slots=True)
class Yardstick:
    """A choice in the words in which it is saved and can be made again."""

    reference: Reference = MAX
    """`max`, `max corrected`, `quantile Q`, a rater's label, the slope itself, or `perfect` (a rater without noise)."""
    population: str = STANDARD
    """`standard`, `normal MEAN SD`, `window CENTRE HALF_WIDTH`, `smooth C3 C4` or `estimated`."""
    origin: Origin = AVERAGE
    """`average` (severity relative to the average rater), `absolute`, or the severity that counts as 0."""

    @property
    def follows_from_errors(self) -> bool:
        """Whether it needs standard errors: a second fit must then ask for them."""
        return self.reference == CORRECTED

    @staticmethod
    def chosen(
        default: "Yardstick",
        raters: pl.Series,
        reference: Reference | None = None,
        population: Students | None = None,
        origin: Origin | None = None,
    ) -> "Yardstick":
        """The user's choice, checked before any work; `default` if there is none."""
        return Yardstick(
            default.reference if reference is None else _reference(reference, raters),
            default.population if population is None else _population(population),
            default.origin if origin is None else _origin(origin),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """A linear function of the raters' slopes (the yardstick's) or severities (the origin's)."""

    constant: float
    weights: Array
    """One per rater."""

    def of(self, values: Array) -> float:
        return self.constant + float(self.weights @ values)


def may_set_yardstick(slopes: Array, at_limit: Mask | None = None, apart: Mask | None = None) -> Mask:
    """(raters,): whose slopes `max` and quantiles are of.

    Not those that ran to the limit (`at_limit`, or by their size), nor those of raters who are not linked to the rest
    (`apart`), as long as others discriminate at all.
    """
    size = np.abs(slopes)
    settled = size < LARGEST_SLOPE if at_limit is None else ~at_limit
    for some in (settled if apart is None else settled & ~apart, settled):
        if (size[some] > 0).any():
            return np.asarray(some)
    return np.ones(len(size), dtype=bool)


def slope_of_yardstick(
    reference: Reference, raters: pl.Series, slopes: Array, candidates: Mask | None = None
) -> Measure:
    """Sigma as a function of the sizes of the slopes; of the `candidates`' for `max` and quantiles."""
    size, nobody = np.abs(slopes), np.zeros(len(slopes))
    if isinstance(reference, float):
        return Measure(reference, nobody)
    if (q := _quantile(reference)) is not None or reference in (MAX, CORRECTED, PERFECT):
        settled = np.flatnonzero(may_set_yardstick(slopes) if candidates is None else candidates)
        order = settled[np.argsort(size[settled], kind="stable")]
        # The usual quantile: linear between the two nearest raters.
        place = (1.0 if q is None else q) * (len(order) - 1)
        low = min(int(place), len(order) - 1)
        high = min(low + 1, len(order) - 1)
        np.add.at(nobody, [order[low], order[high]], [1 - (place - low), place - low])
    else:
        nobody[_labels(raters).index(str(reference))] = 1.0
    found = Measure(0.0, nobody)
    if found.of(size) == 0 and reference not in (MAX, CORRECTED, PERFECT):
        raise OptionError(
            Message(Option("reference", reference), " has a slope of 0 and cannot be a yardstick"),
            Message("choose a rater who tells students apart, or ", Option("reference", MAX)),
        )
    return found


def severity_of_origin(origin: Origin, n_raters: int, aside: Mask | None = None) -> Measure:
    """The severity that counts as 0, as a function of the severities.

    The average is over raters who are not set `aside`: those whose estimates ran to a limit, as the severity of one
    whose slope did has run along, and those who are not linked to the rest.
    """
    if origin == AVERAGE:
        settled = np.ones(n_raters) if aside is None or aside.all() else 1.0 - aside
        return Measure(0.0, settled / settled.sum())
    return Measure(0.0 if origin == ABSOLUTE else float(origin), np.zeros(n_raters))


def students_of(
    population: str,
    ability: Array,
    error: Array,
    shape: Array | None = None,
    piece_variance: float = 0.0,
) -> Population:
    """The population by its name; `estimated` is what the fit says of its own students, and `standard` students of the
    shape that it found, where it looked for one, or what their pieces of work are worth, where these differ."""
    if population == STANDARD and piece_variance:
        return Normal(0.0, float(np.sqrt(1 + piece_variance)))
    if population == STANDARD and shape is not None:
        return Histogram.smooth(*shape.tolist())
    if population == ESTIMATED:
        return Histogram.of_students(ability, error)
    return _made(population.split(), population)


# --------------------------------------------------------------------------------- from the user's words


def _reference(reference: Reference, raters: pl.Series) -> Reference:
    if isinstance(reference, bool) or not isinstance(reference, str | int | float | np.number):
        raise _refused(
            "reference", reference, "give 'max', 'perfect', 'quantile 0.9', a rater's label or a number"
        )
    if not isinstance(reference, str):
        (number,) = _numbers(
            [reference], _refused("reference", reference, "give the yardstick's slope, as 2.0")
        )
        return _positive(number)
    if reference in (MAX, CORRECTED, PERFECT, *_labels(raters)) or _quantile(reference) is not None:
        return reference
    try:
        return _positive(float(reference))
    except ValueError:
        near = get_close_matches(reference, [*_labels(raters), MAX, PERFECT], n=1)
        hint = f"did you mean {shortened(near[0])}? " if near else ""
        raise OptionError(
            f"no rater {shortened(reference)} to be the reference",
            f"{hint}choose 'max', 'perfect', 'quantile 0.9', a slope such as 2.0, or one of the raters: "
            f"{listed(_labels(raters))}",
            value=reference,
            option="reference",
        ) from None


def _labels(raters: pl.Series) -> list[str]:
    return list(raters.cast(pl.String))


def _positive(sigma: float) -> float:
    if not (np.isfinite(sigma) and sigma > 0):
        raise _refused("reference", sigma, "as a number it is the yardstick's slope and must be above 0")
    return sigma


def _quantile(reference: Reference) -> float | None:
    words = str(reference).split()
    if len(words) != 2 or words[0] != "quantile":
        return None
    (q,) = _numbers(words[1:], _refused("reference", reference, "write it like 'quantile 0.9'"))
    if not 0 <= q <= 1:
        raise _refused("reference", reference, "a quantile is between 0 and 1, for example 'quantile 0.9'")
    return q


def _population(population: Students) -> str:
    if isinstance(population, Normal | Histogram):
        return population.text
    if isinstance(population, tuple | list):
        return _made(["normal", *population], population).text
    words = str(population).split()
    return ESTIMATED if words == [ESTIMATED] else _made(words, population).text


def _made(words: Sequence[object], chosen: object) -> Normal | Histogram:
    if list(words) == [STANDARD]:
        return Normal()
    kind = str(words[0]) if len(words) == 3 else ""
    if kind not in _KINDS:
        raise _refused("population", chosen, _POPULATIONS)
    return _KINDS[kind](*_numbers(words[1:], _refused("population", chosen, _POPULATIONS)))


_KINDS: dict[str, Callable[[float, float], Normal | Histogram]] = {
    "normal": Normal,
    "window": Window,
    "smooth": Histogram.smooth,
}
_POPULATIONS = (
    "choose 'standard', 'estimated', a normal population by its mean and standard deviation, (0.5, 1.2) or "
    "'normal 0.5 1.2', or a window of abilities by its centre and half-width, Window(0.3, 0.5) or 'window 0.3 0.5'"
)


def _origin(origin: Origin) -> Origin:
    if origin in (AVERAGE, ABSOLUTE):
        return origin
    (number,) = _numbers(
        [origin],
        OptionError(
            f"unknown origin {shortened(origin)}",
            "choose 'average' (relative to the average rater), 'absolute' (with the items' actual difficulty), or the "
            "severity that counts as 0",
            value=origin,
            option="origin",
        ),
    )
    return number


def _numbers(values: Sequence[object], otherwise: OptionError) -> list[float]:
    """Finite numbers, or the error."""
    try:
        numbers = [float(value) for value in values]  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise otherwise from None
    if not np.isfinite(numbers).all():
        raise otherwise
    return numbers


def _refused(option: str, value: object, remedy: str) -> OptionError:
    return OptionError(Message(Option(option, value)), remedy)
