"""Text files as UTF-8: an encoding that nobody names is told by its mark, by names of columns or by the letters."""

import codecs
import io
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option
from raterlens.config.limits import READ_AT_ONCE
from raterlens.reading.formats.table import decoded, read_whole
from raterlens.reading.read_plan import Finding
from raterlens.reading.vocabulary import usual_role

Text = Path | bytes
"""UTF-8 text, in a file or in memory."""
PIECE = 1 << 20
"""Bytes looked at in one go: few enough for the processor's cache."""
PEEK = 1 << 16
"""Bytes looked at where the beginning tells."""
WINDOWS = "cp1252"


def utf8_text(path: Path, asked: str | None) -> tuple[Text, list[Finding]]:
    """The content of a text file as UTF-8, or the path of a large one that is UTF-8 already; and what to say of it."""
    with path.open("rb") as file:
        start = file.read(PEEK)
    encoding, findings = (asked, []) if asked else encoding_of(path)
    codec = codecs.lookup(encoding).name
    if codec in ("utf-8", "utf-8-sig") and start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        remedy = Message("save it as UTF-8, or give ", Option("encoding", "utf-16"))
        raise InputError(f"{path.name!r} is UTF-16, not UTF-8", remedy, value=encoding)
    if b"\0" in start and not codec.startswith(("utf-16", "utf-32")):
        what = f"{path.name!r} is not a text table: byte {start.index(0):,} is NUL, as in a binary file"
        raise InputError(what, "save the table as csv and give that file")
    if codec in ("utf-8", "utf-8-sig") and path.stat().st_size > READ_AT_ONCE and is_utf8(path):
        return path, findings
    content = read_whole(path)
    if codec in ("utf-8", "utf-8-sig") and is_utf8(content):
        return content.removeprefix(codecs.BOM_UTF8), findings
    return decoded(content, path.name, encoding).encode(), findings


def pieces(text: Text, size: int = PIECE) -> Iterator[bytes]:
    """A text piece by piece, without a byte order mark."""
    with io.BytesIO(text) if isinstance(text, bytes) else text.open("rb") as file:
        piece = file.read(size).removeprefix(codecs.BOM_UTF8)
        while piece:
            yield piece
            piece = file.read(size)


def is_utf8(text: Text, piece: int = PIECE) -> bool:
    """Whether a whole text is UTF-8, looked at piece by piece."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for found in pieces(text, piece):
            if not found.isascii() or decoder.getstate()[0]:
                decoder.decode(found)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def encoding_of(path: Path) -> tuple[str, list[Finding]]:
    """The encoding of a file, and what to say where it is not UTF-8; where nothing fits it is UTF-8, to be refused."""
    with path.open("rb") as file:
        start = file.read(PIECE)
    if (wide := _sixteen(start)) is not None:
        return wide, [Finding("text in UTF-16", f"read as {wide}", (Option("encoding", wide),))]
    if b"\0" in start or is_utf8(path):
        return "utf-8", []
    data = path.read_bytes()
    guess = _by_header(data) or _east_asian(data) or _european(data)
    if guess is None:
        return "utf-8", []
    name, certain = guess[0], guess[1] or guess[0] == WINDOWS
    done = f"read as {name}" + ", as older Windows programs write" * (name == WINDOWS)
    return name, [Finding("text that is not UTF-8", done, (Option("encoding", name),), certain=certain)]


def _sixteen(start: bytes) -> str | None:
    """UTF-16 by its mark; without one, in text of European languages every other byte is zero."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    half = len(start) // 2
    even, odd = start[: 2 * half : 2].count(0), start[1 : 2 * half : 2].count(0)
    if half >= 4 and odd > 0.7 * half and even < 0.05 * half:
        return "utf-16-le"
    return "utf-16-be" if half >= 4 and even > 0.7 * half and odd < 0.05 * half else None


