"""Files as people have them: read right, or asked about with an answer that reads them right."""

from pathlib import Path
from typing import Any

import pytest

from raterlens.base.errors import InputError, OptionError
from raterlens.config import ReadConfig
from raterlens.ratings.coded import Ratings
from raterlens.reading.read import read, read_with_plan
from raterlens.reading.read_plan import UncertainError
from tests.reading.corpus.cases import CASES, Case
from tests.reading.corpus.eighth_habits import EIGHTH
from tests.reading.corpus.fifth_habits import FIFTH
from tests.reading.corpus.fourth_habits import FOURTH
from tests.reading.corpus.habits import HABITS as FIRST
from tests.reading.corpus.habits import Habit
from tests.reading.corpus.second_habits import SECOND
from tests.reading.corpus.seventh_habits import SEVENTH
from tests.reading.corpus.sixth_habits import SIXTH
from tests.reading.corpus.third_habits import THIRD

# -- The corpus is read --


def rows(ratings: Ratings) -> list[tuple[Any, ...]]:
    table = ratings.table().select("student", "rater", "item", "score").rows()
    return sorted((str(s), str(r), str(i), int(y)) for s, r, i, y in table)


def test_the_corpus_is_large_enough_and_mostly_read_without_options() -> None:
    assert len(CASES) >= 60
    assert sum(not case.asks for case in CASES) >= 55
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", [case for case in CASES if not case.asks], ids=lambda case: case.name)
def test_files_that_are_read_with_no_option(case: Case, tmp_path: Path) -> None:
    path = case.write(tmp_path)
    assert rows(read(path)) == case.rows
    _, plan = read_with_plan(path, ReadConfig())
    assert rows(read(path, **plan.config.given())) == case.rows, "said in so many words, the same"


@pytest.mark.parametrize("case", [case for case in CASES if case.asks], ids=lambda case: case.name)
def test_files_that_ask_and_whose_proposal_works(case: Case, tmp_path: Path) -> None:
    path = case.write(tmp_path)
    with pytest.raises(UncertainError) as caught:
        read(path)
    assert caught.value.proposal is not None
    found = rows(read(path, **caught.value.proposal.config.given()))
    assert found == case.rows


# -- Files as exam boards and teams with LLM judges have them --

HABITS = [*FIRST, *SECOND, *THIRD, *FOURTH, *FIFTH, *SIXTH, *SEVENTH, *EIGHTH]
ENCODED = ("Latin-2", "Arabic of Windows")
"""Whose encoding has to be confirmed."""


def test_the_corpus_is_large_enough() -> None:
    assert len(CASES) + len(HABITS) >= 200
    assert len({habit.name for habit in HABITS}) == len(HABITS)


@pytest.mark.parametrize(
    "habit", [h for h in HABITS if h.rows is not None and not h.asks], ids=lambda h: h.name
)
def test_habits_that_are_read_with_no_option(habit: Habit, tmp_path: Path) -> None:
    path = habit.write(tmp_path)
    asked: dict[str, Any] = {}
    if habit.name in ENCODED:
        with pytest.raises(UncertainError, match="not UTF-8") as caught:
            read(path)
        asked = caught.value.proposal.config.given()
    assert rows(read(path, **asked)) == habit.rows


@pytest.mark.parametrize("habit", [h for h in HABITS if h.asks], ids=lambda h: h.name)
def test_files_that_ask_and_whose_answer_reads_them(habit: Habit, tmp_path: Path) -> None:
    path = habit.write(tmp_path)
    with pytest.raises(UncertainError) as caught:
        read(path)
    assert caught.value.proposal is not None
    assert rows(read(path, **{**caught.value.proposal.config.given(), **habit.answer})) == habit.rows
    assert "{score}" not in str(caught.value)


@pytest.mark.parametrize("habit", [h for h in HABITS if h.rows is None], ids=lambda h: h.name)
def test_files_that_hold_no_scores_are_refused_for_what_they_are(habit: Habit, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=habit.refusal):
        read(habit.write(tmp_path))


def test_known_answers_of_another_kind(tmp_path: Path) -> None:
    """A cut is for scores: known answers that are pass or fail stay what they are."""
    habit = next(h for h in HABITS if h.name == "scores 0 to 5, known pass and fail")
    path = habit.write(tmp_path)
    known = read(path, known="ground_truth", cut=3).known
    assert known is not None
    assert set(known.answer.tolist()) == {0, 1}
    with pytest.raises(InputError, match=r"are pass or fail, but scores go up to 5.*cut=3"):
        read(path, known="ground_truth")
    mapped = read(path, known="ground_truth", known_map="fail=0,pass=5").known
    assert mapped is not None
    assert set(mapped.answer.tolist()) == {0, 5}


def test_ground_truth_of_label_studio_is_the_known_answer(tmp_path: Path) -> None:
    habit = next(h for h in HABITS if h.name == "Label Studio with ground truth")
    ratings = read(habit.write(tmp_path))
    assert ratings.known is not None
    found = {
        str(ratings.students[int(s)]): int(y)
        for s, y in zip(ratings.known.student, ratings.known.answer, strict=True)
    }
    assert found == habit.known


@pytest.mark.parametrize(
    ("name", "column"), [("promptfoo", "expected"), ("Inspect AI with epochs", "target")]
)
def test_variables_and_metadata_can_be_named(name: str, column: str, tmp_path: Path) -> None:
    habit = next(h for h in HABITS if h.name == name)
    ratings = read(habit.write(tmp_path), known=column, facets=["topic"])
    assert ratings.known is not None
    assert [facet.name for facet in ratings.facets] == ["topic"]


def test_draws_and_groups_are_kept_beside_the_facets(tmp_path: Path) -> None:
    habit = next(h for h in HABITS if h.name == "draws in a column")
    ratings = read(habit.write(tmp_path))
    assert ratings.draw is not None
    assert ratings.draw.name == "run"
    assert ratings.facets == ()
    some = ratings.subset(ratings.draw.codes == 0)
    assert some.draw is not None
    assert len(some.draw.labels) == 1


def test_unknown_words_are_left_open_and_open_words_are_refused(tmp_path: Path) -> None:
    habit = next(h for h in HABITS if h.name == "classes")
    path = habit.write(tmp_path)
    with pytest.raises(InputError, match=r"map='politics=\?,science=\?,sports=\?,travel=\?'"):
        read(path)
    with pytest.raises(OptionError, match="leaves open what 'politics' is worth"):
        read(path, map="politics=?,science=1,sports=2,travel=3")
