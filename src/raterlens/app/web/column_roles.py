"""From the role of each column, as chosen on the page, to how the table is read."""

from typing import Any

from raterlens.base.errors import OptionError
from raterlens.base.text import listed
from raterlens.config import ROW, ReadConfig

ROLES = ("student", "rater", "item", "score", "facet")
"""A table whose rows have several scores has several columns with the role `score`: each is an item."""


def read_config(
    roles: dict[str, str],
    cut: float | None = None,
    wide: str | None = None,
    sheet: str | None = None,
    **scores: str | None,
) -> ReadConfig:
    """Nothing is left to be recognised: what was chosen is what is read. `wide` is the pattern of columns that are
    each for one rater; `scores` are bands, what words are worth, and the encoding."""
    columns = {role: [name for name, played in roles.items() if played == role] for role in ROLES}
    _check(columns, wide)
    student = columns["student"] or [ROW]
    given: dict[str, Any] = {name: value for name, value in scores.items() if value}
    shared = ReadConfig(
        student=student, facets=columns["facet"] or None, cut=cut, table=sheet, wide=wide, **given
    )
    if wide:
        return shared.changed(items=columns["score"], item=columns["item"] or None)
    if columns["item"]:
        return shared.changed(rater=columns["rater"], item=columns["item"], score=columns["score"][0])
    return shared.changed(rater=columns["rater"], items=columns["score"])


def _check(columns: dict[str, list[str]], wide: str | None) -> None:
    """Raise where roles are missing, or at odds with each other."""
    scores = columns["score"]
    for role in ("score",) if wide else ("student", "rater", "score"):
        if not columns[role]:
            each = role == "rater" and len(scores) > 1
            raise OptionError(
                f"no column is marked as the {role}",
                "mark one" + ", or say below the table that each score column is for one rater" * each,
                option=role,
            )
    if wide:
        for role, other in (("rater", "item"), ("item", "rater")):
            if columns[role] and f"{{{role}}}" in wide:
                raise OptionError(
                    f"{listed(columns[role])} is marked as the {role}, and so are the score columns",
                    f"choose 'not used' for it, or let each score column be for one {other}",
                    option=role,
                )
    elif columns["item"] and len(scores) > 1:
        raise OptionError(
            f"{listed(scores)} are all marked as scores, and {listed(columns['item'])} as the item",
            "mark one score column, or no item column: then each score column is an item",
            option="item",
        )
