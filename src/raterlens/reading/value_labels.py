"""Codes with words for them, as SPSS and Stata keep: people and items go by the words, scores by the codes."""

from collections import Counter
from dataclasses import replace

import polars as pl

from raterlens.base.text import listed, shortened
from raterlens.reading.columns import Roles
from raterlens.reading.formats.lazy_table import Rows, Table


def labelled(table: Table, roles: Roles, rows: Rows) -> Rows:
    """The rows with words in place of codes, except in the columns of scores; a code without a word stays."""
    frame, notes = rows.frame, []
    for name in (*roles.student, *roles.rater, *roles.item, *roles.facets):
        words = {
            _plain(code): word.strip() for code, word in table.labels.get(name, {}).items() if word.strip()
        }
        if not words:
            continue
        times = Counter(words.values())
        words = {code: word if times[word] == 1 else f"{word} ({code})" for code, word in words.items()}
        text = frame[name].cast(pl.String)
        frame = frame.with_columns(text.replace(words).alias(name))
        shown = listed((f"{code} = {word}" for code, word in words.items()), 3)
        notes.append(f"column {shortened(name)}: value labels of the file are used ({shown})")
    return replace(rows, frame=frame, notes=(*rows.notes, *notes))


def _plain(code: float | str) -> str:
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)
