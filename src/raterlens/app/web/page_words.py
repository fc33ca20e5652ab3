"""The words of the pages, from words.toml; options and errors of the package in these words."""

import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from raterlens.base.errors import RaterlensError
from raterlens.base.text import Option
from raterlens.config import COLUMN_ROLES
from raterlens.output.report.reproduce import as_flag

TABLE: dict[str, Any] = tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))
"""As in the file: for lists of choices."""


def _by_attribute(content: Any) -> Any:
    if not isinstance(content, dict):
        return content
    return SimpleNamespace(
        **{name.replace("-", "_"): _by_attribute(value) for name, value in content.items()}
    )


WORDS = _by_attribute(TABLE)
"""By attribute: for templates."""


def field_of(option: str | None) -> str | None:
    """The id of the field on the page at which an option is chosen."""
    if option in COLUMN_ROLES:
        return "roles"
    return {"wide": "spread", "model": "models"}.get(
        option or "", option if option in TABLE["fields"] else None
    )


def label(option: Option) -> str:
    """An option as the pages call it: `cut=3` is the pass mark 3.

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
    if value is None or value is True:
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
    """An error of the package, in the words of the pages."""
    return PageError(error.worded(label), field=field_of(error.option))
