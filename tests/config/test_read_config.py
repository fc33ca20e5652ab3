"""Options of reading; names, types and checks of all options."""

import inspect
from typing import get_type_hints

import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.config import FIT_OPTIONS, READ_OPTIONS, ColumnOptions, FitConfig, FitOptions, ReadConfig
from raterlens.config.option_fields import check_names, check_switch, check_text, check_whole
from raterlens.config.read_config import bands_text, map_text, pairs
from raterlens.sklearn import RaterCapability


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
