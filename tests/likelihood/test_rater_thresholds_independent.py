"""Thresholds per rater against a rater-specific partial credit model in a few lines of its own."""

import numpy as np
import pytest
from scipy import optimize, special

import raterlens as rl


@pytest.mark.parametrize("model", ["gmf", "tfm"])
def test_free_thresholds_are_a_partial_credit_model_of_raters(model: str) -> None:
    drawn = rl.simulate(
        students=150,
        raters=4,
        items=1,
        thresholds=[-1.0, 0.0, 1.0],
        threshold_spread=0.6,
        model=model,
        seed=2,
    ).ratings
    n, score = drawn.n_raters, np.zeros((drawn.n_students, drawn.n_raters), dtype=int)
    score[drawn.student, drawn.rater] = drawn.score
    t, weight = np.polynomial.hermite_e.hermegauss(61)

    def steps(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.broadcast_to(x[: -3 * n], n), x[-3 * n :].reshape(n, 3)

    def minus_loglik(x: np.ndarray) -> float:
        slope, threshold = steps(x)
        rises = slope[:, None, None] * t[:, None] - threshold[:, None]  # (raters, nodes, steps)
        log = np.concatenate([np.zeros((n, len(t), 1)), np.cumsum(rises, axis=2)], axis=2)
        log -= special.logsumexp(log, axis=2, keepdims=True)
        each = sum(log[r][:, score[:, r]] for r in range(n))  # (nodes, students)
        return -float(special.logsumexp(each + np.log(weight / weight.sum())[:, None], axis=0).sum())

    start = np.concatenate([np.ones(n if model == "gmf" else 1), np.tile([-1.0, 0.0, 1.0], n)])
    best = optimize.minimize(minus_loglik, start, method="BFGS", options={"gtol": 1e-4})
    fit = rl.fit(drawn, model, scale="rater free", halo="none", ability="normal", assumptions="ignore")
    assert fit.loglik == pytest.approx(-best.fun, abs=1e-3)
    slope, threshold = steps(best.x)
    effects = fit.calibration.effects
    np.testing.assert_allclose(effects["slope"], slope, atol=2e-3)
    np.testing.assert_allclose(effects["severity"] + effects["difficulty"], threshold.mean(axis=1), atol=2e-3)
    own = effects["threshold"] + effects["rater threshold"]
    np.testing.assert_allclose(own, threshold - threshold.mean(axis=1, keepdims=True), atol=5e-3)
