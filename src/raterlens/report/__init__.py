"""The report: one HTML file that stands alone."""

from raterlens.report.page import render

__all__ = ["render"]
