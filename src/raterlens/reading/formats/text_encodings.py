"""What bytes of text are written in: UTF-8 by default, UTF-16 by its marks or its zeros, else what letters suggest.

East Asian encodings are told apart by where their common characters stand, European ones by whether the text is made of
letters: "Pawe³" is Latin-2 read as cp1252.
"""

import codecs
import re
from contextlib import suppress
from itertools import pairwise
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
    data = path.read_bytes()
    guess = _east_asian(data) or _european(data)
    return ("utf-8", []) if guess is None else (guess[0], [_found(*guess)])


_COMMON: dict[str, tuple[tuple[int, int], tuple[int, ...]]] = {
    # Leading bytes of the characters in common use, and the least of the bytes that follow them.
    "gb18030": ((0xB0, 0xD7), (0xA1,)),
    "big5": ((0xA4, 0xC6), (0x40,)),
    "shift_jis": ((0x82, 0x97), (0x40,)),
    "euc_jp": ((0xB0, 0xCF), (0xA1,)),
    "euc_kr": ((0xB0, 0xC8), (0xA1,)),
}
CERTAIN = 0.9
"""Share of characters in common use that a text has in the encoding that it is written in."""


def _east_asian(data: bytes) -> tuple[str, bool] | None:
    """The encoding of a Chinese, Japanese or Korean text, and whether no other would do."""
    shares: dict[str, float] = {}
    for name, ((first, last), (least,)) in _COMMON.items():
        try:
            text = data.decode(name)
        except UnicodeDecodeError:
            continue
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
    order = sorted(shares, key=lambda name: (-round(shares[name], 1), list(_COMMON)[::-1].index(name)))
    distinct = len({letter for letter in data.decode(order[0]) if ord(letter) > 0x2E80})
    rival = len(order) > 1 and shares[order[1]] > CERTAIN and distinct < 8
    return order[0], shares[order[0]] >= CERTAIN and not rival


FEWEST = 8
"""Letters beyond ASCII from which on an encoding is guessed that is not the usual one."""
_EUROPEAN = (WINDOWS, "iso8859_2", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1257")


def _european(data: bytes) -> tuple[str, bool] | None:
    """The encoding of a European text: cp1252, unless letters then stand beside signs; and whether that is certain."""
    readings = {}
    for name in _EUROPEAN:
        with suppress(UnicodeDecodeError):
            readings[name] = data.decode(name)
    if not readings:
        return None
    high = sum(byte > 0x7F for byte in data)
    if WINDOWS not in readings and high < FEWEST:
        return None
    odd = {name: _oddity(text) for name, text in readings.items()}
    western = readings.get(WINDOWS)
    if western is not None and not odd[WINDOWS]:
        czech = bool(set("øØ") & set(western)) and bool(set("ìùïòèÈ") & set(western))
        turkish = bool(set("ðþÐÞ") & set(western)) and not set("æÆ") & set(western)
        runs = sum(len(run) for run in re.findall(r"[^\W\d_a-zA-Z]{3,}", western))
        if not czech and not turkish and runs < high / 2:
            return WINDOWS, True
        if czech or turkish:
            return "cp1250" if czech else "cp1254", False
        likely = ["cp1251", "koi8_r", "cp1253"]
    else:
        likely = [name for name in _EUROPEAN if name in odd]
    best = min(
        (name for name in likely if name in odd), key=lambda name: (odd[name], _capitals(readings[name]))
    )
    if odd[best] > 0.1 * high:
        return (WINDOWS, True) if western is not None else None
    return best, False


def _oddity(text: str) -> int:
    """How many signs stand within words, where letters should, or are no signs at all."""
    return sum("\x80" <= letter <= "\x9f" for letter in text) + len(
        re.findall(r"(?<=[^\W\d_])[^\w\s\x00-\x7f’‘“”–—…«»°²³]|[¡-¿](?=[^\W\d_])|(?<=[^\W\d_])[¡-¿]", text)
    )


def _capitals(text: str) -> int:
    """How many capitals stand within words."""
    return sum(a.islower() and b.isupper() and ord(b) > 0x7F for a, b in pairwise(text)) + sum(
        letter in "ÐðÞþ" for letter in text
    )


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


def _found(name: str, certain: bool = True) -> Finding:
    option = Option("encoding", name)
    if name == WINDOWS:
        return Finding(
            "text that is not UTF-8", f"read as {name}, as older Windows programs write", (option,)
        )
    seen = "text in UTF-16" if name.startswith("utf-16") else "text that is not UTF-8"
    return Finding(seen, f"read as {name}", (option,), certain=certain)
