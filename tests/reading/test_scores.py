"""Scores: words, halves, per cent, marks and ranks to whole numbers; columns by it."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raterlens.base.errors import InputError, RaterlensError
from raterlens.base.text import Option
from raterlens.config import ReadConfig
from raterlens.reading.read import read
from raterlens.reading.scores import parse_scores, scale_of, suggested_bands, suggested_cut
from tests.support.reading_tables import LONG


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([True, False, None], [1, 0]),
        ([1.0, 0.0, float("nan")], [1, 0]),
        (["1", " 0 ", ""], [1, 0]),
        (["1.0", "+0", "NA"], [1, 0]),
        (["TRUE", "False", "null"], [1, 0]),
        (["0", "50", "."], [0, 50]),
        ([2, 1, None], [2, 1]),
    ],
)
def test_scores_that_are_whole_numbers(scores: list, expected: list[int]) -> None:
    ratings = read(pl.DataFrame({"student": [1, 2, 3], "rater": [1, 2, 1], "score": scores}))
    assert ratings.score.tolist() == expected
    assert ratings.notes[-1] == "1 of 3 ratings left out: no score"


@pytest.mark.parametrize(
    "missing", ["", "  ", "NA", "na", "N/A", "NaN", "nan", "null", "NULL", "None", ".", None]
)
def test_missing_scores_are_left_out_and_counted(missing: str | None) -> None:
    scores = pl.Series(["1", missing, "0", missing], dtype=pl.String)
    frame = pl.DataFrame({"student": [1, 2, 3, 4], "rater": ["a", "gone", "b", "a"], "score": scores})
    ratings = read(frame)
    assert ratings.score.tolist() == [1, 0]
    assert ratings.students.to_list() == [1, 3]
    assert ratings.raters.to_list() == ["a", "b"]
    assert ratings.rater.tolist() == [0, 1]
    assert "2 of 4 ratings left out: no score" in ratings.notes


@pytest.mark.parametrize("missing", ["", " \t", None])
def test_rows_without_a_label_are_left_out_and_counted_apart(missing: str | None) -> None:
    frame = pl.DataFrame(
        {"student": ["a", "b", missing, "c"], "rater": ["x", "y", "x", "NA"], "score": [1, 0, None, None]}
    )
    ratings = read(frame)
    assert ratings.students.to_list() == ["a", "b"]
    assert ratings.notes[-2:] == (
        "1 of 4 rows left out: no student or rater label",
        "1 of 4 ratings left out: no score",
    )


def test_a_rater_called_na_is_a_rater() -> None:
    assert read(
        pl.DataFrame({"student": [1, 2], "rater": ["NA", "."], "score": [0, 1]})
    ).raters.to_list() == [".", "NA"]


@pytest.mark.parametrize(
    "scores", [[3, 2.5, -1, None], ["3", "2.5", "-1", "NA"], [3.0, 2.9, -7.5, float("nan")]]
)
def test_cut_makes_pass_and_fail_and_keeps_missing_missing(scores: list) -> None:
    frame = pl.DataFrame(
        {"student": [1, 2, 3, 4], "rater": [1, 1, 2, 2], "score": pl.Series(scores, strict=False)}
    )
    ratings = read(frame, cut=3)
    assert ratings.score.tolist() == [1, 0, 0]
    assert ratings.n_categories == 2
    assert read(frame, cut=2.5).score.tolist() == [1, int(scores[1] in (2.5, "2.5", 2.9)), 0]


def test_repeated_ratings_are_kept() -> None:
    assert read(pl.concat([LONG, LONG])).n_ratings == 2 * len(LONG)


@pytest.mark.parametrize(
    "words",
    [("pass", "fail"), ("Passed", "FAILED"), ("yes", "no"), ("True", "false"), ("correct", "incorrect")],
)
def test_verdicts_in_words(words: tuple[str, str]) -> None:
    scores = [words[score] for score in (1, 0)] + [None, words[0]]
    ratings = read(pl.DataFrame({"student": [1, 2, 3, 4], "rater": ["a"] * 4, "verdict": scores}))
    assert ratings.score.tolist() == [0, 1, 1]


def test_a_word_among_numbers_is_refused() -> None:
    frame = pl.DataFrame({"student": [1, 2, 3], "rater": ["a"] * 3, "score": ["3", "pass", "0"]})
    with pytest.raises(RaterlensError, match="score 'pass' in column 'score', row 2, stands among numbers"):
        read(frame)


def test_scores_above_50_are_marks_and_a_stray_one_is_named() -> None:
    scores = pl.Series("score", [*range(51), *range(51)])
    frame = pl.DataFrame({"student": range(102), "rater": ["a", "b"] * 51, "score": scores})
    assert read(frame).n_categories == 51
    assert read(frame.with_columns(score=scores.replace(50, 60))).n_categories == 61
    with pytest.raises(RaterlensError, match=r"score 510 .* is above 50, too many categories to model"):
        read(frame.with_columns(score=scores.replace(50, 510)))


def scored(values: list[Any], name: str = "score", **options: Any) -> tuple[list[int], list[bool]]:
    """Scores by the likeliest answer, and which findings are certain."""
    column, config = pl.Series(name, values, strict=False), ReadConfig(**options)
    coding, found = scale_of([column], [name], config)
    for option in (option for finding in found for option in finding.options):
        config = config.changed(**{option.name: option.value})
    coding, _ = scale_of([column], [name], config)
    return parse_scores(column, coding, str).tolist(), [finding.certain for finding in found]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["2,5", "1", "0,5"], [5, 2, 1]),
        ([0.5, 1.0, None], [1, 2, -1]),
        (["good", "bad", "-"], [1, 0, -1]),
        (["A", "F", "B-"], [2, 0, 1]),
        (["3/4", "1/4"], [3, 1]),
        ([0.25, 1.0, 0.0], [1, 4, 0]),
        ([0, 100, 50, 25], [0, 4, 2, 1]),
        (["50%", "0 %", "100%"], [1, 0, 2]),
        ([-1, 1], [0, 1]),
        (["'3", " 4"], [3, 4]),
        ([True, False], [1, 0]),
        (["good", "satisfactory", "bad"], [2, 1, 0]),
        (["Excellent", "Very poor", "average"], [2, 0, 1]),
        (["B1+", "A2", "B1"], [3, 0, 2]),
    ],
)
def test_what_is_certain(values: list[Any], expected: list[int]) -> None:
    assert scored(values)[0] == expected
    assert all(scored(values)[1])


@pytest.mark.parametrize(
    ("values", "name", "expected"),
    [
        (["1", "3", "99"], "score", [1, 3, -1]),
        (["1", "6", "2"], "Note", [5, 0, 4]),
        (["A", "B", "D"], "answer", [3, 2, 0]),
        ([-2, 0, 2], "score", [0, 2, 4]),
        (["1+", "3", "2-", "6"], "Note", [15, 8, 10, 0]),
        (["2+", "3", "2-", "2"], "score", [2, 3, 0, 1]),
    ],
)
def test_what_is_asked(values: list[Any], name: str, expected: list[int]) -> None:
    assert scored(values, name) == (expected, [False])


def test_many_marks_are_read_as_they_are_and_bands_suit_them() -> None:
    low, high = (list(range(start, start + 41)) for start in (5, 59))
    assert [scored(values)[0] for values in (low, high)] == [low, high]
    coding, found = scale_of([pl.Series("score", high)], ["score"], ReadConfig())
    assert (coding.marks, coding.factor) == (True, 1)
    assert (found[0].options, found[0].certain) == ((), True)
    assert found[0].alternative == Option("bands", "68,76,84,92")


def test_few_marks_out_of_100_are_put_into_bands() -> None:
    values = [3, 17, 22, 41, 48, 55, 63, 78, 81, 90, 94, 99]
    coding, found = scale_of([pl.Series("score", values)], ["score"], ReadConfig())
    assert not coding.marks
    assert found[0].options[0].name == "bands"
    assert not found[0].certain


@pytest.mark.parametrize(
    ("marks", "factor", "rounded"),
    [
        ([k / 2 for k in range(60, 101)], 2, ""),
        ([k / 100 for k in range(41)], 100, ""),
        ([k / 7 for k in range(41)], 100, ", rounded to 0.01"),
        ([10.0 * k + 0.25 for k in range(200)], 0.5, ", rounded to 2"),
    ],
)
def test_marks_are_counted_in_steps_that_leave_next_to_nothing_to_round(
    marks: list[float], factor: float, rounded: str
) -> None:
    column = pl.Series("score", marks)
    coding, found = scale_of([column], ["score"], ReadConfig())
    assert coding.factor == pytest.approx(factor)
    assert found[0].action.endswith(f"continuous scale{rounded}")
    codes = parse_scores(column, coding, str)
    assert np.abs(codes / coding.factor - marks).max() <= 0.5 / coding.factor + 1e-9


def test_what_the_user_says_goes_first() -> None:
    assert scored(["good", "bad", "so-so"], map="good=2,bad=0,so-so=1") == ([2, 0, 1], [])
    assert scored([1, 2, 3], map={"3": None}) == ([1, 2, -1], [])
    assert scored([10, 55, 90], bands=[50, 80]) == ([0, 1, 2], [])
    assert scored(["10,5", "55"], cut=50)[0] == [0, 1]
    assert scored([0.5, 1.0], cut=1)[0] == [0, 1]


@pytest.mark.parametrize(
    "values", [["A", "B", "tie"], ["model_a", "model_b"], ["A>B", "B>A"], ["win", "lose", "tie"]]
)
def test_pairs_are_refused_with_the_reason(values: list[str]) -> None:
    with pytest.raises(
        InputError, match=r"compare two answers with each other.*let the judges score each answer"
    ):
        scored(values, "winner")


@given(st.dictionaries(st.integers(0, 1000).map(lambda n: n / 10), st.integers(1, 50), min_size=2))
def test_every_band_has_scores_and_the_cut_has_both_sides(counts: dict[float, int]) -> None:
    values = sorted(counts)
    edges = suggested_bands(counts)
    assert edges == sorted(set(edges))
    assert {sum(value >= edge for edge in edges) for value in values} == set(range(len(edges) + 1))
    cut = suggested_cut(counts)
    assert values[0] < cut <= values[-1]


def test_round_numbers() -> None:
    assert suggested_bands({float(n): 1 for n in range(30, 91)}) == [40.0, 55.0, 65.0, 80.0]
    assert suggested_cut({0.12: 1, 0.48: 5, 0.9: 1}) == 0.5


def test_scores_next_to_each_other_and_at_both_ends_of_what_is_a_number() -> None:
    assert suggested_cut({0.0: 1, 5e-324: 1}) == 5e-324
    assert -1.7e308 < suggested_cut({-1.7e308: 1, 0.0: 2, 1.7e308: 1}) <= 1.7e308


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ([99999999999999999999999.0] * 4, "is too large to be a score"),
        (["9" * 23] * 4, "is too large to be a score"),
        ([9e22, 1.0, 2.0, 1.0], "is too large to be a score"),
        ([1000] * 4, "all 4 scores are 1000, so nothing can be estimated"),
    ],
)
def test_a_number_that_cannot_be_a_score_is_named(score: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(pl.DataFrame({"student": [1, 1, 2, 2], "rater": [*"abab"], "score": score}))
