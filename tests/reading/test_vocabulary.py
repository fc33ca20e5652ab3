"""Words for roles, grades and missing marks; labels to codes."""

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from raterlens.reading.labels import code, merge_spellings, total_rows
from raterlens.reading.read import read
from raterlens.reading.vocabulary import (
    LADDERS,
    VERDICTS,
    is_identifier,
    is_other,
    is_score_word,
    is_total,
    ladder,
    leading_numbers,
    letters,
    like_item,
    like_rater,
    mentions,
    plain,
    sides,
    stars,
    stems,
    tier,
    total_pattern,
    usual_role,
    verdict,
)
from tests.support.reading_tables import LONG

# -- Words for roles, raters, items, totals, verdicts, grades and missing marks --

WORDS = {
    "student": "student Prüfling Pruefling candidat estudiante studente aluno leerling Schüler-Nr. Nom_du_candidat",
    "rater": "rater Prüfer Pruefer correcteur evaluador valutatore avaliador beoordelaar RaterID Korrektor juez",
    "item": "item Aufgabe critère pregunta domanda questão vraag Kriterium task_id",
    "score": "score Punkte note puntuación punteggio pontuação cijfer Bewertung voto nota Punktzahl",
}


@pytest.mark.parametrize(("role", "words"), WORDS.items())
def test_words_of_seven_languages(role: str, words: str) -> None:
    for word in words.split():
        assert tier(word, role) == 0, word
        assert usual_role(word) == role, word


def test_spellings_are_alike() -> None:
    assert plain("Prüfling") == plain("PRÜFLING") == plain("prüfling ")
    assert stems("Student ID") & stems("student_id") & stems("studentId") >= {"student"}


def test_less_usual_words_come_second() -> None:
    assert (tier("response", "student"), tier("worker", "rater"), tier("verdict", "score")) == (1, 1, 1)
    assert tier("school", "student") is None


def test_longer_headings_mention_a_role() -> None:
    assert mentions("Which student do you assess?", "student")
    assert not mentions("How clear is the essay?", "rater")


def test_identifiers_and_columns_that_are_no_scores() -> None:
    assert is_identifier("sample_id")
    assert is_identifier("Name")
    assert not is_identifier("score")
    assert is_other("Alter")
    assert is_other("lead_time")
    assert not is_other("style")


TOTALS = [
    "Total",
    "total:",
    "Summe",
    "MITTELWERT",
    "Durchschnitt",
    "moyenne",
    "Promedio",
    "média",
    "gemiddelde",
    "Ø",
    "Mean",
]
PEOPLE = ["Max", "Min", "Sum Lee", "Tot", "Mediha", "Anna", "Average Joe", "Totti", "SD", "N"]


def test_totals_are_told_from_people() -> None:
    assert all(map(is_total, TOTALS))
    assert not any(map(is_total, PEOPLE))


def test_the_quick_look_passes_over_no_total() -> None:
    found = pl.Series(TOTALS).str.to_lowercase().str.contains(total_pattern())
    assert found.all()


def test_raters_and_criteria() -> None:
    assert all(
        map(
            like_rater,
            ["R1", "Judge 2", "gpt-4o", "claude-3-5-sonnet", "Prüfer A", "ann@x.org", "annotator_3"],
        )
    )
    assert not any(map(like_rater, ["Content", "Ann", "Q1", "Style", "Ro", "Jo"]))
    assert all(
        map(like_item, ["Q1", "Content", "Aufgabe 3", "Rechtschreibung", "Sentence fluency", "C2", "Mathe"])
    )
    assert not any(map(like_item, ["Ann", "Tim", "Kit", "gpt-4o"]))


def test_which_side_is_the_rater() -> None:
    assert sides(["R1", "R2"], ["x", "y"]) is True
    assert sides(["content", "style"], ["Ann", "Bob"]) is False
    assert sides(["Ann", "Bob"], ["Kim", "Lee"]) is None
    assert sides(["Ann", "Bob"], ["content", "plot twist", "style"]) is True


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        *(
            ("pass", "fail"),
            ("Yes", "No"),
            ("TRUE", "FALSE"),
            ("good", "bad"),
            ("accept", "reject"),
            ("👍", "👎"),
        ),
        *(("correct", "incorrect"), ("✓", "✗"), ("thumbs up", "thumbs down"), ("y", "n"), ("ja", "nein")),
        *(("oui", "non"), ("sí", "no"), ("vero", "falso"), ("sim", "não"), ("geslaagd", "gezakt")),
        *(("bestanden", "nicht bestanden"), ("apto", "no apto")),
    ],
)
def test_pairs(good: str, bad: str) -> None:
    assert verdict([good, bad]) == {good: 1.0, bad: 0.0}


def test_no_word_passes_and_fails() -> None:
    assert set(VERDICTS.values()) == {0.0, 1.0}
    assert all(len(steps) == len(set(steps)) for steps in LADDERS)
    assert all(word == word.casefold() for steps in LADDERS for word in steps)
    assert all(word == word.casefold() for word in VERDICTS)


