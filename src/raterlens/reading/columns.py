"""Which column plays which role: as the user says, or by its usual name."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from raterlens.errors import InputError, OptionError
from raterlens.reading.patterns import likely_pattern
from raterlens.text import listed

Spec = str | Sequence[str] | None
"""One column, several whose combination counts, or none: recognise it."""

# The usual names, then those that are taken only where there is none of the usual ones.
USUAL: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "student": (
        ("student", "person", "pid", "examinee", "candidate"),
        ("subject", "respondent", "participant", "pupil", "learner", "response", "sample", "example"),
    ),
    "rater": (
        ("rater", "judge", "annotator", "marker"),
        ("scorer", "grader", "assessor", "examiner", "reviewer", "evaluator", "coder"),
    ),
    "item": (
        ("item", "criterion", "task", "question"),
        ("trait", "criteria", "dimension", "aspect", "prompt"),
    ),
    "score": (
        ("score", "rating", "label", "y"),
        ("verdict", "mark", "grade", "points", "pass", "passed", "outcome", "result"),
    ),
}
SUFFIX = re.compile(r"_?(id|name|no|nr|number|code)$")


@dataclass(frozen=True, slots=True)
class Roles:
    """The columns of each role. `wide`: each score column is an item. Otherwise no item column: one item."""

    student: tuple[str, ...]
    rater: tuple[str, ...]
    item: tuple[str, ...]
    scores: tuple[str, ...]
    facets: tuple[str, ...]
    wide: bool
    notes: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.student + self.rater + self.item + self.scores + self.facets


def assign_roles(
    columns: Sequence[str],
    student: Spec = None,
    rater: Spec = None,
    item: Spec = None,
    score: Spec = None,
    items: Spec = None,
    facets: Spec = None,
) -> Roles:
    """Give each role its columns; those left out are recognised among the columns not yet taken."""
    wide = items is not None
    if wide and (item is not None or score is not None):
        other = f"item={item!r}" if item is not None else f"score={score!r}"
        raise OptionError(
            f"both items={items!r} and {other} are given; choose one: "
            "items= for one row an essay with a column an item, item= and score= for one row a rating"
        )
    if score is not None and len(_names(score)) > 1:
        raise OptionError(f"score={score!r} names several columns; for a column an item, give them as items=")
    given = {
        "student": student,
        "rater": rater,
        "item": item,
        "score": score,
        "items": items,
        "facets": facets,
    }
    taken = {role: _given(columns, role, _names(spec)) for role, spec in given.items() if spec is not None}
    _refuse_shared(taken)
    notes = []
    for role in ("student", "rater") if wide else ("student", "rater", "item", "score"):
        if role not in taken:
            used = {column for names in taken.values() for column in names}
            found = _recognised([column for column in columns if column not in used], columns, role)
            if found:
                notes.append(f"{role} column: {found!r} (recognised)")
            elif role == "item":
                notes.append("no item column: all ratings are of one item, 'all'")
            taken[role] = (found,) if found else ()
    scores = taken["items"] if wide else taken["score"]
    return Roles(
        taken["student"],
        taken["rater"],
        taken.get("item", ()),
        scores,
        taken.get("facets", ()),
        wide,
        tuple(notes),
    )


def told(
    by_file: Mapping[str, str | list[str]], by_user: Mapping[str, Spec]
) -> tuple[dict[str, Spec], list[str]]:
    """What the user says, and where the user says nothing, what the file does of columns not yet taken; and notes."""
    taken = {name for spec in by_user.values() if spec is not None for name in _names(spec)}
    filled: dict[str, Spec] = dict(by_user)
    notes = []
    for role, spec in by_file.items():
        free = [name for name in _names(spec) if name not in taken]
        if filled.get(role) is None and free:
            filled[role] = free if role == "facets" else free[0]
            if not free[0].startswith("{"):  # made from the names of columns, which has its own note
                notes.append(f"{role}: {listed(free)} (told by the file; choose another with {role}=)")
    return filled, notes


def _names(spec: object) -> list[str]:
    """One name or several, as text: pandas columns may be called 0, 1, 2."""
    if isinstance(spec, str) or not isinstance(spec, Iterable):
        return [str(spec)]
    return [str(name) for name in spec]


def _given(columns: Sequence[str], role: str, names: list[str]) -> tuple[str, ...]:
    if not names:
        raise OptionError(f"{role}=[] names no column; choose from: {listed(columns, 20)}")
    for name in names:
        if name not in columns:
            raise InputError(f"no column {name!r} for {role}; {_near(name, columns)}{_those(columns)}")
    return tuple(names)


def _refuse_shared(taken: dict[str, tuple[str, ...]]) -> None:
    roles: dict[str, list[str]] = {}
    for role, names in taken.items():
        for name in names:
            roles.setdefault(name, []).append(role)
    for name, shared in roles.items():
        if len(shared) > 1:
            times = Counter(shared)
            where = " and ".join(role if n == 1 else f"{role} ({n} times)" for role, n in times.items())
            raise OptionError(f"column {name!r} is given for {where}; give each role a column of its own")


def _recognised(free: Iterable[str], columns: Sequence[str], role: str) -> str | None:
    names = {column: _plain(column) for column in free}
    for usual in USUAL[role]:
        found = [column for column, plain in names.items() if {plain, SUFFIX.sub("", plain)} & set(usual)]
        if len(found) > 1:
            raise InputError(
                f"{listed(found)} could each be the {role} column; say which, for example {role}={found[0]!r}"
            )
        if found:
            return found[0]
    if role == "item":
        return None
    wide = ", or items= where each item has a column of scores" if role == "score" else ""
    pattern = likely_pattern(columns) if role in ("rater", "score") else None
    if pattern:
        wide += f", or, as columns look like one for each rater and item, give wide={pattern!r}"
    raise InputError(f"no {role} column recognised; name it with {role}={wide}; {_those(columns)}")


def usual_role(name: str) -> str | None:
    """The role that a name, singular or plural, is usual for."""
    plain = _plain(name)
    forms = {plain, SUFFIX.sub("", plain), plain.removesuffix("s"), plain.removesuffix("es")}
    return next((role for role, (usual, other) in USUAL.items() if forms & {*usual, *other}), None)


def _plain(column: str) -> str:
    """'Student ID', 'studentId' and 'student.id' are all student_id or studentid."""
    return re.sub(r"[^a-z0-9]+", "_", column.casefold()).strip("_")


def _near(name: str, columns: Sequence[str]) -> str:
    folded = {column.casefold(): column for column in columns}
    near = get_close_matches(str(name).casefold(), folded, n=1)
    return f"did you mean {folded[near[0]]!r}? " if near else ""


def _those(columns: Sequence[str]) -> str:
    return f"the columns are: {listed(columns, 20)}" if columns else "the table has no columns"
