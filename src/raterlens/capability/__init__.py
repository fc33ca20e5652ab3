"""Capability: how strongly a rater's pass rate follows ability. Pure functions of parameters, no data.

`gmf`, `tfm`, `probit` and `hrm` give the index of each model, `sharpness` how closely scores follow ability.
"""

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
