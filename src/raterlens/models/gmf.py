"""The generalized multi-facets model: raters differ in severity and in how well they tell students apart.

    S = rho_r sigma theta - eta_r - delta_i + alpha,     a_r = rho_r sigma,  sigma = max a_r
"""

from raterlens.models.facets import FacetsModel
from raterlens.models.parameters import Pairs


def gmf(pairs: Pairs) -> FacetsModel:
    return FacetsModel.build(pairs, slope_per_rater=True)
