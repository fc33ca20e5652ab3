"""The options that commands share, as records for cyclopts.

Those of reading, fitting and the gate are the fields of `ReadConfig`, `FitConfig` and `Bounds`: a field added there is
an option here, and needs a help text in the tables below.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

from cyclopts import Group, Parameter

from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option, between_commas
from raterlens.config import CovarianceKind, FitConfig, LinkName, Method, ReadConfig, Scale
from raterlens.models.registry import MODELS
from raterlens.output.bounds import Bounds

_TABLE = Group("Table", sort_key=1)
_MODEL = Group("Model", sort_key=2)
_BESIDES = Group("Diagnostics", sort_key=3)
_GATE = Group("Gate", sort_key=3)
_DECISIONS = Group("Decisions", sort_key=4)
_WORK = Group("Long fits", sort_key=4)
_OUTPUT = Group("Output", sort_key=5)


def one_of(names: Sequence[str]) -> str:
    *most, last = (f"'{name}'" if " " in name else name for name in names)
    return f"{', '.join(most)} or {last}"


READ_HELP = {
    "student": "Student column; combine several with commas (class,seat).",
    "rater": "Rater column; combine several with commas (rater,topic).",
    "item": "Item column, for one row per rating.",
    "score": "Score column, for one row per rating.",
    "items": "Score columns (a,b,c), for one row per rater and piece of work.",
    "facets": "Columns of further facets (topic,occasion), each with its own difficulty.",
    "piece": "Column that names the piece of work (essay, task) a rating is of, where students have several.",
    "draw": "Column of a rater's draws (epoch, run, seed): several answers of a judge to the same question.",
    "group": "Column of the group of the row's student, such as the system whose answer it is.",
    "known": "Column of known answers, empty where unknown; or a file with students, items and answers.",
    "known_cut": "Lowest passing known answer, where known answers have another scale than scores.",
    "known_map": "Scores for words among known answers: right=1,wrong=0.",
    "trusted_column": "Column that marks whom you trust: yes or no, the same in all rows of a rater.",
    "cut": "Lowest passing score: turns scores into pass and fail.",
    "bands": "Where bands of scores begin, all but the first: 40,60,80 turns marks out of 100 into 0-3.",
    "map": "Scores for words: good=1,bad=0,absent= (empty means missing). Common words are recognised.",
    "table": "Sheet of a workbook ('*': all that are laid out alike), table of a database, or data frame of an R file.",
    "wide": "Names of score columns that hold one rater each, as a pattern: '{rater} {item}'.",
    "markers": "Names of rater columns and of their score columns: 'Marker {n}:Mark {n}'.",
    "pattern": "Regular expression whose first group is the verdict within a text: 'Rating: (\\d+)'.",
    "best": "Which scores are best: high, or low as with ranks, which are then turned round.",
    "duplicates": "Ratings of the same student, rater and item: keep them, take the first, or refuse the file.",
    "format": "File type (csv, xlsx, ...), if the file name does not tell.",
    "encoding": "Encoding of a text file, where it is not recognised.",
    "as_written": "Read the table unchanged: keep totals, spellings and half points.",
}

FIT_HELP = {
    "model": " ".join(f"{spec.name}: {spec.about}." for spec in MODELS.values()),
    "method": f"Estimation method: {one_of(get_args(Method))}.",
    "link": f"Link function: {one_of(get_args(LinkName))}; the model's own by default.",
    "scale": f"Thresholds of ordered scores: {one_of(get_args(Scale))}.",
    "item_slopes": "Let items differ in how strongly they reflect ability.",
    "covariates": "Table with a 'rater' column and numeric columns that explain severity and discrimination.",
    "anchors": "Earlier fit (fit.json) whose raters, items and thresholds are held.",
    "reference": "Yardstick: max, perfect (no noise), 'max corrected', 'quantile 0.9', a rater, or a slope like 2.0.",
    "population": "Students to average over: standard, estimated, 'normal 0.5 1.2' or 'window 0.3 0.5'.",
    "origin": "Zero of severity: average, absolute, or a number.",
    "prior": "panel: raters are a sample of raters, which steadies small panels. none: each rater by its own ratings.",
    "allow_reversed": "Allow negative slopes: raters who score against ability.",
    "halo": (
        "What all scores of a student by a rater share besides ability: none, common (as strong for every rater) or "
        "rater (each rater's own). Default: none, and common where the ratings clearly show it."
    ),
    "interactions": (
        "Let raters differ from item to item (rater:item) or with a further facet (rater:topic); several with commas."
    ),
    "trusted": "Raters who define ability (a,b), such as human experts among LLM judges.",
    "shared": (
        "With known answers or trusted raters: whether the others may share a bias, a second ability. yes, no or auto "
        "(where a test finds one)."
    ),
    "known_slope": "How strongly a known answer shows ability; 3 and 10 are worth a check.",
    "ability": (
        "The students' distribution: normal, or smooth (its skewness and tails are estimated). Default: normal, and "
        "smooth where the ratings clearly show another shape."
    ),
    "starts": "Starting points to try at most, for models with a true category and where ratings are few.",
    "seed": "Seed of the random starting points.",
    "standard_errors": "Skip standard errors and intervals.",
    "covariance": f"Source of standard errors: {one_of(get_args(CovarianceKind))}.",
    "max_iterations": "Iteration limit.",
}

BOUND_HELP = {
    "min_kappa": "Lowest capability, 0 to 1.",
    "min_sharpness": "Lowest sharpness, 0 to 1; it does not depend on who else is in the file.",
    "max_severity": "Highest severity or leniency.",
    "min_discrimination": "Lowest discrimination, 0 to 1.",
    "max_infit": "Highest infit; 1 is expected.",
    "max_outfit": "Highest outfit; 1 is expected.",
    "min_ratings": "Fewest ratings.",
    "confident": "Fail only raters whose 95 % interval lies entirely outside a bound; by default the estimate decides.",
    "raters": "Judge only these raters (a,b).",
}

FILES = ("anchors", "covariates")
"""Options of a fit that the command line takes as files."""
_NAMES = {"table": ("--table", "--sheet"), "raters": "--only"}
"""Where an option is not called by its name alone."""


def _takes_several(option: "Field[Any]") -> bool:
    return Sequence[str] in get_args(option.type)


def _option(option: "Field[Any]", help_text: str) -> tuple[str, Any, Any]:
    """A field of a configuration as a shell can give it: text, unless it is a number, a switch or a file."""
    kinds = (option.type, *get_args(option.type))
    shape: dict[str, Any] = {"name": _NAMES[option.name]} if option.name in _NAMES else {}
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
            default, shape["name"] = False, f"--no-{option.name.replace('_', '-')}"
    return option.name, Annotated[kind, Parameter(help=help_text, **shape)], field(default=default)


def _record(config: type, texts: Mapping[str, str], group: Group) -> Any:
    options = [_option(option, texts.get(option.name, "")) for option in fields(config)]
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
    ReadOptions = _record(ReadConfig, READ_HELP, _TABLE)
    FitOptions = _record(FitConfig, FIT_HELP, _MODEL)
    BoundOptions = _record(Bounds, BOUND_HELP, _GATE)


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
    """What the shell gave, as the configuration takes it."""
    found: dict[str, Any] = {}
    for option in fields(config):
        value = getattr(options, option.name)
        if _takes_several(option):
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


@Parameter(name="*", group=_BESIDES)
@dataclass(frozen=True)
class Besides:
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
class Deciding:
    """What is decided about students."""

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
        Parameter(help="Plan so many further marks: whose work, by which rater, to put most grades right."),
    ] = None


@Parameter(name="*", group=_WORK)
@dataclass(frozen=True)
class Work:
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
    """What is written and shown."""

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

    @property
    def heads_a_report(self) -> bool:
        return self.title is not None


File = Annotated[
    Path,
    Parameter(
        name="FILE",
        help="Ratings: csv, tsv, xlsx, parquet, jsonl, sav, dta, rds, a database (FILE::TABLE), a FACETS control "
        "file, or - for standard input.",
    ),
]
EVERYTHING_RECOGNISED = ReadOptions()
DEFAULT_FIT = FitOptions()
NO_BOUNDS = BoundOptions()
