import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.likelihood import true_category
from raterlens.likelihood.true_category import as_known, known_categories
from tests.support.latent_class import (
    long,
    problem_on,
)


def test_a_pattern_is_one_cell_however_its_rows_are_ordered():
    one = [("A", "R1", "I1", 1), ("A", "R2", "I1", 0), ("A", "R1", "I1", 1)]
    other = [("B", "R2", "I1", 0), ("B", "R1", "I1", 1), ("B", "R1", "I1", 1)]
    different = [("C", "R1", "I1", 1), ("C", "R2", "I1", 0), ("C", "R1", "I1", 0)]
    units = problem_on(long(one + other + different)).units
    assert units.cell[0] == units.cell[1] != units.cell[2]
    assert units.n.tolist() == [3, 3, 3]
    assert units.passes.tolist() == [2, 2, 1]
    assert units.members[[units.cell[0]]].toarray().tolist() == [[0, 2, 1, 0]]


def test_a_category_is_known_where_its_own_answer_is():
    """Before, between and after the known ones, none is."""
    table = pl.DataFrame(
        {
            "student": [s for s in "abcde" for _ in "xy"],
            "rater": ["r", "q"] * 5,
            "item": ["x", "y"] * 5,
            "score": [0, 1] * 5,
            "known": [None, None, None, 1, None, None, 0, 1, None, None],
        }
    )
    ratings = rl.read(table, known="known")
    student, item = np.repeat(np.arange(5), 2), np.tile([0, 1], 5)
    found = known_categories(ratings, student, item)
    assert found.tolist() == [-1, -1, -1, 1, -1, -1, 0, 1, -1, -1]
    plain = rl.read(table.drop("known"))
    assert known_categories(plain, student, item).tolist() == [-1] * 10
    log_given = as_known(np.zeros((10, 2)), found)
    assert np.argwhere(np.isinf(log_given)).tolist() == [[3, 0], [6, 1], [7, 0]]


@pytest.mark.parametrize("last", [1, 2, 3])
def test_parts_hold_their_students_and_nobody_else(monkeypatch, last):
    """Whole ones, and the last with those that are left, were it one student with one item."""
    monkeypatch.setattr(true_category, "_PART", 3)
    rows = [
        (student, rater, "I1", (student + rater) % 2) for student in range(6 + last) for rater in range(2)
    ]
    parts = problem_on(long([(f"S{s}", f"R{r}", item, score) for s, r, item, score in rows])).parts
    assert [part.engine.n_students for part in parts] == [3, 3, last]
    ends = [(part.students.start, part.students.stop) for part in parts]
    assert ends == [(0, 3), (3, 6), (6, 6 + last)]
    assert sum(part.members.shape[0] for part in parts) == parts[-1].cells.stop
