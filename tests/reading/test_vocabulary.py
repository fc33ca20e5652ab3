"""Words for roles, raters, items, totals, verdicts, grades and missing marks."""

import polars as pl
import pytest

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
