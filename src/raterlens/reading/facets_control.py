"""A FACETS control file: syntax, labels, models and specifications."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import NoReturn

from raterlens.base.errors import InputError
from raterlens.base.text import listed, shortened
from raterlens.reading.formats.table import read_text

END = "*"
MOST = 1_000_000
"""The longest range of elements that Labels= may name: a longer one is a slip of the pen."""
_COMMENT = re.compile(r'"[^"]*"|(;)')
_QUOTED = re.compile(r'"[^"]*"')
_BLANKS = re.compile(r'"([^"]*)"|(\S+)')
_NAME = re.compile(r"\s*([A-Za-z][A-Za-z0-9 ()\-_/.]*?)\s*[=,]")
_FIELD = re.compile(r'\s*"([^"]*)"\s*|([^=,\t]*)')
_RANGE = re.compile(r"(\d+)(?:\s*[-_]\s*(\d+))?")

# How few letters tell the specifications apart that matter here; FACETS itself looks at one or two.
NAMES = {
    "title": ("ti", "t"),
    "facets": ("fac", "f"),
    "positive": ("po", "p"),
    "negative": ("neg",),
    "noncentered": ("non", "n"),
    "models": ("mo", "m"),
    "labels": ("la", "l"),
    "data": ("da", "d"),
    "missing": ("mi",),
    "interrater": ("in",),
    "entered": ("en",),
    "rating scale": ("rat", "r"),
    "delements": ("de",),
    "dvalues": ("dv",),
    "replication": ("rep",),
    "null": ("ke",),
    "unit": ("us",),
    "mean": ("um",),
}


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its comment: its number, counted from 1, and the file it stands in."""

    number: int
    text: str
    file: str

    def refuse(self, what: str, advice: str) -> NoReturn:
        raise InputError(f"{self.file!r}, line {self.number:,}: {what}", advice, value=self.text)

    def real(self, text: str, what: str, advice: str) -> float:
        """A finite number."""
        try:
            value = float(text)
        except ValueError:
            self.refuse(f"{what} {shortened(text)} is not a number", advice)
        if not math.isfinite(value):
            self.refuse(f"{what} {shortened(text)} is not a finite number", "correct it")
        return value


def lines_of(text: str, file: str) -> Iterator[Line]:
    """The lines that say something."""
    for number, line in enumerate(text.splitlines(), 1):
        plain = _without_comment(line).replace("\xa0", " ").rstrip()
        if plain.strip():
            yield Line(number, plain, file)


def _without_comment(line: str) -> str:
    """The line up to the first semicolon that is not between quotes."""
    if '"' not in line:
        return line.partition(";")[0]
    semicolon = next((found.start() for found in _COMMENT.finditer(line) if found[1]), None)
    return line[:semicolon]


def name_of(line: Line) -> tuple[str, str, str] | None:
    """Split `Non-centered = 1`: the name as known here ("" if it is not), as written, and the value."""
    found = _NAME.match(line.text)
    if not found:
        return None
    written = found[1].strip()
    letters = re.sub(r"[^a-z0-9]", "", written.lower())
    known = next(
        (
            name
            for name, starts in NAMES.items()
            for start in starts
            if (letters.startswith(start) if len(start) > 1 else letters == start)
        ),
        "",
    )
    return known, written, line.text[found.end() :].strip()


def fields(text: str) -> list[str]:
    """The fields between commas, equal signs or tabs; quotes hold one together."""
    found, at = [], 0
    while at <= len(text):
        match = _FIELD.match(text, at)
        assert match is not None
        found.append((match[1] if match[1] is not None else match[2]).strip())
        at = match.end() + 1
    return found


def values(text: str) -> list[str]:
    """The fields of a line of data: commas or tabs separate; where there are none, blanks do."""
    if '"' in text:
        outside = _QUOTED.sub("", text)
        blanks = "," not in outside and "\t" not in outside
        return [quoted or plain for quoted, plain in _BLANKS.findall(text)] if blanks else fields(text)
    if "," in text or "\t" in text:
        return [part.strip() for part in text.replace("\t", ",").split(",")]
    return text.split()


LARGEST_ELEMENT = 10**15


