"""Whom a column of the table marks as trusted."""

from collections.abc import Callable

import numpy as np
import polars as pl

from raterlens.base.arrays import Mask
from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, shortened
from raterlens.reading.levels import Levels

_YES, _NO = ("yes", "y", "true", "t", "1", "1.0", "x", "trusted"), ("no", "n", "false", "f", "0", "0.0", "")


def marked_raters(
    column: pl.Series, raters: Levels, kept: Mask, place: Callable[[int], str]
) -> tuple[str, ...]:
    """Their labels, from rows that say yes or no (blank: no), the same for all rows of a rater that are kept."""
    said = column.cast(pl.String).fill_null("").str.strip_chars().str.to_lowercase()
    trusted, rows = said.is_in(_YES).to_numpy(), np.flatnonzero(kept)
    if (strange := np.flatnonzero(~(trusted | said.is_in(_NO).to_numpy()) & kept)).size:
        row = int(strange[0])
        raise InputError(
            f"column {shortened(column.name)} says {shortened(column[row])} at {place(row)}, neither yes nor no",
            "write yes for the raters whom you trust and no for the others, in all of their rows",
            value=column[row],
            option="trusted_column",
        )
    rater = raters.codes[rows]
    n = len(raters.labels)
    yes, of_all = np.bincount(rater, trusted[rows], n), np.bincount(rater, minlength=n)
    if (torn := np.flatnonzero((yes > 0) & (yes < of_all))).size:
        own = rows[rater == torn[0]]
        first, other = int(own[0]), int(own[trusted[own] != trusted[own[0]]][0])
        raise InputError(
            f"rater {shortened(raters.labels[int(torn[0])])} is {_word(trusted[first])} at {place(first)}, but "
            f"{_word(trusted[other])} at {place(other)} (column {shortened(column.name)})",
            "say the same in all rows of a rater",
            value=column[other],
            option="trusted_column",
        )
    found = raters.labels.cast(pl.String).filter(pl.Series(yes > 0)).to_list()
    if not found:
        raise InputError(
            f"column {shortened(column.name)} marks nobody as trusted",
            Message("write yes in the rows of those whom you trust, or leave out ", Option("trusted_column")),
            option="trusted_column",
        )
    return tuple(found)


def _word(trusted: object) -> str:
    return "trusted" if trusted else "not trusted"
