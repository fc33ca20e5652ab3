"""How to read a table: its columns, its file type, the meaning of its scores."""

import codecs
import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from numbers import Real
from typing import Any, Literal, TypedDict, TypeGuard

from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option, between_commas, plain_number, shortened
from raterlens.config.option_fields import Request, check_options, check_text, option

Columns = str | Sequence[str] | None
"""A column, several to be combined, or None to recognise it."""
Best = Literal["high", "low"]
Duplicates = Literal["keep", "first", "refuse"]
LARGEST_CUT = 1e15
"""Beyond this, floats no longer distinguish whole numbers."""
ROW = "{row}"
"""The student column if each row is an unnamed piece of work."""
BESIDES = ("facets", "piece", "draw", "group", "known", "trusted_column")
"""Roles of columns that are never guessed."""
COLUMN_ROLES = ("student", "rater", "item", "score", "items", *BESIDES)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadConfig(Request):
    """Which columns hold what, and how to read the file: the options of `rl.read`, which documents them."""

    student: Columns = option(None, "Student column; combine several with commas (class,seat).")
    rater: Columns = option(None, "Rater column; combine several with commas (rater,topic).")
    item: Columns = option(None, "Item column, for one row per rating.")
    score: str | None = option(None, "Score column, for one row per rating.")
    items: Columns = option(None, "Score columns (a,b,c), for one row per rater and piece of work.")
    facets: Columns = option(
        None, "Columns of further facets (topic,occasion), each with its own difficulty."
    )
    piece: str | None = option(
        None, "Column that names the piece of work (essay, task) a rating is of, where students have several."
    )
    draw: str | None = option(
        None, "Column of a rater's draws (epoch, run, seed): several answers of a judge to the same question."
    )
    group: str | None = option(
        None,
        "Column of groups that students belong to (school, system), one per student.",
        flag="--population-by",
    )
    known: Any = option(
        None, "Column of known answers, empty where unknown; or a file with students, items and answers."
    )
    known_cut: float | None = option(
        None, "Lowest passing known answer, where known answers have another scale than scores."
    )
    known_map: str | Mapping[str, float | None] | None = option(
        None, "Scores for words among known answers: right=1,wrong=0."
    )
    trusted_column: str | None = option(
        None, "Column that marks whom you trust: yes or no, the same in all rows of a rater."
    )
    cut: float | None = option(None, "Lowest passing score: turns scores into pass and fail.")
    bands: str | Sequence[float] | None = option(
        None, "Where bands of scores begin, all but the first: 40,60,80 turns marks out of 100 into 0-3."
    )
    """Lower ends of all bands but the first, kept as text: "40,60,80"."""
    map: str | Mapping[str, float | None] | None = option(
        None, "Scores for words: good=1,bad=0,absent= (empty means missing). Common words are recognised."
    )
    table: str | None = option(
        None,
        "Sheet of a workbook ('*': all that are laid out alike), table of a database, or data frame of "
        "an R file.",
        flag=("--table", "--sheet"),
    )
    wide: str | None = option(
        None, "Names of score columns that hold one rater (or item, or student) each: '{rater} {item}'."
    )
    markers: str | None = option(
        None, "Names of rater columns and of their score columns: 'Marker {n}:Mark {n}'."
    )
    pattern: str | None = option(
        None, "Regular expression whose first group is the verdict within a text: 'Rating: (\\d+)'."
    )
    best: Best | None = option(
        None, "Which scores are best: high, or low as with ranks, which are then turned round."
    )
    """Which end of the scores is best, if the file does not say; "low" reverses ranks."""
    duplicates: Duplicates | None = option(
        None, "Ratings of the same student, rater and item: keep them, take the first, or refuse the file."
    )
    """Treatment of several ratings of the same student, rater and item; None asks."""
    format: str | None = option(None, "File type (csv, xlsx, ...), if the file name does not tell.")
    encoding: str | None = option(None, "Encoding of a text file, where it is not recognised.")
    """None: UTF-8, or if that fails, what the bytes suggest."""
    as_written: bool = option(False, "Read the table unchanged: keep totals, spellings and half points.")

    def __post_init__(self) -> None:
        for role in (role for role in COLUMN_ROLES if role != "known"):
            spec = getattr(self, role)
            if spec is not None and not isinstance(spec, str):
                several = isinstance(spec, Iterable)
                object.__setattr__(self, role, tuple(map(str, spec)) if several else str(spec))
        if self.items is not None and self.wide is None:
            _refuse_items_and(self, "item" if self.item is not None else "score")
        for role in ("score", "piece", "draw", "group", "trusted_column"):
            if isinstance(spec := getattr(self, role), tuple):
                object.__setattr__(self, role, _single_column(role, spec))
        self._normalise_scores()
        for name in ("table", "wide", "markers", "pattern", "format"):
            check_text(name, getattr(self, name))
        check_options(self)
        for name, check in _CHECKS.items():
            if (value := getattr(self, name)) is not None:
                check(value)

    def _normalise_scores(self) -> None:
        """Check what scores mean."""
        for name in ("cut", "known_cut"):
            object.__setattr__(self, name, _checked_cut(name, getattr(self, name)))
        if self.bands is not None:
            object.__setattr__(self, "bands", bands_text(self.bands, self.cut))
        for name in ("map", "known_map"):
            if (words := getattr(self, name)) is not None:
                object.__setattr__(self, name, map_text(words, name))

    def names(self, role: str) -> tuple[str, ...]:
        """Return the columns that the user names for a role."""
        spec = getattr(self, role)
        if spec is None or (role == "known" and not isinstance(spec, str)):
            return ()
        return (spec,) if isinstance(spec, str) else tuple(spec)

    def taken(self, *roles: str) -> tuple[str, ...]:
        """Return the columns that the user names for several roles."""
        return tuple(name for role in roles for name in self.names(role))

    @property
    def codec(self) -> str:
        """The encoding given, else UTF-8."""
        return self.encoding or "utf-8"

    def edges(self) -> tuple[float, ...]:
        """Return where bands begin."""
        return () if self.bands is None else tuple(float(edge) for edge in str(self.bands).split(","))

    def worth(self, option: Literal["map", "known_map"] = "map") -> dict[str, float | None]:
        """Return the scores of words; None for a missing score."""
        words = getattr(self, option)
        return {} if words is None else pairs(str(words), option)


