"""How students' abilities are distributed, beside a normal distribution: where that was estimated."""

from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from raterlens.base.arrays import Array
from raterlens.capability.ability_shape import AbilityShape
from raterlens.models.terms.shape import SHAPE
from raterlens.output.report import english as words
from raterlens.output.report.drawing import Plot, scale

if TYPE_CHECKING:
    from raterlens.inference.result import Result

_HEIGHT = 220
_SHARES = (0.001, 0.999)
"""Of the students, between which abilities are drawn."""


def density(fit: "Result", theta: Array) -> Array:
    """Of abilities, as the fit has them: normal unless their shape was estimated."""
    shape = _shape(fit)
    return np.exp(-(theta**2) / 2 - np.log(2 * np.pi) / 2 if shape is None else shape.log_density(theta))


def abilities(fit: "Result", widths: tuple[int, ...]) -> tuple[Markup, ...] | None:
    """One drawing per width; None where abilities were taken for normal."""
    shape = _shape(fit)
    if shape is None:
        return None
    ends = shape.at(np.array(_SHARES))
    theta = np.linspace(min(-3.5, ends[0]), max(3.5, ends[1]), 241)
    found, normal = density(fit, theta), np.exp(-(theta**2) / 2) / np.sqrt(2 * np.pi)
    top = 1.12 * float(max(found.max(), normal.max()))
    drawn = []
    for width in widths:
        x = scale(theta[0], theta[-1], words.AXES["theta"], 7, grid=True)
        plot = Plot(width, _HEIGHT, x, scale(0.0, top, words.AXES["density"], 4))
        plot.area(theta, np.zeros_like(theta), found, "accent", 0.15)
        plot.line(theta, normal, "faint", 'stroke-dasharray="4 3" stroke-width="1.5"')
        plot.line(theta, found, "accent", 'stroke-width="2.2"')
        drawn.append(plot.svg(words.ABILITIES_SAID))
    return tuple(drawn)


def _shape(fit: "Result") -> AbilityShape | None:
    known = None if fit.calibration is None else fit.calibration.effects.get(SHAPE)
    return None if known is None else AbilityShape.of(*known.tolist())
