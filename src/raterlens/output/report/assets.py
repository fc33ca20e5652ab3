"""The templates, style and scripts of the report, which other pages share: `environment`, `style`, `script`."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from raterlens.base.style import MARKS, css
from raterlens.base.text import counted, interval, number, sentence
from raterlens.output.report import english as words

FOLDER = Path(__file__).parent / "templates"

FIRST_ROWS = 100
"""Raters in the page itself, and on each page of their table."""
FEW_ROWS = 25
"""Rows on each page of the other tables."""

SCRIPTS = ("text", "csv", "pages", "ranking", "frames", "what_if", "letters", "rater", "tables", "start")
"""In their order within one module."""


def templates(folder: Path) -> Environment:
    """The templates in a folder, for pages in which labels are text, never markup."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def environment() -> Environment:
    """The report's templates."""
    made = templates(FOLDER)
    made.filters.update(
        number=number,
        counted=counted,
        sentence=sentence,
        value=_value,
        capitalised=lambda text: text[:1].upper() + text[1:],
        digest=lambda text: b64encode(sha256(text.encode()).digest()).decode(),
    )
    made.globals.update(interval=interval, words=words, MARKS=MARKS, FEW_ROWS=FEW_ROWS)
    return made


@cache
def style() -> Markup:
    """The one style sheet, with the palette of the charts."""
    return Markup(f"{css()}{(FOLDER / 'style.css').read_text(encoding='utf-8')}")


@cache
def script() -> Markup:
    """All scripts as one module."""
    parts = ((FOLDER / "scripts" / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    return Markup("\n".join(parts))


def _value(value: float | int | None) -> str:
    return f"{value:,}" if isinstance(value, int) else number(value)
