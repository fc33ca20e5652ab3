"""A control file as records: what stands before the data, and where the data are."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from raterlens.base.atomic_files import reason
from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, listed, shortened
from raterlens.reading.facets.label_lines import FacetLabels, read_facet
from raterlens.reading.facets.model_lines import Model, RatingScale, read_model, read_scale
from raterlens.reading.facets.syntax import END, Line, fields, lines_of, name_of, numbers

_FACETS = re.compile(r"^[ \t]*fac[a-z ]*=\s*\d", re.IGNORECASE | re.MULTILINE)
_REST = re.compile(r"^[ \t]*(data|models?|labels?)[a-z ]*[=,]", re.IGNORECASE | re.MULTILINE)


@dataclass(slots=True)
class Control:
    """What a control file says, as it is being read."""

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


def read_text(path: Path, encoding: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path.name!r} is not {encoding}: byte 0x{error.object[error.start]:02x} at position {error.start:,} does "
            "not belong there",
            Message(
                "save the file as UTF-8, or give its encoding (",
                Option("encoding", "cp1252"),
                " for most from Windows)",
            ),
            value=encoding,
            option="encoding",
        ) from error
    except OSError as error:
        raise InputError(
            f"cannot read {str(path)!r}: {reason(error)}",
            "check the name, and that you may open it",
            value=str(path),
        ) from error


def _specification(control: Control, line: Line, lines: Iterator[Line], encoding: str) -> None:
    """Take in one specification, with the lines that belong to it."""
    found = name_of(line)
    if found is None:
        if line.text.strip() == END:
            return
        line.refuse(f"{line.text.strip()[:60]!r} is no specification", "write it as Name = value")
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
