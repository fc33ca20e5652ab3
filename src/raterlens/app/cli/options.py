"""The options that commands share, as records for cyclopts.

Those of reading, fitting and the gate are the fields of `ReadConfig`, `FitConfig` and `Bounds`: a field added there is
an option here, with the help text, flag and bounds that the field carries.
"""

import shlex
from collections.abc import Sequence
from dataclasses import Field, dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

from cyclopts import Group, Parameter

from raterlens.app.web.settings import Settings
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option, between_commas
from raterlens.config import FitConfig, ReadConfig
from raterlens.config.option_fields import choices, takes_several
from raterlens.judging.bounds import Bounds
from raterlens.models.registry import MODELS

_TABLE = Group("Table", sort_key=1)
_MODEL = Group("Model", sort_key=2)
_DIAGNOSTICS = Group("Diagnostics", sort_key=3)
_GATE = Group("Gate", sort_key=3)
_DECISIONS = Group("Decisions", sort_key=4)
_WORK = Group("Long fits", sort_key=4)
_OUTPUT = Group("Output", sort_key=5)
_SERVER = Group("Server", sort_key=1)


def one_of(names: Sequence[str]) -> str:
    *most, last = (f"'{name}'" if " " in name else name for name in names)
    return f"{', '.join(most)} or {last}"


FILES = tuple(one.name for one in fields(FitConfig) if one.metadata.get("file"))
"""Options of a fit that the command line takes as files."""


def _help(option: "Field[Any]") -> str:
    """The field's help, with the values to choose from."""
    if option.name == "model":
        models = " ".join(f"{spec.name}: {spec.about}." for spec in MODELS.values())
        return f"Default: the data decide, starting from gmf. {models}"
    text: str = option.metadata["help"]
    offered = choices(option.type)
    named = not offered or all(name in text for name in offered)
    return text if named else f"{text.removesuffix('.')}: {one_of(offered)}."


def _option(option: "Field[Any]") -> tuple[str, Any, Any]:
    """A field of a configuration as a shell can give it: text, unless it is a number, a switch or a file."""
    kinds = (option.type, *get_args(option.type))
    shape: dict[str, Any] = {"name": option.metadata["flag"]} if "flag" in option.metadata else {}
    kind: Any = type(option.default) if isinstance(option.default, str | int) else str | None
    if option.name in FILES:
        kind = Path | None
    elif float in kinds and str not in kinds:
        kind, shape = float | None, shape | {"allow_leading_hyphen": True}
    elif int in kinds and bool not in kinds and option.default is None:
        kind = int | None
    default = option.default
    if kind is bool:
        shape |= {"negative": (), "show_default": False}
        if default is True:  # only its opposite changes anything
            default = False
            shape.setdefault("name", f"--no-{option.name.replace('_', '-')}")
    return option.name, Annotated[kind, Parameter(help=_help(option), **shape)], field(default=default)


def _record(config: type, group: Group) -> Any:
    options = [_option(option) for option in fields(config) if "help" in option.metadata]
    # With a docstring: Python would make one of all types and defaults, which takes longer than all else here.
    known = {"__doc__": f"The options of {config.__name__}, as a shell gives them."}
    made = make_dataclass(
        f"{config.__name__}Options", options, frozen=True, eq=False, repr=False, namespace=known
    )
    made.__module__ = __name__  # cyclopts does not look into classes of the standard library
    return Parameter(name="*", group=group)(made)


if TYPE_CHECKING:
    ReadOptions = ReadConfig
    FitOptions = FitConfig
    BoundOptions = Bounds
    ServerOptions = Settings
else:
    ReadOptions = _record(ReadConfig, _TABLE)
    FitOptions = _record(FitConfig, _MODEL)
    BoundOptions = _record(Bounds, _GATE)
    ServerOptions = _record(Settings, _SERVER)


def read_config(options: ReadOptions) -> ReadConfig:
    return ReadConfig(**_values(ReadConfig, options))


def fit_config(options: FitOptions) -> FitConfig:
    """The request, checked, without what has to be read from a file first."""
    given = _values(FitConfig, options)
    return FitConfig(**{name: value for name, value in given.items() if name not in FILES})


def files_of(options: FitOptions) -> dict[str, Path]:
    """The files that hold the other options of a fit."""
    return {name: path for name in FILES if (path := getattr(options, name)) is not None}


def bounds_of(options: BoundOptions) -> Bounds:
    return Bounds(**_values(Bounds, options))


