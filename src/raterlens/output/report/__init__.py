"""The report: one HTML file that stands alone."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from raterlens.output.report.page import render

__all__ = ["render"]


def __getattr__(name: str) -> Any:
    if name == "render":  # on first use: the web app's server takes style and scripts, and nothing numerical
        from raterlens.output.report.page import render

        return render
    raise AttributeError(f"module 'raterlens.output.report' has no attribute {name!r}")
