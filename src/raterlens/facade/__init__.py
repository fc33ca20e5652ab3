"""`Fit`, what users hold: a thin layer of methods."""

from raterlens.facade.fit import Fit, fitted

__all__ = ["Fit", "fitted"]
