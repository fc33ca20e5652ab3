"""Names of columns that say whose scores they hold: "Ann style" as "{rater} {item}"."""

import re
from collections.abc import Sequence

FIELDS = ("{rater}", "{item}")
_SEPARATORS = ("_", " ", ".", "-", ":", "/", "|")
Split = dict[str, tuple[str, ...]]
"""Of each column that fits, the labels in the order of the fields."""


def likely_pattern(columns: Sequence[str]) -> str | None:
    """A pattern that several columns fit as a grid of raters and items, to be suggested."""
    for separator in _SEPARATORS:
        pattern = f"{{rater}}{separator}{{item}}"
        if is_grid(split_names(pattern, FIELDS, columns)):
            return pattern
    return None


def split_names(pattern: str, fields: Sequence[str], columns: Sequence[str]) -> Split:
    """The labels in every column that fits. Where a name can be split in two ways ("Ann Lee style"), the way is taken
    that gives the fewest different labels over all columns."""
    ways = []
    for first in ("+?", "+"):
        text = re.escape(pattern)
        for field in fields:
            text = text.replace(re.escape(field), f"(.{first})")
        found = {name: match.groups() for name in columns if (match := re.fullmatch(text, name))}
        different = sum(len({labels[place] for labels in found.values()}) for place in range(len(fields)))
        ways.append(
            (different, {name: tuple(part.strip() for part in labels) for name, labels in found.items()})
        )
    return min(ways, key=lambda way: way[0])[1]


def is_grid(split: Split) -> bool:
    """At least two raters who share an item, and two items that share a rater."""
    raters, items = ({labels[place] for labels in split.values()} for place in (0, 1))
    return len(raters) > 1 and len(items) > 1 and len(split) > max(len(raters), len(items))
