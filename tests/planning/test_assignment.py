"""Who marks what: balance, links, loads and forbidden pairs hold for every scheme."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from raterlens.base.errors import OptionError
from raterlens.planning.assignment import Scheme, assign

NONE = np.zeros((0, 2), np.int64)


@pytest.mark.parametrize("name", ["random", "ring", "blocks"])
@pytest.mark.parametrize("marks", [1, 2, 2.5, 3])
def test_every_student_has_its_marks_and_work_is_even(name: str, marks: float) -> None:
    found = assign(200, Scheme(name, marks, 0, 0, 4), None, 12, NONE, default_rng(1))
    per_student = np.bincount(found.student)
    assert per_student.sum() == round(200 * marks)
    assert set(per_student) <= {int(np.floor(marks)), int(np.ceil(marks))}
    assert len(set(zip(found.student, found.rater, strict=True))) == len(found.student)
    loads = found.loads(12)
    assert loads.max() - loads.min() <= (1 if name == "random" else 4)


def test_schemes_put_their_raters_together() -> None:
    ring = assign(300, Scheme("ring", 2, 0, 0, 3), None, 9, NONE, default_rng(2))
    pairs = ring.rater.reshape(-1, 2)
    assert set((pairs[:, 1] - pairs[:, 0]) % 9) == {1, 8}
    blocks = assign(300, Scheme("blocks", 2, 0, 0, 3), None, 9, NONE, default_rng(2))
    assert (blocks.rater.reshape(-1, 2) // 3 == blocks.rater.reshape(-1, 2)[:, :1] // 3).all()


def test_common_and_seeded_scripts_are_marked_by_everybody() -> None:
    found = assign(50, Scheme("random", 1, 4, 3, 2), None, 6, NONE, default_rng(3))
    assert (np.bincount(found.student)[50:] == 6).all()
    assert len(found.student) == 46 + 6 * 4 + 6 * 3
    assert np.bincount(found.kind).tolist() == [46, 24, 18]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), name=st.sampled_from(["random", "ring", "blocks"]))
def test_loads_and_forbidden_pairs_are_kept(seed: int, name: str) -> None:
    random = default_rng(seed)
    loads = random.integers(10, 40, 6).astype(float)
    loads *= 1.15 * 80 / loads.sum()
    loads = np.ceil(loads)
    banned = np.stack([random.integers(0, 40, 60), random.integers(0, 6, 60)], axis=1)
    try:
        found = assign(40, Scheme(name, 2, 0, 0, 3), loads, 6, banned, random)
    except OptionError:
        # Some student has fewer than two raters left, or no assignment exists.
        assert not _feasible(40, loads, banned)
        return
    assert (np.bincount(found.student, minlength=40) == 2).all()
    assert (found.loads(6) <= loads).all()
    assert not set(map(tuple, banned.tolist())) & set(
        zip(found.student.tolist(), found.rater.tolist(), strict=True)
    )


def _feasible(students: int, loads: np.ndarray, banned: np.ndarray) -> bool:
    """By linear programming: a flow of two from each student to raters with room."""
    from scipy.optimize import linprog

    n = len(loads)
    upper = np.ones((students, n))
    upper[banned[:, 0], banned[:, 1]] = 0
    each = np.kron(np.eye(students), np.ones(n))
    per_rater = np.kron(np.ones(students), np.eye(n))
    bounds = [(0, b) for b in upper.ravel()]
    solved = linprog(
        np.zeros(students * n),
        A_ub=per_rater,
        b_ub=loads,
        A_eq=each,
        b_eq=np.full(students, 2),
        bounds=bounds,
    )
    return bool(solved.status == 0)


def test_too_little_capacity_is_said() -> None:
    with pytest.raises(OptionError, match="100 readings are to be marked, and raters may mark 90"):
        assign(50, Scheme("random", 2, 0, 0, 3), np.full(6, 15.0), 6, NONE, default_rng(0))


def test_the_same_seed_gives_the_same_assignment() -> None:
    one, two, other = (
        assign(60, Scheme("random", 2, 2, 0, 3), None, 7, NONE, default_rng(s)).rater.tolist()
        for s in (4, 4, 5)
    )
    assert one == two != other
