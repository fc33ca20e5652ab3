"""The words of the pages, and the form of a table.

Its fields follow from the options' records, and what it sends becomes these records again.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

from raterlens.base.errors import OptionError, RaterlensError, choose
from raterlens.base.text import Option, listed
from raterlens.config import COLUMN_ROLES, ROW, FitConfig, ReadConfig
from raterlens.config.option_fields import choices
from raterlens.models.registry import MODELS
from raterlens.output.report.reproduce import as_flag

TABLE: dict[str, Any] = tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))
"""The words as in the file, for lists of choices."""


def _by_attribute(content: Any) -> Any:
    if not isinstance(content, dict):
        return content
    return SimpleNamespace(
        **{name.replace("-", "_"): _by_attribute(value) for name, value in content.items()}
    )


WORDS = _by_attribute(TABLE)
"""The words by attribute, for templates."""


def field_of(option: str | None) -> str | None:
    """Return the id of the field on the page that sets an option."""
    if option in COLUMN_ROLES:
        return "roles"
    return {"wide": "spread", "model": "models"}.get(
        option or "", option if option in TABLE["fields"] else None
    )


def label(option: Option) -> str:
    """Name an option as the pages do: `cut=3` is the pass mark 3.

    Examples
    --------
    >>> label(Option("cut", 3)), label(Option("rater")), label(Option("model", "tfm"))
    ('the pass mark 3', 'a column as Rater', 'the model “Severity only” (tfm)')
    >>> label(Option("format", "csv"))
    '--format csv on the command line'
    """
    name, value = option.name, option.value
    if name in COLUMN_ROLES:
        return f"a column as {TABLE['roles']['score' if name == 'items' else name]}"
    if name == "model" and value in TABLE["models"]:
        return f"the model “{TABLE['models'][value]['name']}” ({value})"
    if name not in TABLE["fields"]:
        return f"{as_flag(option)} on the command line"  # the pages do not ask for it
    noun: str = TABLE["fields"][name]["noun"]
    if value is ... or value is None or value is True:
        return noun
    shown = TABLE["choices"].get(name, {}).get(value)
    return f"{noun} {value}" if shown is None else f"{noun} “{shown.partition(' (')[0]}”"


class PageError(Exception):
    """A request that is answered by a message (what, the value seen, what to do) and a status."""

    def __init__(self, message: str, status: int = 422, *, field: str | None = None) -> None:
        super().__init__(message)
        self.status, self.field = status, field
        """The id of the field on the page that is at fault."""


def page_error(error: RaterlensError) -> PageError:
    """Put an error of the package in the words of the pages."""
    return PageError(error.worded(label), field=field_of(error.option))


ROLES = tuple(role for role in COLUMN_ROLES if role != "items")
"""A table whose rows have several scores has several columns with the role `score`: each is an item."""
SCORES = ("cut",)
READING = (
    *("bands", "map", "best", "pattern", "known_cut", "known_map"),
    *("markers", "duplicates", "encoding", "as_written"),
)
FITTING = (
    *("assumptions", "method", "link", "scale", "prior", "halo", "ability", "repeats"),
    *("trusted", "interactions", "item_slopes", "allow_reversed"),
)
DECISIONS = ("decide", "remark")
"""Fields of the form, in the order in which it shows them; a new one needs its name here and its words."""
DEFAULT = ""
"""The form's value if nothing is chosen."""
LONGEST = 40
"""Maximum characters of a wrong value that a message repeats."""


@dataclass(frozen=True, slots=True)
class Control:
    """A field of the form, following the type of its option."""

    name: str
    values: Mapping[str, str] | None = None
    """Choices, in words; None if the value is typed or ticked."""
    box: bool = False
    default: str = DEFAULT

    @property
    def words(self) -> dict[str, str]:
        found: dict[str, str] = TABLE["fields"][self.name]
        return found


def _controls() -> dict[str, Control]:
    found = {name: Control(name) for name in DECISIONS}
    for one in (*fields(ReadConfig), *fields(FitConfig)):
        if one.name not in (*SCORES, *READING, *FITTING):
            continue
        offered = choices(one.type)
        words = TABLE["choices"].get(one.name, {})
        values = {value: words.get(value, value) for value in offered}
        if offered and one.default is None:
            values = {DEFAULT: words["default"], **values}
        default = one.default if isinstance(one.default, str) else DEFAULT
        found[one.name] = Control(one.name, values or None, one.type is bool, default)
    return found


