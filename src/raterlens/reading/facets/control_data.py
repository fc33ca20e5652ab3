"""The data of a FACETS control file as a table."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from raterlens.base.errors import InputError
from raterlens.base.text import counted, listed, shortened
from raterlens.config import ReadConfig
from raterlens.reading.detection.vocabulary import usual_role
from raterlens.reading.facets.control_file import Control, Line, parse_control, span, values
from raterlens.reading.formats.table import Rows, Table


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
    columns = [found.elements[number] for number in control.places]
    facets = [_Facet(control, number) for number in control.places]
    known = [(place, facet.elements) for place, facet in enumerate(facets) if facet.elements]
    entered = len(control.in_data)
    bounds = [model.bounds() for model in control.models]
    scored = [model.scored(control.scales) for model in control.models]
    for line in control.data:
        times, fields = _replicated(control, line, values(line.text))
        references, scores = _taken_apart(line, fields, facets, entered)
        for elements, score in _spread(line, references, scores, facets):
            if not all(elements[place] in labelled for place, labelled in known):
                found.left_out["with an element that Labels= does not have"] += times
                continue
            chosen = _first(bounds, elements)
            if chosen is None or scored[chosen][0] == "M":
                found.left_out["of no model" if chosen is None else "of model M (missing)"] += times
                continue
            value = _score(score, *scored[chosen], control.missing)
            found.used[chosen] += times
            for _ in range(times):
                for column, element in zip(columns, elements, strict=True):
                    column.append(element)
                found.scores.append(value)
                found.lines.append(line)
    _check_one_scale(control, found, scored)
    return found


class _Facet(dict[str, range]):
    """Texts in the data for elements of a facet -> the elements, each text parsed once."""

    def __init__(self, control: Control, number: int) -> None:
        entered = control.in_data
        self.at = entered.index(number) if number in entered else None
        self.everywhere = control.fixed.get(number, "")
        self.number, self.name = number, control.name(number)
        self.elements = control.facets[number].elements
        self.null = None if control.null in self.elements else control.null
        labels = control.facets[number].labels() if control.by_label else {}
        self.labels = {label.lower(): element for element, label in labels.items()}

    def __missing__(self, text: str) -> range:
        element = self.labels.get(text.lower())
        covered = span(text) if element is None else range(element, element + 1)
        self[text] = covered or range(0)
        return self[text]


def _check_one_scale(control: Control, found: Observations, scored: list[tuple[str, int]]) -> None:
    """All ratings have the same categories; with a cut (D3) every one is 0 or 1."""
    highest = {place: 1 if scored[place][0] == "D" else scored[place][1] for place in sorted(found.used)}
    for place in highest:
        if highest[place] != highest[min(highest)]:
            control.models[place].line.refuse(
                f"scores up to {highest[place]} beside those up to {highest[min(highest)]} of another model",
                "Raterlens takes one range of scores per fit: fit the items of each range on their own",
            )


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
        line.refuse(
            f"{shortened(first)} is not a number of times", "write R3 before a rating that counts three times"
        )
    if not times.is_integer() or times < 0:
        line.refuse(
            f"the weight {times:g} is not supported",
            "a rating counts once, or a whole number of times (R2)",
        )
    return int(times), fields[1:]


def _taken_apart(
    line: Line, fields: list[str], facets: list[_Facet], entered: int
) -> tuple[list[range], list[str]]:
    """The elements of each facet, and the scores after them."""
    if len(fields) <= entered:
        line.refuse(
            f"{counted(len(fields), 'field')} where {counted(entered, 'element')} and a score are due",
            "write a rating as in: 1,2,3,0",
        )
    references = []
    for facet in facets:
        text = facet.everywhere if facet.at is None else fields[facet.at]
        covered = facet[text]
        if not covered:
            line.refuse(
                f"{shortened(text)} is not an element of facet {facet.number} ({facet.name})",
                "give its number, or say Delements = L where the data have labels",
            )
        if facet.null in covered:
            line.refuse(
                f"facet {facet.number} takes no part (element {facet.null})",
                "give every rating all its facets",
            )
        references.append(covered)
    return references, fields[entered:]


def _spread(
    line: Line, references: list[range], scores: list[str], facets: list[_Facet]
) -> Iterator[tuple[tuple[int, ...], str]]:
    """One rating for each element of the range and its score."""
    ranges = [place for place, covered in enumerate(references) if len(covered) > 1]
    if len(ranges) > 1:
        numbers = [facets[place].number for place in ranges]
        line.refuse(f"facets {numbers} both have a range", "give a range for one facet only")
    due = len(references[ranges[0]]) if ranges else 1
    while len(scores) > due and not scores[-1]:
        scores = scores[:-1]
    if len(scores) > due:
        line.refuse(
            f"{counted(len(scores), 'score')} where the elements call for {due}",
            "check the range, or split the line",
        )
    elements = [covered[0] for covered in references]
    for step, score in enumerate(scores):
        if ranges:
            elements[ranges[0]] = references[ranges[0]][step]
        yield tuple(elements), score


def _first(bounds: list[list[tuple[int, range]]], elements: tuple[int, ...]) -> int | None:
    """The first model all of whose bounds hold the elements."""
    for model, limits in enumerate(bounds):
        if all(elements[place] in covered for place, covered in limits):
            return model
    return None


def _score(text: str, kind: str, size: int, missing: frozenset[str]) -> int | None:
    """The score, or None: a missing code, no whole number, or beyond the scale, as FACETS has it."""
    if text in missing or not text.isdigit():
        return None
    value = int(text)
    if kind == "D":
        return int(value >= size) if size > 1 else value if value <= 1 else None
    return value if value <= size else None


SCORE = "score"
RATINGS_ONLY = (
    "the control file anchors measures, which are not part of the ratings: rl.read_facets has them, and raterlens fit "
    "uses them"
)
TERMS_ONLY = (
    "the control file asks for interactions (B in Models=), which are not part of the ratings: rl.read_facets has "
    "them, and raterlens fit uses them"
)


def read_control(path: Path, config: ReadConfig) -> Table:
    """Open a control file: which facet is which is told by `Inter-rater=`, names and `Positive=`."""
    return control_table(parse_control(path, config.codec))


def control_table(control: Control) -> Table:
    found = observe(control)
    if not found.scores:
        raise InputError(
            f"{control.path.name!r} has no rating that fits Labels= and Models= "
            f"({listed(f'{n} {why}' for why, n in found.left_out.items())})",
            "compare the numbers in them with the data",
        )
    names = {number: control.name(number) for number in used_facets(control, found)}
    if len({name.lower() for name in names.values()}) < len(names) or SCORE in names.values():
        names = {number: f"{number} {name}" for number, name in names.items()}
    columns = {
        name: pl.Series(name, _labelled(control, number, found.elements[number]), dtype=pl.String)
        for number, name in names.items()
    }
    scores = pl.Series(SCORE, found.scores, dtype=pl.Int64)

    def take(wanted: Sequence[str]) -> Rows:
        frame = pl.DataFrame([scores if name == SCORE else columns[name] for name in wanted])
        return Rows(frame, lambda row: f"line {found.lines[row].number:,} of {found.lines[row].file!r}")

    return Table(
        control.path.name,
        (*names.values(), SCORE),
        take,
        notes=_notes(control, found),
        roles=roles_of(control, names),
    )


def used_facets(control: Control, found: Observations) -> list[int]:
    """The facets that say something: no dummies, and none that every model leaves out."""
    unused = [{control.places[place] for place in control.models[used].unused} for used in found.used]
    out = set.intersection(*unused) if unused else set()
    return [
        number for number in sorted(control.places) if number not in out and not control.facets[number].dummy
    ]


def roles_of(control: Control, names: dict[int, str]) -> dict[str, str | list[str]]:
    """Which facet is the student, the rater, the item: as far as the file lets one tell."""
    free = dict(names)
    roles: dict[str, str | list[str]] = {}

    def give(role: str, number: int | None) -> None:
        if number in free and role not in roles:
            roles[role] = free.pop(number)

    give("rater", control.inter_rater)
    for role in ("student", "rater", "item"):
        alike = [number for number, name in free.items() if usual_role(name) == role]
        give(role, alike[0] if len(alike) == 1 else None)
    positive = [number for number in control.positive if number in free]
    give("student", positive[0] if len(positive) == 1 else None)
    for role in ("rater", "item"):
        # What is left over when all the others are known.
        others = {"student", "rater", "item"} - {role}
        give(role, next(iter(free)) if len(free) == 1 and others <= roles.keys() else None)
    if len(names) == 2 and roles.keys() == {"student"}:
        give("rater", next(iter(free)))
    if {"student", "rater", "item"} <= roles.keys() and free:
        roles["facets"] = list(free.values())
    return roles


def _labelled(control: Control, number: int, elements: list[int]) -> list[str]:
    labels = control.facets[number].labels()
    return [labels.get(element, str(element)) for element in elements]


def _notes(control: Control, found: Observations) -> tuple[str, ...]:
    notes = [f"FACETS control file{f' {control.title!r}' if control.title else ''}"]
    if control.ignored:
        notes.append(
            f"not used, as they concern how FACETS iterates and reports: {listed(control.ignored, 6)}"
        )
    if any(model.interactions for model in control.models):
        notes.append(TERMS_ONLY)
    dummies = [facet.name for facet in control.facets.values() if facet.dummy]
    if dummies:
        notes.append(f"dummy facets left out: {listed(dummies)}")
    held = any(facet.anchored for facet in control.facets.values())
    if held or any(scale.thresholds for scale in control.scales.values()):
        notes.append(RATINGS_ONLY)
    notes += [f"{counted(times, 'rating')} left out: {why}" for why, times in found.left_out.items()]
    return tuple(notes)
