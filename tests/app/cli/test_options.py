"""Every option of reading, of a fit and of a gate is an option of the command line, with a help text."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import pytest

from raterlens.app.cli import options
from raterlens.app.cli.main import main
from raterlens.app.cli.options import (
    FILES,
    bounds_of,
    fit_config,
    read_config,
    several,
)
from raterlens.base.errors import OptionError
from raterlens.base.text import Option
from raterlens.config import FitConfig, ReadConfig
from raterlens.config.option_fields import option
from raterlens.judging.bounds import Bounds
from raterlens.models.registry import MODELS
from raterlens.output.report.reproduce import flag
from tests.support.command_line import Captured


@pytest.mark.parametrize("config", [ReadConfig, FitConfig, Bounds])
def test_every_field_has_a_help_text_and_an_option(config: type, capsys: Captured) -> None:
    assert all(field.metadata["help"].endswith(".") for field in dataclasses.fields(config))
    main(["check", "--help"])
    shown = capsys.readouterr().out
    for field in dataclasses.fields(config):
        (word, *_) = flag(Option(field.name, False if field.default is True else None))
        assert f" {word} " in shown


def test_help_lists_every_model(capsys: Captured) -> None:
    main(["fit", "--help"])
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for spec in MODELS.values():
        assert f"{spec.name}: {spec.about}." in shown


VALUES: dict[str, Any] = {
    "bands": "40,60",
    "piece": "essay",
    "trusted_column": "expert",
    "map": "good=1,bad=0",
    "model": "tfm",
    "assumptions": "warn",
    "method": "laplace",
    "link": "probit",
    "scale": "graded",
    "covariance": "sandwich",
    "reference": "quantile 0.9",
    "population": "normal 0.5 1.2",
    "origin": "absolute",
    "halo": "rater",
    "repeats": "separate",
    "interactions": ("rater:item", "rater:a, b"),
    "known": "gold",
    "known_slope": 3.5,
    "shared": "yes",
    "ability": "smooth",
    "prior": "panel",
    "score": "mark",
    "table": "Sheet 2",
    "wide": "{rater} {item}",
    "format": "csv",
    "encoding": "cp1252",
    "cut": -1.5,
    "known_cut": -1.5,
    "known_map": "right=1,wrong=0",
    "draw": "epoch",
    "group": "system",
    "group_means": "linear",
    "fair": "across",
    "markers": "Marker {n}:Mark {n}",
    "pattern": r"\[\[(.+?)\]\]",
    "best": "low",
    "duplicates": "first",
}


def other_value(field: "dataclasses.Field[Any]") -> Any:
    """A value that is not the default."""
    if field.name in VALUES:
        return VALUES[field.name]
    if isinstance(field.default, bool):
        return not field.default
    return field.default + 7 if isinstance(field.default, int) else ("a", "b, c")


def parsed(command: str, *words: str) -> dict[str, Any]:
    """The records that cyclopts makes of a command line."""
    from raterlens.app.cli.commands import app

    _, bound, _ = app.parse_args([command, "file.csv", *words], exit_on_error=False, print_error=False)
    return dict(bound.arguments)


@pytest.mark.parametrize(
    "name", [field.name for field in dataclasses.fields(FitConfig) if field.name not in FILES]
)
def test_an_option_of_a_fit_arrives_as_it_was_given(name: str) -> None:
    (field,) = (field for field in dataclasses.fields(FitConfig) if field.name == name)
    value = other_value(field)
    for command in ("fit", "check"):
        found = parsed(command, *flag(Option(name, value)))
        assert fit_config(found["model"]).given() == {name: value}


@pytest.mark.parametrize("field", dataclasses.fields(ReadConfig), ids=lambda field: field.name)
def test_an_option_of_reading_arrives_as_it_was_given(field: "dataclasses.Field[Any]") -> None:
    value = other_value(field)
    found = parsed("fit", *flag(Option(field.name, value)))
    assert read_config(found["columns"]).given() == {field.name: value}


def test_bounds_arrive_as_they_were_given() -> None:
    found = parsed(
        "check", "--min-kappa", "0.6", "--min-ratings", "20", "--by-estimate", "--only", 'a,"b, c"'
    )
    assert bounds_of(found["bounds"]) == Bounds(
        min_kappa=0.6, min_ratings=20, confident=False, raters=["a", "b, c"]
    )


def test_a_new_field_is_an_option_without_further_work() -> None:
    @dataclass(frozen=True)
    class Wider(FitConfig):
        haste: str = option("none", "Haste.")
        strict: bool = option(True, "Not strict.")

    record = options.option_record(Wider, options._MODEL)
    kinds = {field.name: field.type for field in dataclasses.fields(record)}
    assert record().haste == "none"
    assert kinds["haste"].__metadata__[0].help == "Haste."
    assert kinds["strict"].__metadata__[0].name == ("--no-strict",)


def test_names_between_commas() -> None:
    assert several("rater", 'judge, "class, year"') == ["judge", "class, year"]
    with pytest.raises(OptionError) as refused:
        several("rater", "judge,")
    assert refused.value.option == "rater"
    with pytest.raises(OptionError, match="line break"):
        several("rater", "judge\nclass")
