"""A FACETS control file: its specifications by keyword, each with the lines that belong to it."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, takewhile
from pathlib import Path
from typing import NoReturn

from raterlens.base.errors import InputError
from raterlens.base.text import listed, shortened
from raterlens.reading.formats.table import read_text

END = "*"
MOST = 1_000_000
"""The longest range of elements that Labels= may name: a longer one is a slip of the pen."""
LARGEST_ELEMENT = 10**15
HIGHEST = 9
"""The highest score of a plain R."""

KEYWORDS = {
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
"""How few letters tell the specifications apart that matter here; FACETS itself looks at one or two."""
LISTS = ("models", "labels", "data", "rating scale", "dvalues")
"""Specifications with lines of their own below."""


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


@dataclass(frozen=True, slots=True)
class Specification:
    """`Non-centered = 1`: its keyword ("" if it is not known here), as written, its value and the lines below it."""

    line: Line
    keyword: str
    written: str
    value: str
    body: list[Line] = field(default_factory=list)


_NAME = re.compile(r"\s*([A-Za-z][A-Za-z0-9 ()\-_/.]*?)\s*[=,]")


def specification(line: Line) -> Specification | None:
    """The specification that a line begins."""
    found = _NAME.match(line.text)
    if found is None:
        return None
    letters = re.sub(r"[^a-z0-9]", "", found[1].lower())
    fits = (
        any(letters.startswith(start) if len(start) > 1 else letters == start for start in starts)
        for starts in KEYWORDS.values()
    )
    keyword = next(compress(KEYWORDS, fits), "")
    return Specification(line, keyword, found[1].strip(), line.text[found.end() :].strip())


def specifications(lines: Iterable[Line]) -> list[Specification]:
    """All specifications, each with the lines below it: up to the next one, or to a star where it has one list."""
    found: list[Specification] = []
    listing = ""
    for line in lines:
        text = line.text.strip()
        begun = specification(line)
        if listing == "data" or (listing == "models" and "?" in text.partition("=")[0]):
            begun = None
        if begun is not None:
            found.append(begun)
            listing = begun.keyword if begun.keyword in LISTS else ""
            if listing == "dvalues" and begun.value:
                listing = ""
        elif text == END and listing not in ("data", "labels"):
            listing = ""
        elif not listing or (listing == "labels" and text != END and not text[0].isdigit()):
            line.refuse(f"{text[:60]!r} is not a specification", "write it as Name = value")
        else:
            found[-1].body.append(line)
    return found


_COMMENT = re.compile(r'"[^"]*"|(;)')
_QUOTED = re.compile(r'"[^"]*"')
_BLANKS = re.compile(r'"([^"]*)"|(\S+)')
_FIELD = re.compile(r'\s*"([^"]*)"\s*|([^=,\t]*)')
_RANGE = re.compile(r"(\d+)(?:\s*[-_]\s*(\d+))?")


def lines_of(text: str, file: str) -> Iterator[Line]:
    """The lines that say something, up to the first semicolon that is not between quotes."""
    for number, line in enumerate(text.splitlines(), 1):
        semicolon = next((found.start() for found in _COMMENT.finditer(line) if found[1]), None)
        plain = line[:semicolon].replace("\xa0", " ").rstrip()
        if plain.strip():
            yield Line(number, plain, file)


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
    outside = _QUOTED.sub("", text) if '"' in text else text
    if "," not in outside and "\t" not in outside:
        return [quoted or plain for quoted, plain in _BLANKS.findall(text)] if '"' in text else text.split()
    return fields(text) if '"' in text else [part.strip() for part in text.replace("\t", ",").split(",")]


def span(field: str) -> range | None:
    """The elements that a field stands for: "3" or "1-5" ("1_5"); None where it is neither, or beyond all elements."""
    found = _RANGE.fullmatch(field)
    if found is None or int(found[2] or found[1]) > LARGEST_ELEMENT:
        return None
    return range(int(found[1]), int(found[2] or found[1]) + 1)


def numbers(line: Line, value: str, most: int | None = None) -> list[int]:
    """Facet numbers, such as those of `Positive = 1,3`, up to the number of facets."""
    found = [field for field in re.split(r"[,=\s]+", value) if field]
    if not all(field.isdigit() for field in found):
        what = f"{shortened(value)} should be numbers of facets"
        line.refuse(what, "write them with commas, for example 1,3")
    facets = [int(field) for field in found]
    if most is not None and max(facets, default=0) > most:
        line.refuse(f"facet {max(facets)} where Facets = {most}", "correct one of them")
    return facets


@dataclass(frozen=True, slots=True)
class Element:
    """A student, a rater, an item: its label, and the measure given for it."""

    label: str
    measure: float | None


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


def read_labels(lines: Iterable[Line]) -> Iterator[FacetLabels]:
    """Facets (`2, Raters, A`), each followed by its elements and a star."""
    facet: FacetLabels | None = None
    for line in lines:
        if line.text.strip() == END:
            facet = None
        elif facet is None:
            facet = _facet(line)
            yield facet
        else:
            _add_elements(facet, line)


def _facet(line: Line) -> FacetLabels:
    number, name, code, *_ = [*fields(line.text), "", "", ""]
    if not number.isdigit():
        line.refuse(f"{shortened(number)} is not the number of a facet", "begin a facet as in: 2, Raters")
    kind = code[:1].upper()
    if kind == "G":
        advice = "Raterlens holds single elements: anchor them with A, or none"
        line.refuse(f"facet {number} is group-anchored ({code})", advice)
    if kind and kind not in "ADN":
        advice = "Raterlens knows A (anchored) and D (dummy): take it out"
        line.refuse(f"facet {number} has the code {shortened(code)}", advice)
    return FacetLabels(int(number), name or f"facet {number}", code.strip().upper(), {}, line)


def _add_elements(facet: FacetLabels, line: Line) -> None:
    """`7 = Ann, 0.5, 2`: number or range, label, measure, group, weight, target."""
    numbers, label, measure, _, weight, target, *_ = [*fields(line.text), *[""] * 6]
    covered = span(numbers)
    if covered is None:
        line.refuse(f"{shortened(numbers)} is not an element number", "write an element as in: 7 = Ann")
    if weight not in ("", "1", "1.0") or target:
        line.refuse("weights and merged elements are not supported", "take them out, or prepare the data so")
    value = line.real(measure, "the measure", "write an element as in: 7 = Ann, 0.5") if measure else None
    if len(covered) > MOST:
        what = f"{shortened(numbers)} are {len(covered):,} elements"
        line.refuse(what, f"name at most {MOST:,} in one range")
    for number in covered:
        name = label if label and len(covered) == 1 else f"{label} {number}".strip()
        # Where an element is named twice, what the second line leaves out stays.
        before = facet.elements.get(number, Element(name, None))
        kept = before.measure if value is None else value
        facet.elements[number] = Element(name if label else before.label, kept)


_CODE = re.compile(r"([DRBPM])(\d*)(K?)", re.IGNORECASE)
_REFUSED = {"B": "binomial trials", "P": "Poisson counts"}


@dataclass(frozen=True, slots=True)
class RatingScale:
    """A scale with a name of its own: its code, and the thresholds that are held."""

    name: str
    code: str
    line: Line
    thresholds: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Model:
    """Which elements of each facet it is for, and its scale."""

    places: tuple[str, ...]
    scale: str
    line: Line

    def scored(self, scales: Mapping[str, RatingScale]) -> tuple[str, int]:
        """The kind of scale, D, R or M, and its number: the cut of D, the highest score of R."""
        named = scales.get(self.scale.lower())
        code = named.code if named else self.scale
        found = _CODE.fullmatch(code)
        if found is None:
            advice = f"use D, R3 or the name of a Rating scale: {list(scales)}"
            self.line.refuse(f"{shortened(self.scale)} is not a scale", advice)
        kind, size = found[1].upper(), found[2]
        if kind in _REFUSED:
            what = f"{_REFUSED[kind]} ({code}) are not supported"
            self.line.refuse(what, "scores must be 0/1 (D) or ordered (R3, say)")
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
        found = ((place, span(re.sub(r"[#BbKk]", "", control))) for place, control in enumerate(self.places))
        return [(place, covered) for place, covered in found if covered is not None]


def read_model(line: Line, text: str) -> Model:
    """`?,?,#,R3`: a sign for each facet, the scale, and a weight that must be 1."""
    parts = fields(text)
    places = tuple(takewhile(_PLACE.fullmatch, parts))
    scale, weight, *_ = [*parts[len(places) :], "", ""]
    if not places or not scale:
        what = f"{shortened(text)} is not a model"
        line.refuse(what, "give one ? for each facet, then the scale: ?,?,?,R3")
    if any(place.startswith("-") for place in places):
        what = f"a facet is turned round in {shortened(text)}"
        line.refuse(what, "use Positive= for that; Raterlens has no such model")
    if weight and line.real(weight, "the weight", "take it out") != 1:
        line.refuse(f"the model has the weight {weight}", "Raterlens weighs all ratings alike: take it out")
    return Model(places, scale, line)


_PLACE = re.compile(r"-?(\?|#|\$|X|0|\d+(\s*[-_]\s*\d+)?)[?#BKX]*|-?[?#]B?|", re.IGNORECASE)


def read_scale(given: Specification) -> RatingScale:
    """`Rating scale = Style, R3` and its categories: `2 = good, 0.4, A`."""
    name, code, *_ = [*fields(given.value), "", ""]
    thresholds = {}
    for row in given.body:
        number, _, threshold, anchored, recoded, *_ = [*fields(row.text), *[""] * 5]
        if recoded:
            row.refuse(f"scores are recoded ({recoded})", "recode the data themselves")
        if not number.isdigit():
            row.refuse(f"{shortened(number)} is not a category", "write it as in: 2 = good")
        if anchored.upper().startswith("A") and threshold:
            thresholds[int(number)] = row.real(threshold, "the threshold", "write it as in: 2 = good, 0.4, A")
    return RatingScale(name, code or "R", given.line, thresholds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A control file with the data in it or beside it."""

    path: Path
    title: str
    facets: dict[int, FacetLabels]
    positive: Sequence[int]
    inter_rater: int | None
    order: Sequence[int]
    """The facets in the order of a line of data."""
    fixed: dict[int, str]
    """Facets whose elements are the same on every line of data (`Dvalues`)."""
    missing: frozenset[str]
    models: list[Model]
    scales: dict[str, RatingScale]
    by_label: bool
    replication: str
    null: int
    data: list[Line]
    ignored: list[str]
    scaled: Line | None
    """A line that asks for other units than logits."""

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


