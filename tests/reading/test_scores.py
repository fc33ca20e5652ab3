"""Scores: whole numbers, pass and fail, missing ones left out and counted."""

import polars as pl
import pytest

from raterlens.base.errors import RaterlensError
from raterlens.reading.read import read
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


def test_51_categories_are_the_most() -> None:
    scores = pl.Series("score", [*range(51), *range(51)])
    frame = pl.DataFrame({"student": range(102), "rater": ["a", "b"] * 51, "score": scores})
    assert read(frame).n_categories == 51
    with pytest.raises(RaterlensError, match=r"score 51 .* is above 50, too many categories to model"):
        read(frame.with_columns(score=scores.replace(50, 51)))