def span(field: str) -> range | None:
    """The elements that a field stands for: "3" or "1-5" ("1_5"); None where it is neither, or beyond all elements."""
    found = _RANGE.fullmatch(field)
    if found is None or int(found[2] or found[1]) > LARGEST_ELEMENT:
        return None
    return range(int(found[1]), int(found[2] or found[1]) + 1)


def numbers(line: Line, value: str) -> list[int]:
    """Facet numbers, such as those of `Positive = 1,3`."""
    found = [field for field in re.split(r"[,=\s]+", value) if field]
    if not all(field.isdigit() for field in found):
        line.refuse(
            f"{shortened(value)} should be numbers of facets", "write them with commas, for example 1,3"
        )
    return [int(field) for field in found]


@dataclass(frozen=True, slots=True)
class Element:
    """A student, a rater, an item: its label, and the measure given for it."""

    label: str
    measure: float | None
    line: Line | None = None


@dataclass(frozen=True, slots=True)
class FacetLabels:
    """A facet; without elements where every number in the data will do."""

    number: int
    name: str
    code: str = ""
    elements: dict[int, Element] = field(default_factory=dict)
    line: Line | None = None

    @property
    def anchored(self) -> bool:
        return self.code.startswith("A")

    @property
    def dummy(self) -> bool:
        return self.code.startswith("D")

    def labels(self) -> dict[int, str]:
        """The label of every element: its name, with the number where two have the same."""
        times = Counter(element.label for element in self.elements.values())
        return {
            number: element.label if times[element.label] == 1 else f"{element.label} ({number})"
            for number, element in self.elements.items()
        }


def read_facet(line: Line, lines: Iterator[Line]) -> tuple[FacetLabels, Line | None]:
    """One facet, up to its `*`; or to a line that is no element, which is handed back."""
    number, name, code, *_ = [*fields(line.text), "", "", ""]
    if not number.isdigit():
        line.refuse(f"{shortened(number)} is not the number of a facet", "begin a facet as in: 2, Raters")
    kind = code[:1].upper()
    if kind == "G":
        line.refuse(
            f"facet {number} is group-anchored ({code})",
            "Raterlens holds single elements: anchor them with A, or none",
        )
    if kind and kind not in "ADN":
        line.refuse(
            f"facet {number} has the code {shortened(code)}",
            "Raterlens knows A (anchored) and D (dummy): take it out",
        )
    facet = FacetLabels(int(number), name or f"facet {number}", code.strip().upper(), {}, line)
    for element in lines:
        text = element.text.strip()
        if text == END:
            return facet, None
        if not text[0].isdigit():
            return facet, element
        _elements(facet, element)
    return facet, None


def _elements(facet: FacetLabels, line: Line) -> None:
    """`7 = Ann, 0.5, 2`: number or range, label, measure, group, weight, target."""
    numbers, label, measure, _, weight, target, *_ = [*fields(line.text), *[""] * 6]
    covered = span(numbers)
    if covered is None:
        line.refuse(f"{shortened(numbers)} is not an element number", "write an element as in: 7 = Ann")
    if weight not in ("", "1", "1.0") or target:
        line.refuse("weights and merged elements are not supported", "take them out, or prepare the data so")
    value = line.real(measure, "the measure", "write an element as in: 7 = Ann, 0.5") if measure else None
    if len(covered) > MOST:
        line.refuse(
            f"{shortened(numbers)} are {len(covered):,} elements", f"name at most {MOST:,} in one range"
        )
    for number in covered:
        name = label if label and len(covered) == 1 else f"{label} {number}".strip()
        before = facet.elements.get(number)
        if before is None:
            facet.elements[number] = Element(name, value, line)
        else:  # Named twice: what the second line leaves out stays.
            kept = before.measure if value is None else value
            facet.elements[number] = Element(name if label else before.label, kept, line)


_CODE = re.compile(r"([DRBPM])(\d*)(K?)", re.IGNORECASE)
HIGHEST = 9
"""The highest score of a plain R."""
_REFUSED = {"B": "binomial trials", "P": "Poisson counts"}


