"""A control file as a table of ratings: a column for each facet, and the score."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from raterlens.base.errors import InputError
from raterlens.base.text import counted, listed
from raterlens.config import ReadConfig
from raterlens.reading.facets.observations import Observations, observe
from raterlens.reading.facets.specification import Control, parse_control
from raterlens.reading.formats.lazy_table import Rows, Table
from raterlens.reading.proposals.role_words import usual_role

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