class ReadOptions(TypedDict, total=False):
    """Options of `rl.read` as users give them."""

    student: Columns
    rater: Columns
    item: Columns
    score: str
    items: Columns
    facets: Columns
    piece: str
    known: Any
    trusted_column: str
    draw: str
    group: str
    known_cut: float
    known_map: str | Mapping[str, float | None]
    cut: float
    bands: str | Sequence[float]
    map: str | Mapping[str, float | None]
    table: str
    wide: str
    markers: str
    pattern: str
    best: Best
    duplicates: Duplicates
    as_written: bool
    format: str
    encoding: str


READ_OPTIONS = tuple(one.name for one in fields(ReadConfig))


def pattern_fields(pattern: str) -> list[str]:
    """The fields of a pattern of column names, in their order: {rater}, {item}, {student} or several."""
    found = re.findall(r"\{[^{}]*\}", pattern)
    if not found or len(set(found)) < len(found) or not set(found) <= {"{rater}", "{item}", "{student}"}:
        raise _refused(
            "wide", pattern, " does not hold {rater} or {item} or both, once each", "{rater} {item}"
        )
    return found


def _refused(option: str, value: object, why: str, example: object) -> OptionError:
    """Make the error about an option that does not say what it should, with an example of one that does."""
    remedy = Message("give, for example, ", Option(option, example))
    return OptionError(Message(Option(option, value), why), remedy)


def _single_column(option: str, names: tuple[str, ...]) -> str | None:
    if len(names) > 1:
        what = Message(Option(option, list(names)), " names several columns")
        each = Message("where each item has a column, give them as ", Option("items"))
        raise OptionError(what, each if option == "score" else "give one", value=names)
    return "".join(names) or None


Groups = list[tuple[str, tuple[str, ...]]]
"""Columns of raters, each with its columns of scores."""


def marker_patterns(markers: str) -> list[Groups]:
    """Return the ways to split names of rater columns from those of score columns: names may contain a colon.

    Examples
    --------
    >>> marker_patterns("Marker {n}:Mark {n}"), marker_patterns("rater{n}:style{n},plot{n}")
    ([[('Marker {n}', ('Mark {n}',))]], [[('rater{n}', ('style{n}', 'plot{n}'))]])
    >>> marker_patterns("Ann:Mark A;Bob:Mark B")
    [[('Ann', ('Mark A',)), ('Bob', ('Mark B',))]]
    """
    several = markers.split(";")
    ways: list[Groups] = [[]]
    for text in several:
        places = [place for place, letter in enumerate(text) if letter == ":"]
        pairs = [
            (text[:place].strip(), tuple(part.strip() for part in text[place + 1 :].split(",")))
            for place in places
        ]
        if len(several) == 1:
            pairs = [pair for pair in pairs if all(one.count("{n}") == 1 for one in (pair[0], *pair[1]))]
        ways = [[*way, pair] for way in ways for pair in pairs if all((pair[0], *pair[1]))]
    if not ways:
        why = " does not pair rater columns with score columns"
        raise _refused("markers", markers, why, "Marker {n}:Mark {n}")
    return ways