_EUROPEAN = (WINDOWS, "iso8859_2", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1257", "cp1256")
_COMMON: dict[str, tuple[int, int, int]] = {
    # First and last leading byte of the characters in common use, and the least of the bytes that follow them.
    "gb18030": (0xB0, 0xD7, 0xA1),
    "big5": (0xA4, 0xC6, 0x40),
    "shift_jis": (0x82, 0x97, 0x40),
    "euc_jp": (0xB0, 0xCF, 0xA1),
    "euc_kr": (0xB0, 0xC8, 0xA1),
}
CERTAIN = 0.9
"""Share of characters in common use that a text has in the encoding that it is written in."""
FEWEST = 8
"""Letters beyond ASCII from which on an encoding is guessed that is not the usual one."""


def _readings(data: bytes, *names: str) -> dict[str, str]:
    """The text in those of these encodings that it can be in."""
    found = {}
    for name in names:
        try:
            found[name] = data.decode(name)
        except UnicodeDecodeError:
            continue
    return found


def _by_header(data: bytes) -> tuple[str, bool] | None:
    """The encoding in which most names of columns beyond ASCII are usual ones, where it is a single one."""
    header = next((line for line in data[:PEEK].splitlines() if line.strip()), b"")
    usual: dict[str, int] = {}
    for name in _readings(data, *_COMMON, *_EUROPEAN):
        cells = re.split(r'[,;\t|"]+', header.decode(name))
        usual[name] = sum(not cell.isascii() and usual_role(cell) is not None for cell in cells)
    best = [name for name, times in usual.items() if times == max(usual.values())]
    return (best[0], True) if len(best) == 1 and usual[best[0]] > 1 else None


def _east_asian(data: bytes) -> tuple[str, bool] | None:
    """The encoding of a Chinese, Japanese or Korean text, and whether no other would do."""
    shares: dict[str, float] = {}
    readings = _readings(data, *_COMMON)
    for name, text in readings.items():
        first, last, least = _COMMON[name]
        wide = [letter for letter in text if ord(letter) > 0x7F]
        beside = sum(ord(a) > 0x2E80 and ord(b) > 0x2E80 for a, b in pairwise(text))
        if not wide or 2 * beside < len(wide) or any(0xFF61 <= ord(letter) <= 0xFF9F for letter in wide):
            continue
        codes = [letter.encode(name) for letter in wide if ord(letter) > 0x2E80]
        common = sum(len(code) == 2 and first <= code[0] <= last and code[1] >= least for code in codes)
        kana = sum(0x3040 <= ord(letter) <= 0x30FF for letter in wide)
        hangul = sum(0xAC00 <= ord(letter) <= 0xD7A3 for letter in wide)
        if (name == "euc_kr" and hangul < CERTAIN * len(wide)) or (name == "euc_jp" and not kana):
            continue
        shares[name] = (common + (kana if name == "euc_jp" else 0)) / len(wide)
    if not shares or max(shares.values()) < 0.7:
        return None
    # Korean syllables and Japanese kana stand where Chinese characters do, which are seldom all from that stretch.
    best, *others = sorted(shares, key=lambda name: (-round(shares[name], 1), -list(_COMMON).index(name)))
    distinct = len({letter for letter in readings[best] if ord(letter) > 0x2E80})
    rival = bool(others) and shares[others[0]] > CERTAIN and distinct < 8
    return best, shares[best] >= CERTAIN and not rival


def _european(data: bytes) -> tuple[str, bool] | None:
    """The encoding of a European text: cp1252, unless letters then stand beside signs; and whether that is certain."""
    readings = _readings(data, *_EUROPEAN)
    high = sum(byte > 0x7F for byte in data)
    western = readings.get(WINDOWS)
    if not readings or (western is None and high < FEWEST):
        return None
    odd = {name: _oddity(text) for name, text in readings.items()}
    likely = [name for name in _EUROPEAN if name in odd]
    if western is not None and not odd[WINDOWS]:
        runs = sum(map(len, re.findall(r"[^\W\d_a-zA-Z]{3,}", western)))
        if runs < high / 2:
            neighbour = _neighbour(set(western))
            return (WINDOWS, True) if neighbour is None else (neighbour, False)
        likely = [name for name in likely if name in ("cp1251", "koi8_r", "cp1253", "cp1256")]
    best = min(likely, key=lambda name: (odd[name], _capitals(readings[name])))
    if odd[best] > 0.1 * high:
        return (WINDOWS, True) if western is not None else None
    return best, False


def _neighbour(letters: set[str]) -> str | None:
    """The code page of Central Europe or Turkey, whose letters read as rare ones in cp1252."""
    czech = letters & set("øØ") and letters & set("ìùïòèÈ")
    hungarian = letters & set("õûÕÛ") and letters & set("áéíóú") and not letters & set("ãçâêà")
    if czech or hungarian:
        return "cp1250"
    return "cp1254" if letters & set("ðþÐÞ") and not letters & set("æÆ") else None


def _oddity(text: str) -> int:
    """How many signs stand within words, where letters should, or are no signs at all."""
    return sum("\x80" <= letter <= "\x9f" for letter in text) + len(
        re.findall(r"(?<=[^\W\d_])[^\w\s\x00-\x7f’‘“”–—…«»°²³]|[¡-¿](?=[^\W\d_])|(?<=[^\W\d_])[¡-¿]", text)
    )


def _capitals(text: str) -> int:
    """How many capitals stand within words, or Arabic letters beside Latin ones."""
    mixed = sum(
        ("\u0600" <= a <= "\u06ff" and b.islower()) or (a.islower() and b.isupper() and ord(b) > 0x7F)
        for a, b in pairwise(text)
    )
    return mixed + sum(letter in "ÐðÞþ" for letter in text)
