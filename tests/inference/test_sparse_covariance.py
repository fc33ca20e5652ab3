"""Covariances of large panels, piece by piece, against the dense inverse."""

import numpy as np
import pytest
from scipy import sparse

import raterlens as rl
from raterlens.fitting.checks import Run
from raterlens.fitting.fit import fitted
from raterlens.inference import sparse_covariance as local_inverse
from raterlens.inference.sparse_covariance import (
    blocks_of_inverse,
    conjugate_gradients,
    covariance_blocks,
    inverse_of_own_blocks,
    lowest,
    own_blocks,
)
from raterlens.models.facets import Redundancy

N_RATERS, N_ITEMS = 400, 5


@pytest.fixture(scope="module")
def panel() -> tuple[sparse.csr_array, Redundancy, np.ndarray]:
    """Information of a panel: what ratings say of each rater and item, less what sharing students costs."""
    random = np.random.default_rng(0)
    size = 2 * N_RATERS + N_ITEMS
    direction = np.concatenate([np.zeros(N_RATERS), -np.ones(N_RATERS), np.ones(N_ITEMS)])[None]
    rows = np.zeros((6000, size))
    for row in rows:  # a student: two raters, one latent ability
        for rater in random.choice(N_RATERS, 2, replace=False):
            row[rater], row[N_RATERS + rater] = random.normal(size=2)
            row[2 * N_RATERS + random.integers(N_ITEMS)] -= row[N_RATERS + rater]
    scores = rows - (rows @ direction.T) @ direction / (direction @ direction.T)
    constraint = np.concatenate([np.zeros(2 * N_RATERS), np.ones(N_ITEMS)])[None]
    own = np.stack([np.arange(N_RATERS), N_RATERS + np.arange(N_RATERS)], axis=1)
    return sparse.csr_array(scores.T @ scores), Redundancy(constraint, direction), own


@pytest.fixture(scope="module")
def dense(panel) -> np.ndarray:
    information, redundant, _ = panel
    basis = np.linalg.svd(redundant.constraints)[2][1:].T  # parameters that meet the constraint
    return basis @ np.linalg.inv(basis.T @ information @ basis) @ basis.T


def test_parameters_that_are_no_raters_are_solved_exactly(panel, dense):
    _, found = covariance_blocks(*panel)
    rest = np.arange(2 * N_RATERS, 2 * N_RATERS + N_ITEMS)
    np.testing.assert_allclose(found, dense[np.ix_(rest, rest)], atol=1e-7 * np.abs(dense).max())


def test_blocks_of_raters_are_close_and_without_bias(panel, dense):
    own = panel[2]
    found, _ = covariance_blocks(*panel)
    expected = dense[own[:, :, None], own[:, None, :]]
    scale = np.sqrt(expected[:, [0, 1], [0, 1]])
    off = (found - expected) / scale[:, :, None] / scale[:, None]
    # Of a variance; half of it of a standard error.
    assert np.abs(off).max() < 0.04
    # Without bias: the errors average out over raters.
    assert np.mean(found[:, 0, 0] / expected[:, 0, 0]) == pytest.approx(1, abs=2e-3)


def test_singular_information_is_not_solved_in_silence():
    own = np.array([[0], [1]])
    nothing = Redundancy(np.zeros((0, 3)), np.zeros((0, 3)))
    singular = sparse.csr_array(np.array([[1.0, 1, 0], [1, 1, 0.5], [0, 0.5, 1]]))
    with pytest.raises((FloatingPointError, np.linalg.LinAlgError), match=r"[Ss]ingular"):
        covariance_blocks(singular, nothing, own)


