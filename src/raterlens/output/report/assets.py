"""The templates, style and scripts of the report, which other pages share: `environment`, `style`, `script`."""

import sys
from base64 import b64encode
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
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


class _Compiled(FileSystemBytecodeCache):
    """Compiled templates beside their sources, as Python keeps its own: compiling takes longer than a small fit. A
    folder that is somebody else's, or a full disk, is no matter."""

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if sys.dont_write_bytecode:
            return
        with suppress(OSError):
            Path(self.directory).mkdir(exist_ok=True)
            super().dump_bytecode(bucket)


def templates(folder: Path) -> Environment:
    """The templates in a folder, for pages in which labels are text, never markup."""
    return Environment(
        loader=FileSystemLoader(folder),
        bytecode_cache=_Compiled(str(folder / "__pycache__")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        optimized=False,  # else a filter's results would be kept, too
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
