"""Meanings of columns of scores."""

import polars as pl
import pytest

from raterlens.config import ReadConfig
from raterlens.reading.formats.table import table_of
from raterlens.reading.read import read_with_plan
from raterlens.reading.roles import ColumnSample
from raterlens.reading.wide_layouts import (
    one_per_item,
    one_per_rater,
    score_columns,
    swapped_pattern,
)


def look(**columns: list[object]) -> tuple[list[str], ColumnSample]:
    frame = pl.DataFrame(columns, strict=False)
    return frame.columns, ColumnSample(table_of("t", frame))


def test_totals_and_other_numbers_are_no_scores() -> None:
    names, seen = look(
        a=[1, 2, 0, 3], b=[2, 0, 1, 3], sum_=[3, 2, 1, 6], age=[11, 12, 12, 11], Mean=[1.5, 1, 0.5, 3]
    )
    found = score_columns(names, seen, raters=False)
    scores, findings = found.names, found.findings
    assert scores == ["a", "b"]
    assert [finding.note for finding in findings] == [
        "'sum_', 'Mean': left out (the sum or mean of other columns)"
    ]


def test_names_of_judges_and_of_people() -> None:
    for names in (["gpt-4o", "claude"], ["Judge 1", "Judge 2"], ["Ann", "Bob"]):
        columns, seen = look(**{name: [0, 1, 1] for name in names})
        found = one_per_rater(columns, seen, two_headers=False)
        assert (found.wide, found.items) == ("{rater}", tuple(names))
        assert all(finding.certain for finding in found.findings)


@pytest.mark.parametrize(
    ("names", "certain"),
    [(["Mark AM", "Mark BE"], True), (["Rater 1", "Rater 2"], True), (["AM", "BE"], False)],
)
@pytest.mark.parametrize("rows", [2, 3])
def test_scores_of_few_rows_that_happen_to_number_them(names: list[str], certain: bool, rows: int) -> None:
    frame = pl.DataFrame({"Student": [*"xyz"], names[0]: [1, 2, 3], names[1]: [2, 2, 1]}).head(rows)
    ratings, plan = read_with_plan(frame, ReadConfig())
    assert ratings.n_ratings == 2 * rows
    assert ratings.n_raters == 2
    assert bool(plan.questions) is not certain
    assert certain or "'AM' may only number the rows" in plan.questions[0].observed


def test_a_column_that_numbers_the_rows_is_no_score() -> None:
    names, seen = look(row=[1, 2, 3, 4, 5], AM=[2, 2, 5, 1, 0], BE=[2, 3, 5, 1, 0])
    assert score_columns(names, seen, raters=True).names == ["AM", "BE"]


def test_criteria_are_no_raters() -> None:
    columns, seen = look(content=[0, 1, 1], style=[1, 1, 0])
    assert one_per_rater(columns, seen, two_headers=False).wide is None


def test_marks_on_different_scales_are_asked_about() -> None:
    columns, seen = look(Ann=[0, 1, 5], Bob=[10, 20, 15])
    (finding,) = one_per_rater(columns, seen, two_headers=False).findings
    assert not finding.certain


def test_grids_in_either_order() -> None:
    for names, pattern in (
        (["R1_Q1", "R1_Q2", "R2_Q1", "R2_Q2"], "{rater}_{item}"),
        (["style (Ann)", "plot (Ann)", "style (Bob)", "plot (Bob)"], "{item} ({rater})"),
    ):
        columns, seen = look(**{name: [0, 1, 2] for name in names})
        found = one_per_rater(columns, seen, two_headers=False)
        assert found.wide == pattern
        assert found.findings[-1].certain
    columns, seen = look(**{name: [0, 1, 2] for name in ("N_S", "N_T", "E_S", "E_T")})
    found = one_per_rater(columns, seen, two_headers=False)
    assert not found.findings[-1].certain
    assert found.findings[-1].alternative is not None
    assert found.findings[-1].alternative.value == "{item}_{rater}" == swapped_pattern("{rater}_{item}")


@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        (["Adj A R1", "Adj B R1", "Adj C R1", "Adj A R2", "Adj B R2", "Adj C R2"], "Adj {rater} {item}"),
        (["GA_1", "MK_1", "TS_1", "GA_2", "MK_2", "TS_2"], "{rater}_{item}"),
        (["style_r1", "plot_r1", "style_r2", "plot_r2"], "{item}_{rater}"),
    ],
)
def test_a_round_beside_the_rater_is_no_rater(names: list[str], pattern: str) -> None:
    columns, seen = look(**{name: [0, 1, 2] for name in names})
    found = one_per_rater(columns, seen, two_headers=False)
    assert (found.wide, found.items) == (pattern, tuple(names))
    assert found.findings[-1].alternative is not None


def test_places_in_each_round_are_ranks() -> None:
    rows = [
        (dance, f"c{n}", judge, (n * k + j) % 5 + 1)
        for k, dance in enumerate("xy", 1)
        for n in range(5)
        for j, judge in enumerate(("Ann", "Bob"))
    ]
    frame = pl.DataFrame(rows, schema=["item", "student", "rater", "score"], orient="row")
    _, plan = read_with_plan(frame, ReadConfig())
    assert [option.name for question in plan.questions for option in question.options] == ["best"]


def test_a_panel_by_letters_with_its_rounds_is_asked_about() -> None:
    rows = [(dance, start) for dance in ("slow", "quick", "tango") for start in range(20, 30)]
    frame = pl.DataFrame({"tánc": [dance for dance, _ in rows], "rajt": [start for _, start in rows]})
    scores = {judge: [(k * n + n // 3) % 5 for n in range(30)] for k, judge in enumerate("ABCD", 1)}
    ratings, plan = read_with_plan(
        frame.with_columns(**{k: pl.Series(v) for k, v in scores.items()}), ReadConfig()
    )
    assert (ratings.n_students, ratings.n_raters, ratings.n_items) == (10, 4, 3)
    assert "'rajt' read as the student and 'tánc' as the item" in [
        question.action for question in plan.questions
    ]


def test_a_grid_takes_in_a_column_with_a_word_among_its_scores() -> None:
    names = ["R1 x", "R1 y", "R2 x", "R2 y"]
    columns, seen = look(**{name: ["0", "1", "2"] for name in names} | {"R2 y": ["1", "ill", "late"]})
    assert one_per_rater(columns, seen, two_headers=False).items == tuple(names)


def test_with_a_rater_columns_are_items_unless_they_belong_to_the_student() -> None:
    students = [n // 2 for n in range(12)]
    _columns, seen = look(
        student=students,
        rater=list("ab") * 6,
        school=[n % 3 for n in students],
        x=[0, 1, 2] * 4,
        y=[1, 0] * 6,
    )
    found = one_per_item(["school", "x", "y"], [["student"], ["rater"]], seen)
    assert found.items == ("x", "y")
