"""Options of facets models that do not go together, and scores that a model does not take."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.capability.yardstick import ABSOLUTE, PERFECT
from raterlens.config import Anchors, EarlierScale, FitConfig
from raterlens.fitting.facets_checks import (
    check_scores,
    check_together,
    default_yardstick,
    known_scores,
)
from raterlens.models.build import model_options


def ordered(scores: list[int]) -> rl.Ratings:
    rows = len(scores)
    return rl.read(
        pl.DataFrame(
            {
                "student": np.arange(rows) // 2,
                "rater": ["a", "b"] * (rows // 2),
                "score": scores,
            }
        )
    )


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"link": "log", "method": "laplace"}, "method"),
        ({"link": "cauchit", "method": "hl"}, "method"),
        ({"anchors": Anchors(items={"i": 0.0}), "method": "hl"}, "anchors"),
        ({"anchors": Anchors(), "covariates": {"rater": ["a"], "x": [1]}}, "covariates"),
        ({"covariance": "conditional"}, "covariance"),
        ({"covariance": "expected", "method": "laplace"}, "covariance"),
        ({"covariance": "sandwich", "link": "log"}, "covariance"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, option):
    with pytest.raises(OptionError) as caught:
        check_together(FitConfig(**options))
    assert caught.value.option == option
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "probit"}, "use model='gmf'"),
        ({"method": "laplace"}, "use method='mml'"),
        ({"link": "log"}, "link='cloglog' with scale='graded'"),
        ({"link": "probit"}, "use scale='graded' or link='logit'"),
    ],
)
def test_ordered_scores_that_a_model_does_not_take(options, message):
    config, ratings = FitConfig(**options), ordered([0, 1, 2, 2, 1, 0])
    with pytest.raises(InputError, match=message) as caught:
        check_scores(ratings, 3, model_options(config), config.method)
    assert "give the lowest passing score, for example cut=2" in str(caught.value)
    assert caught.value.worded(lambda o: f"--{o.name} {o.value}").count("--cut 2") == 1


@pytest.mark.parametrize("options", [{}, {"link": "probit", "scale": "graded"}, {"scale": "partial credit"}])
def test_ordered_scores_that_a_model_takes(options):
    config = FitConfig(**options)
    check_scores(ordered([0, 1, 2, 2]), 3, model_options(config), config.method)


def test_only_scores_that_were_given_are_known():
    assert known_scores(FitConfig(), ordered([0, 3, 5, 3])) == (0, 3, 5)
    earlier = EarlierScale((0, 1, 2, 3, 4, 5), 1.2, 0.3, "standard")
    anchored = FitConfig(anchors=Anchors(earlier=earlier))
    assert known_scores(anchored, ordered([0, 3, 5, 3])) == (0, 1, 2, 3, 4, 5)


def test_the_yardstick_of_a_request_that_names_none():
    plain, probit = FitConfig(), FitConfig(model="probit")
    assert default_yardstick(plain, model_options(plain)).reference == "max"
    own = default_yardstick(probit, model_options(probit))
    assert (own.reference, own.origin) == (PERFECT, ABSOLUTE)
    anchored = FitConfig(anchors=Anchors(earlier=EarlierScale((0, 1), 1.2, 0.3, "normal 0 2")))
    found = default_yardstick(anchored, model_options(anchored))
    assert (found.reference, found.population, found.origin) == (1.2, "normal 0 2", -0.3)
