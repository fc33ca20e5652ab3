"""Words that are scores."""

import pytest

from raterlens.reading.proposals.score_words import (
    LADDERS,
    VERDICTS,
    is_score_word,
    ladder,
    leading_numbers,
    letters,
    stars,
    verdict,
)


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
