"""Thresholds per rater against a rater-specific partial credit model in a few lines of its own, and against R's TAM."""

import numpy as np
import polars as pl
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


RATERS, ITEMS = ["A", "B", "C", "D"], ["x", "y", "z"]


def complete(seed: int = 45) -> pl.DataFrame:
    """200 students, whose three items four raters score from 0 to 3, each in its own way."""
    random = np.random.default_rng(seed)
    severity, difficulty = np.array([0.8, -0.2, 0.1, -0.7]), np.array([0.2, -0.5, 0.3])
    own = 0.5 * random.standard_normal((4, 3))
    threshold = np.array([-1.0, 0.0, 1.0]) + own - own.mean(axis=1, keepdims=True)
    student, rater, item = (code.ravel() for code in np.indices((200, 4, 3)))
    level = 1.2 * random.standard_normal(200)[student] - severity[rater] - difficulty[item]
    log = np.cumsum(level[:, None] - threshold[rater], axis=1)
    chance = special.softmax(np.concatenate([np.zeros((len(log), 1)), log], axis=1), axis=1)
    score = np.sum(random.random((len(log), 1)) > np.cumsum(chance, axis=1)[:, :-1], axis=1)
    labels = {"student": student, "rater": np.array(RATERS)[rater], "item": np.array(ITEMS)[item]}
    return pl.DataFrame(labels | {"score": score})


# R 4.2.2, TAM 4.4-2; `python -m benchmarks.truth.r_agreement thresholds` runs the same on ratings of its own:
#   d <- read.csv("complete.csv")  # complete().write_csv("complete.csv")
#   control <- list(nodes = seq(-8, 8, len = 161), conv = 1e-9, convD = 1e-9, convM = 1e-9, maxiter = 5000, Msteps = 20)
#   wide <- reshape(d, direction = "wide", idvar = c("student", "rater"), timevar = "item", v.names = "score")
#   m <- tam.mml.mfr(wide[, 3:5], facets = data.frame(rater = as.integer(factor(wide$rater))), pid = wide$student,
#                    formulaA = ~ item + rater * step, control = control, verbose = FALSE)
#   logLik(m); sqrt(m$variance); m$xsi.facets
TAM_LOGLIK, TAM_SLOPE = -2668.61354764, np.sqrt(1.475020801)
TAM_SEVERITY = [0.78106747, -0.20572842, 0.17106878, -0.74640784]
TAM_DIFFICULTY = [0.25272939, -0.40464819, 0.45981011]
TAM_STEP = np.array([-0.82187317, -0.02307596, 0.84494913])
TAM_OWN_STEP = np.array(
    [
        [-0.17999056, -0.18022336, 0.36021392],
        [0.18852750, -0.34698634, 0.15845884],
        [0.00473836, 0.40220604, -0.40694440],
        [-0.01327530, 0.12500366, -0.11172837],
    ]
)
#   one <- reshape(d[d$item == "x", -3], direction = "wide", idvar = "student", timevar = "rater")
#   m <- tam.mml.2pl(one[, -1], irtmodel = "GPCM", control = control); logLik(m); m$B[, 2, 1]; m$xsi
TAM_ONE_ITEM = -961.909232425
TAM_SLOPES = [1.13516654, 0.89212584, 1.41533957, 1.31125787]
TAM_STEPS = [
    [0.15059544, 0.76386105, 2.17860079],
    [-0.38153646, -0.56815618, 0.99564607],
    [-0.37767102, 0.83041673, 1.22285613],
    [-1.57708417, -0.63550284, 0.37815386],
]
# Both searches end within 1e-5 of the maximum.
SAME = 1e-4


def test_thresholds_of_raters_are_those_of_tam() -> None:
    fit = rl.fit(rl.read(complete()), "tfm", scale="rater free", ability="normal", assumptions="ignore")
    known = fit.calibration.effects
    assert fit.loglik == pytest.approx(TAM_LOGLIK, abs=SAME)
    assert fit.sigma == pytest.approx(TAM_SLOPE, abs=SAME)
    np.testing.assert_allclose(known["severity"] - known["severity"].mean(), TAM_SEVERITY, atol=SAME)
    np.testing.assert_allclose(known["difficulty"], TAM_DIFFICULTY - np.mean(TAM_DIFFICULTY), atol=SAME)
    np.testing.assert_allclose(
        known["threshold"] + known["rater threshold"], TAM_STEP + TAM_OWN_STEP, atol=SAME
    )


def test_raters_with_slopes_and_thresholds_are_a_generalized_partial_credit_model_of_tam() -> None:
    one = rl.read(complete().filter(pl.col("item") == "x"))
    fit = rl.fit(one, "gmf", scale="rater free", prior="none", ability="normal", assumptions="ignore")
    known = fit.calibration.effects
    assert fit.loglik == pytest.approx(TAM_ONE_ITEM, abs=SAME)
    np.testing.assert_allclose(known["slope"], TAM_SLOPES, atol=SAME)
    steps = known["threshold"] + known["rater threshold"] + known["severity"][:, None]
    np.testing.assert_allclose(steps, TAM_STEPS, atol=SAME)