def test_a_fit_of_a_large_panel_has_the_standard_errors_of_the_full_covariance(monkeypatch):
    ratings = rl.simulate(students=1500, raters=150, items=3, raters_per_student=3, seed=3).ratings
    for model in ("gmf", "tfm"):
        exact = rl.fit(ratings, model=model)
        large = fitted(ratings, rl.FitConfig(model=model), Run(dense_parameters=10))
        assert large.items["delta_se"].to_list() == pytest.approx(exact.items["delta_se"].to_list(), rel=1e-5)
        # What raters share is left out, which matters little here and less the more there are.
        for name in ("eta_se", "kappa_se"):
            ratio = (large.raters[name] / exact.raters[name]).to_numpy()
            assert np.median(ratio) == pytest.approx(1, abs=0.03), name
            assert np.abs(ratio - 1).max() < 0.25, name


def test_raters_who_discriminate_nothing_do_not_cost_the_others_their_standard_errors(monkeypatch):
    """Forty ratings per rater: some slopes are 0, where the information bends the wrong way."""
    ratings = rl.simulate(students=2000, raters=300, items=2, raters_per_student=3, seed=1).ratings
    exact = rl.fit(ratings, model="gmf")
    large = fitted(ratings, rl.FitConfig(), Run(dense_parameters=10))
    flat = exact.raters["rho"].to_numpy() < 1e-6
    assert flat.any()
    assert np.isfinite(large.raters["kappa_se"].to_numpy()[~flat]).all()
    ratio = (large.raters["eta_se"] / exact.raters["eta_se"]).to_numpy()[~flat]
    assert np.median(ratio) == pytest.approx(1, abs=0.1)
    # From 40 ratings with a pass rate around a half, a severity is known to about sqrt(4 / 40) logits, and more.
    assert 0.32 < np.median(exact.raters["eta_se"].to_numpy()) < 0.7


def test_information_that_had_to_be_steadied_is_said_so(monkeypatch):
    monkeypatch.setattr("raterlens.inference.sparse_covariance._ROUNDS", 0)
    monkeypatch.setattr("raterlens.inference.sparse_covariance._STEADIED", (1e-2,))
    ratings = rl.simulate(students=400, raters=30, items=3, raters_per_student=3, seed=3).ratings
    fit = fitted(ratings, rl.FitConfig(), Run(dense_parameters=1))
    (said,) = (text for text in fit.warnings if "was added" in text)
    assert said.startswith("1.0% was added")
    assert "up to 0.5% too small" in said


def test_more_is_added_until_it_can_be_solved(monkeypatch):
    whole, tried = covariance_blocks, []

    def build(information, redundant, own):
        tried.append(information.diagonal().sum())
        if len(tried) < 3:
            raise np.linalg.LinAlgError
        return whole(information, redundant, own)

    monkeypatch.setattr("raterlens.inference.sparse_covariance._ROUNDS", 0)
    monkeypatch.setattr("raterlens.inference.sparse_covariance._STEADIED", (1e-2, 0.1, 0.3))
    monkeypatch.setattr("raterlens.inference.sparse_covariance.covariance_blocks", build)
    ratings = rl.simulate(students=100, raters=12, items=2, raters_per_student=3, seed=3).ratings
    fit = fitted(ratings, rl.FitConfig(), Run(dense_parameters=1))
    assert [text for text in fit.warnings if text.startswith("30.0% was added")]
    np.testing.assert_allclose(np.array(tried) / tried[0], np.array([1.01, 1.1, 1.3]) / 1.01)


def test_slopes_are_set_aside_where_nothing_else_helps(monkeypatch):
    whole = covariance_blocks

    def build(information, redundant, own):
        if information.diagonal()[own[:, 0]].max() > 1:
            raise FloatingPointError
        return whole(information, redundant, own)

    monkeypatch.setattr("raterlens.inference.sparse_covariance.covariance_blocks", build)
    ratings = rl.simulate(students=100, raters=12, items=2, raters_per_student=3, seed=3).ratings
    fit = fitted(ratings, rl.FitConfig(), Run(dense_parameters=1))
    assert fit.raters["eta_se"].is_between(0.1, 2.0).all()
    assert any("next to nothing" in text for text in fit.warnings)


