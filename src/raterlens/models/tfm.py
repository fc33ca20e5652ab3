"""The three-facets model (Linacre): every rater tells students apart equally well, and differs in severity.

    S = sigma theta - eta_r - delta_i + alpha
"""

from raterlens.models.facets import FacetsModel
from raterlens.models.parameters import Pairs


def tfm(pairs: Pairs) -> FacetsModel:
    return FacetsModel.build(pairs, slope_per_rater=False)
