"""Who marks what, and which mark next."""

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

import raterlens as rl
from raterlens.base.arrays import Array
from raterlens.base.errors import InputError, OptionError
from raterlens.likelihood.nodes import Nodes
from raterlens.planning import precision
from raterlens.planning.assignment import Scheme, assign
from raterlens.planning.assumed_panel import AssumedPanel, Spreads, estimated, reading_tables, stated
from raterlens.planning.next_marks import _Search, _State
from raterlens.planning.precision import design_information

# -- Who marks what --

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


# -- The next marks --

MADE = rl.simulate(students=120, raters=5, items=2, slope=[0.8, 1.2, 1.5, 1.8, 2.0], seed=3)
_MARKED = np.zeros((120, 5), bool)
_MARKED[np.arange(120), np.arange(120) % 5] = True
_MARKED[np.arange(120), (np.arange(120) + 1 + np.arange(120) // 5 % 4) % 5] = True


def _seen(marked: np.ndarray) -> rl.Ratings:
    rows = marked[MADE.ratings.student, MADE.ratings.rater]
    kept = {name: getattr(MADE.ratings, name)[rows] for name in ("student", "rater", "item", "score")}
    return replace(MADE.ratings, **kept)


RATINGS = _seen(_MARKED)
FIT = rl.fit(RATINGS, model="gmf", reference="perfect", halo="none")


def test_errors_begin_as_the_fit_reports_them() -> None:
    found = rl.next_marks(FIT, RATINGS, 5)
    np.testing.assert_allclose(found.kappa_se, FIT.raters["kappa_se"].to_numpy().mean(), rtol=1e-9)


@pytest.mark.parametrize("reference", ["perfect", "max"])
def test_bounds_are_the_gains_to_first_order(reference: str) -> None:
    fit = FIT.refit(RATINGS, reference=reference)
    panel = estimated(fit)
    search = _Search(fit, panel, _State.of(panel, RATINGS))
    bounds = search.bounds(np.arange(4))
    for student, rater in zip(*np.nonzero(~_MARKED[:4]), strict=True):
        gain, _ = search._exact(int(student), int(rater))
        assert 0 < gain <= bounds[student, rater] * (1 + 1e-9)
    # With next to nothing unknown, both are the same.
    search.covariance *= 1e-6
    gain, _ = search._exact(0, int(np.flatnonzero(~_MARKED[0])[0]))
    np.testing.assert_allclose(
        gain, search.bounds(np.arange(1))[0, np.flatnonzero(~_MARKED[0])[0]], rtol=1e-3
    )


def test_information_of_a_reading_is_that_of_its_predictive_distribution() -> None:
    # By finite differences: p_T depends on the reader's own slope, and on an earlier reader's through the posterior.
    panel = estimated(FIT)
    state = _State.of(panel, RATINGS)
    student, rater = 0, int(np.flatnonzero(~_MARKED[0])[0])
    earlier = int(np.flatnonzero(_MARKED[0])[0])
    reading = np.array([student]), np.array([rater])
    p, by_slope, by_severity, through = (each[0, ..., 0, :] for each in state.gradients(*reading))

    def moved(name: str, who: int, step: float) -> np.ndarray:
        values = getattr(panel, name).copy()
        values[who] += step
        other = replace(panel, **{name: values})
        return _State.of(other, RATINGS).gradients(*reading)[0][0, 0]

    for name, who, found in (
        ("slope", rater, by_slope),
        ("severity", rater, by_severity),
        ("slope", earlier, through[earlier]),
        ("severity", earlier, through[5 + earlier]),
    ):
        by_hand = (moved(name, who, 1e-5) - moved(name, who, -1e-5)) / 2e-5
        np.testing.assert_allclose(found, by_hand, atol=1e-7)
    np.testing.assert_allclose(p.sum(), 1.0)


def test_the_expected_error_is_about_what_the_marks_bring() -> None:
    chosen = rl.next_marks(FIT, RATINGS, 40)
    marked = _MARKED.copy()
    names = [list(labels) for labels in (RATINGS.students, RATINGS.raters)]
    for student, rater, _ in chosen.table.iter_rows():
        marked[names[0].index(student), names[1].index(rater)] = True
    after = (
        rl.fit(_seen(marked), model="gmf", reference="perfect", halo="none")
        .raters["kappa_se"]
        .to_numpy()
        .mean()
    )
    assert abs(chosen.expected / after - 1) < 0.1
    random = _MARKED.copy()
    for student in range(40):
        random[student, np.flatnonzero(~_MARKED[student])[0]] = True
    by_chance = (
        rl.fit(_seen(random), model="gmf", reference="perfect", halo="none")
        .raters["kappa_se"]
        .to_numpy()
        .mean()
    )
    assert after < by_chance


def test_capacity_forbidden_pairs_and_the_floor_are_kept() -> None:
    capacity = {"R1": 3, "R2": 4}
    banned = [(f"S{k:03d}", "R1") for k in range(1, 100)]
    found = rl.next_marks(FIT, RATINGS, 20, capacity=capacity, forbidden=banned).table
    counts = dict(found["rater"].value_counts().iter_rows())
    assert counts == {"R1": 3, "R2": 4}
    assert not {("R1", s) for _, s in banned} & set(zip(found["rater"], found["student"], strict=True))
    assert found["student"].is_unique().all()
    fewer = _MARKED.copy()
    fewer[7] = [True, False, False, False, False]
    ratings = _seen(fewer)
    first = rl.next_marks(FIT.refit(ratings), ratings, 1, floor=2).table
    assert first["student"].to_list() == [MADE.ratings.students[7]]


def test_a_fit_without_standard_errors_is_refused() -> None:
    bare = rl.fit(RATINGS, model="gmf", standard_errors=False, halo="none")
    with pytest.raises(rl.RaterlensError, match="follows from standard errors"):
        rl.next_marks(bare, RATINGS)


@pytest.mark.parametrize("names", [["R5", "R4", "R3", "R2", "R1"], ["R1", "R2", "R3", "R4", "stranger"]])
def test_other_ratings_than_the_fit_s_are_refused(names: list[str]) -> None:
    """By position, raters would be taken for one another."""
    with pytest.raises(InputError, match="not the ratings that were fitted"):
        rl.next_marks(FIT, replace(RATINGS, raters=pl.Series("rater", names)), 5)


def test_fewer_raters_than_the_fit_s_are_refused() -> None:
    with pytest.raises(InputError, match="not the ratings that were fitted"):
        rl.next_marks(FIT, RATINGS.subset(np.flatnonzero(RATINGS.rater < 4)), 5)


# -- Expected information against brute force --

# --- expected information against brute force: every pattern of scores, with its gradient by finite differences


STUDENT = np.repeat(np.arange(3), 2)
RATER = np.array([0, 1, 0, 2, 1, 2])
NODES = np.linspace(-8, 8, 321)
WEIGHT = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()


def _chances(panel: AssumedPanel, x: Array, raters: Array) -> Array:
    """(patterns,): the marginal probability of every pattern of scores."""
    r, i = panel.n_raters, panel.n_items
    a, b, delta, tau = x[:r], x[r : 2 * r], x[2 * r : 2 * r + i], x[2 * r + i :]
    tables = []
    for rater, item in product(raters, range(i)):
        logit = a[rater] * NODES - b[rater] - delta[item]
        steps = np.cumsum([logit - t for t in (tau if len(tau) else [0.0])], axis=0)
        log = np.concatenate([np.zeros((1, len(NODES))), steps])
        tables.append(np.exp(log - np.logaddexp.reduce(log, axis=0)))
    scores = product(range(len(tables[0])), repeat=len(tables))
    return np.array(
        [WEIGHT @ np.prod([t[k] for t, k in zip(tables, y, strict=True)], axis=0) for y in scores]
    )


@pytest.mark.parametrize(("items", "categories"), [(1, 2), (2, 2), (1, 3)])
def test_information_is_that_of_every_pattern(items: int, categories: int) -> None:
    panel = stated(Spreads(), 3, items, categories, 0)
    tau = np.zeros(0) if panel.thresholds is None else panel.thresholds.ravel()
    x = np.concatenate([panel.slope, panel.severity, panel.difficulty, tau])
    wanted = np.zeros((len(x), len(x)))
    for raters in RATER.reshape(3, 2):
        step = 1e-5 * np.eye(len(x))
        gradient = np.array(
            [(_chances(panel, x + e, raters) - _chances(panel, x - e, raters)) / 2e-5 for e in step]
        )
        wanted += (gradient / _chances(panel, x, raters)) @ gradient.T
    found = design_information(panel, STUDENT, RATER).matrix
    np.testing.assert_allclose(found, wanted, atol=2e-6)


def test_ability_and_accuracy_are_those_of_every_pattern() -> None:
    panel = stated(Spreads(), 3, 1, 2, 0)
    found = design_information(panel, STUDENT[:2], RATER[:2], cut=0.4).patterns[0]
    pass_chance = 1 / (1 + np.exp(-(panel.slope[:, None] * NODES - panel.severity[:, None])))
    variance = right = 0.0
    fine = np.linspace(-8, 8, 16_001)
    for y in product((0, 1), repeat=2):
        chance = np.prod([pass_chance[r] if y[r] else 1 - pass_chance[r] for r in (0, 1)], axis=0)
        joint = WEIGHT * chance
        mean = joint @ NODES / joint.sum()
        variance += joint @ (NODES - mean) ** 2
        density = np.interp(fine, NODES, joint)
        above = density[fine > 0.4].sum() / density.sum()
        right += joint.sum() * max(above, 1 - above)
    np.testing.assert_allclose(found.ability_variance, variance, rtol=1e-5)
    np.testing.assert_allclose(found.accuracy, right, atol=4e-4)


def test_quadrature_stands_in_for_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = stated(Spreads(), 4, 5, 2, 0)
    student, rater = np.zeros(4, int), np.arange(4)
    exact = design_information(panel, student, rater)
    monkeypatch.setattr(precision, "MOST_OUTCOMES", 1)
    close = design_information(panel, student, rater)
    scale = np.sqrt(np.diag(exact.matrix))
    assert np.abs((close.matrix - exact.matrix) / np.outer(scale, scale)).max() < 0.03
    np.testing.assert_allclose(
        close.patterns[0].ability_variance, exact.patterns[0].ability_variance, rtol=0.02
    )
    np.testing.assert_allclose(close.patterns[0].accuracy, exact.patterns[0].accuracy, atol=0.005)


def test_some_sets_of_raters_stand_for_all() -> None:
    panel = stated(Spreads(), 12, 1, 2, 0)
    student = np.repeat(np.arange(400), 3)
    rater = np.concatenate([np.random.default_rng(k).choice(12, 3, replace=False) for k in range(400)])
    every, some = (design_information(panel, student, rater, most=most) for most in (None, 60))
    assert len(some.patterns[0].raters) == 60
    assert some.patterns[0].times.sum() == 400
    np.testing.assert_allclose(np.trace(some.matrix), np.trace(every.matrix), rtol=0.02)


# ------------------------------------------------------- tables of a reading, against sums over its scores


def test_sums_have_the_distribution_of_the_scores() -> None:
    panel = stated(Spreads(), 2, 2, 3, 0)
    tables = reading_tables(panel, Nodes.equally_spaced(-5.0, 5.0, 0.25))
    chance = np.exp(tables.log_chance)
    t, rater = tables.nodes.points, 1
    assert panel.thresholds is not None
    by_hand = np.zeros_like(chance[rater])
    for scores in product(range(3), repeat=2):
        log = np.zeros_like(t)
        for item, y in enumerate(scores):
            logit = panel.slope[rater] * t - panel.severity[rater] - panel.difficulty[item]
            steps = [np.zeros_like(t), *np.cumsum([logit - tau for tau in panel.thresholds[0]], axis=0)]
            log = log + steps[y] - np.logaddexp.reduce(steps, axis=0)
        by_hand[sum(scores)] += np.exp(log)
    np.testing.assert_allclose(chance[rater], by_hand, atol=1e-12)
    sums = np.arange(5.0)[:, None]
    np.testing.assert_allclose(tables.score[rater], (sums * by_hand).sum(axis=0))
    np.testing.assert_allclose(
        tables.variance[rater], (sums**2 * by_hand).sum(axis=0) - tables.score[rater] ** 2
    )


def test_information_of_known_abilities_is_the_variance_of_the_score() -> None:
    panel = stated(Spreads(), 2, 3, 2, 0)
    tables = reading_tables(panel, Nodes.equally_spaced(-6.0, 6.0, 0.1))
    t, weight = tables.nodes.points, np.exp(tables.nodes.log_weights)
    for power, (row, column) in ((2, (0, 0)), (0, (1, 1))):
        expected = (tables.variance * weight * t**power).sum(axis=1)
        np.testing.assert_allclose(tables.complete[:, row, column], expected)
    np.testing.assert_allclose(tables.complete[:, 1, 2:].sum(axis=1), tables.complete[:, 1, 1])
