"""Lines of data: elements of every facet, then one score, or one for each element of a range."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from raterlens.reading.control.models import Model
from raterlens.reading.control.specification import Control
from raterlens.reading.control.syntax import Line, span
from raterlens.wording import counted


@dataclass(slots=True)
class Observations:
    """Ratings as they stand in the data: elements by facet number, score (None: missing), line."""

    elements: dict[int, list[int]]
    scores: list[int | None] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    used: Counter[int] = field(default_factory=Counter)
    """How often each model was used."""
    left_out: Counter[str] = field(default_factory=Counter)


def observe(control: Control) -> Observations:
    """Every rating with the first model that it fits."""
    found = Observations({number: [] for number in control.places})
    known = {number: facet.elements for number, facet in control.facets.items()}
    labels = {number: _numbers(control, number) for number in control.places} if control.by_label else {}
    scored = [model.scored(control.scales) for model in control.models]
    for line in control.data:
        times, fields = _replicated(control, line, _split(line.text))
        references, scores = _taken_apart(control, line, fields, labels)
        for elements, score in _spread(line, references, scores):
            at = dict(zip(control.places, elements, strict=True))
            for number, element in at.items():
                if element == control.null and element not in known[number]:
                    line.refuse(
                        f"facet {number} takes no part (element {element})",
                        "give every rating all its facets",
                    )
            if any(known[number] and element not in known[number] for number, element in at.items()):
                found.left_out["with an element that Labels= does not have"] += times
                continue
            chosen = _first(control.models, elements)
            if chosen is None or scored[chosen][0] == "M":
                found.left_out["of no model" if chosen is None else "of model M (missing)"] += times
                continue
            value = _score(score, *scored[chosen], control.missing)
            found.used[chosen] += times
            for _ in range(times):
                for number, element in at.items():
                    found.elements[number].append(element)
                found.scores.append(value)
                found.lines.append(line)
    _check_one_scale(control, found, scored)
    return found


def _check_one_scale(control: Control, found: Observations, scored: list[tuple[str, int]]) -> None:
    """All ratings have the same categories; with a cut (D3) every one is 0 or 1."""
    highest = {place: 1 if scored[place][0] == "D" else scored[place][1] for place in sorted(found.used)}
    for place in highest:
        if highest[place] != highest[min(highest)]:
            control.models[place].line.refuse(
                f"scores up to {highest[place]} beside those up to {highest[min(highest)]} of another model",
                "Raterlens takes one range of scores a fit: fit the items of each range on their own",
            )


def _numbers(control: Control, number: int) -> dict[str, int]:
    return {label.lower(): element for element, label in control.facets[number].labels().items()}


def _split(text: str) -> list[str]:
    """Commas or tabs separate; where there are none, blanks do."""
    if "," in text or "\t" in text:
        return [part.strip().strip('"') for part in text.replace("\t", ",").split(",")]
    return text.split()


def _replicated(control: Control, line: Line, fields: list[str]) -> tuple[int, list[str]]:
    """`R3,1,2,0` is the rating three times over."""
    first = fields[0]
    if first[:1].upper() != control.replication.upper() or not first[1:]:
        return 1, fields
    if control.by_label and not first[1:].replace(".", "").isdigit():
        return 1, fields
    try:
        times = float(first[1:])
    except ValueError:
        line.refuse(f"{first!r} is no number of times", "write R3 before a rating that counts three times")
    if not times.is_integer() or times < 0:
        line.refuse(
            f"the weight {times:g} is not supported",
            "a rating counts once, or a whole number of times (R2)",
        )
    return int(times), fields[1:]


def _taken_apart(
    control: Control, line: Line, fields: list[str], labels: dict[int, dict[str, int]]
) -> tuple[dict[int, range], list[str]]:
    """The elements of each facet, and the scores after them."""
    entered = [number for number in control.order if number not in control.fixed]
    if len(fields) <= len(entered):
        line.refuse(
            f"{counted(len(fields), 'field')} where {counted(len(entered), 'element')} and a score are due",
            "write a rating as in: 1,2,3,0",
        )
    texts = control.fixed | dict(zip(entered, fields, strict=False))
    references = {}
    for number in control.places:
        text = texts[number]
        element = labels.get(number, {}).get(text.lower())
        covered = span(text) if element is None else range(element, element + 1)
        if covered is None or not covered:
            line.refuse(
                f"{text!r} is no element of facet {number} ({control.name(number)})",
                "give its number, or say Delements = L where the data have labels",
            )
        references[number] = covered
    return references, fields[len(entered) :]


def _spread(
    line: Line, references: dict[int, range], scores: list[str]
) -> Iterator[tuple[tuple[int, ...], str]]:
    """One rating for each element of the range and its score."""
    ranges = [number for number, covered in references.items() if len(covered) > 1]
    if len(ranges) > 1:
        line.refuse(f"facets {ranges} both have a range", "give a range for one facet only")
    due = len(references[ranges[0]]) if ranges else 1
    while len(scores) > due and not scores[-1]:
        scores = scores[:-1]
    if len(scores) > due:
        line.refuse(
            f"{counted(len(scores), 'score')} where the elements call for {due}",
            "check the range, or split the line",
        )
    for place, score in enumerate(scores):
        yield (
            tuple(covered[place if number in ranges else 0] for number, covered in references.items()),
            score,
        )


def _first(models: list[Model], elements: tuple[int, ...]) -> int | None:
    return next((place for place, model in enumerate(models) if model.fits(elements)), None)


def _score(text: str, kind: str, size: int, missing: frozenset[str]) -> int | None:
    """The score, or None: a missing code, no whole number, or beyond the scale, as FACETS has it."""
    if text in missing or not text.isdigit():
        return None
    value = int(text)
    if kind == "D":
        return int(value >= size) if size > 1 else value if value <= 1 else None
    return value if value <= size else None