def _check_pattern(pattern: str) -> None:
    why = " has no group, which is what the verdict is read from"
    try:
        if re.compile(pattern).groups:
            return
    except re.error as error:
        why = f" is not a regular expression ({error})"
    raise _refused("pattern", pattern, why, r"\[\[(.+?)\]\]")


def _checked_cut(name: str, cut: object) -> float | None:
    """The lowest passing score, a whole number where it is one."""
    if cut is None:
        return None
    if not _is_finite(cut) or not abs(cut) < LARGEST_CUT:
        why = " is beyond any score" if _is_finite(cut) else " is not a finite number"
        remedy = Message("give the lowest passing score, for example ", Option(name, 3))
        raise OptionError(Message(Option(name, cut), why), remedy)
    return plain_number(float(cut))


def _refuse_items_and(config: ReadConfig, other: str) -> None:
    """Raise if columns of several items come together with a single item or score column."""
    given = getattr(config, other)
    if given is None:
        return
    items, one = Option("items"), (Option("item"), " and ", Option("score"))
    what = Message("both ", Option("items", list(config.names("items"))), " and ", Option(other, given))
    for_essays = ("choose one: ", items, " for one row per essay with a column per item, ")
    remedy = Message(*for_essays, *one, " for one row per rating")
    raise OptionError(Message(what, " are given"), remedy, value=given, option=other)


def _check_encoding(encoding: str) -> None:
    try:
        "".encode(encoding)  # not all that codecs knows are encodings of text (hex), nor of files (punycode)
        if codecs.lookup(encoding).name in ("punycode", "idna", "unicode-escape", "raw-unicode-escape"):
            raise LookupError(encoding)
    except (LookupError, TypeError, ValueError) as error:
        what, remedy = f"unknown encoding {shortened(encoding)}", "try 'utf-8', 'cp1252' or 'utf-16'"
        raise OptionError(what, remedy, value=encoding, option="encoding") from error


_CHECKS: dict[str, Callable[[str], object]] = {
    "wide": pattern_fields,
    "pattern": _check_pattern,
    "markers": marker_patterns,
    "encoding": _check_encoding,
}


OPEN = "?"
"""The score, in a proposal, of a word whose worth only a person knows."""


def bands_text(bands: object, cut: float | None = None) -> str:
    """Check where bands begin, and write it as text; raise beside a cut.

    Examples
    --------
    >>> bands_text([40, 60.5]), bands_text("40, 60.5")
    ('40,60.5', '40,60.5')
    """
    if cut is not None:
        what = Message("both ", Option("cut", cut), " and ", Option("bands", bands), " are given")
        remedy = "choose one: pass and fail, or several bands"
        raise OptionError(what, remedy, value=bands, option="bands")
    given = bands.split(",") if isinstance(bands, str) else bands
    try:
        edges = [float(edge) for edge in given]  # type: ignore[attr-defined]
        rising = all(low < high for low, high in pairwise(edges)) and all(map(math.isfinite, edges))
    except (TypeError, ValueError, OverflowError):
        edges, rising = [], False
    if not edges or not rising:
        what = Message(Option("bands", bands), " is not a list of ascending numbers")
        example = Option("bands", "40,60,80")
        raise OptionError(
            what, Message("give the lowest score of each band but the first, for example ", example)
        )
    return ",".join(f"{edge:.12g}" for edge in edges)


def map_text(worth: object, option: str = "map") -> str:
    """Write scores of words as text; a word for a missing score has none.

    Examples
    --------
    >>> map_text({"good": 1, "bad": 0, "absent": None}), map_text("good=1, bad=0")
    ('good=1,bad=0,absent=', 'good=1,bad=0')
    """
    known = pairs(worth, option) if isinstance(worth, str) else worth
    finite = isinstance(known, Mapping) and all(v is None or _is_finite(v) for v in known.values())
    if not isinstance(known, Mapping) or not known or not finite:
        raise _refused(option, worth, _NO_MAP, _A_MAP)
    line = io.StringIO()
    cells = (f"{word}={'' if value is None else f'{float(value):.12g}'}" for word, value in known.items())
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


_NO_MAP, _A_MAP = " does not say what words are worth", "good=1,bad=0,absent="


def pairs(text: str, option: str = "map") -> dict[str, float | None]:
    """Read words and their scores from text."""
    found: dict[str, float | None] = {}
    for cell in between_commas(text) or [""]:
        word, equals, value = (part.strip() for part in cell.strip().rpartition("="))
        if value == OPEN:
            what = Message(Option(option, text), f" leaves open what {word!r} is worth")
            remedy = f"write a number in place of each {OPEN}, or nothing for a missing score"
            raise OptionError(what, remedy)
        try:
            found[word] = float(value) if value else None
        except ValueError:
            equals = ""
        if not equals:
            raise _refused(option, text, _NO_MAP, _A_MAP)
    return found


def _is_finite(value: object) -> TypeGuard[float]:
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        return False
