"""Whom or what a label names."""

import polars as pl

from raterlens.reading.proposals.label_words import is_total, like_item, like_rater, sides, total_pattern

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
