"""Roles as the user says, else as the file does, else by the usual names."""

from dataclasses import replace

import polars as pl
import pytest

from raterlens.base.errors import OptionError
from raterlens.base.text import worded
from raterlens.config import ReadConfig
from raterlens.reading.formats.lazy_table import table_of
from raterlens.reading.layout import laid_out
from raterlens.reading.proposals.findings import Understanding

FRAME = pl.DataFrame({"student": [1], "rater": [2], "reader": [3], "task": [4], "score": [1]})
TABLE = table_of("t", FRAME)


def test_the_user_goes_before_the_file_and_the_file_before_usual_names() -> None:
    told = replace(TABLE, roles={"rater": "reader", "facets": ["task", "rater"]})
    _, by_name = laid_out(TABLE, Understanding(ReadConfig()))
    table, by_file = laid_out(told, Understanding(ReadConfig()))
    _, by_user = laid_out(told, Understanding(ReadConfig(rater="task")))
    assert (by_name.rater, by_name.item) == (("rater",), ("task",))
    assert (by_file.rater, by_file.facets) == (("reader",), ("task", "rater"))
    assert (by_user.rater, by_user.facets) == (("task",), ("rater",))
    note = next(note for note in table.notes if note.startswith("rater"))
    assert note == "rater: 'reader' (told by the file; choose another with rater=)"
    assert worded(note, lambda option: f"--{option.name}").endswith("choose another with --rater)")


def test_columns_of_raters_become_rows() -> None:
    wide = table_of("t", pl.DataFrame({"student": [1, 2], "Ann x": [0, 1], "Bob x": [1, 1], "Bob y": [0, 0]}))
    table, roles = laid_out(wide, Understanding(ReadConfig(wide="{rater} {item}", items=["Ann x", "Bob x"])))
    rows = table.take(roles.columns).frame.rows()
    assert rows == [(1, "Ann", "x", "0"), (1, "Bob", "x", "1"), (2, "Ann", "x", "1"), (2, "Bob", "x", "1")]
    assert table.query is None


def test_a_column_has_one_role() -> None:
    with pytest.raises(OptionError, match="column 'rater' is given for student and rater; give each role"):
        laid_out(TABLE, Understanding(ReadConfig(student="rater", rater="rater")))
