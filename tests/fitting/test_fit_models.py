"""Several models side by side give what each gives alone, in the order asked for."""

from typing import Any

import pytest

import raterlens as rl
from raterlens.base.errors import OptionError


def test_each_model_is_fitted_as_if_alone(small: rl.Ratings) -> None:
    wanted = {"free": {}, "equal": {"model": "tfm"}, "probits": {"model": "gmf", "link": "probit"}}
    found = rl.fit_models(small, wanted, workers=1)
    assert list(found) == list(wanted)
    for name, options in wanted.items():
        alone = rl.fit(small, **options)
        assert found[name].loglik == alone.loglik
        assert found[name].config == alone.config


def test_names_alone_are_models(small: rl.Ratings) -> None:
    found = rl.fit_models(small.table(), ["tfm", "gmf"], workers=1)
    assert [fit.model for fit in found.values()] == list(found) == ["tfm", "gmf"]


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ("gmf", "give a list"),
        ([], "give a list"),
        (["gmf", "gmf"], "twice"),
        ({"a": "gmf"}, "options of 'a'"),
        ({"a": {"checkpoint": "x"}}, "'checkpoint' among the options of 'a'"),
    ],
)
def test_what_cannot_be_told_apart_is_refused_before_any_fit(
    small: rl.Ratings, models: Any, message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        rl.fit_models(small, models)