@dataclass(frozen=True, slots=True)
class RatingScale:
    """A scale with a name of its own: its code, and the thresholds that are held."""

    name: str
    code: str
    line: Line
    own: bool = False
    """Each model that names it has thresholds of its own."""
    thresholds: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Model:
    """Which elements of each facet it is for, and its scale."""

    places: tuple[str, ...]
    scale: str
    line: Line

    def check(self, scales: Mapping[str, RatingScale], n_facets: int) -> None:
        if len(self.places) != n_facets:
            self.line.refuse(
                f"the model has {len(self.places)} facets where the data have {n_facets}",
                "give one ? for each facet, then the scale",
            )
        self.scored(scales)

    def scored(self, scales: Mapping[str, RatingScale]) -> tuple[str, int]:
        """The kind of scale, D, R or M, and its number: the cut of D, the highest score of R."""
        named = scales.get(self.scale.lower())
        code = named.code if named else self.scale
        found = _CODE.fullmatch(code)
        if found is None:
            self.line.refuse(
                f"{shortened(self.scale)} is not a scale",
                f"use D, R3 or the name of a Rating scale: {list(scales)}",
            )
        kind, size = found[1].upper(), found[2]
        if kind in _REFUSED:
            self.line.refuse(
                f"{_REFUSED[kind]} ({code}) are not supported", "scores must be 0/1 (D) or ordered (R3, say)"
            )
        return kind, int(size) if size else HIGHEST if kind == "R" else 1

    @property
    def unused(self) -> list[int]:
        """The places of facets that the model leaves out."""
        return [place for place, control in enumerate(self.places) if control.upper() in ("", "X")]

    def signed(self, sign: str) -> list[int]:
        """The places of facets with a sign: # where each element has thresholds of its own, B for an interaction."""
        return [place for place, control in enumerate(self.places) if sign in control.upper()]

    def bounds(self) -> list[tuple[int, range]]:
        """The places of facets of which the model takes some elements only, and these."""
        limited = ((place, re.sub(r"[#BbKk]", "", control)) for place, control in enumerate(self.places))
        found = ((place, span(text)) for place, text in limited)
        return [(place, covered) for place, covered in found if covered is not None]


def read_model(line: Line, text: str) -> Model:
    """`?,?,#,R3`: a sign for each facet, the scale, and a weight that must be 1."""
    parts = fields(text)
    places = tuple(takewhile(_is_place, parts))
    scale, weight, *_ = [*parts[len(places) :], "", ""]
    if not places or not scale:
        line.refuse(
            f"{shortened(text)} is not a model", "give one ? for each facet, then the scale: ?,?,?,R3"
        )
    if any(place.startswith("-") for place in places):
        line.refuse(
            f"a facet is turned round in {shortened(text)}",
            "use Positive= for that; Raterlens has no such model",
        )
    if weight and line.real(weight, "the weight", "take it out") != 1:
        line.refuse(f"the model has the weight {weight}", "Raterlens weighs all ratings alike: take it out")
    return Model(places, scale, line)


def read_scale(line: Line, value: str, lines: Iterator[Line]) -> RatingScale:
    """`Rating scale = Style, R3` and its categories: `2 = good, 0.4, A`."""
    name, code, *more = [*fields(value), "", ""]
    scale = RatingScale(name, code or "R", line, own=any(part.upper() == "S" for part in more))
    for row in lines:
        if row.text.strip() == END:
            break
        number, _, threshold, anchored, recoded, *_ = [*fields(row.text), *[""] * 5]
        if recoded:
            row.refuse(f"scores are recoded ({recoded})", "recode the data themselves")
        if not number.isdigit():
            row.refuse(f"{shortened(number)} is not a category", "write it as in: 2 = good")
        if anchored.upper().startswith("A") and threshold:
            held = row.real(threshold, "the threshold", "write it as in: 2 = good, 0.4, A")
            scale.thresholds[int(number)] = held
    return scale


def _is_place(part: str) -> bool:
    return bool(re.fullmatch(r"-?(\?|#|\$|X|0|\d+(\s*[-_]\s*\d+)?)[?#BKX]*|-?[?#]B?|", part, re.IGNORECASE))


_FACETS = re.compile(r"^[ \t]*fac[a-z ]*=\s*\d", re.IGNORECASE | re.MULTILINE)
_REST = re.compile(r"^[ \t]*(data|models?|labels?)[a-z ]*[=,]", re.IGNORECASE | re.MULTILINE)


