"""The record of a request: its defaults, its checks, and how it travels."""

import inspect
import json
from dataclasses import fields, replace
from typing import get_type_hints

import pytest

import raterlens as rl
from raterlens.config import (
    FIT_OPTIONS,
    Anchors,
    EarlierScale,
    FitConfig,
    FitOptions,
    ReadConfig,
    fit_config,
)
from raterlens.errors import OptionError
from raterlens.sklearn import RaterCapability


def test_every_surface_offers_exactly_the_options_of_the_record():
    named = [p.name for p in inspect.signature(rl.fit).parameters.values() if p.name in FIT_OPTIONS]
    assert named == ["model", "method", "link"]
    assert set(get_type_hints(FitOptions)) == set(FIT_OPTIONS)
    constructor = inspect.signature(RaterCapability).parameters
    assert set(constructor) - {"cut", "raters", "items"} == set(FIT_OPTIONS)


def test_defaults_stand_in_one_place():
    default = FitConfig()
    for signature in (inspect.signature(rl.fit), inspect.signature(RaterCapability)):
        for name, parameter in signature.parameters.items():
            if name in FIT_OPTIONS:
                assert parameter.default == getattr(default, name), name


@pytest.mark.parametrize(
    ("options", "option", "message"),
    [
        ({"method": "mlm"}, "method", "unknown method 'mlm'; did you mean 'mml'?"),
        ({"link": "logits"}, "link", "did you mean 'logit'?"),
        ({"scale": "partial"}, "scale", "partial credit"),
        ({"covariance": "robust"}, "covariance", "choose one of: observed"),
        ({"item_slopes": 1}, "item_slopes", "give True or False"),
        ({"starts": 0}, "starts", "at least 1"),
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
    assert config.changed(model="gmf", seed=0) == FitConfig()
    assert ReadConfig(cut=3).given() == {"cut": 3}


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


@pytest.mark.parametrize(
    ("options", "option", "message"),
    [
        (
            {"cut": "3"},
            "cut",
            "cut='3' is not a finite number; give the lowest passing score, for example cut=3",
        ),
        ({"cut": float("nan")}, "cut", "cut=nan is not a finite number"),
        ({"cut": 2**63}, "cut", "cut=9223372036854775808 is beyond any score"),
        ({"wide": False}, "wide", "wide=False; give text"),
        (
            {"items": ["a"], "score": "b"},
            "score",
            "both items=['a'] and score='b' are given; choose one: items= for",
        ),
        ({"items": "a", "item": "b"}, "item", "both items=['a'] and item='b' are given"),
        (
            {"score": ["a", "b"]},
            "score",
            "score=['a', 'b'] names several columns; where each item has a column",
        ),
        (
            {"wide": "{rater} {judge}"},
            "wide",
            "wide='{rater} {judge}' does not hold {rater} or {item} or both",
        ),
        ({"encoding": "utf-9"}, "encoding", "unknown encoding 'utf-9'; try 'utf-8', 'cp1252' or 'utf-16'"),
        ({"encoding": "hex"}, "encoding", "unknown encoding 'hex'"),
    ],
)
def test_what_cannot_be_read_so_is_refused_before_any_file_is_opened(options, option, message):
    with pytest.raises(OptionError) as caught:
        ReadConfig(**options)
    assert message in str(caught.value)
    assert caught.value.option == option


def test_columns_are_kept_as_text_and_the_lowest_pass_as_a_number():
    config = ReadConfig(student=0, rater=["rater", 1], score=["mark"], cut=3.0)  # type: ignore[list-item]
    assert (config.student, config.rater, config.score) == ("0", ("rater", "1"), "mark")
    assert repr(config.cut) == "3"
    assert config.names("rater") == ("rater", "1")
    assert config.names("student") == ("0",)
    assert config.names("items") == ()
    assert config.given() == {"student": "0", "rater": ("rater", "1"), "score": "mark", "cut": 3}


def test_items_may_go_with_a_column_of_items_where_raters_have_columns():
    assert ReadConfig(wide="Mark {rater}", items=["Mark Ann"], item="task").item == "task"


@pytest.mark.parametrize("encoding", ["utf-99", "hex", "punycode", "idna", "undefined", "", "a\0b"])
def test_what_is_no_encoding_of_files(encoding):
    with pytest.raises(OptionError, match="unknown encoding"):
        ReadConfig(encoding=encoding)
