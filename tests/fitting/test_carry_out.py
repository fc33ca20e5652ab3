"""The pipeline: what it refuses before any work, and that every model goes through it."""

import pytest

from raterlens.base.errors import OptionError
from raterlens.config import FitConfig
from raterlens.fitting.line import carry_out, check
from raterlens.fitting.steps import Run
from raterlens.models.registry import MODELS


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"model": "gfm"}, "model"),
        ({"model": "hrm", "method": "laplace"}, "method"),
        ({"model": "hrm", "link": "cauchit"}, "link"),
        ({"model": "probit", "link": "logit"}, "link"),
        ({"model": "dawid-skene", "item_slopes": True}, "item_slopes"),
        ({"model": "hrm", "reference": "max"}, "reference"),
    ],
)
def test_what_a_model_does_not_take_is_refused_before_ratings_are_read(options, option):
    with pytest.raises(OptionError) as caught:
        check(FitConfig(**options), Run())
    assert caught.value.option == option


@pytest.mark.parametrize("options", [{"model": "hrm"}, {"method": "laplace"}])
def test_checkpoints_go_with_fits_over_parts_of_the_students(options, tmp_path):
    with pytest.raises(OptionError, match="a checkpoint goes with method 'mml' of the facets models"):
        check(FitConfig(**options), Run(checkpoint=tmp_path / "work"))


def test_going_on_needs_something_to_go_on_from():
    with pytest.raises(OptionError, match="resume is given without a checkpoint") as caught:
        check(FitConfig(), Run(resume=True))
    assert caught.value.option == "resume"


@pytest.mark.parametrize("model", MODELS)
def test_every_model_of_the_registry_goes_through_it(model, small):
    found = carry_out(FitConfig(model=model), small, Run())
    assert found.model == model
    assert found.link in MODELS[model].links
    assert {"raters", "items", "students"} <= set(found.tables)
    assert found.n_ratings == small.n_ratings
