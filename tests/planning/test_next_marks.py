"""The next marks: their expected gain is the one that they bring, and limits are kept."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError
from raterlens.planning.assumed_panel import estimated
from raterlens.planning.next_marks import _Search, _State

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
    panel, _ = estimated(fit, None)
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
    panel, _ = estimated(FIT, None)
    state = _State.of(panel, RATINGS)
    student, rater = 0, int(np.flatnonzero(~_MARKED[0])[0])
    earlier = int(np.flatnonzero(_MARKED[0])[0])
    p, by_slope, by_severity, through = state.gradients_of(student, rater)

    def moved(name: str, who: int, step: float) -> np.ndarray:
        values = getattr(panel, name).copy()
        values[who] += step
        other = replace(panel, **{name: values})
        return _State.of(other, RATINGS).gradients_of(student, rater)[0]

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
