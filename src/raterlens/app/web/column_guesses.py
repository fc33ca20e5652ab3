"""What each column of a table may be, by the reader's own recognition."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from raterlens.config import ReadConfig
from raterlens.errors import InputError
from raterlens.reading.columns import assign_roles
from raterlens.reading.patterns import FIELDS, is_grid, likely_pattern, split_names
from raterlens.reading.wide import TWO_ROWS

MOSTLY = 0.8
"""Share of a column of scores that must be numbers."""

MOST_SCORES = 20
"""A column with more distinct whole numbers than this is not taken for scores."""


def guess_roles(frame: pl.DataFrame) -> dict[str, str]:
    """A role for every column whose role can be told; the others are left out."""
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
    """What score columns can stand for, other than an item each: one rater, or, where their names make a grid, a rater
    and an item, in either order. Each as the pattern that `rl.read` takes."""
    known = {"rater": "{rater}"}
    two_rows = is_grid(split_names(TWO_ROWS, FIELDS, scores))
    grid = TWO_ROWS if two_rows else likely_pattern(scores)
    if grid is not None:
        turned = grid.replace("{rater}", "{}").replace("{item}", "{rater}").replace("{}", "{item}")
        known |= {"grid": grid, "turned": turned}
    return known


def guess_spread(roles: dict[str, str], known: dict[str, str]) -> str:
    """What the score columns stand for: where no column is the rater, their names must tell."""
    scores = [column for column, role in roles.items() if role == "score"]
    if "rater" in roles.values() or len(scores) < 2:
        return "item"
    return "grid" if "grid" in known else "rater"


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
    """Few distinct whole numbers; here and there a word, such as "absent", which reading will ask about."""
    texts = column.drop_nulls().cast(pl.String).str.strip_chars()
    numbers = texts.cast(pl.Float64, strict=False).drop_nulls()
    values = numbers.unique()
    if not 2 <= len(values) <= MOST_SCORES or len(numbers) < MOSTLY * len(texts):
        return False
    return bool((values >= 0).all() and (values == values.round()).all())
