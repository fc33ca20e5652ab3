"""Meaning of scores in options: bands, and words with their scores."""

import csv
import io
import math
from collections.abc import Mapping
from itertools import pairwise
from numbers import Real

from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option, between_commas

OPEN = "?"
"""In a proposal, what a word is worth that only a person knows."""


def bands_text(bands: object, cut: float | None = None) -> str:
    """Where bands begin, ascending, as text; not beside a cut.

    Examples
    --------
    >>> bands_text([40, 60.5]), bands_text("40, 60.5")
    ('40,60.5', '40,60.5')
    """
    if cut is not None:
        raise OptionError(
            Message("both ", Option("cut", cut), " and ", Option("bands", bands), " are given"),
            "choose one: pass and fail, or several bands",
            value=bands,
            option="bands",
        )
    given = bands.split(",") if isinstance(bands, str) else bands
    try:
        edges = [float(edge) for edge in given]  # type: ignore[attr-defined]
        if (
            not edges
            or any(not low < high for low, high in pairwise(edges))
            or not all(map(math.isfinite, edges))
        ):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise OptionError(
            Message(Option("bands", bands), " is not a list of ascending numbers"),
            Message(
                "give the lowest score of each band but the first, for example ", Option("bands", "40,60,80")
            ),
            value=bands,
            option="bands",
        ) from None
    return ",".join(f"{edge:.12g}" for edge in edges)


def map_text(worth: object, option: str = "map") -> str:
    """Scores of words, as text; a word for a missing score has none.

    Examples
    --------
    >>> map_text({"good": 1, "bad": 0, "absent": None}), map_text("good=1, bad=0")
    ('good=1,bad=0,absent=', 'good=1,bad=0')
    """
    known = pairs(worth, option) if isinstance(worth, str) else worth
    if not isinstance(known, Mapping) or not known:
        raise _no_map(worth, option)
    line = io.StringIO()
    cells = []
    for word, value in known.items():
        if value is not None and not _is_finite(value):
            raise _no_map(worth, option)
        cells.append(f"{word}={'' if value is None else format(float(value), '.12g')}")
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


def pairs(text: str, option: str = "map") -> dict[str, float | None]:
    """Words and what they are worth, from text."""
    found: dict[str, float | None] = {}
    cells = between_commas(text)
    if cells is None:
        raise _no_map(text, option)
    for cell in cells:
        word, equals, value = cell.strip().rpartition("=")
        if value.strip() == OPEN:
            raise OptionError(
                Message(Option(option, text), f" leaves open what {word.strip()!r} is worth"),
                f"write a number in place of each {OPEN}, or nothing for a missing score",
                value=text,
                option=option,
            )
        try:
            found[word.strip()] = float(value) if value.strip() else None
        except ValueError:
            raise _no_map(text, option) from None
        if not equals:
            raise _no_map(text, option)
    return found


def _is_finite(value: object) -> bool:
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        return False


def _no_map(worth: object, option: str) -> OptionError:
    return OptionError(
        Message(Option(option, worth), " does not say what words are worth"),
        Message("give, for example, ", Option(option, "good=1,bad=0,absent=")),
        value=worth,
        option=option,
    )