def _values(config: type, options: Any) -> dict[str, Any]:
    """The shell's values, as the configuration takes them."""
    found: dict[str, Any] = {}
    for option in fields(config):
        value = getattr(options, option.name)
        if takes_several(option):
            names = several(option.name, value)
            value = names[0] if names and len(names) == 1 else names
        elif isinstance(value, float) and value.is_integer():
            value = int(value)
        elif option.default is True:
            value = not value
        found[option.name] = value
    return found


def several(name: str, text: str | None) -> list[str] | None:
    """Names between commas; a name that holds a comma itself goes in double quotes."""
    if text is None:
        return None
    cells = between_commas(text)
    if cells is None:
        raise OptionError(
            Message(Option(name), f" {text!r} has a name with a line break, or one that is too long"),
            "write names as the table does; one with a line break or a comma goes in double quotes",
            value=text,
            option=name,
        )
    names = [cell.strip() for cell in cells]
    if not names or "" in names:
        raise OptionError(
            Message(Option(name), f" {text!r} has an empty name"),
            "separate names with single commas",
            value=text,
            option=name,
        )
    return names


@Parameter(name="*", group=_DIAGNOSTICS)
@dataclass(frozen=True)
class DiagnosticColumns:
    """Columns that diagnostics look at; no part of the model."""

    time: Annotated[
        str | None,
        Parameter(help="Column that says when a rating was given (number or date): tests for drift."),
    ] = None
    groups: Annotated[
        str | None,
        Parameter(help="Columns that ratings may differ by (school,sex): tests each rater for bias."),
    ] = None


@Parameter(name="*", group=_DECISIONS)
@dataclass(frozen=True)
class DecisionOptions:
    """Options of decisions about students."""

    decide: Annotated[
        str | None,
        Parameter(
            allow_leading_hyphen=True,
            help="Where grades begin: a mean score by the average rater (1.5), several (1,2), or 'ability 0.3'. Says "
            "which decisions are safe.",
        ),
    ] = None
    remark: Annotated[
        int | None,
        Parameter(help="Plan this many further marks: whose work, by which rater, to put most grades right."),
    ] = None
    by_raters: Annotated[
        str | None,
        Parameter(
            help="Raters who may make further marks (AM,BE); by default all but those who need attention themselves."
        ),
    ] = None
    not_by: Annotated[str | None, Parameter(help="Raters who may not make further marks (CO).")] = None


@Parameter(name="*", group=_WORK)
@dataclass(frozen=True)
class LongFitOptions:
    """How a long fit is done."""

    checkpoint: Annotated[
        Path | None, Parameter(help="File to save progress to; removed when the fit is done.")
    ] = None
    resume: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Continue from the checkpoint.")
    ] = False
    cluster: Annotated[
        str | None, Parameter(help="Address of a Dask scheduler (tcp://host:8786) whose workers do the work.")
    ] = None

    def resuming(self) -> str:
        """The options that continue from the checkpoint."""
        cluster = ["--cluster", self.cluster] if self.cluster else []
        return shlex.join(["--checkpoint", str(self.checkpoint), "--resume", *cluster])


@Parameter(name="*", group=_OUTPUT)
@dataclass(frozen=True)
class Output:
    """Options of files and screen output."""

    out: Annotated[
        Path | None,
        Parameter(help="Folder for raters.csv, items.csv, students.csv, fit.json and report.html."),
    ] = None
    title: Annotated[str | None, Parameter(help="Title of the report.")] = None
    previous: Annotated[
        Path | None,
        Parameter(help="Earlier fit.json: start from it, say who has changed since, and watch for drift."),
    ] = None
    xlsx: Annotated[
        bool,
        Parameter(negative=(), show_default=False, help="Also write results.xlsx: formatted sheets."),
    ] = False
    json: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Print the whole fit as JSON and nothing else.")
    ] = False
    facets_tables: Annotated[
        bool,
        Parameter(negative=(), show_default=False, help="Print tables laid out as FACETS does, in logits."),
    ] = False
    quiet: Annotated[bool, Parameter(negative=(), show_default=False, help="Print nothing but errors.")] = (
        False
    )
    everyone: Annotated[
        bool, Parameter(name="--all", negative=(), show_default=False, help="List every rater.")
    ] = False


File = Annotated[
    Path,
    Parameter(
        name="FILE",
        help="Ratings: csv, tsv, xlsx, parquet, jsonl, sav, dta, rds, a database (FILE::TABLE), a FACETS control "
        "file, or - for standard input.",
    ),
]
MoreFiles = Annotated[
    Path, Parameter(name="FILES", help="Further files that are read together with it; adds a column 'file'.")
]
EVERYTHING_RECOGNISED = ReadOptions()
DEFAULT_FIT = FitOptions()
NO_BOUNDS = BoundOptions()
