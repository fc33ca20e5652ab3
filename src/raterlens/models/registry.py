"""Rater models: parameters to log-probability tables. A model never loops over students."""

from raterlens.models.gmf import GMF
from raterlens.models.probit import PROBIT
from raterlens.models.tfm import TFM

FACETS_MODELS = {spec.name: spec for spec in (GMF, TFM, PROBIT)}
