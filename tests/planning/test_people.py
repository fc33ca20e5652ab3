"""Students, raters and forbidden pairs, from whatever says them."""

from pathlib import Path

import polars as pl
import pytest

from raterlens.base.errors import RaterlensError
from raterlens.planning.assignment import forbidden_pairs, raters_of, students_of


def test_numbers_labels_loads_and_tables(tmp_path: Path) -> None:
    assert students_of(12).labels.to_list()[0] == "S01"
    assert raters_of(None, None).labels.len() == 10
    assert raters_of(["AM", "BE"], None).loads is None
    given = raters_of({"AM": 10, "BE": 30}, None)
    assert given.loads is not None
    assert given.loads.tolist() == [10.0, 30.0]
    table = tmp_path / "raters.csv"
    pl.DataFrame({"rater": ["AM", "BE"], "load": [5, 7]}).write_csv(table)
    read = raters_of(str(table), None)
    assert read.labels.to_list() == ["AM", "BE"]
    assert read.loads is not None
    assert read.loads.tolist() == [5, 7]


def test_forbidden_pairs_pass_over_strangers() -> None:
    people = students_of(["a", "b"]), raters_of(["AM", "BE"], None)
    pairs = [("b", "AM"), ("zz", "AM"), ("b", "AM")]
    assert forbidden_pairs(pairs, *people).tolist() == [[1, 0]]
    table = pl.DataFrame({"student": ["a"], "rater": ["BE"]})
    assert forbidden_pairs(table, *people).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: students_of(1), "students is 1; give at least 2"),
        (lambda: raters_of(["AM", "AM"], None), "'AM' is there twice"),
        (lambda: raters_of({"AM": -1, "BE": 2}, None), "the load of 'AM' is -1"),
        (
            lambda: forbidden_pairs(pl.DataFrame({"x": ["a"]}), students_of(2), raters_of(2, None)),
            "name one of them 'student'",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(call: object, what: str) -> None:
    with pytest.raises(RaterlensError, match=what):
        call()  # type: ignore[operator]