_FACETS = re.compile(r"^[ \t]*fac[a-z ]*=\s*\d", re.IGNORECASE | re.MULTILINE)
_REST = re.compile(r"^[ \t]*(data|models?|labels?)[a-z ]*[=,]", re.IGNORECASE | re.MULTILINE)


def is_control(path: Path, encoding: str) -> bool:
    """Whether a text file is a control file: it says how many facets there are, and has labels, models or data."""
    with path.open("rb") as file:
        start = file.read(1 << 16)
    text = start.decode(encoding if encoding != "utf-8" else "utf-8-sig", errors="replace")
    return bool(_FACETS.search(text) and _REST.search(text))


def parse_control(path: Path, encoding: str = "utf-8") -> Control:
    """Read a control file and the data in it or beside it."""
    given: dict[str, list[Specification]] = {keyword: [] for keyword in (*KEYWORDS, "")}
    for one in specifications(lines_of(read_text(path, encoding), path.name)):
        given[one.keyword].append(one)

    def value(keyword: str, default: str = "") -> str:
        return given[keyword][-1].value if given[keyword] else default

    def facets_of(keyword: str, most: int | None = None) -> list[int]:
        return numbers(given[keyword][-1].line, value(keyword), most) if given[keyword] else []

    n_facets = next(iter(facets_of("facets")), 0)
    if not n_facets:
        for one in given["facets"]:
            what = f"{shortened(one.value)} facets"
            one.line.refuse(what, "write how many there are, for example Facets = 3")
        what = f"{path.name!r} does not say how many facets there are"
        raise InputError(what, "add a line such as Facets = 3")
    everything = range(1, n_facets + 1)
    negative = facets_of("negative", n_facets)
    facets = {number: FacetLabels(number, f"facet {number}") for number in everything}
    for one in given["labels"]:
        for facet in read_labels(one.body):
            assert facet.line is not None
            numbers(facet.line, str(facet.number), n_facets)
            facets[facet.number] = facet
    order = _entered(given["entered"], n_facets) or everything
    # Dvalues= counts places in the data, which Entered= gives to facets.
    facet_at = dict(enumerate(order, 1))
    control = Control(
        path=path,
        title=value("title"),
        facets=facets,
        positive=facets_of("positive", n_facets)
        or [n for n in everything if negative and n not in negative]
        or [1],
        inter_rater=next(iter(facets_of("interrater", n_facets)), 0) or None,
        order=order,
        fixed={facet_at.get(place, place): text for place, text in _dvalues(given["dvalues"], n_facets)},
        missing=frozenset(part.strip(" \"'") for part in fields(value("missing"))) - {""},
        models=[read_model(*each) for one in given["models"] for each in _with_body(one)],
        scales={scale.name.lower(): scale for scale in map(read_scale, given["rating scale"])},
        by_label="L" in value("delements").upper(),
        replication=value("replication")[:1] or "R",
        null=next(iter(facets_of("null")), 0),
        data=[line for one in given["data"] for line in _data(path, one, encoding)],
        ignored=[f"{one.written} (line {one.line.number})" for one in given[""]],
        scaled=next((one.line for keyword in ("unit", "mean") for one in given[keyword]), None),
    )
    facets_of("noncentered", n_facets)
    _check_models(control)
    return control


