"""The options that commands share, as records."""

import csv
import re
import shlex
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter

from raterlens.errors import OptionError

_TABLE = Group("Table", sort_key=1)
_MODEL = Group("Model", sort_key=2)
_GATE = Group("Gate", sort_key=3)
_WORK = Group("Long fits", sort_key=4)
_OUTPUT = Group("Output", sort_key=5)
_LOOK = Group("Diagnostics", sort_key=2)


@Parameter(name="*", group=_TABLE)
@dataclass(frozen=True)
class Columns:
    """Which columns hold what."""

    student: Annotated[str | None, Parameter(help="Column of the student; several (a,b) are combined.")] = (
        None
    )
    rater: Annotated[str | None, Parameter(help="Column of the rater; several (a,b) are combined.")] = None
    item: Annotated[
        str | None, Parameter(help="Column of the item, where a row is one rating; several are combined.")
    ] = None
    score: Annotated[str | None, Parameter(help="Column of the score, where a row is one rating.")] = None
    items: Annotated[str | None, Parameter(help="Columns of scores (a,b,c), where a row has several.")] = None
    wide: Annotated[
        str | None,
        Parameter(
            help="Names of columns (all, or those of --items) that hold one rater's scores each: '{rater} {item}'."
        ),
    ] = None
    facets: Annotated[
        str | None,
        Parameter(help="Columns of further facets (topic,occasion), each with its own difficulty."),
    ] = None
    cut: Annotated[
        float | None, Parameter(help="A score of this or more is a pass.", allow_leading_hyphen=True)
    ] = None
    table: Annotated[
        str | None,
        Parameter(
            name=("--table", "--sheet"), help="Sheet of a workbook, table of a database, data frame of R."
        ),
    ] = None
    format: Annotated[
        str | None, Parameter(help="What the file is (csv, xlsx, ...), where its name does not say.")
    ] = None
    encoding: Annotated[str, Parameter(help="Encoding of a text file.")] = "utf-8"

    def arguments(self) -> dict[str, Any]:
        """As `raterlens.read` takes them."""
        combined = {
            name: names[0] if names and len(names) == 1 else names
            for name in ("student", "rater", "item")
            for names in [several(f"--{name}", getattr(self, name))]
        }
        whole = self.cut is not None and self.cut.is_integer()
        return {
            **combined,
            "score": self.score,
            "items": several("--items", self.items),
            "facets": several("--facets", self.facets),
            "cut": int(self.cut) if whole and self.cut is not None else self.cut,
            "table": self.table,
            "wide": self.wide,
            "format": self.format,
            "encoding": self.encoding,
        }


@Parameter(name="*", group=_MODEL)
@dataclass(frozen=True)
class Model:
    """What is fitted, and how."""

    model: Annotated[
        str,
        Parameter(
            help="gmf: severity and discrimination. tfm: severity only. probit: noise and threshold. hrm, "
            "dawid-skene: raters detect a true category."
        ),
    ] = "gmf"
    method: Annotated[str, Parameter(help="mml, laplace or hl.")] = "mml"
    link: Annotated[
        str | None, Parameter(help="logit, probit, cauchit, cloglog or log; the model's own if left out.")
    ] = None
    scale: Annotated[
        str, Parameter(help="Of ordered scores: 'rating scale', 'partial credit' or 'graded'.")
    ] = "rating scale"
    item_slopes: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Let items differ in how they reflect ability.")
    ] = False
    reference: Annotated[
        str | None, Parameter(help="The yardstick: max, 'quantile 0.9', a rater, or a slope such as 2.0.")
    ] = None
    population: Annotated[
        str | None,
        Parameter(help="Students to average over: standard, estimated, 'normal 0.5 1.2', 'window 0.3 0.5'."),
    ] = None
    origin: Annotated[str | None, Parameter(help="Of severity: average or absolute.")] = None
    shrink: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Draw raters towards the panel as far as they are uncertain.",
        ),
    ] = False


@Parameter(name="*", group=_LOOK)
@dataclass(frozen=True)
class Look:
    """What diagnostics look at besides; no part of the model."""

    time: Annotated[
        str | None, Parameter(help="Column of when a rating was given (number or date): tests drift.")
    ] = None
    groups: Annotated[
        str | None, Parameter(help="Columns of what ratings differ in (school,sex): tests each rater's bias.")
    ] = None

    def columns(self) -> list[str]:
        """All of them, the time first."""
        return [*([self.time] if self.time else []), *(several("--groups", self.groups) or [])]