@dataclass(slots=True)
class Control:
    """State of a control file that is being read."""

    path: Path
    title: str = ""
    n_facets: int = 0
    facets: dict[int, FacetLabels] = field(default_factory=dict)
    positive: tuple[int, ...] = (1,)
    noncentered: tuple[int, ...] = (1,)
    inter_rater: int | None = None
    entered: tuple[int, ...] | None = None
    missing: frozenset[str] = frozenset()
    models: list[Model] = field(default_factory=list)
    scales: dict[str, RatingScale] = field(default_factory=dict)
    fixed: dict[int, str] = field(default_factory=dict)
    """Facets whose elements are the same on every line of data (`Dvalues`)."""
    by_label: bool = False
    replication: str = "R"
    null: int = 0
    data: list[Line] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    scaled: Line | None = None
    """A line that asks for other units than logits."""

    @property
    def order(self) -> tuple[int, ...]:
        """The facets in the order of a line of data."""
        return self.entered or tuple(range(1, self.n_facets + 1))

    @property
    def places(self) -> tuple[int, ...]:
        """The facets in the order of a model: those of a line of data, then those that are the same on every line."""
        return (*self.order, *(number for number in sorted(self.fixed) if number not in self.order))

    @property
    def in_data(self) -> tuple[int, ...]:
        """The facets whose elements stand on a line of data."""
        return tuple(number for number in self.order if number not in self.fixed)

    def named(self, column: str) -> FacetLabels:
        """The facet of a column: by its name, with the number before it where two have the same."""
        return next(
            facet for facet in self.facets.values() if column in (facet.name, f"{facet.number} {facet.name}")
        )

    def name(self, number: int) -> str:
        return self.facets[number].name if number in self.facets else f"facet {number}"


def is_control(path: Path, encoding: str) -> bool:
    """Whether a text file is a control file: it says how many facets there are, and has labels, models or data."""
    with path.open("rb") as file:
        start = file.read(1 << 16)
    text = start.decode(encoding if encoding != "utf-8" else "utf-8-sig", errors="replace")
    return bool(_FACETS.search(text) and _REST.search(text))


def parse_control(path: Path, encoding: str = "utf-8") -> Control:
    """Read a control file and the data in it or beside it."""
    control = Control(path)
    lines = lines_of(read_text(path, encoding), path.name)
    for line in lines:
        _specification(control, line, lines, encoding)
    if not control.n_facets:
        raise InputError(
            f"{path.name!r} does not say how many facets there are", "add a line such as Facets = 3"
        )
    # Dvalues= counts places in the data, which Entered= gives to facets.
    facet_at = dict(enumerate(control.order, 1))
    control.fixed = {facet_at.get(place, place): text for place, text in control.fixed.items()}
    for number in range(1, control.n_facets + 1):
        control.facets.setdefault(number, FacetLabels(number, f"facet {number}"))
    if not control.models:
        raise InputError(
            f"{path.name!r} has no Models=",
            f"for scores from 0 to 3 add the line Models = {'?,' * control.n_facets}R3",
        )
    for model in control.models:
        model.check(control.scales, len(control.places))
    if not control.data:
        raise InputError(f"{path.name!r} has no data", "end it with Data= and the ratings, or Data = FILE")
    return control


def _specification(control: Control, line: Line, lines: Iterator[Line], encoding: str) -> None:
    """Take in one specification, with the lines that belong to it."""
    found = name_of(line)
    if found is None:
        if line.text.strip() == END:
            return
        line.refuse(f"{line.text.strip()[:60]!r} is not a specification", "write it as Name = value")
    known, written, value = found
    match known:
        case "title":
            control.title = value
        case "facets":
            control.n_facets = next(iter(numbers(line, value)), 0)
            if not control.n_facets:
                line.refuse(f"{shortened(value)} facets", "write how many there are, for example Facets = 3")
        case "positive":
            control.positive = tuple(_facets(control, line, value))
        case "negative":
            negative = _facets(control, line, value)
            control.positive = tuple(n for n in range(1, control.n_facets + 1) if n not in negative)
        case "noncentered":
            control.noncentered = tuple(_facets(control, line, value))
        case "interrater":
            control.inter_rater = next(iter(_facets(control, line, value)), 0) or None
        case "entered":
            _entered(control, line, _facets(control, line, value))
        case "missing":
            control.missing = frozenset(filter(None, (part.strip(" \"'") for part in fields(value))))
        case "labels":
            _labels(control, lines, encoding)
        case "models":
            _models(control, line, value, lines, encoding)
        case "rating scale":
            scale = read_scale(line, value, lines)
            control.scales[scale.name.lower()] = scale
        case "delements":
            control.by_label = "L" in value.upper()
        case "dvalues":
            _dvalues(control, line, value, lines)
        case "replication":
            control.replication = value[:1] or "R"
        case "null":
            control.null = next(iter(numbers(line, value)), 0)
        case "unit" | "mean":
            control.scaled = line
        case "data":
            _data(control, line, value, lines, encoding)
        case _:
            control.ignored.append(f"{written} (line {line.number})")


