"""Options of a fit, anchors and interactions."""

import json
from dataclasses import asdict, fields, replace
from typing import Any

import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.config import Anchors, EarlierScale, FitConfig, fit_config
from raterlens.config.fit_config import facets_of, interaction_terms


@pytest.mark.parametrize(
    ("options", "option", "message"),
    [
        ({"method": "mlm"}, "method", "unknown method 'mlm'; did you mean 'mml'?"),
        ({"link": "logits"}, "link", "did you mean 'logit'?"),
        ({"scale": "partial"}, "scale", "partial credit"),
        ({"covariance": "robust"}, "covariance", "choose one of: observed"),
        ({"item_slopes": 1}, "item_slopes", "give True or False"),
        ({"starts": 0}, "starts", "from 1 to 1,000"),
        ({"starts": 10**400}, "starts", "from 1 to 1,000"),
        ({"trusted": False}, "trusted", "name the raters"),
        ({"trusted": 5}, "trusted", "name the raters"),
        ({"known_slope": None}, "known_slope", "known_slope=None is not possible"),
        ({"seed": -1}, "seed", "at least 0"),
        ({"max_iterations": 2.5}, "max_iterations", "whole number"),
        ({"anchors": {"r1": 1}}, "anchors", "rl.Anchors"),
        ({"modle": "gmf"}, "option", "did you mean 'model'?"),
    ],
)
def test_a_wrong_option_is_named_with_the_value_seen(options, option, message):
    with pytest.raises(OptionError, match=message.replace("?", r"\?")) as caught:
        fit_config(options)
    assert caught.value.option == option
    assert caught.value.remedy


def test_what_is_given_is_what_differs_from_the_defaults():
    config = FitConfig(model="tfm", seed=3)
    assert config.given() == {"model": "tfm", "seed": 3}
    assert FitConfig(**config.given()) == config
    assert config.changed(model=None, seed=0) == FitConfig()


def test_a_population_is_kept_in_words():
    assert FitConfig(population=(0.5, 1.25)).population == "normal 0.5 1.25"
    assert FitConfig(population=rl.Window(0.5, 0.25)).population == "window 0.5 0.25"
    assert FitConfig(population="estimated").population == "estimated"


def test_a_request_survives_json():
    anchors = Anchors(
        raters={"AM": (1.5, None)},
        items={"style": -0.3},
        thresholds={"style": [0.1, 0.9]},
        earlier=EarlierScale((0, 1, 2), None, 0.25, "standard"),
    )
    config = FitConfig(anchors=anchors, reference=1.5, origin="absolute", covariance="sandwich")
    again = FitConfig.from_plain(json.loads(json.dumps(config.to_plain())))
    assert again == config
    assert replace(again, anchors=None) == replace(config, anchors=None)


def test_every_field_has_a_default():
    assert FitConfig() == FitConfig(**{f.name: f.default for f in fields(FitConfig)})


@pytest.mark.parametrize("earlier", [None, EarlierScale((0, 1, 2), 1.5, -0.25, "standard")])
def test_anchors_survive_json(earlier):
    anchors = Anchors(raters={"AM": (None, 0.5)}, facets={"topic": {"sport": 0.1}}, earlier=earlier)
    again = Anchors.from_plain(json.loads(json.dumps(asdict(anchors))))
    assert again == anchors
    assert again.raters["AM"] == (None, 0.5)


@pytest.mark.parametrize(
    ("given", "terms"),
    [
        (None, None),
        ((), None),
        ("rater:item", ("rater:item",)),
        (("rater", "item"), ("rater:item",)),
        (("topic", "rater"), ("rater:topic",)),
        ([("rater", "item"), "topic:rater", "rater:item"], ("rater:item", "rater:topic")),
        (("rater:item", "rater:topic"), ("rater:item", "rater:topic")),
        ("rater:part: two", ("rater:part: two",)),
    ],
)
def test_terms(given: Any, terms: tuple[str, ...] | None) -> None:
    assert interaction_terms(given) == terms
    assert interaction_terms(terms) == terms
    assert facets_of(terms) == tuple(term.removeprefix("rater:") for term in terms or ())


@pytest.mark.parametrize("given", ["item", "item:topic", "rater:", "rater:rater", ("a", "b"), 3, [3]])
def test_what_is_no_interaction(given: Any) -> None:
    with pytest.raises(OptionError, match=r"is not a rater interaction; use"):
        interaction_terms(given)
