"""Charts: plot data first (plain frames, which tests check), drawing second. Each function returns an Altair chart."""

from collections.abc import Callable
from functools import partial, update_wrapper
from importlib import import_module
from typing import TYPE_CHECKING, Any

from raterlens.base.errors import choose, missing_charts
from raterlens.pictures.chart_names import CHARTS

if TYPE_CHECKING:
    from raterlens.pictures.capability_curves import curves
    from raterlens.pictures.capability_ranking import capability
    from raterlens.pictures.drift_periods import drift
    from raterlens.pictures.files import save, svg
    from raterlens.pictures.item_information import information
    from raterlens.pictures.misfit import expected, fit_statistics
    from raterlens.pictures.rater_network import network
    from raterlens.pictures.severity_change import what_if
    from raterlens.pictures.severity_contours import severity
    from raterlens.pictures.variable_map import wright

# No module has the name of a chart: importing it would replace the function by the module.
_WHERE = {
    "capability": "capability_ranking",
    "curves": "capability_curves",
    "drift": "drift_periods",
    "expected": "misfit",
    "fit_statistics": "misfit",
    "information": "item_information",
    "network": "rater_network",
    "severity": "severity_contours",
    "what_if": "severity_change",
    "wright": "variable_map",
    "save": "files",
    "svg": "files",
}

__all__ = [
    "capability",
    "curves",
    "drift",
    "expected",
    "fit_statistics",
    "information",
    "network",
    "save",
    "severity",
    "svg",
    "what_if",
    "wright",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        try:
            return getattr(import_module(f"raterlens.pictures.{_WHERE[name]}"), name)
        except ImportError as error:
            raise missing_charts(error) or error from None
    raise AttributeError(f"module 'raterlens.charts' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


class Plots:
    """The charts that take a fit, with this fit as their first argument: `fit.plot.capability()`."""

    __slots__ = ("_fit",)

    def __init__(self, fit: object) -> None:
        self._fit = fit

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        draw = __getattr__(choose("chart", name, dir(self)))
        return update_wrapper(partial(draw, self._fit), draw)

    def __dir__(self) -> list[str]:
        return [name for name, needs in CHARTS.items() if needs.fit]

    def __repr__(self) -> str:
        return f"<charts of a fit: {', '.join(dir(self))}>"
