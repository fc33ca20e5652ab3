"""Labels of one person or thing, spelled in several ways: "anna", "Anna " and "ANNA"."""

from collections.abc import Callable

import numpy as np
import polars as pl

from raterlens.base.text import Option, counted, shortened
from raterlens.reading.levels import Levels
from raterlens.reading.proposals.findings import Finding

SHOWN = 3
"""Groups of spellings that a note names."""


def merged(levels: Levels, role: str, place: Callable[[int], str] | None) -> tuple[Levels, list[Finding]]:
    """Labels that differ only in blanks around them, or in being written small or large as a whole or in their first
    letters, as one; those that differ in case within a word, as codes do, stay apart.

    The spelling that occurs most often is kept.
    """
    labels = levels.labels
    if labels.dtype != pl.String or labels.is_empty():
        return levels, []
    bare = labels.str.strip_chars().str.replace_all(r"\s+", " ")
    keys = bare.str.to_lowercase()
    if not keys.is_duplicated().any():
        return levels, []
    plainly = (bare == keys) | (bare == bare.str.to_uppercase()) | (bare == keys.str.to_titlecase())
    keys = pl.select(pl.when(plainly).then(keys).otherwise(bare)).to_series()
    groups = (
        pl.DataFrame({"key": keys}).with_row_index("code").group_by("key", maintain_order=True).agg("code")
    )
    several = groups.filter(pl.col("code").list.len() > 1)["code"].to_list()
    if not several:
        return levels, []
    times = np.bincount(levels.codes[levels.codes >= 0], minlength=len(labels))
    into = np.arange(len(labels) + 1)
    into[-1] = -1
    for codes in several:
        into[codes] = max(codes, key=lambda code: (times[code], labels[code] == bare[code]))
    codes = into[levels.codes].astype(np.int32)
    kept = np.flatnonzero(into[:-1] == np.arange(len(labels)))
    place_of = np.full(len(labels) + 1, -1, dtype=np.int32)
    place_of[kept] = np.arange(len(kept), dtype=np.int32)
    finding = _told(levels, several, into, role, place)
    return Levels(place_of[codes], labels.gather(kept)), [finding]


def _told(
    levels: Levels, groups: list[list[int]], into: "np.ndarray", role: str, place: Callable[[int], str] | None
) -> Finding:
    labels = levels.labels
    shown = "; ".join(" and ".join(shortened(labels[code]) for code in codes) for codes in groups[:SHOWN])
    more = f" ({counted(len(groups), 'such group')} in all)" if len(groups) > SHOWN else ""
    where = ""
    if place is not None:
        odd = [code for code in groups[0] if into[code] != code]
        row = int(np.flatnonzero(np.isin(levels.codes, odd))[0])
        where = f", first at {place(row)}"
    return Finding(
        f"{shown} look like the same {role}{more}{where}",
        "taken for one",
        otherwise=Option("as_written", True),
    )
