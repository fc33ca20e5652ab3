"""The options that commands share, as records for cyclopts.

Those of reading, fitting and the gate are the fields of `ReadConfig`, `FitConfig` and `Bounds`: a field added there is
an option here, with the help text, flag and bounds that the field carries.
"""

from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args

from cyclopts import Group, Parameter

from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option, between_commas
from raterlens.config import FitConfig, ReadConfig
from raterlens.config.option_fields import choices, option, takes_several
from raterlens.judging import Bounds
from raterlens.models.registry import MODELS
from raterlens.output.report.reproduce import SEVERAL, Request

Record = TypeVar("Record")


def one_of(names: Sequence[str]) -> str:
    *most, last = (f"'{name}'" if " " in name else name for name in names)
    return f"{', '.join(most)} or {last}"


FILES = tuple(one.name for one in fields(FitConfig) if one.metadata.get("file"))
"""Options of a fit that the command line takes as files."""
_ASKED = {one.name for one in fields(Request)}


def _help(one: "Field[Any]") -> str:
    """Return the field's help, with the values to choose from."""
    if one.name == "model":
        models = " ".join(f"{spec.name}: {spec.about}." for spec in MODELS.values())
        return f"Default: the data decide, starting from gmf. {models}"
    text: str = one.metadata["help"]
    offered = choices(one.type)
    named = not offered or all(name in text for name in offered)
    return text if named else f"{text.removesuffix('.')}: {one_of(offered)}."


def _parameter(one: "Field[Any]", kind: Any, help_text: str) -> Parameter:
    """How the command line takes an option, by its type and what its field says."""
    how = one.metadata
    shape: dict[str, Any] = {}
    if kind is bool:
        shape = {"negative": (), "show_default": False}
        if one.default is True:  # only its opposite changes anything
            shape["name"] = f"--no-{one.name.replace('_', '-')}"
    if float in (kind, *get_args(kind)) or "hyphen" in how:
        shape["allow_leading_hyphen"] = True
    shape |= {name: how[key] for name, key in (("name", "flag"), ("group", "group")) if key in how}
    return Parameter(help=help_text, **shape)


def shell_record(group: Group | str = "Parameters") -> Callable[[type[Record]], type[Record]]:
    """A dataclass whose fields are options of a command, each by its `option(...)`."""

    def made(record: type[Record]) -> type[Record]:
        for one in fields(record):  # type: ignore[arg-type]
            parameter = _parameter(one, one.type, one.metadata["help"])
            record.__annotations__[one.name] = Annotated[one.type, parameter]
        return Parameter(name="*", group=group)(record)

    return made


def option_record(config: type, group: Group) -> Any:
    """The options of a configuration, as a shell gives them: text, unless it is a number, a switch or a file."""
    options: list[Any] = []
    for one in (one for one in fields(config) if "help" in one.metadata):
        kinds = (one.type, *get_args(one.type))
        kind: Any = str | None
        if one.name in FILES:
            kind = Path | None
        elif float in kinds and str not in kinds:
            kind = float | None
        elif int in kinds and bool not in kinds and one.default is None:
            kind = int | None
        elif isinstance(one.default, str | int):
            kind = type(one.default)
        default = field(default=False if one.default is True else one.default)
        options.append((one.name, Annotated[kind, _parameter(one, kind, _help(one))], default))
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
else:
    ReadOptions = option_record(ReadConfig, Group("Table", sort_key=1))
    FitOptions = option_record(FitConfig, Group("Model", sort_key=2))
    BoundOptions = option_record(Bounds, Group("Gate", sort_key=3))


def read_config(options: ReadOptions) -> ReadConfig:
    return ReadConfig(**_values(ReadConfig, options))


def fit_config(options: FitOptions) -> FitConfig:
    """Make the request, without what has to be read from a file first."""
    given = _values(FitConfig, options)
    return FitConfig(**{name: value for name, value in given.items() if name not in FILES})


