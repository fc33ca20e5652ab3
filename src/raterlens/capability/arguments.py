"""Arguments of the formulas as arrays, checked; and results as NumPy returns them."""

import numpy as np
from numpy.typing import ArrayLike

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError
from raterlens.base.text import shortened
from raterlens.capability.population import Normal


def number(name: str, value: ArrayLike, advice: str, *, low: float = -np.inf, high: float = np.inf) -> Array:
    """`value` as an array of finite numbers in [low, high], or an error with the first that is not."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(
            f"{name} is {shortened(value)}, not a number or an array of numbers",
            advice,
            value=value,
            option=name,
        ) from None
    wrong = ~(np.isfinite(array) & (array >= low) & (array <= high))
    if wrong.any():
        seen = float(array[wrong].flat[0])
        span = (
            "finite"
            if np.isinf(low)
            else f"at least {low:g}"
            if np.isinf(high)
            else f"in [{low:g}, {high:g}]"
        )
        raise OptionError(f"{name} is {seen:g}", f"it must be {span}: {advice}", value=seen, option=name)
    return array


def positive(name: str, value: ArrayLike, advice: str) -> Array:
    array = number(name, value, advice)
    if not (array > 0).all():
        seen = float(array[array <= 0].flat[0])
        raise OptionError(f"{name} is {seen:g}", f"it must be above 0: {advice}", value=seen, option=name)
    return array


def normal_students(mean: float, sd: float) -> Normal:
    return Normal(
        float(number("mean", mean, "give the students' mean ability")),
        float(positive("sd", sd, "it is the standard deviation of the students' abilities")),
    )


def plain(array: Array) -> Array:
    """A NumPy scalar for a result without axes, as NumPy's own functions return."""
    return np.asarray(array)[()]