def _check_models(control: Control) -> None:
    name, due = control.path.name, len(control.places)
    if not control.models:
        raise InputError(
            f"{name!r} has no Models=", f"for scores from 0 to 3 add the line Models = {'?,' * due}R3"
        )
    for model in control.models:
        if len(model.places) != due:
            what = f"the model has {len(model.places)} facets where the data have {due}"
            model.line.refuse(what, "give one ? for each facet, then the scale")
        model.scored(control.scales)
    if not control.data:
        raise InputError(f"{name!r} has no data", "end it with Data= and the ratings, or Data = FILE")


def _with_body(given: Specification) -> list[tuple[Line, str]]:
    """The value of a specification, if it has one, and the lines below it."""
    own = [(given.line, given.value)] if given.value else []
    return [*own, *((line, line.text.strip()) for line in given.body)]


def _entered(given: Sequence[Specification], n_facets: int) -> list[int]:
    """The order of facets on a line of data, where it is not their own."""
    order: list[int] = []
    for one in given:
        order = numbers(one.line, one.value, n_facets)
        if len(set(order)) < len(order):
            what = "a facet is entered twice, as in paired comparisons"
            one.line.refuse(what, "Raterlens has no such model")
        if 0 in order:
            one.line.refuse("a facet 0 is to be skipped in the data", "take that column out of the data")
    return order


