"""What each column of a table may be, by the reader's own recognition."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from raterlens.config import ReadConfig
from raterlens.errors import InputError, OptionError
from raterlens.reading.columns import assign_roles
from raterlens.reading.patterns import FIELDS, is_grid, likely_pattern, split_names
from raterlens.reading.wide import TWO_ROWS
from raterlens.text import listed

ROLES = ("student", "rater", "item", "score", "facet")
"""A table whose rows have several scores has several columns with the role `score`: each is an item."""

MOSTLY = 0.8
"""Share of a column of scores that must be numbers."""

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


def patterns(scores: Sequence[str]) -> dict[str, str]:
    """What columns of scores can stand for, besides an item each: one rater, or, where their names make a grid, a rater
    and an item, in one order or the other. Each as the pattern that `raterlens.read` takes."""
    known = {"rater": "{rater}"}
    two_rows = is_grid(split_names(TWO_ROWS, FIELDS, scores))
    grid = TWO_ROWS if two_rows else likely_pattern(scores)
    if grid is not None:
        turned = grid.replace("{rater}", "{}").replace("{item}", "{rater}").replace("{}", "{item}")
        known |= {"grid": grid, "turned": turned}
    return known


def guess_spread(roles: dict[str, str], known: dict[str, str]) -> str:
    """What the columns of scores stand for: where no column is the rater, they must tell."""
    scores = [column for column, role in roles.items() if role == "score"]
    if "rater" in roles.values() or len(scores) < 2:
        return "item"
    return "grid" if "grid" in known else "rater"


def reading_arguments(roles: dict[str, str], cut: float | None, wide: str | None = None) -> dict[str, Any]:
    """Roles as `raterlens.read` takes them, nothing left to be recognised: what was chosen is what is read. `wide` is
    the pattern of columns that are each for one rater."""
    of = {role: [column for column, played in roles.items() if played == role] for role in ROLES}
    for role in ("student", "score") if wide else ("student", "rater", "score"):
        if not of[role]:
            several = role == "rater" and len(of["score"]) > 1
            raise OptionError(
                f"no column is said to be the {role}; choose one"
                + ", or say below the table that each column of scores is for one rater" * several
            )
    if wide:
        return _wide_arguments(of, cut, wide)
    if of["item"] and len(of["score"]) > 1:
        raise OptionError(
            f"{listed(of['score'])} are all scores, and {listed(of['item'])} is the item; choose one column of scores, "
            "or none for the item: then each column of scores is an item"
        )
    chosen: dict[str, Any] = {"student": of["student"], "rater": of["rater"], "facets": of["facet"] or None}
    if of["item"]:
        return chosen | {"item": of["item"], "score": of["score"][0], "cut": cut}
    return chosen | {"items": of["score"], "cut": cut}


def _wide_arguments(of: dict[str, list[str]], cut: float | None, wide: str) -> dict[str, Any]:
    for role in ("rater", "item"):
        if of[role] and f"{{{role}}}" in wide:
            raise OptionError(
                f"{listed(of[role])} is said to be the {role}, and so are the columns of scores; choose 'not used' for "
                f"it, or let each column of scores be for one {'item' if role == 'rater' else 'rater'}"
            )
    chosen = {"student": of["student"], "facets": of["facet"] or None, "items": of["score"], "wide": wide}
    return chosen | {"item": of["item"] or None, "cut": cut}


def _recognised(columns: Sequence[str], role: str) -> str | None:
    """Ask for one role with stand-ins for the others; where several columns would do, none is taken."""
    others: dict[str, Any] = {
        other: f"\0{other}" for other in ("student", "rater", "item", "score") if other != role
    }
    try:
        found = getattr(
            assign_roles((*columns, *others.values()), ReadConfig(**others)),
            "scores" if role == "score" else role,
        )
    except InputError:
        return None
    return found[0] if found else None


def _looks_scored(column: pl.Series) -> bool:
    """Few different whole numbers; here and there a word, such as "absent", which reading will ask about."""
    texts = column.drop_nulls().cast(pl.String).str.strip_chars()
    numbers = texts.cast(pl.Float64, strict=False).drop_nulls()
    values = numbers.unique()
    if not 2 <= len(values) <= MOST_SCORES or len(numbers) < MOSTLY * len(texts):
        return False
    return bool((values >= 0).all() and (values == values.round()).all())
