"""`Models=` and `Rating scale=`: which scores count, and how."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from raterlens.base.text import shortened
from raterlens.reading.facets.syntax import END, Line, fields, span

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
                f"{shortened(self.scale)} is no scale",
                f"use D, R3 or the name of a Rating scale: {list(scales)}",
            )
        kind, size = found[1].upper(), found[2]
        if kind in _REFUSED:
            self.line.refuse(
                f"{_REFUSED[kind]} ({code}) are not supported", "scores must be 0/1 (D) or ordered (R3, say)"
            )
        return kind, int(size) if size else HIGHEST if kind == "R" else 1

    @property
    def partial_credit(self) -> tuple[int, ...]:
        """The places of facets each of whose elements has thresholds of its own."""
        return tuple(place for place, control in enumerate(self.places) if "#" in control)

    @property
    def unused(self) -> tuple[int, ...]:
        """The places of facets that the model leaves out."""
        return tuple(place for place, control in enumerate(self.places) if control.upper() in ("", "X"))

    @property
    def interactions(self) -> tuple[int, ...]:
        """The places of facets whose interaction is a term of the model."""
        return tuple(place for place, control in enumerate(self.places) if "B" in control.upper())

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
        line.refuse(f"{shortened(text)} is no model", "give one ? for each facet, then the scale: ?,?,?,R3")
    if any(place.startswith("-") for place in places):
        line.refuse(
            f"a facet is turned round in {shortened(text)}",
            "use Positive= for that; Raterlens has no such model",
        )
    try:
        if weight and float(weight) != 1:
            line.refuse(
                f"the model has the weight {weight}", "Raterlens weighs all ratings alike: take it out"
            )
    except ValueError:
        line.refuse(f"the weight {shortened(weight)} is not a number", "take it out")
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
            row.refuse(f"{shortened(number)} is no category", "write it as in: 2 = good")
        if anchored.upper().startswith("A") and threshold:
            try:
                scale.thresholds[int(number)] = float(threshold)
            except ValueError:
                row.refuse(
                    f"the threshold {shortened(threshold)} is not a number",
                    "write it as in: 2 = good, 0.4, A",
                )
    return scale


def _is_place(part: str) -> bool:
    return bool(re.fullmatch(r"-?(\?|#|\$|X|0|\d+(\s*[-_]\s*\d+)?)[?#BKX]*|-?[?#]B?|", part, re.IGNORECASE))