def test_ladders_keep_the_places_between() -> None:
    assert ladder(["excellent", "Poor"]) == {"Poor": 0.0, "excellent": 3.0}
    assert ladder(["agree", "disagree"]) == {"disagree": 0.0, "agree": 2.0}
    assert ladder(["poor", "yes"]) is None


def test_letters() -> None:
    assert letters(["A", "C"]) == {"C": 0.0, "A": 2.0}
    assert letters(list("ABCDF")) == {"F": 0.0, "D": 1.0, "C": 2.0, "B": 3.0, "A": 4.0}
    assert letters(["a-", "A", "A+"]) == {"a-": 0.0, "A": 1.0, "A+": 2.0}
    assert letters(["A"]) is None


def test_numbers_with_their_meaning_and_stars() -> None:
    assert leading_numbers(["1: low", "2: high"]) == {"1: low": 1.0, "2: high": 2.0}
    assert leading_numbers(["1: low", "1: high"]) is None
    assert leading_numbers(["1", "2"]) is None
    assert stars(["★★☆", "⭐"]) == {"★★☆": 2.0, "⭐": 1.0}


def test_what_can_be_a_score_at_all() -> None:
    assert all(map(is_score_word, ["Good", "B+", "★★", "3 - fair", "👍"]))
    assert not any(
        map(
            is_score_word,
            ["Ann", "well argued", "S01", "12 Main Street, where the long words live on and on and on"],
        )
    )


# -- Labels to codes, spellings of the same label, rows of totals --


@pytest.mark.parametrize(
    "students",
    [
        ["007", "7", "08"],
        ["1.0", "1", "1e3"],
        ["123456789012345678901234567890", "1"],
        ["true", "1"],
    ],
)
def test_labels_in_text_files_stay_as_written(students: list[str], tmp_path: Path) -> None:
    lines = [f"{student},AM,{i % 2}" for i, student in enumerate(students)]
    (tmp_path / "x.csv").write_text("\n".join(["student,rater,score", *lines]))
    assert sorted(read(tmp_path / "x.csv").students) == sorted(students)


def test_all_digit_text_is_sorted_as_numbers_and_other_text_plainly() -> None:
    frame = pl.DataFrame(
        {"student": ["10", "9", "010", "100000000000000000000", "0"], "rater": list("b1a2_")}
    )
    ratings = read(frame.with_columns(score=pl.Series([0, 1, 0, 1, 0])))
    assert ratings.students.to_list() == ["0", "9", "010", "10", "100000000000000000000"]
    assert ratings.raters.to_list() == ["1", "2", "_", "a", "b"]