CONTROLS = _controls()
_FLOATS = {
    one.name for one in fields(ReadConfig) if float in get_args(one.type) and str not in get_args(one.type)
}


def sent(form: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields that are filled in, as text."""
    known = ("model", *CONTROLS)
    return {name: text for name in known if (text := str(form.get(name, "")).strip()) != DEFAULT}


def shown(config: ReadConfig) -> dict[str, str]:
    """Return how the file is read, as the form shows it."""
    return {
        name: "yes" if value is True else f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in config.given().items()
        if name in CONTROLS
    }


def fit_config(given: Mapping[str, str]) -> FitConfig:
    """Make the request of a fit; missing fields have their defaults."""
    model = given.get("model")
    if model is not None:
        choose("model", model, MODELS)
    return FitConfig(model=model, **_values(given, FITTING))


def decisions(given: Mapping[str, str]) -> tuple[str | None, int | None]:
    """Return the cuts, as text, and the number of further marks to plan; None for an empty field."""
    marks = given.get("remark")
    if marks is not None and not marks.isdecimal():
        raise PageError(
            f"the number of further marks, {marks[:LONGEST]!r}, is not a whole number; give one, or leave it empty",
            field="remark",
        )
    return given.get("decide"), None if marks is None else int(marks)


def read_config(
    roles: Mapping[str, str], given: Mapping[str, str], wide: str | None = None, sheet: str | None = None
) -> ReadConfig:
    """Make the request of how to read the table: exactly as chosen, with nothing left to be recognised.

    Parameters
    ----------
    roles
        The role of each column.
    given
        The fields of the form.
    wide
        The pattern of column names where score columns are for one rater each.
    sheet
        Of a workbook.
    """
    columns = {role: [name for name, played in roles.items() if played == role] for role in ROLES}
    options = _values(given, (*SCORES, *READING))
    single = ("piece", "draw", "group", "known", "trusted_column")
    named: dict[str, Any] = {role: _one(role, columns[role]) for role in single}
    shared = ReadConfig(
        student=columns["student"] or [ROW],
        facets=columns["facets"] or None,
        table=sheet,
        wide=wide,
        **named,
        **options,
    )
    if "markers" in options:
        return shared.changed(item=columns["item"] or None)
    _check_roles(columns, wide)
    if wide:
        return shared.changed(items=columns["score"], item=columns["item"] or None)
    if columns["item"]:
        return shared.changed(rater=columns["rater"], item=columns["item"], score=columns["score"][0])
    return shared.changed(rater=columns["rater"], items=columns["score"])


def _values(given: Mapping[str, str], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: _value(name, given[name]) for name in names if name in given}


def _value(name: str, text: str) -> Any:
    if CONTROLS[name].box:
        return text == "yes"
    if name in ("trusted", "interactions"):
        return [part.strip() for part in text.split(",") if part.strip()]
    if name not in _FLOATS:
        return text
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        noun = TABLE["fields"][name]["noun"]
        raise PageError(
            f"{noun} {text[:LONGEST]!r} is not a number; give one, or leave it empty", field=name
        ) from None
    return int(value) if value.is_integer() else value


def _one(role: str, names: list[str]) -> str | None:
    if len(names) > 1:
        raise OptionError(
            f"{listed(names)} are all marked as “{TABLE['roles'][role]}”", "mark one of them", option=role
        )
    return names[0] if names else None


def _check_roles(columns: Mapping[str, list[str]], wide: str | None) -> None:
    """Raise if roles are missing or contradict each other."""
    scores = columns["score"]
    for role in ("score",) if wide else ("student", "rater", "score"):
        if not columns[role]:
            each = role == "rater" and len(scores) > 1
            raise OptionError(
                f"no column is marked as the {role}",
                "mark one" + ", or say below the table that each score column is for one rater" * each,
                option=role,
            )
    if wide:
        for role, other in (("rater", "item"), ("item", "rater")):
            if columns[role] and f"{{{role}}}" in wide:
                raise OptionError(
                    f"{listed(columns[role])} is marked as the {role}, and so are the score columns",
                    f"choose 'not used' for it, or let each score column be for one {other}",
                    option=role,
                )
    elif columns["item"] and len(scores) > 1:
        raise OptionError(
            f"{listed(scores)} are all marked as scores, and {listed(columns['item'])} as the item",
            "mark one score column, or no item column: then each score column is an item",
            option="item",
        )