@Parameter(name="*", group=_GATE)
@dataclass(frozen=True)
class Bounds:
    """What is asked of every rater; None asks nothing."""

    min_kappa: Annotated[float | None, Parameter(help="Least capability.")] = None
    max_severity: Annotated[float | None, Parameter(help="Most severity, or leniency.")] = None
    min_discrimination: Annotated[float | None, Parameter(help="Least discrimination.")] = None
    max_infit: Annotated[float | None, Parameter(help="Most infit, 1 being expected.")] = None
    max_outfit: Annotated[float | None, Parameter(help="Most outfit, 1 being expected.")] = None
    min_ratings: Annotated[int | None, Parameter(help="Fewest ratings.")] = None
    confident: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Fail only raters whose 95 % interval lies wholly beyond a bound; otherwise the estimate decides.",
        ),
    ] = False
    only: Annotated[str | None, Parameter(help="Judge these raters alone (a,b).")] = None

    @property
    def asked(self) -> bool:
        """Is there a bound to judge by?"""
        return any(value is not None for name, value in vars(self).items() if name.startswith(("min", "max")))

    def arguments(self) -> dict[str, Any]:
        """As `raterlens.gate` takes them."""
        given = dict(vars(self))
        only = several("--only", given.pop("only"))
        return {**given, "raters": only}


@Parameter(name="*", group=_WORK)
@dataclass(frozen=True)
class Work:
    """How a long fit is done."""

    checkpoint: Annotated[
        Path | None, Parameter(help="File in which the fit keeps what it has done, until it is finished.")
    ] = None
    resume: Annotated[bool, Parameter(negative=(), show_default=False, help="Go on from the checkpoint.")] = (
        False
    )

    cluster: Annotated[
        str | None, Parameter(help="Address of a Dask scheduler (tcp://host:8786) whose workers do the work.")
    ] = None

    def going_on(self) -> str:
        """The options that go on from the checkpoint."""
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
    xlsx: Annotated[
        bool,
        Parameter(
            negative=(), show_default=False, help="Write results.xlsx to the folder, too: formatted sheets."
        ),
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
        bool, Parameter(name="--all", negative=(), show_default=False, help="List every rater, however many.")
    ] = False


def command_line(file: Path, columns: Columns, model: Model, output: Output, look: Look | None = None) -> str:
    """The command that does the same again, also where a default should change."""
    given = {
        name: value
        for name, value in (vars(columns) | vars(model) | vars(look or Look())).items()
        if value is not None
    }
    for name, default in (("encoding", Columns.encoding), ("scale", Model.scale)):
        if given[name] == default:
            del given[name]
    switches = [name for name in ("item_slopes", "shrink") if given.pop(name)]
    if isinstance(cut := given.get("cut"), float):
        given["cut"] = f"{cut:g}"
    options = [text for name, value in given.items() for text in (f"--{name}", str(value))]
    options += [f"--{name.replace('_', '-')}" for name in switches]
    folder = ["--out", str(output.out), *["--xlsx"] * output.xlsx] if output.out else []
    return shlex.join(["raterlens", "fit", str(file), *options, *folder])


def several(option: str, text: str | None) -> list[str] | None:
    """Names between commas; a name that holds a comma itself goes in double quotes."""
    if text is None:
        return None
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or "" in names:
        raise OptionError(f"{option} {text!r} has an empty name; give column names with commas between them")
    return names


_NAMES = "|".join(field.name for kind in (Columns, Model, Look, Work) for field in fields(kind))
_ARGUMENT = re.compile(rf"(?<![\w'])(?<!>= )(?<!< )({_NAMES})=('[^']*'|\[[^\]]*\]|[\w.]*)")


def as_options(message: str) -> str:
    """A message that names arguments of Python, with the options they are here: cut=3 -> --cut 3."""

    def option(found: re.Match[str]) -> str:
        name, value = f"--{found[1].replace('_', '-')}", found[2]
        if value.startswith("["):
            value = ",".join(re.findall(r"'([^']*)'", value))
        value = value.strip("'")
        return name if value in ("", "True") else f"{name} {shlex.quote(value)}"

    return _ARGUMENT.sub(option, message)
