import subprocess
import sys
from dataclasses import fields
from typing import get_args

import pytest

from raterlens.config import FitConfig, LinkName, Method
from raterlens.models.registry import COMMON, MODELS, facets_spec, is_latent_class, latent_class_spec

OPTIONS = {option.name for option in fields(FitConfig)}


def test_every_option_is_taken_by_some_model_and_no_other_is_named():
    taken = COMMON.union(*(spec.takes for spec in MODELS.values()))
    assert taken == OPTIONS
    assert not any(spec.takes & COMMON for spec in MODELS.values())


@pytest.mark.parametrize("name", MODELS)
def test_a_model_takes_links_and_methods_that_there_are(name):
    spec = MODELS[name]
    assert spec.name == name
    assert spec.links
    assert set(spec.links) <= set(get_args(LinkName))
    assert set(spec.methods) <= set(get_args(Method))


def test_what_the_models_are():
    assert [name for name in MODELS if is_latent_class(name)] == ["hrm", "dawid-skene"]
    assert latent_class_spec("hrm").ability
    assert not latent_class_spec("dawid-skene").ability
    assert facets_spec("probit").links == ("probit",)
    assert facets_spec("gmf").links[0] == "logit"
    assert "covariates" in facets_spec("gmf").takes
    assert "covariates" not in facets_spec("probit").takes


def test_listing_models_imports_nothing_heavy():
    code = "import sys, raterlens.models.registry; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
