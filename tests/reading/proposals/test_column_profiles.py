"""What columns hold."""

from typing import Any

import polars as pl
import pytest

from raterlens.reading.formats.lazy_table import Table, table_of
from raterlens.reading.proposals.column_profiles import depends, profile, sampled


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 1, 1, 0], "scores"),
        (["2,5", "3", "absent", "1", "2", "3"], "scores"),
        (["good", "bad"], "scores"),
        (["👍", "👎"], "scores"),
        ([55, 71.5, 80], "marks"),
        ([101, 205, 333], "numbers"),
        (["2026-01-01", "2026-01-02"], "dates"),
        (["Ann", "Bob"], "labels"),
        (
            ["a long sentence about something that was written", "and another one, which is about as long"],
            "text",
        ),
        ([None, "-"], "blank"),
    ],
)
def test_kinds(values: list[Any], kind: str) -> None:
    assert profile(pl.Series("x", values, strict=False)).kind == kind


def test_numbers_in_part() -> None:
    assert profile(pl.Series("x", ["1", "see me", "late", "2", "ill"])).partly
    assert not profile(pl.Series("x", ["see me", "late"])).partly


def test_rows_from_all_over_a_table() -> None:
    frame = pl.DataFrame({"x": range(10_000)})
    some = sampled(table_of("t", frame), 100)["x"]
    assert len(some) <= 100
    assert some[0] == 0
    assert some[-1] >= 9_900
    query = Table("t", ("x",), lambda wanted: pytest.fail("read whole"), query=frame.lazy())
    assert sampled(query, 80)["x"].to_list()[::79] == [0, 9_999]


def test_a_school_is_no_score() -> None:
    frame = pl.DataFrame(
        {"student": [n // 2 for n in range(20)], "school": [n // 4 for n in range(20)], "mark": range(20)}
    )
    assert depends(frame, "school", ["student"])
    assert not depends(frame, "mark", ["student"])
