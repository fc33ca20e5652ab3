"""Charts: plot data first (plain frames, which tests check), drawing second. Each function returns an Altair chart."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from raterlens.base.errors import missing_charts

if TYPE_CHECKING:
    from raterlens.charts.capability_curves import curves
    from raterlens.charts.capability_ranking import capability
    from raterlens.charts.drift_periods import drift
    from raterlens.charts.item_information import information
    from raterlens.charts.mean_squares import fit_statistics
    from raterlens.charts.observed_scores import expected
    from raterlens.charts.output import save, svg
    from raterlens.charts.rater_network import network
    from raterlens.charts.severity_change import what_if
    from raterlens.charts.severity_contours import severity
    from raterlens.charts.variable_map import wright

# No module has the name of a chart: importing it would replace the function by the module.
_WHERE = {
    "capability": "capability_ranking",
    "curves": "capability_curves",
    "drift": "drift_periods",
    "expected": "observed_scores",
    "fit_statistics": "mean_squares",
    "information": "item_information",
    "network": "rater_network",
    "severity": "severity_contours",
    "what_if": "severity_change",
    "wright": "variable_map",
    "save": "output",
    "svg": "output",
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
            return getattr(import_module(f"raterlens.charts.{_WHERE[name]}"), name)
        except ImportError as error:
            raise missing_charts(error) or error from None
    raise AttributeError(f"module 'raterlens.charts' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
