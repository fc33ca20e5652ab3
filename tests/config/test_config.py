"""Requests: what to fit, and how to read a table."""

import inspect
import json
from dataclasses import asdict, fields, replace
from typing import Any, get_type_hints

import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.config import (
    FIT_OPTIONS,
    READ_OPTIONS,
    Anchors,
    ColumnOptions,
    EarlierScale,
    FitConfig,
    FitOptions,
    ReadConfig,
    fit_config,
)
from raterlens.config.fit_config import facets_of, interaction_terms
from raterlens.config.option_fields import check_names, check_switch, check_text, check_whole
from raterlens.config.read_config import bands_text, map_text, pairs
from raterlens.sklearn import RaterCapability

# ---------------------------------------------------------------------- options of a fit, anchors and interactions


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


# ------------------------------------------------------ options of reading; names, types and checks of all options


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


def test_every_surface_offers_exactly_the_options_of_the_record():
    named = [p.name for p in inspect.signature(rl.fit).parameters.values() if p.name in FIT_OPTIONS]
    assert named == ["model", "method", "link"]
    assert set(get_type_hints(FitOptions)) == set(FIT_OPTIONS)
    assert set(get_type_hints(ColumnOptions)) == {*FIT_OPTIONS, *READ_OPTIONS} - {*named}
    constructor = inspect.signature(RaterCapability).parameters
    assert set(constructor) - {"cut", "raters", "items"} == set(FIT_OPTIONS)


def test_defaults_stand_in_one_place():
    default = FitConfig()
    for signature in (inspect.signature(rl.fit), inspect.signature(RaterCapability)):
        for name, parameter in signature.parameters.items():
            if name in FIT_OPTIONS:
                assert parameter.default == getattr(default, name), name


def test_what_is_given_differs_from_the_default():
    assert ReadConfig(cut=3).given() == {"cut": 3}
    assert FitConfig().given() == {}


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: check_names(ReadConfig, ["studnet"]), "did you mean 'student'"),
        (lambda: check_switch("halo", 1), "halo=1; give True or False"),
        (lambda: check_text("table", 7), "table=7; give text"),
        (
            lambda: check_whole("seed", True, 0),
            "seed=True is not possible; give a whole number of at least 0",
        ),
        (lambda: check_whole("starts", 0, 1), "starts=0 is not possible; give a whole number of at least 1"),
    ],
)
def test_what_does_not_fit_is_named(check, message):
    with pytest.raises(OptionError, match=message):
        check()


def test_what_fits_passes():
    check_names(FitConfig, ["model"])
    check_switch("halo", False)
    check_text("table", None)
    check_whole("seed", 0, 0)


def test_bands_and_words_are_kept_as_text_that_means_the_same() -> None:
    config = ReadConfig(bands=[40, 62.5], map={"good, or so": 1, "bad": 0, "absent": None, "a=b": 2})
    assert config.edges() == (40.0, 62.5)
    assert config.worth() == {"good, or so": 1.0, "bad": 0.0, "absent": None, "a=b": 2.0}
    assert ReadConfig(**config.given()) == config


@pytest.mark.parametrize("bands", ["", "4,4", "5,3", "a", [1, float("nan")], 3, [10**400]])
def test_what_are_no_bands(bands: object) -> None:
    with pytest.raises(OptionError, match="is not a list of ascending numbers; give the lowest score"):
        bands_text(bands)


@pytest.mark.parametrize(
    "worth", ["", "good", "good=x", "\n0", {}, {"a": True}, {"a": float("inf")}, 3, {"a": 10**400}]
)
def test_what_says_nothing_of_words(worth: object) -> None:
    with pytest.raises(OptionError, match="does not say what words are worth"):
        map_text(worth)


def test_negative_numbers_and_blank_words() -> None:
    assert pairs("-1=, =0") == {"-1": None, "": 0.0}


def test_a_cut_and_bands_do_not_go_together() -> None:
    with pytest.raises(OptionError, match=r"both cut=3 and bands=\[1, 2\] are given"):
        ReadConfig(cut=3, bands=[1, 2])
