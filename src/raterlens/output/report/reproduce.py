"""How to make a fit again: the command for a shell and the call from Python, complete, with nothing at its default."""

import csv
import io
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from raterlens.base.text import Option
from raterlens.config import FitConfig, ReadConfig
from raterlens.config.option_fields import takes_several
from raterlens.judging import Bounds

IMPORT = "import raterlens as rl"
CONTROL_FILE_OPTIONS = ("student", "rater", "item", "facets", "cut", "encoding")
"""Options of `rl.read_facets`: a control file says the rest itself."""
_OPTIONS = (*fields(ReadConfig), *fields(FitConfig), *fields(Bounds))
SEVERAL = ("groups", "by_raters", "not_by", *(one.name for one in _OPTIONS if takes_several(one)))
"""Options for which the command line takes several names, with commas between them."""
FLAGS = {"client": "cluster", "path": "out"} | {
    one.name: str(one.metadata["flag"]).removeprefix("--")
    for one in _OPTIONS
    if isinstance(one.metadata.get("flag"), str)
}
"""Options that the command line calls otherwise."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Contents of "How to reproduce" in a report."""

    call: str
    command: str | None = None
    """None where the fit was made from Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A fit of a file, as it was asked for."""

    file: str
    """The file, or the first of several that are read together."""
    read: ReadConfig = field(default_factory=ReadConfig)
    fit: FitConfig = field(default_factory=FitConfig)
    """Without what comes from `files` and from a control file."""
    more: tuple[str, ...] = ()
    """The other files that are read together with it."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The paths of anchors and covariates, by the name of the option."""
    time: str | None = None
    groups: Sequence[str] = ()
    control_file: bool = False
    """It is a control file of FACETS, with a scale, anchors and interactions of its own."""
    out: str | None = None
    title: str | None = None
    previous: str | None = None
    """Title of the report, and the earlier fit that it is compared with."""
    warm: bool = False
    """The fit began from the earlier one, to the same estimates but for rounding."""
    xlsx: bool = False
    decide: str | None = None
    remark: int | None = None
    """Cuts between grades, as text, and how many further marks to plan."""
    by_raters: Sequence[str] | None = None
    not_by: Sequence[str] = ()
    """Who may make further marks, and who may not."""

    def reproduction(self) -> Reproduction:
        return Reproduction(self.call(), self.command())

    def command(self, **further: object) -> str:
        """The command, with further options, ready for a shell."""
        besides = (
            "time",
            "groups",
            "decide",
            "remark",
            "by_raters",
            "not_by",
            "out",
            "title",
            "previous",
            "xlsx",
        )
        options = {**self.read.given(), **self.fit.given(), **self.files}
        options |= {name: value for name in besides if (value := getattr(self, name))} | further
        flags = [text for name, value in options.items() for text in flag(Option(name, value))]
        # A name that begins with a hyphen would be taken for an option; a hyphen alone is standard input.
        files = [f"./{one}" if one.startswith("-") and one != "-" else one for one in (self.file, *self.more)]
        return shlex.join(["raterlens", "fit", *files, *flags])

    @property
    def source(self) -> str | list[str]:
        """Source that `rl.read` takes."""
        return [self.file, *self.more] if self.more else self.file

    def call(self) -> str:
        """The same from Python."""
        read = {name: _plain(value) for name, value in self.read.given().items()}
        columns = [*([self.time] if self.time else []), *self.groups]
        read |= {"beside": columns} if columns else {}
        fit = self.fit.given()
        for name, path in self.files.items():
            fit[name] = _Code(f"rl.load({path!r})") if name == "anchors" else path
        if self.warm:
            fit["start"] = _Code(f"rl.load({self.previous!r})")
        if self.control_file:
            read = {name: read[name] for name in (*CONTROL_FILE_OPTIONS, "beside") if name in read}
            of_study = {name: _Code(f"study.{name}") for name in ("scale", "interactions")}
            anchors = {"anchors": _Code(f"study.anchors({self.fit.model!r})")}
            lines = [f"study = {_call('rl.read_facets', self.file, **read)}"]
            lines.append(f"fit = {_call('rl.fit', _Code('study.ratings'), **(of_study | anchors | fit))}")
        else:
            lines = [f"ratings = {_call('rl.read', self.source, **read)}"]
            lines.append(f"fit = {_call('rl.fit', _Code('ratings'), **fit)}")
        if columns:
            diagnosed = {"time": self.time, "groups": list(self.groups)}
            known = {name: value for name, value in diagnosed.items() if value}
            lines.append(f"diagnosis = {_call('fit.diagnose', **known)}")
        if self.decide is not None:
            lines.append(f"decisions = {_call('fit.decisions', cut=self.decide)}")
        if self.remark is not None:
            who = {"raters": self.by_raters, "not_by": self.not_by}
            named = {name: list(value) for name, value in who.items() if value}
            lines.append(
                f"remark = {_call('fit.remark', cut=_Code('decisions'), budget=self.remark, **named)}"
            )
        return "\n".join([IMPORT, "", *lines])


def from_python(config: FitConfig) -> Reproduction:
    """A fit of ratings that were in memory: what cannot be written on a line is in the saved fit."""
    fit = config.given()
    for name in {"anchors", "covariates"} & set(fit):
        fit[name] = _Code(f'rl.load("fit.json").config.{name}')
    return Reproduction(f"{IMPORT}\n\nfit = {_call('rl.fit', _Code('ratings'), **fit)}")


class _Code(str):
    """Python code, which stands in a call as it is."""

    __slots__ = ()
    __repr__ = str.__str__


def _call(function: str, *given: object, **named: object) -> str:
    shown = [*map(repr, given), *(f"{name}={value!r}" for name, value in named.items())]
    return f"{function}({', '.join(shown)})"


def flag(option: Option) -> list[str]:
    """An option of Python as the words that a shell passes on: `cut=3` is `--cut`, `3`.

    Examples
    --------
    >>> flag(Option("cut", 3)), flag(Option("item_slopes", True)), flag(Option("rater", ["judge", "a, b"]))
    (['--cut', '3'], ['--item-slopes'], ['--rater', 'judge,"a, b"'])
    >>> flag(Option("standard_errors", False)), flag(Option("student"))
    (['--no-standard-errors'], ['--student'])
    """
    name = FLAGS.get(option.name, option.name).replace("_", "-")
    if option.value is ... or option.value is None or option.value is True:
        return [f"--{name}"]
    if option.value is False:
        return [f"--{name}" if option.name in FLAGS else f"--no-{name}"]  # the flag then names the opposite
    several = option.name in SEVERAL and not isinstance(option.value, int)  # `items` are columns, or how many
    text = joined(option.value) if several else _text(option.value)
    return [f"--{name}={text}"] if text.startswith("-") else [f"--{name}", text]


def as_flag(option: Option) -> str:
    """An option that a message mentions, as the command line writes it.

    Examples
    --------
    >>> as_flag(Option("wide", "{rater} {item}"))
    "--wide '{rater} {item}'"
    """
    return shlex.join(flag(option))


def joined(names: str | Sequence[str]) -> str:
    """Names with commas between them; one that has a comma itself goes in double quotes."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([names] if isinstance(names, str) else names)
    return line.getvalue()


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


def _plain(value: Any) -> Any:
    """One column by its name, several as a list."""
    if not isinstance(value, list | tuple):
        return value
    return value[0] if len(value) == 1 else list(value)
