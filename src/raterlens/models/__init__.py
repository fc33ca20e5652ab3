"""Rater models: parameters to log-probability tables. A model never loops over students."""

from collections.abc import Callable

from raterlens.models.facets import FacetsModel
from raterlens.models.gmf import gmf
from raterlens.models.parameters import Pairs
from raterlens.models.tfm import tfm

MODELS: dict[str, Callable[[Pairs], FacetsModel]] = {"gmf": gmf, "tfm": tfm}
