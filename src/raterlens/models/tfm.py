"""The three-facets model (Linacre): every rater tells students apart equally well, and differs in severity.

S = sigma theta - eta_r - delta_i + alpha
"""

from raterlens.models.effects import Linear
from raterlens.models.spec import Spec

TFM = Spec("tfm", "three-facets model", slopes=lambda n_raters, covariates: Linear.common(n_raters))
