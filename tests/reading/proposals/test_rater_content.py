"""Raters by what a column holds."""

import polars as pl

from raterlens.reading.formats.lazy_table import table_of
from raterlens.reading.layout import rater_by_content
from raterlens.reading.proposals.role_detection import Look, Recognised

FRAME = pl.DataFrame(
    {"a": [n // 3 for n in range(12)], "b": ["gpt-4o", "claude", "llama"] * 4, "c": [0, 1, 1, 0] * 3}
).with_columns(a=pl.format("s{}", "a"))


def test_labels_of_judges_are_certain_where_all_else_is_known() -> None:
    found = Recognised({"student": "a", "score": "c"})
    rater_by_content(FRAME.columns, found, Look(table_of("t", FRAME)))
    assert found.roles["rater"] == "b"
    assert found.findings[0].certain


def test_roles_by_content_alone_are_a_question() -> None:
    found = Recognised()
    rater_by_content(FRAME.columns, found, Look(table_of("t", FRAME)))
    assert found.roles == {"student": "a", "rater": "b", "score": "c"}
    assert not found.findings[0].certain


def test_what_belongs_to_the_student_is_no_rater() -> None:
    frame = pl.DataFrame(
        {
            "student": [n // 2 for n in range(12)],
            "school": [f"x{n // 4}" for n in range(12)],
            "score": [0, 1] * 6,
        }
    )
    found = Recognised({"student": "student", "score": "score"})
    rater_by_content(frame.columns, found, Look(table_of("t", frame)))
    assert "rater" not in found.roles
