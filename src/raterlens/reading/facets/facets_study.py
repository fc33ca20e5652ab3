"""FACETS studies: `rl.read_facets` and `rl.write_facets`."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from raterlens.base.atomic_files import atomic_write
from raterlens.base.errors import InputError, OptionError, choose
from raterlens.base.text import Message, Option, listed
from raterlens.config import Anchors, Columns, ReadConfig
from raterlens.ratings.coded import Ratings
from raterlens.reading.assemble import assemble
from raterlens.reading.columns import Roles, resolve_layout
from raterlens.reading.facets import Control, parse_control
from raterlens.reading.facets.control_data import RATINGS_ONLY, TERMS_ONLY, control_table
from raterlens.reading.read import checked
from raterlens.reading.read_plan import ReadPlan

COMMON_SLOPE = "tfm"
"""The model of FACETS itself: every rater has the same slope."""


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """Study described by a control file."""

    ratings: Ratings
    title: str
    scale: str
    """"partial credit" where items have thresholds of their own (# in Models=), else "rating scale"."""
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
    control = parse_control(Path(path).expanduser(), config.codec)
    table, roles, plan = resolve_layout(control_table(control), ReadPlan.of(config))
    ratings, plan = assemble(table, roles, plan)
    plan.raise_questions()
    ratings = checked(ratings, config.cut)
    if _held_measures(control, roles.student):
        line = control.named(roles.student[0]).line
        assert line is not None
        line.refuse(
            "students are anchored", "Raterlens estimates them: take the A away, or anchor raters or items"
        )
    further = {facet.name: _measures(control, facet.name) for facet in ratings.facets}
    terms, left_out = _interactions(control, roles)
    study = Study(
        ratings,
        control.title,
        _scale(control, roles.item, ratings),
        _present(_held_measures(control, roles.rater), ratings.raters.to_list()),
        _present(_held_measures(control, roles.item), ratings.items.to_list()),
        {name: values for name, values in further.items() if values},
        _thresholds(control),
        terms,
    )
    if study.anchored and control.scaled is not None:
        control.scaled.refuse(
            "anchors are in other units than logits", "write them in logits and take this line out"
        )
    notes = tuple(note for note in ratings.notes if note not in (RATINGS_ONLY, TERMS_ONLY))
    return replace(study, ratings=replace(ratings, notes=(*notes, *left_out, *_held(study))))


def _held(study: Study) -> list[str]:
    parts = {
        "raters": study.severities,
        "items": study.difficulties,
        **study.facets,
        "thresholds": study.thresholds or (),
    }
    found = [f"{len(values)} {name}" for name, values in parts.items() if values]
    return [f"held at the anchors of the control file: {', '.join(found)}"] if found else []


def _held_measures(control: Control, columns: tuple[str, ...]) -> dict[str, float]:
    """Anchored measures of a role that one facet plays."""
    return _measures(control, columns[0]) if len(columns) == 1 else {}


def _measures(control: Control, name: str) -> dict[str, float]:
    """The anchored measures of a facet in the direction of difficulty: those of a positive facet are turned round."""
    facet = control.named(name)
    if not facet.anchored:
        return {}
    sign = -1.0 if facet.number in control.positive else 1.0
    labels = facet.labels()
    return {
        labels[number]: sign * element.measure
        for number, element in facet.elements.items()
        if element.measure is not None
    }


def _present(values: Mapping[str, float], labels: list[str]) -> dict[str, float]:
    """Elements without a rating have nothing to hold."""
    return {label: value for label, value in values.items() if label in set(labels)}


def _scale(control: Control, item: tuple[str, ...], ratings: Ratings) -> str:
    number = control.named(item[0]).number if len(item) == 1 else None
    for model in control.models:
        for facet in (control.places[place] for place in model.partial_credit):
            if facet != number:
                model.line.refuse(
                    f"each element of facet {facet} ({control.name(facet)}) has its own thresholds (#)",
                    "only items can have their own thresholds: put # at the item and ? at this facet",
                )
    own = any(model.partial_credit for model in control.models)
    return "partial credit" if own and ratings.n_categories > 2 else "rating scale"


def _interactions(control: Control, roles: Roles) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those of raters with items or further facets; and notes about others, for which does not exist a model."""
    parts = {"rater": roles.rater, "item": roles.item, **{name: (name,) for name in roles.facets}}
    known = {control.named(names[0]).number: part for part, names in parts.items() if len(names) == 1}
    terms, notes = [], []
    for model in control.models:
        numbers = [control.places[place] for place in model.interactions]
        pair = sorted((known.get(number, "") for number in numbers), key=lambda part: part != "rater")
        if len(pair) == 2 and pair[0] == "rater" and pair[1]:
            terms.append(":".join(pair))
        elif numbers:
            names = listed(control.name(number) for number in numbers)
            notes.append(
                f"an interaction of {names} (B in Models=) is left out: Raterlens knows those of raters"
            )
    return tuple(dict.fromkeys(terms)), tuple(dict.fromkeys(notes))


def _thresholds(control: Control) -> tuple[float, ...] | None:
    anchored = [scale for scale in control.scales.values() if scale.thresholds]
    if not anchored:
        return None
    scale = anchored[0]
    if len(anchored) > 1 or any(model.partial_credit for model in control.models):
        scale.line.refuse(
            "thresholds of several scales are anchored", "Raterlens holds those of one shared scale"
        )
    values = [scale.thresholds[category] for category in sorted(scale.thresholds)]
    # The lowest category has no threshold; files have a 0 there to hold the place.
    if len(values) > 1 and values[0] == 0 and 0 not in values[1:]:
        values = values[1:]
    if not values:
        raise InputError(
            f"{control.path.name!r} anchors no threshold of {scale.name!r}", "give each category's"
        )
    return tuple(values)


_SEPARATORS = str.maketrans({",": " ", "=": " ", ";": " ", "\t": " ", "\n": " ", "\r": " ", '"': "'"})
SCALES = {"rating scale": "?", "partial credit": "#"}


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
        `rating scale`, or `partial credit` for thresholds of each item's own.
    """
    path = Path(path)
    choose("scale", scale, SCALES)
    text = "\n".join(_lines(ratings, title.translate(_SEPARATORS), SCALES[scale])) + "\n"
    atomic_write(path, lambda draft: draft.write_text(text, encoding="utf-8"))


def _lines(ratings: Ratings, title: str, item_sign: str) -> Iterator[str]:
    facets = [
        ("Students", ratings.student, ratings.students),
        ("Raters", ratings.rater, ratings.raters),
        ("Items", ratings.item, ratings.items),
        *((facet.name.translate(_SEPARATORS), facet.codes, facet.labels) for facet in ratings.facets),
    ]
    highest = ratings.n_categories - 1
    scale = "D" if highest == 1 else f"R{highest}"
    signs = ["?", "?", item_sign if highest > 1 else "?", *["?"] * len(ratings.facets)]
    yield f"Title = {title}"
    yield f"Facets = {len(facets)}"
    yield "Positive = 1"
    yield "Non-centered = 1"
    yield "Inter-rater = 2"
    yield f"Models = {','.join(signs)},{scale}"
    yield "Labels ="
    for number, (name, _, labels) in enumerate(facets, 1):
        yield f"{number}, {name}"
        yield from (f"{place} = {label}" for place, label in enumerate(_labels(labels), 1))
        yield "*"
    yield "Data ="
    rows = np.column_stack([*(codes + 1 for _, codes, _ in facets), ratings.score])
    yield from (",".join(map(str, row)) for row in rows.tolist())


def _labels(labels: pl.Series) -> list[str]:
    """Labels as FACETS can hold them, between quotes where they have separators; those that look alike get numbers."""
    plain = [_quoted(text) for text in labels.cast(pl.String)]
    times = Counter(plain)
    return [text if times[text] == 1 else f"{text} ({place})" for place, text in enumerate(plain, 1)]


def _quoted(label: str) -> str:
    if not set(",=;") & set(label) or set('"\t\n\r') & set(label):
        return label.translate(_SEPARATORS).strip()
    return f'"{label.strip()}"'
