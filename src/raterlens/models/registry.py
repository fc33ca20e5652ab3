"""All models by name. Register one here and every surface offers it."""

from raterlens.models.gmf import GMF
from raterlens.models.hrm import DAWID_SKENE, HRM
from raterlens.models.probit import PROBIT
from raterlens.models.spec import FacetsSpec, LatentClassSpec, Spec
from raterlens.models.tfm import TFM

MODELS: dict[str, Spec] = {spec.name: spec for spec in (GMF, TFM, PROBIT, HRM, DAWID_SKENE)}


def facets_spec(name: str) -> FacetsSpec:
    """The spec of a model that is known to be a facets model."""
    spec = MODELS[name]
    assert isinstance(spec, FacetsSpec), name
    return spec


def latent_class_spec(name: str) -> LatentClassSpec:
    """The spec of a model that is known to have true categories."""
    spec = MODELS[name]
    assert isinstance(spec, LatentClassSpec), name
    return spec


def is_latent_class(name: str) -> bool:
    """Whether the model has true categories, pass and fail, in place of an ability that raters see."""
    return isinstance(MODELS[name], LatentClassSpec)