def request_of(
    file: Path,
    more: Sequence[Path],
    columns: ReadOptions,
    model: FitOptions,
    *records: Any,
    groups: Sequence[str] = (),
) -> Request:
    """Make the request of a command: its files, how to read them, what to fit, and what `records` ask for besides."""
    further: dict[str, Any] = {"groups": groups}
    for name, value in (pair for record in records for pair in vars(record).items()):
        if name in _ASKED and value is not None:
            names = several(name, value) if name in SEVERAL else None
            further[name] = names or (str(value) if isinstance(value, Path) else value)
    return Request(
        file=str(file),
        more=tuple(map(str, more)),
        read=read_config(columns),
        fit=fit_config(model),
        files={name: str(path) for name in FILES if (path := getattr(model, name)) is not None},
        **further,
    )


def bounds_of(options: BoundOptions) -> Bounds:
    return Bounds(**_values(Bounds, options))


def _values(config: type, options: Any) -> dict[str, Any]:
    """Convert the shell's values to those of the configuration."""
    found: dict[str, Any] = {}
    for one in fields(config):
        value = getattr(options, one.name)
        if takes_several(one):
            names = several(one.name, value)
            value = names[0] if names and len(names) == 1 else names
        elif isinstance(value, float) and value.is_integer():
            value = int(value)
        elif one.default is True:
            value = not value
        found[one.name] = value
    return found


def several(name: str, text: str | None) -> list[str] | None:
    """Split names at commas; a name that contains a comma is in double quotes."""
    if text is None:
        return None
    cells = between_commas(text)
    if cells is None:
        what = f" {text!r} has a name with a line break, or one that is too long"
        remedy = "write names as the table does; one with a line break or a comma goes in double quotes"
        raise OptionError(Message(Option(name), what), remedy, value=text)
    names = [cell.strip() for cell in cells]
    if not names or "" in names:
        what = f" {text!r} has an empty name"
        raise OptionError(Message(Option(name), what), "separate names with single commas", value=text)
    return names


@shell_record(Group("Diagnostics", sort_key=3))
@dataclass(frozen=True)
class DiagnosticColumns:
    """Columns for diagnostics, outside the model."""

    time: str | None = option(
        None, "Column that says when a rating was given (number or date): tests for drift."
    )
    groups: str | None = option(
        None, "Columns that ratings may differ by (school,sex): tests each rater for bias."
    )


@shell_record(Group("Decisions", sort_key=4))
@dataclass(frozen=True)
class DecisionOptions:
    """Options of decisions about students."""

    decide: str | None = option(
        None,
        "Where grades begin: a mean score by the average rater (1.5), several (1,2), or 'ability 0.3'. Says "
        "which decisions are safe.",
        hyphen=True,
    )
    remark: int | None = option(
        None, "Plan this many further marks: whose work, by which rater, to put most grades right."
    )
    by_raters: str | None = option(
        None,
        "Raters who may make further marks (AM,BE); by default all but those who need attention themselves.",
    )
    not_by: str | None = option(None, "Raters who may not make further marks (CO).")


@shell_record(Group("Long fits", sort_key=4))
@dataclass(frozen=True)
class LongFitOptions:
    """How a long fit is done."""

    checkpoint: Path | None = option(None, "File to save progress to; removed when the fit is done.")
    resume: bool = option(False, "Continue from the checkpoint.")
    cluster: str | None = option(
        None, "Address of a Dask scheduler (tcp://host:8786) whose workers do the work."
    )


@shell_record(Group("Output", sort_key=5))
@dataclass(frozen=True)
class Output:
    """Options of files and screen output."""

    out: Path | None = option(
        None, "Folder for raters.csv, items.csv, students.csv, fit.json and report.html."
    )
    title: str | None = option(None, "Title of the report.")
    previous: Path | None = option(
        None, "Earlier fit.json: start from it, say who has changed since, and watch for drift."
    )
    xlsx: bool = option(False, "Also write results.xlsx: formatted sheets.")
    json: bool = option(False, "Print the whole fit as JSON and nothing else.")
    facets_tables: bool = option(False, "Print tables laid out as FACETS does, in logits.")
    quiet: bool = option(False, "Print nothing but errors.")
    everyone: bool = option(False, "List every rater.", flag="--all")


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
