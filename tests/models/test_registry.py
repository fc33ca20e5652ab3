"""The models by name, what each takes, and where slopes come from."""

import subprocess
import sys
from dataclasses import FrozenInstanceError, fields
from typing import get_args

import numpy as np
import pytest
from scipy import stats

from raterlens.config import FitConfig, LinkName, Method
from raterlens.models.registry import COMMON, DAWID_SKENE, GMF, HRM, MODELS, TFM, Spec, own_slopes
from tests.support.facets_models import make, somewhere

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
    assert [name for name in MODELS if MODELS[name].true_category] == ["hrm", "dawid-skene"]
    assert MODELS["hrm"].ability
    assert not MODELS["dawid-skene"].ability
    assert MODELS["probit"].links == ("probit",)
    assert MODELS["gmf"].links[0] == "logit"
    assert "covariates" in MODELS["gmf"].takes
    assert "covariates" not in MODELS["probit"].takes


def test_listing_models_imports_nothing_heavy():
    code = "import sys, raterlens.models.registry; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_facets_model_takes_a_few_lines():
    spec = Spec("one", "one model", "raters are all alike", slopes=GMF.slopes)
    assert spec.takes == GMF.takes
    assert spec.ordered
    assert spec.links[0] == "logit"
    with pytest.raises(FrozenInstanceError):
        spec.name = "other"  # type: ignore[misc]


def test_options_of_a_family_are_not_common():
    assert not COMMON & GMF.takes
    assert "starts" not in GMF.takes


def test_only_the_hierarchical_model_has_abilities():
    assert (HRM.ability, DAWID_SKENE.ability) == (True, False)
    for spec in (HRM, DAWID_SKENE):
        assert spec.methods == ("mml",)
        assert spec.takes == {"allow_reversed"}
        assert not spec.ordered


def test_every_rater_has_a_slope_or_covariates_explain_its_logarithm():
    own = own_slopes(3, None)
    np.testing.assert_array_equal(own(np.array([0.5, 1.0, 2.0])), [0.5, 1.0, 2.0])
    explained = GMF.slopes(3, np.column_stack([np.ones(3), [0.0, 1.0, 2.0]]))
    np.testing.assert_allclose(explained(np.array([0.2, 0.3])), np.exp([0.2, 0.5, 0.8]))


def test_all_raters_share_a_slope_whatever_the_covariates():
    for covariates in (None, np.ones((3, 1))):
        slopes = TFM.slopes(3, covariates)
        assert slopes.size == 1
        np.testing.assert_array_equal(slopes(np.array([1.7])), [1.7] * 3)


def test_a_rater_passes_what_it_sees_above_its_threshold(small):
    """P(pass) = Phi((theta - alpha_r - delta_i) / sigma_r), with a_r = 1 / sigma_r and b_r = alpha_r / sigma_r."""
    model, response = make(small, "probit")
    x, theta = somewhere(model), 0.7
    a, b, delta = (x[model.blocks[name]] for name in ("slope", "severity", "difficulty"))
    log_prob = response.log_prob(model.predictor(x), np.array([theta]))[:, 1, 0]
    r, i = model.contexts.rater, model.contexts.item
    noise, threshold = 1 / a[r], b[r] / a[r]
    assert np.exp(log_prob) == pytest.approx(
        stats.norm.cdf((theta - threshold - delta[i]) / noise), rel=1e-12
    )
