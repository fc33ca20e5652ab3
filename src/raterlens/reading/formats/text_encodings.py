"""What bytes of text are written in: UTF-8 by default, UTF-16 by its marks or its zeros, else Windows' cp1252."""

import codecs
from pathlib import Path

from raterlens.base.text import Option
from raterlens.reading.proposals.findings import Finding

PIECE = 1 << 20
WINDOWS = "cp1252"
_MARKS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def encoding_of(path: Path) -> tuple[str, list[Finding]]:
    """The encoding of a file, and what to say where it is not UTF-8; where nothing fits it is UTF-8, to be refused."""
    with path.open("rb") as file:
        start = file.read(PIECE)
    if (
        name := next((name for mark, name in _MARKS if start.startswith(mark)), None) or _sixteen(start)
    ) is not None:
        return name, [_found(name)]
    if b"\0" in start or is_utf8(path):
        return "utf-8", []
    try:
        path.read_bytes().decode(WINDOWS)
    except UnicodeDecodeError:
        return "utf-8", []
    return WINDOWS, [_found(WINDOWS)]


def is_utf8(path: Path) -> bool:
    """Whether a whole file is UTF-8, looked at piece by piece."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                if not piece.isascii() or decoder.getstate()[0]:
                    decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _sixteen(start: bytes) -> str | None:
    """UTF-16 without a mark: in text of European languages every other byte is zero."""
    half = len(start) // 2
    if half < 4:
        return None
    even, odd = start[: 2 * half : 2].count(0), start[1 : 2 * half : 2].count(0)
    if odd > 0.7 * half and even < 0.05 * half:
        return "utf-16-le"
    return "utf-16-be" if even > 0.7 * half and odd < 0.05 * half else None


def _found(name: str) -> Finding:
    seen = "not UTF-8" if name == WINDOWS else "UTF-16"
    option = Option("encoding", name)
    if name == WINDOWS:
        return Finding(f"text that is {seen}", f"read as {name}, as older Windows programs write", (option,))
    return Finding(f"text in {seen}", f"read as {name}", (option,))
