"""Charts of a fit as its attributes: `fit.plot.capability()`."""

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any

from raterlens import charts
from raterlens.base.errors import choose
from raterlens.pictures.chart_names import CHARTS

if TYPE_CHECKING:
    from raterlens.result.record import Result

NAMES = tuple(name for name, needs in CHARTS.items() if needs.fit)
"""Charts that take a fit; those of ratings alone are functions of `rl.charts`."""


class Plots:
    """The charts of `rl.charts`, with this fit as their first argument."""

    __slots__ = ("_fit",)

    def __init__(self, fit: "Result") -> None:
        self._fit = fit

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        draw = getattr(charts, choose("chart", name, NAMES))
        return update_wrapper(partial(draw, self._fit), draw)

    def __dir__(self) -> list[str]:
        return list(NAMES)

    def __repr__(self) -> str:
        return f"<charts of a fit: {', '.join(NAMES)}>"
