"""Commands and their options."""

import dataclasses
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from cyclopts import Group

from raterlens.app.cli import options
from raterlens.app.cli.commands import COMMANDS, MODULES, app
from raterlens.app.cli.main import AT_FAULT, DONE, main
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
from raterlens.judging import Bounds
from raterlens.models.registry import MODELS
from raterlens.output.report.reproduce import flag
from tests.support.command_line import Captured

# ----------------------------------------- the table of commands: help for each, at once, and completion in shells


@pytest.mark.parametrize("arguments", [[], ["--help"], *([command, "--help"] for command in COMMANDS)])
def test_help_has_examples(arguments: list[str], capsys: Captured) -> None:
    assert main(arguments) == DONE
    shown = capsys.readouterr().out
    assert "Usage: raterlens" in shown
    assert {"demo", "study"} & set(arguments) or "Examples:" in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says(name: str) -> None:
    own = import_module(f"raterlens.app.cli.{MODULES[name]}")
    assert (getattr(own, name).__doc__ or "").splitlines()[0] == COMMANDS[name]
    assert app[name].name == (name,)


def test_help_loads_no_command() -> None:
    probe = (
        "import sys; from raterlens.app.cli.main import main; main(['--help']); "
        "sys.exit(','.join(m for m in sys.modules if m.endswith(('_command', '_commands'))) or None)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_version(capsys: Captured) -> None:
    from importlib.metadata import version

    assert main(["--version"]) == DONE
    assert capsys.readouterr().out.strip() == version("raterlens")


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "--items", "1.5"],
        ["plan", "--common", "-0.5"],
        ["next", "x.csv", "--budget", "2.5"],
        ["fit", "x.csv", "--starts", "1.5"],
        ["simulate", "--out", "x.csv", "--students", "9.99"],
    ],
)
def test_a_whole_number_is_not_rounded(words: list[str], capsys: Captured) -> None:
    assert main(words) == AT_FAULT
    said = capsys.readouterr().err
    assert f"{words[-2]}: '{words[-1]}' is not a whole number" in said
    assert said.count("\n") == 1


def test_a_whole_number_may_be_written_with_a_point() -> None:
    _, bound, _ = app.parse_args(["next", "x.csv", "--budget", "2.0"])
    assert bound.arguments["budget"] == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_its_options_are_completed(shell: str, capsys: Captured) -> None:
    assert main(["completion", shell]) == DONE
    script = capsys.readouterr().out
    assert all(name in script for name in COMMANDS)
    assert all(option in script for option in ("standard-errors", "min-sharpness", "halo"))


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_a_command_and_an_option(capsys: Captured) -> None:
    main(["completion", "bash"])
    ask = (
        "\nfor words in 'raterlens com' 'raterlens fit --hal'; do COMP_WORDS=($words); "
        "COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ));"
        ' COMPREPLY=(); _raterlens; echo "${COMPREPLY[@]}"; done'
    )
    done = subprocess.run(
        ["bash", "-c", capsys.readouterr().out + ask], capture_output=True, text=True, check=True, timeout=60
    )
    assert [line.split() for line in done.stdout.splitlines()] == [["compare", "completion"], ["--halo"]]


def test_another_shell_is_refused(capsys: Captured) -> None:
    assert main(["completion", "tcsh"]) == AT_FAULT
    assert "tcsh" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["--help"], ["fit", "--help"], ["--version"], ["fit", "--modle", "x"], ["fitt"]]
)
def test_help_and_mistakes_are_answered_without_heavy_imports(arguments: list[str]) -> None:
    heavy = ("scipy", "polars", "numpy", "jinja2", "narwhals", "numba", "altair", "pandas", "pyarrow")
    probe = (
        "import sys; from raterlens.app.cli.main import main; main(sys.argv[1:]); "
        f"sys.exit(','.join(m for m in {heavy} if m in sys.modules) or None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe, *arguments], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


SLOW_PARTS = tuple(f"scipy.{part}" for part in ("stats", "optimize", "interpolate", "integrate", "spatial"))


FOR_OTHER_FILES = (
    "sqlite3",
    "xml",
    "raterlens.reading.facets_control",
    "raterlens.output.excel",
)
FOR_OTHER_MODELS = ("raterlens.fitting.latent_class_fit",)


@pytest.mark.parametrize("command", ["fit", "fit --out", "check"])
def test_a_command_imports_nothing_slow_that_it_does_not_need(
    table: Path, tmp_path: Path, command: str
) -> None:
    name, *out = command.split()
    spare = (
        "pandas",
        "pyarrow",
        "numba",
        "altair",
        "matplotlib",
        *SLOW_PARTS,
        *FOR_OTHER_FILES,
        *FOR_OTHER_MODELS,
    )
    if name == "check":
        spare = (*spare, "scipy", "jinja2", "narwhals")
    probe = (
        "import sys; from raterlens.app.cli.main import main; code = main(sys.argv[1:]); "
        f"sys.exit(code or ','.join(m for m in {spare} if m in sys.modules) or None)"
    )
    arguments = [name, str(table), *out, *[str(tmp_path / "results") for _ in out]]
    done = subprocess.run(
        [sys.executable, "-c", probe, *arguments], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


# -------------- every option of reading, of a fit and of a gate is an option of the command line, with a help text


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

    record = options.option_record(Wider, Group("Model"))
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