@pytest.mark.nightly
def test_a_dozen_ratings_a_rater_leave_most_standard_errors_right(monkeypatch):
    """Several raters together bend the likelihood the wrong way: they are named, the others keep their errors."""
    ratings = rl.simulate(students=800, raters=400, items=2, raters_per_student=3, seed=3).ratings
    exact = rl.fit(ratings, model="gmf").raters["eta_se"].to_numpy()
    fit = fitted(ratings, rl.FitConfig(), Run(dense_parameters=10))
    ratio = fit.raters["eta_se"].to_numpy() / exact
    assert np.median(ratio) == pytest.approx(1, abs=0.03)
    assert np.mean(np.abs(ratio - 1) < 0.25) > 0.85
    assert any("next to nothing" in text for text in fit.warnings)
    assert not any("was added" in text for text in fit.warnings)


# ----------------------------------------------------------------------------------------------------
# Blocks of the inverse of a sparse matrix, against the dense inverse.


N = 300


@pytest.fixture(scope="module")
def matrix() -> sparse.csr_array:
    """Two parameters per rater, coupled to those of some twenty others; some know next to nothing of their own."""
    random = np.random.default_rng(0)
    rows = np.zeros((4 * N, 2 * N))
    for row in rows:
        for rater in random.choice(N, 3, replace=False):
            row[2 * rater : 2 * rater + 2] = random.normal(size=2)
    rows[:, random.choice(2 * N, 20)] *= 0.15
    return sparse.csr_array(rows.T @ rows + 0.02 * np.eye(2 * N))


@pytest.fixture(scope="module")
def inverse(matrix) -> np.ndarray:
    return np.linalg.inv(matrix.toarray())


def test_blocks_of_the_inverse(matrix, inverse):
    found = blocks_of_inverse(matrix, 2)
    expected = own_blocks(sparse.csr_array(inverse), 2)
    ratio = np.einsum("rii->ri", found) / np.einsum("rii->ri", expected)
    # Of variances: half of it of standard errors.
    assert np.mean(np.abs(ratio - 1) < 0.04) > 0.99
    assert ratio.mean() == pytest.approx(1, abs=2e-3)
    np.testing.assert_array_equal(found[:, 0, 1], found[:, 1, 0])


def test_raters_who_scatter_are_solved_exactly(matrix, inverse, monkeypatch):
    monkeypatch.setattr(local_inverse, "_NOISE", 0.0)
    monkeypatch.setattr(local_inverse, "_MOST_SOLVED", N)
    found = blocks_of_inverse(matrix, 2)
    np.testing.assert_allclose(found, own_blocks(sparse.csr_array(inverse), 2), rtol=1e-3, atol=1e-4)


def test_columns_are_solved_exactly(matrix, inverse):
    right = np.random.default_rng(1).normal(size=(2 * N, 3))
    right[:, 0] = np.eye(2 * N)[0]
    found = conjugate_gradients(matrix, inverse_of_own_blocks(matrix, 2), right)
    np.testing.assert_allclose(found, inverse @ right, atol=1e-6 * np.abs(inverse).max())


def test_the_smallest_eigenvalues_of_a_correlation(matrix):
    values, directions = lowest(matrix)
    scale = np.sqrt(matrix.diagonal())
    expected = np.linalg.eigvalsh(matrix.toarray() / scale / scale[:, None])
    np.testing.assert_allclose(values, expected[: len(values)], atol=0.02)
    again = directions.T @ matrix @ directions
    np.testing.assert_allclose(np.diag(again), values, atol=0.02)


def test_a_matrix_that_bends_the_wrong_way_is_not_solved_in_silence():
    wrong = sparse.csr_array(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(FloatingPointError, match="singular"):
        conjugate_gradients(wrong, sparse.eye_array(2, format="csr"), np.array([[1.0], [-1.0]]))
