"""Charts: plot data first (plain frames, tested), drawing second. Each function returns an Altair chart."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from raterlens.charts.contours import severity
    from raterlens.charts.intervals import capability
    from raterlens.charts.output import save, svg

# No file has the name of a chart: importing it would put the module in the chart's place.
_WHERE = {
    "capability": "intervals",
    "severity": "contours",
    "save": "output",
    "svg": "output",
}

__all__ = ["capability", "save", "severity", "svg"]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"raterlens.charts.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'raterlens.charts' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
