"""FACETS studies: the data of a control file as a table; `rl.read_facets` and `rl.write_facets`."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

from raterlens.base.atomic_files import write_text
from raterlens.base.errors import InputError, OptionError, choose
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.config import Anchors, Columns, ReadConfig
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import set_aside
from raterlens.reading.assemble import assemble
from raterlens.reading.columns import Roles, resolve_layout
from raterlens.reading.facets_control import Control, Line, parse_control, span, values
from raterlens.reading.formats.table import Rows, Table
from raterlens.reading.read import checked, with_beside
from raterlens.reading.read_plan import ReadPlan
from raterlens.reading.vocabulary import usual_role


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
    facets = [_Facet(control, number) for number in control.places]
    known = [(place, facet.elements) for place, facet in enumerate(facets) if facet.elements]
    bounds = [model.bounds() for model in control.models]
    scored = [model.scored(control.scales) for model in control.models]
    for line in control.data:
        times, fields = _replicated(control, line, values(line.text))
        for elements, score in _ratings(line, fields, facets, len(control.in_data)):
            if not all(elements[place] in labelled for place, labelled in known):
                found.left_out["with an element that Labels= does not have"] += times
                continue
            fits = (all(elements[place] in held for place, held in limits) for limits in bounds)
            chosen = next((model for model, fit in enumerate(fits) if fit), None)
            if chosen is None or scored[chosen][0] == "M":
                found.left_out["of no model" if chosen is None else "of model M (missing)"] += times
                continue
            found.used[chosen] += times
            for facet, element in zip(facets, elements, strict=True):
                found.elements[facet.number] += [element] * times
            found.scores += [_score(score, *scored[chosen], control.missing)] * times
            found.lines += [line] * times
    highest = {place: 1 if scored[place][0] == "D" else scored[place][1] for place in sorted(found.used)}
    for place, top in highest.items():
        if top != (first := next(iter(highest.values()))):
            control.models[place].line.refuse(
                f"scores up to {top} beside those up to {first} of another model",
                "Raterlens takes one range of scores per fit: fit the items of each range on their own",
            )
    return found


class _Facet(dict[str, range]):
    """Texts in the data for elements of a facet -> the elements, each text parsed once."""

    def __init__(self, control: Control, number: int) -> None:
        entered, facet = control.in_data, control.facets[number]
        self.at = entered.index(number) if number in entered else None
        self.everywhere = control.fixed.get(number, "")
        self.number, self.name, self.elements = number, facet.name, facet.elements
        self.null = None if control.null in facet.elements else control.null
        labels = facet.labels() if control.by_label else {}
        self.labels = {label.lower(): element for element, label in labels.items()}

    def __missing__(self, text: str) -> range:
        element = self.labels.get(text.lower())
        self[text] = (span(text) if element is None else range(element, element + 1)) or range(0)
        return self[text]


def _replicated(control: Control, line: Line, fields: list[str]) -> tuple[int, list[str]]:
    """`R3,1,2,0` is the rating three times over."""
    sign, weight = fields[0][:1], fields[0][1:]
    if sign.upper() != control.replication.upper() or not weight:
        return 1, fields
    if control.by_label and not weight.replace(".", "").isdigit():
        return 1, fields
    times = line.real(weight, "the weight", "write R3 before a rating that counts three times")
    if not times.is_integer() or times < 0:
        advice = "a rating counts once, or a whole number of times (R2)"
        line.refuse(f"the weight {times:g} is not supported", advice)
    return int(times), fields[1:]


def _ratings(
    line: Line, fields: list[str], facets: list[_Facet], entered: int
) -> Iterator[tuple[tuple[int, ...], str]]:
    """One rating for each element of a range and its score: the elements of each facet, and what follows them."""
    if len(fields) <= entered:
        due = f"{counted(entered, 'element')} and a score are due"
        line.refuse(f"{counted(len(fields), 'field')} where {due}", "write a rating as in: 1,2,3,0")
    references = []
    for facet in facets:
        text = facet.everywhere if facet.at is None else fields[facet.at]
        covered = facet[text]
        if not covered:
            what = f"{shortened(text)} is not an element of facet {facet.number} ({facet.name})"
            line.refuse(what, "give its number, or say Delements = L where the data have labels")
        if facet.null in covered:
            what = f"facet {facet.number} takes no part (element {facet.null})"
            line.refuse(what, "give every rating all its facets")
        references.append(covered)
    ranges = [facet.number for facet, covered in zip(facets, references, strict=True) if len(covered) > 1]
    if len(ranges) > 1:
        line.refuse(f"facets {ranges} both have a range", "give a range for one facet only")
    scores, most = fields[entered:], max(map(len, references))
    while len(scores) > most and not scores[-1]:
        scores.pop()
    if len(scores) > most:
        what = f"{counted(len(scores), 'score')} where the elements call for {most}"
        line.refuse(what, "check the range, or split the line")
    for step, score in enumerate(scores):
        yield tuple(covered[step if len(covered) > 1 else 0] for covered in references), score


def _score(text: str, kind: str, size: int, missing: frozenset[str]) -> int | None:
    """The score, or None: a missing code, no whole number, or beyond the scale, as FACETS has it."""
    if text in missing or not text.isdigit():
        return None
    value = int(text)
    if kind == "D":
        return int(value >= size) if size > 1 else value if value <= 1 else None
    return value if value <= size else None


SCORE = "score"


def read_control(path: Path, config: ReadConfig) -> Table:
    """Open a control file: which facet is which is told by `Inter-rater=`, names and `Positive=`."""
    control = parse_control(path, config.codec)
    table = control_table(control)
    unused = {
        "asks for interactions (B in Models=)": any(model.signed("B") for model in control.models),
        "anchors measures": any(facet.anchored for facet in control.facets.values())
        or any(scale.thresholds for scale in control.scales.values()),
    }
    notes = (
        f"the control file {what}, which are not part of the ratings: rl.read_facets has them, and raterlens fit "
        "uses them"
        for what, so in unused.items()
        if so
    )
    return replace(table, notes=(*table.notes, *notes))


def control_table(control: Control) -> Table:
    """The data of a control file as a table."""
    found = observe(control)
    if not found.scores:
        raise InputError(
            f"{control.path.name!r} has no rating that fits Labels= and Models= "
            f"({listed(f'{n} {why}' for why, n in found.left_out.items())})",
            "compare the numbers in them with the data",
        )
    # Facets that say something: no dummies, and none that every model leaves out.
    unused = [{control.places[place] for place in control.models[used].unused} for used in found.used]
    left_out = set.intersection(*unused) | {n for n, facet in control.facets.items() if facet.dummy}
    names = {number: control.facets[number].name for number in sorted({*control.places} - left_out)}
    if len({name.lower() for name in names.values()}) < len(names) or SCORE in names.values():
        names = {number: f"{number} {name}" for number, name in names.items()}
    labels = {number: control.facets[number].labels() for number in names}
    columns = {
        name: pl.Series(
            name, [labels[number].get(one, str(one)) for one in found.elements[number]], pl.String
        )
        for number, name in names.items()
    }
    columns[SCORE] = pl.Series(SCORE, found.scores, dtype=pl.Int64)

    def take(wanted: Sequence[str]) -> Rows:
        frame = pl.DataFrame([columns[name] for name in wanted])
        return Rows(frame, lambda row: f"line {found.lines[row].number:,} of {found.lines[row].file!r}")

    roles = roles_of(control, names)
    return Table(control.path.name, tuple(columns), take, notes=_notes(control, found), roles=roles)


def roles_of(control: Control, names: dict[int, str]) -> dict[str, str | list[str]]:
    """Which facet is the student, the rater, the item: as far as the file lets one tell."""
    free = dict(names)
    roles: dict[str, str | list[str]] = {}

    def give(role: str, numbers: Sequence[int | None]) -> None:
        if len(numbers) == 1 and numbers[0] in free and role not in roles:
            roles[role] = free.pop(numbers[0])

    give("rater", [control.inter_rater])
    for role in ("student", "rater", "item"):
        give(role, [number for number, name in free.items() if usual_role(name) == role])
    give("student", [number for number in control.positive if number in free])
    for role in ("rater", "item"):
        # The one left over when all the others are known, or beside the students.
        if {"student", "rater", "item"} - {role} <= roles.keys() or len(names) == 2:
            give(role, [*free])
    if {"student", "rater", "item"} <= roles.keys() and free:
        roles["facets"] = list(free.values())
    return roles


def _notes(control: Control, found: Observations) -> tuple[str, ...]:
    notes = [f"FACETS control file{f' {control.title!r}' if control.title else ''}"]
    if control.ignored:
        notes.append(
            f"not used, as they concern how FACETS iterates and reports: {listed(control.ignored, 6)}"
        )
    if dummies := [facet.name for facet in control.facets.values() if facet.dummy]:
        notes.append(f"dummy facets left out: {listed(dummies)}")
    return (*notes, *(f"{counted(times, 'rating')} left out: {why}" for why, times in found.left_out.items()))


COMMON_SLOPE = "tfm"
"""The model of FACETS itself: every rater has the same slope."""


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """Study described by a control file."""

    ratings: Ratings
    title: str
    scale: str
    """By # in Models=: "partial credit" where items have it, "rater" where raters do, "partial credit, rater" where
    both do; else "rating scale"."""
    severities: Mapping[str, float]
    difficulties: Mapping[str, float]
    facets: Mapping[str, Mapping[str, float]]
    thresholds: tuple[float, ...] | None
    interactions: tuple[str, ...] = ()
    """Interactions of raters that are terms of the model (B in Models=), as `rl.fit` takes them: "rater:item"."""

    @property
    def anchored(self) -> bool:
        return bool(self.severities or self.difficulties or self.facets or self.thresholds)

    def anchors(self, model: str = COMMON_SLOPE) -> Anchors | None:
        """Anchors for a fit of this model; None if nothing is anchored.

        In FACETS the slope of every rater is 1 and the students' mean and spread follow from the anchors. Where raters
        and items are both anchored, they fix the origin of ability, so the slope is held at 1 as well.
        """
        if not self.anchored:
            return None
        both = bool(self.severities and self.difficulties)
        if both and model != COMMON_SLOPE:
            raise OptionError(
                f"the control file anchors raters ({listed(self.severities, 3)}) and items "
                f"({listed(self.difficulties, 3)}), which fixes the scale of ability only where all raters have the "
                "same slope",
                Message("use ", Option("model", COMMON_SLOPE), ", or anchor one of the two facets"),
                value=model,
            )
        return Anchors(
            raters={label: (1.0 if both else None, value) for label, value in self.severities.items()},
            items=dict(self.difficulties),
            facets=self.facets,
            thresholds=list(self.thresholds) if self.thresholds else None,
        )


def read_facets(
    path: str | Path,
    student: Columns = None,
    rater: Columns = None,
    item: Columns = None,
    *,
    facets: Columns = None,
    cut: float | None = None,
    encoding: str = "utf-8",
    beside: str | Sequence[str] = (),
) -> Study:
    """Read a control file of FACETS: ratings, anchors and scale.

    Parameters
    ----------
    path
        The control file; data named in it are looked for beside it.
    student, rater, item, facets
        Names of facets, where the file does not tell them by `Inter-rater=`, usual names or `Positive=`.
    cut
        As in `rl.read`.
    encoding
        Of the control file and its data.
    beside
        Names of facets for diagnostics alone, as in `rl.read`.

    Returns
    -------
    Study
        `study.ratings` as `rl.read` gives them; `study.anchors(model)` for `rl.fit(..., anchors=)`; `study.scale`;
        `study.interactions`.

    Examples
    --------
    >>> import raterlens as rl
    >>> study = rl.read_facets("study.txt")                                               # doctest: +SKIP
    >>> rl.fit(study.ratings, "tfm", scale=study.scale, anchors=study.anchors("tfm"))     # doctest: +SKIP
    """
    config = ReadConfig(student=student, rater=rater, item=item, facets=facets, cut=cut, encoding=encoding)
    config, names = with_beside(config, beside)
    control = parse_control(Path(path).expanduser(), config.codec)
    table, roles, plan = resolve_layout(control_table(control), ReadPlan.of(config))
    ratings, plan = assemble(table, roles, plan)
    plan.raise_questions()
    ratings = checked(ratings, config.cut)
    if _anchors(control, roles.student) and (line := control.named(roles.student[0]).line) is not None:
        line.refuse(
            "students are anchored", "Raterlens estimates them: take the A away, or anchor raters or items"
        )
    further = {facet.name: _anchors(control, (facet.name,)) for facet in ratings.facets}
    terms, left_out = _interactions(control, roles)
    study = Study(
        ratings,
        control.title,
        _scale(control, roles, ratings),
        _anchors(control, roles.rater, {*ratings.raters}),
        _anchors(control, roles.item, {*ratings.items}),
        {name: values for name, values in further.items() if values},
        _thresholds(control),
        terms,
    )
    if study.anchored and control.scaled is not None:
        control.scaled.refuse(
            "anchors are in other units than logits", "write them in logits and take this line out"
        )
    held = {"raters": study.severities, "items": study.difficulties, **study.facets}
    counts = [f"{len(values)} {name}" for name, values in held.items() if values]
    counts += [f"{len(study.thresholds)} thresholds"] if study.thresholds else []
    note = [f"held at the anchors of the control file: {', '.join(counts)}"] if counts else []
    ratings = replace(ratings, notes=(*ratings.notes, *left_out, *note))
    return replace(study, ratings=set_aside(ratings, names))


def _anchors(
    control: Control, columns: Sequence[str], present: Collection[object] | None = None
) -> dict[str, float]:
    """The anchored measures of a role that one facet plays, of elements with a rating, in the direction of difficulty:
    those of a positive facet are turned round."""
    facet = control.named(columns[0]) if len(columns) == 1 else None
    if facet is None or not facet.anchored:
        return {}
    sign, labels = -1.0 if facet.number in control.positive else 1.0, facet.labels()
    return {
        labels[number]: sign * element.measure
        for number, element in facet.elements.items()
        if element.measure is not None and (present is None or labels[number] in present)
    }


def _scale(control: Control, roles: Roles, ratings: Ratings) -> str:
    """The scale that the models ask for: # at items, at raters, or at both."""
    names = {"item": roles.item, "rater": roles.rater}
    known = {control.named(own[0]).number: role for role, own in names.items() if len(own) == 1}
    signs = {"rater": "?", "item": "?"}
    for model in control.models:
        for facet in (control.places[place] for place in model.signed("#")):
            if facet not in known:
                name = control.facets[facet].name
                what = f"each element of facet {facet} ({name}) has its own thresholds (#)"
                model.line.refuse(
                    what, "only items and raters can have their own thresholds: put ? at this facet"
                )
            signs[known[facet]] = "#"
    if ratings.n_categories == 2:
        return "rating scale"
    return next(scale for scale, own in SCALES.items() if own == signs)


