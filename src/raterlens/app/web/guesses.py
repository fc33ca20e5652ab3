"""What each column of a table may be, by the reader's own recognition."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from raterlens.errors import InputError, OptionError
from raterlens.reading.columns import assign_roles
from raterlens.wording import listed

ROLES = ("student", "rater", "item", "score", "facet")
"""A table whose rows have several scores has several columns with the role `score`: each is an item."""

MOST_SCORES = 20
"""A column of more different whole numbers than this is not taken for scores."""


def guess_roles(frame: pl.DataFrame) -> dict[str, str]:
    """A role for every column that can be told; the others are left out."""
    columns = frame.columns
    roles: dict[str, str] = {}
    for role in ("student", "rater", "score", "item"):
        found = _recognised([column for column in columns if column not in roles], role)
        if found is not None:
            roles[found] = role
    if "score" not in roles.values():
        free = [column for column in columns if column not in roles]
        roles |= dict.fromkeys((column for column in free if _looks_scored(frame[column])), "score")
    return roles


def reading_arguments(roles: dict[str, str], cut: float | None) -> dict[str, Any]:
    """Roles as `raterlens.read` takes them, nothing left to be recognised: what was chosen is what is read."""
    of = {role: [column for column, played in roles.items() if played == role] for role in ROLES}
    for role in ("student", "rater", "score"):
        if not of[role]:
            raise OptionError(f"no column is said to be the {role}; choose one")
    if of["item"] and len(of["score"]) > 1:
        raise OptionError(
            f"{listed(of['score'])} are all scores, and {listed(of['item'])} is the item; choose one column of scores, "
            "or none for the item: then each column of scores is an item"
        )
    chosen: dict[str, Any] = {"student": of["student"], "rater": of["rater"], "facets": of["facet"] or None}
    if of["item"]:
        return chosen | {"item": of["item"], "score": of["score"][0], "cut": cut}
    return chosen | {"items": of["score"], "cut": cut}


def _recognised(columns: Sequence[str], role: str) -> str | None:
    """Ask for one role with stand-ins for the others; where several columns would do, none is taken."""
    others = {other: f"\0{other}" for other in ("student", "rater", "item", "score") if other != role}
    try:
        found = getattr(
            assign_roles((*columns, *others.values()), **others),
            "scores" if role == "score" else role,
        )
    except InputError:
        return None
    return found[0] if found else None


def _looks_scored(column: pl.Series) -> bool:
    values = column.drop_nulls().unique()
    if not 2 <= len(values) <= MOST_SCORES:
        return False
    numbers = values.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    return bool(numbers.is_not_null().all() and (numbers >= 0).all() and (numbers == numbers.round()).all())