def _dvalues(given: Sequence[Specification], n_facets: int) -> Iterator[tuple[int, str]]:
    """`Dvalues = 3, 1-5`, or a list of such lines."""
    for row, text in (each for one in given for each in _with_body(one)):
        parts = [part for part in fields(text) if part]
        if len(parts) != 2 or not parts[0].isdigit() or parts[1].startswith("$"):
            what = f"Dvalues of the form {shortened(text.strip())} are not supported"
            row.refuse(what, "write a facet and its elements: 3, 1-5")
        yield numbers(row, parts[0], n_facets)[0], parts[1]


def _data(control: Path, given: Specification, encoding: str) -> Iterator[Line]:
    """The lines of data below a specification, and those of the files that it or they name."""
    named = [(given.line, name) for name in given.value.split("+") if given.value]
    for line, name in named:
        yield from _data_file(control, line, name.strip(" \"'"), encoding)
    for line in given.body:
        if line.text.lstrip().startswith("%"):
            yield from _data_file(control, line, line.text.strip(" %\"'"), encoding)
        elif line.text.strip() != END:
            yield line


def _data_file(control: Path, line: Line, name: str, encoding: str) -> Iterator[Line]:
    path = control.parent / name.replace("\\", "/")
    if path.suffix.lower() not in ("", ".txt", ".csv", ".tsv", ".dat", ".prn"):
        what = f"data in {name!r} are not supported"
        line.refuse(what, "save them as a text file with commas, and name that")
    if not path.is_file():
        here = sorted(other.name for other in control.parent.glob("*") if other.is_file())
        advice = f"write Data = {path.name}" if path.name in here else f"there are {listed(here, 6)}"
        line.refuse(f"no file {name!r} beside {control.name!r}", advice)
    return lines_of(read_text(path, encoding), path.name)
