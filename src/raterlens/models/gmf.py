"""The generalized multi-facets model: raters differ in severity and in how well they tell students apart.

    S = rho_r sigma theta - eta_r - delta_i + alpha,     a_r = rho_r sigma,  sigma = max a_r

With covariates, log a_r is a linear function of them.
"""

from raterlens.models.effects import own_or_explained
from raterlens.models.spec import Spec

GMF = Spec("gmf", "generalized multi-facets model", slopes=own_or_explained)
