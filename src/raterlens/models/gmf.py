"""The generalized multi-facets model: raters differ in severity and in how well they tell students apart.

    S = rho_r sigma theta - eta_r - delta_i + alpha,     a_r = rho_r sigma,  sigma = max a_r

With covariates, log a_r is a linear function of them.
"""

from typing import TYPE_CHECKING

from raterlens.models.spec import FacetsSpec

if TYPE_CHECKING:
    from raterlens.base.types import Array
    from raterlens.models.effects import Effect


def own_slopes(n_raters: int, covariates: "Array | None") -> "Effect":
    """A slope for each rater, or log-slopes explained by covariates."""
    from raterlens.models.effects import Linear, LogLinear  # NumPy, which listing models does without

    return Linear.own(n_raters) if covariates is None else LogLinear(covariates)


GMF = FacetsSpec(
    "gmf",
    "generalized multi-facets model",
    "raters differ in severity and in discrimination",
    slopes=own_slopes,
)
