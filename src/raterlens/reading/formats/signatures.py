"""What a file is by its first bytes, whatever its name says."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option
from raterlens.config import ReadConfig
from raterlens.reading.formats.lazy_table import Table

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""Old Excel workbooks begin like this, and new ones that are protected by a password."""


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: how it is called, the extensions it goes by, and the function that opens it."""

    name: str
    """In a sentence: "a parquet file"."""
    suffixes: tuple[str, ...]
    read: Callable[[Path, ReadConfig], Table]
    marks: tuple[bytes, ...] = ()
    """What stands at `offset` of every such file; none for text."""
    offset: int = 0

    def fits(self, start: bytes) -> bool:
        return bool(self.marks) and start[self.offset :].startswith(self.marks)


def format_of(path: Path, suffix: str, formats: Sequence[Format]) -> Format:
    """The format that goes by the extension and, where it has marks, begins as the file does."""
    with path.open("rb") as file:
        start = file.read(16)
    own = [known for known in formats if suffix in known.suffixes]
    fitting = next((known for known in own if known.fits(start)), None)
    if fitting is not None:
        return fitting
    other = next((known for known in formats if known.fits(start)), None)
    if not own[0].marks and other is None:
        return own[0]
    if own[0].marks and not start:
        raise InputError(f"{path.name!r} is an empty file", "write the table again", value=start)
    if suffix == ".xlsx" and start.startswith(OLE):
        raise InputError(
            f"{path.name!r} is protected by a password, or an old Excel workbook called .xlsx",
            "open it in Excel and save it as xlsx without a password",
        )
    raise InputError(
        f"{path.name!r} is not {own[0].name}: it begins with {start[:4]!r}"
        if own[0].marks or other is None
        else f"{path.name!r} is not {own[0].name}: it is {other.name}",
        "if it is a text table, rename it to .csv; otherwise write it again"
        if other is None
        else Message(
            f"rename it to end in {other.suffixes[0]}, or give ", Option("format", other.suffixes[0][1:])
        ),
        value=start,
        option="format",
    )
