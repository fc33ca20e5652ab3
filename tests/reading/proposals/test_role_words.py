"""Names of columns in seven languages."""

import pytest

from raterlens.reading.proposals.role_words import (
    is_identifier,
    is_other,
    mentions,
    plain,
    stems,
    tier,
    usual_role,
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
