"""`Labels=`: facets and the elements in them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from raterlens.base.text import shortened
from raterlens.reading.facets.syntax import END, MOST, Line, fields, span


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
        line.refuse(f"{shortened(number)} is no number of a facet", "begin a facet as in: 2, Raters")
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
        line.refuse(f"{shortened(numbers)} is no element number", "write an element as in: 7 = Ann")
    if weight not in ("", "1", "1.0") or target:
        line.refuse("weights and merged elements are not supported", "take them out, or prepare the data so")
    try:
        value = float(measure) if measure else None
    except ValueError:
        line.refuse(
            f"the measure {shortened(measure)} is not a number", "write an element as in: 7 = Ann, 0.5"
        )
    if value is not None and not abs(value) < float("inf"):
        line.refuse(f"the measure {shortened(measure)} is not a finite number", "correct it")
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
