"""Roles by name and content."""

import polars as pl

from raterlens.config import ReadConfig
from raterlens.reading.formats.lazy_table import Table, table_of
from raterlens.reading.proposals.role_detection import Look, Recognised, recognise


def recognised(frame: pl.DataFrame) -> Recognised:
    return recognise(frame.columns, ReadConfig(), Look(table_of("t", frame)))


def test_usual_names_do_without_a_look_at_the_rows() -> None:
    columns = ("student", "rater", "item", "score", "comment")
    table = Table("t", columns, lambda wanted: (_ for _ in ()).throw(AssertionError("looked")))
    found = recognise(columns, ReadConfig(), Look(table))
    assert found.roles == {role: role for role in columns[:4]}


def test_an_identifier_goes_before_free_text() -> None:
    prose = [f"a rather long answer to the question, the number of which is {n}" for n in range(8)]
    frame = pl.DataFrame(
        {"response": prose, "sample_id": range(8), "judge": list("ab") * 4, "verdict": ["pass", "fail"] * 4}
    )
    assert recognised(frame).roles == {"student": "sample_id", "rater": "judge", "score": "verdict"}
    assert recognised(frame.drop("sample_id")).roles["student"] == "response"


def test_a_task_is_what_is_rated_where_nothing_else_is() -> None:
    frame = pl.DataFrame({"task": [1, 1, 2, 2], "worker": [1, 2, 1, 2], "label": [0, 1, 1, 1]})
    assert recognised(frame).roles == {"student": "task", "rater": "worker", "score": "label"}


def test_names_that_would_all_do_are_doubtful() -> None:
    frame = pl.DataFrame({"student": [1, 2, 3], "person": [1, 1, 2], "rater": [1, 2, 3], "score": [0, 1, 1]})
    assert recognised(frame).doubtful == {"student": ["student", "person"]}
    twice = frame.with_columns(student_id=pl.Series(["x", "y", "z"]), person=None)
    assert recognised(twice).roles["student"] == "student_id"


def test_answers_of_several_models_are_asked_about() -> None:
    frame = pl.DataFrame(
        {
            "question_id": [1, 1, 2, 2] * 2,
            "model": ["a", "b"] * 4,
            "judge": ["x"] * 4 + ["y"] * 4,
            "score": [0, 1] * 4,
        }
    )
    (finding,) = recognised(frame).findings
    assert not finding.certain
    assert finding.options[0].value == ("question_id", "model")