def _interactions(control: Control, roles: Roles) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Interactions of raters with items or further facets, and notes about others, which no model has."""
    parts = {"rater": roles.rater, "item": roles.item, **{name: (name,) for name in roles.facets}}
    known = {control.named(names[0]).number: part for part, names in parts.items() if len(names) == 1}
    terms, notes = dict[str, None](), dict[str, None]()
    for model in control.models:
        numbers = [control.places[place] for place in model.signed("B")]
        pair = sorted((known.get(number, "") for number in numbers), key=lambda part: part != "rater")
        if len(pair) == 2 and pair[0] == "rater" and pair[1]:
            terms[":".join(pair)] = None
        elif numbers:
            what = f"an interaction of {listed(control.facets[number].name for number in numbers)} (B in Models=)"
            notes[f"{what} is left out: Raterlens knows those of raters"] = None
    return tuple(terms), tuple(notes)


def _thresholds(control: Control) -> tuple[float, ...] | None:
    anchored = [scale for scale in control.scales.values() if scale.thresholds]
    if not anchored:
        return None
    scale = anchored[0]
    if len(anchored) > 1 or any(model.signed("#") for model in control.models):
        what = "thresholds of several scales are anchored"
        scale.line.refuse(what, "Raterlens holds those of one shared scale")
    values = [scale.thresholds[category] for category in sorted(scale.thresholds)]
    # The lowest category has no threshold; files have a 0 there to hold the place.
    return tuple(values[1:] if len(values) > 1 and values[0] == 0 and 0 not in values[1:] else values)


_SEPARATORS = str.maketrans({",": " ", "=": " ", ";": " ", "\t": " ", "\n": " ", "\r": " ", '"': "'"})
SCALES = {
    "rating scale": {"rater": "?", "item": "?"},
    "partial credit": {"rater": "?", "item": "#"},
    "rater": {"rater": "#", "item": "?"},
    "partial credit, rater": {"rater": "#", "item": "#"},
}
"""The signs of raters and items in Models=, by scale."""


def write_facets(
    ratings: Ratings, path: str | Path, *, title: str = "Ratings", scale: str = "rating scale"
) -> None:
    """Write ratings as a control file that FACETS can run: the three-facets model, students positive and not centred.

    Parameters
    ----------
    ratings
        From `rl.read`.
    path
        The file to write; one that is there is replaced.
    title
        Of FACETS' tables.
    scale
        `rating scale`; `partial credit` for thresholds of each item's own, `rater` for each rater's, `partial credit,
        rater` for both, which FACETS takes to mean those of each pair of a rater and an item.
    """
    path = Path(path)
    choose("scale", scale, SCALES)
    text = "\n".join(_lines(ratings, title.translate(_SEPARATORS), SCALES[scale])) + "\n"
    write_text(path, text)


def _lines(ratings: Ratings, title: str, sign: Mapping[str, str]) -> Iterator[str]:
    facets = [
        ("Students", ratings.student, ratings.students),
        ("Raters", ratings.rater, ratings.raters),
        ("Items", ratings.item, ratings.items),
        *((facet.name.translate(_SEPARATORS), facet.codes, facet.labels) for facet in ratings.facets),
    ]
    highest = ratings.n_categories - 1
    own = [sign["rater"], sign["item"]] if highest > 1 else ["?", "?"]
    signs = ["?", *own, *["?"] * len(ratings.facets), "D" if highest == 1 else f"R{highest}"]
    yield from (f"Title = {title}", f"Facets = {len(facets)}")
    yield from (
        "Positive = 1",
        "Non-centered = 1",
        "Inter-rater = 2",
        f"Models = {','.join(signs)}",
        "Labels =",
    )
    for number, (name, _, labels) in enumerate(facets, 1):
        yield f"{number}, {name}"
        yield from (f"{place} = {label}" for place, label in enumerate(_labels(labels), 1))
        yield "*"
    yield "Data ="
    rows = np.column_stack([*(codes + 1 for _, codes, _ in facets), ratings.score])
    yield from (",".join(map(str, row)) for row in rows.tolist())


def _labels(labels: pl.Series) -> list[str]:
    """Labels as FACETS can hold them, between quotes where they have separators; those that look alike get numbers."""
    plain = [
        f'"{text.strip()}"'
        if set(",=;") & set(text) and not set('"\t\n\r') & set(text)
        else text.translate(_SEPARATORS).strip()
        for text in labels.cast(pl.String)
    ]
    times = Counter(plain)
    return [text if times[text] == 1 else f"{text} ({place})" for place, text in enumerate(plain, 1)]
