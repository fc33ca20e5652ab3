"""Capability: how strongly a rater's pass rate follows ability. Pure functions of parameters, no data.

`gmf`, `tfm`, `probit` and `hrm` give the index of each model, `sharpness` how closely scores follow ability; they are
loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from raterlens.capability.formulas import (
        best_severity,
        delta,
        delta_approximation,
        gmf,
        gmf_approximation,
        gmf_gradient,
        hrm,
        probit,
        sharpness,
        tfm,
    )

__all__ = [
    "best_severity",
    "delta",
    "delta_approximation",
    "gmf",
    "gmf_approximation",
    "gmf_gradient",
    "hrm",
    "probit",
    "sharpness",
    "tfm",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("raterlens.capability.formulas"), name)
    raise AttributeError(f"module 'raterlens.capability' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
