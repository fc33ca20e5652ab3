"""The three-facets model (Linacre): every rater tells students apart equally well, and differs in severity.

S = sigma theta - eta_r - delta_i + alpha
"""

from typing import TYPE_CHECKING

from raterlens.models.spec import FacetsSpec

if TYPE_CHECKING:
    from raterlens.base.types import Array
    from raterlens.models.effects import Effect


def common_slope(n_raters: int, covariates: "Array | None") -> "Effect":
    """One slope for all raters; covariates explain severity only."""
    from raterlens.models.effects import Linear  # NumPy, which listing models does without

    return Linear.common(n_raters)


TFM = FacetsSpec("tfm", "three-facets model", "raters differ in severity only", slopes=common_slope)