@pytest.mark.parametrize(
    "labels",
    [
        pl.Series([3, 1, 2], dtype=pl.Int8),
        pl.Series([2.5, 0.5, 1.0]),
        pl.Series([dt.date(2026, 1, 2), dt.date(2025, 1, 1), dt.date(2026, 1, 1)]),
        pl.Series([dt.datetime(2026, 1, 2), dt.datetime(2025, 1, 1), dt.datetime(2026, 1, 1)]),
        pl.Series([True, False, True]),
        pl.Series(["c", "a", "b"], dtype=pl.Categorical),
        pl.Series(["c", "a", "b"], dtype=pl.Enum(["c", "b", "a"])),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_of_any_type_keep_it(labels: pl.Series) -> None:
    ratings = read(pl.DataFrame({"student": labels, "rater": labels, "item": labels, "score": [0, 1, 1]}))
    assert ratings.students.dtype == ratings.raters.dtype == ratings.items.dtype == labels.dtype
    assert ratings.students.to_list() == sorted(set(labels.to_list()))
    assert ratings.students.gather(ratings.student).to_list() == labels.to_list()


def test_codes_are_small_and_cannot_be_changed() -> None:
    ratings = read(LONG)
    assert [a.dtype for a in (ratings.student, ratings.rater, ratings.item)] == [np.int32] * 3
    assert ratings.score.dtype == np.int16
    with pytest.raises(ValueError, match="read-only"):
        ratings.score[0] = 1
    with pytest.raises(AttributeError):
        ratings.score = ratings.score  # type: ignore[misc]


def test_labels_that_look_alike_are_noted_where_they_are_kept_apart() -> None:
    frame = pl.DataFrame({"student": ["s", "t", "S "], "rater": ["AM", "am ", "BE"], "score": [0, 1, 1]})
    ratings = read(frame, as_written=True)
    assert ratings.raters.to_list() == ["AM", "BE", "am "]
    assert any(note.startswith("'AM' and 'am ' look like the same rater;") for note in ratings.notes)
    assert any(note.startswith("'S ' and 's' look like the same student;") for note in ratings.notes)
    assert not any("same item" in note for note in ratings.notes)


@pytest.mark.parametrize("first", ["b", None])
def test_labels_in_runs_get_the_codes_of_labels_one_by_one(first):
    """A long table in order is coded by its runs."""
    labels = pl.Series("rater", [first] * 40 + ["b"] * 35 + ["a", None] * 2 + [" "] * 30 + ["c"] * 50)
    expected, found = code(labels), code(labels, many=10)
    assert found.codes.tolist() == expected.codes.tolist()
    assert found.labels.to_list() == expected.labels.to_list() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "labels",
    [
        pl.Series([30, -12, 5, 5, 30, 7] * 9, dtype=pl.Int16),
        pl.Series([-128, 127, 0] * 90, dtype=pl.Int8),
        pl.Series([2**64 - 1, 2**64 - 2] * 20, dtype=pl.UInt64),
        pl.Series([2**62, 2**62 + 3] * 20),
        pl.Series([1, None, 2] * 20),
        pl.Series(["10", "9", "010", "9"] * 10, dtype=pl.Categorical),
        pl.Series(["b", " ", "a", "b"] * 10, dtype=pl.Categorical),
        pl.Series(["b", "a", "b"] * 10, dtype=pl.Enum(["c", "b", "a"])),
    ],
    ids=str,
)
def test_numbers_get_the_codes_of_other_labels(labels):
    """A table of all numbers between the lowest and the highest, where it is small."""
    expected = code(labels)
    found = code(labels, many=10, block=7)
    assert found.codes.tolist() == expected.codes.tolist()
    assert found.labels.to_list() == expected.labels.to_list()
    assert found.labels.dtype == expected.labels.dtype


def test_blanks_and_case_make_no_difference_and_the_usual_spelling_stays() -> None:
    levels, (finding,) = merge_spellings(
        code(pl.Series(["Anna", "anna", "Anna ", "Anna", "Bob", None])), "rater", lambda row: f"row {row + 1}"
    )
    assert levels.labels.to_list() == ["Anna", "Bob"]
    assert levels.codes.tolist() == [0, 0, 0, 0, 1, -1]
    assert finding.note == (
        "'Anna' and 'Anna ' and 'anna' look like the same rater, first at row 2: taken for one "
        "(otherwise: as_written=True)"
    )


@pytest.mark.parametrize("labels", [["aB3x", "Ab3x"], ["007", "7"], ["Anna", "Ana"], ["a", "b"]])
def test_labels_that_differ_stay_apart(labels: list[str]) -> None:
    levels, found = merge_spellings(code(pl.Series(labels)), "student", None)
    assert (len(levels.labels), found) == (2, [])


def test_read_as_written_or_as_one() -> None:
    frame = pl.DataFrame({"student": ["s", "t", "S "], "rater": ["AM", "am ", "BE"], "score": [0, 1, 1]})
    assert read(frame).raters.to_list() == ["AM", "BE"]
    assert read(frame, as_written=True).raters.to_list() == ["AM", "BE", "am "]


def test_rows_of_totals_by_their_labels() -> None:
    levels = {"student": code(pl.Series(["a", "Total", "b", "Average", "Max"]))}
    rows, (finding,) = total_rows(levels, lambda row: f"row {row + 1}")
    assert rows is not None
    assert rows.tolist() == [False, True, False, True, False]
    assert finding.note == (
        "2 rows, the first row 2, look like a total (student 'Average', 'Total'): left out (otherwise: as_written=True)"
    )


def test_numbers_are_no_totals_and_all_totals_are_none() -> None:
    assert total_rows({"student": code(pl.Series([1, 2]))}, str)[0] is None
    assert total_rows({"item": code(pl.Series(["Total", "Total"]))}, str)[0] is None


def test_as_written_they_stay() -> None:
    frame = pl.DataFrame({"student": ["a", "b", "Total"], "rater": ["x", "y", "x"], "score": [1, 0, 1]})
    assert read(frame).n_ratings == 2
    assert read(frame, as_written=True).n_ratings == 3


@pytest.mark.parametrize(
    "kind", [pl.Int8, pl.Int16, pl.Int32, pl.UInt32, pl.Int64, pl.UInt64, pl.Categorical]
)
def test_a_long_column_in_chunks_is_coded_as_a_short_one(kind):
    signed = kind in (pl.Int8, pl.Int16, pl.Int32)
    numbers = np.random.default_rng(0).integers(-128 if signed else 2, 128, size=900)
    column = pl.Series("student", numbers)
    column = column.cast(pl.String).cast(kind) if kind == pl.Categorical else column.cast(kind)
    chunks = pl.concat([column[:300], column[300:450], column[450:]], rechunk=False)
    short, long = code(column), code(chunks, many=10, block=64)
    np.testing.assert_array_equal(long.codes, short.codes)
    assert long.labels.to_list() == short.labels.to_list()
    assert long.labels.dtype == kind