def _facets(control: Control, line: Line, value: str) -> list[int]:
    """Numbers of facets that there are."""
    found = numbers(line, value)
    beyond = [number for number in found if number > control.n_facets]
    if beyond:
        line.refuse(
            f"facet {beyond[0]} where Facets = {control.n_facets}",
            "correct one of them" if control.n_facets else "put Facets = first",
        )
    return found


def _labels(control: Control, lines: Iterator[Line], encoding: str) -> None:
    """Facets, each with its elements, up to a line that is no facet."""
    for line in lines:
        if line.text.strip() == END:
            continue
        if not line.text.lstrip()[:1].isdigit():
            _specification(control, line, lines, encoding)
            return
        facet, following = read_facet(line, lines)
        _facets(control, line, str(facet.number))
        control.facets[facet.number] = facet
        if following is not None:
            _specification(control, following, lines, encoding)
            return


def _models(control: Control, line: Line, value: str, lines: Iterator[Line], encoding: str) -> None:
    if value:
        control.models.append(read_model(line, value))
    for line in lines:
        text = line.text.strip()
        if text == END:
            return
        if name_of(line) is not None and "?" not in text.partition("=")[0]:
            _specification(control, line, lines, encoding)
            return
        control.models.append(read_model(line, text))


def _entered(control: Control, line: Line, order: list[int]) -> None:
    if len(set(order)) < len(order):
        line.refuse("a facet is entered twice, as in paired comparisons", "Raterlens has no such model")
    if 0 in order:
        line.refuse("a facet 0 is to be skipped in the data", "take that column out of the data")
    control.entered = tuple(order)


def _dvalues(control: Control, line: Line, value: str, lines: Iterator[Line]) -> None:
    """`Dvalues = 3, 1-5`, or a list of such lines."""
    rows = [(line, value)] if value else []
    if not value:
        for row in lines:
            if row.text.strip() == END:
                break
            rows.append((row, row.text))
    for row, text in rows:
        parts = [part for part in fields(text) if part]
        if len(parts) != 2 or not parts[0].isdigit() or parts[1].startswith("$"):
            row.refuse(
                f"Dvalues of the form {shortened(text.strip())} are not supported",
                "write a facet and its elements: 3, 1-5",
            )
        _facets(control, row, parts[0])
        control.fixed[int(parts[0])] = parts[1]


def _data(control: Control, line: Line, value: str, lines: Iterator[Line], encoding: str) -> None:
    if value:
        for name in value.split("+"):
            control.data += _data_file(control, line, name.strip(" \"'"), encoding)
    for row in lines:
        if row.text.lstrip().startswith("%"):
            control.data += _data_file(control, row, row.text.strip(" %\"'"), encoding)
        elif row.text.strip() != END:
            control.data.append(row)


def _data_file(control: Control, line: Line, name: str, encoding: str) -> list[Line]:
    path = control.path.parent / name.replace("\\", "/")
    if path.suffix.lower() not in ("", ".txt", ".csv", ".tsv", ".dat", ".prn"):
        line.refuse(
            f"data in {name!r} are not supported", "save them as a text file with commas, and name that"
        )
    if not path.is_file():
        here = sorted(other.name for other in control.path.parent.glob("*") if other.is_file())
        advice = f"write Data = {path.name}" if path.name in here else f"there are {listed(here, 6)}"
        line.refuse(f"no file {name!r} beside {control.path.name!r}", advice)
    return list(lines_of(read_text(path, encoding), path.name))
