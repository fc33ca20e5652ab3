"""The reading effect against fits by other means: a likelihood written out reading by reading, on dense grids, that
SciPy maximises; and mixed models in R."""

from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from scipy import optimize, special

import raterlens as rl

AGREES = 1e-3
STUDENTS = 100


class Panel(NamedTuple):
    """Ratings, and their readings: what one rater gave one piece of a student's work."""

    table: pl.DataFrame
    scores: int
    kinds: list[tuple[int, list[tuple[int, int]]]]
    """The rater, and the items with their scores."""
    counts: np.ndarray
    """(students, kinds)"""


@cache
def panel(scores: int) -> Panel:
    """Three raters, two of them for each student; one reading in eight is repeated, others lack some items."""
    random, rows = np.random.default_rng(scores), []
    slope, severity, difficulty = [1.5, 0.9, 1.2], [-0.4, 0.1, 0.3], [-0.6, -0.1, 0.2, 0.5]
    steps = np.linspace(-0.8, 0.8, scores - 1) if scores > 2 else np.zeros(1)
    for student, ability in enumerate(random.standard_normal(STUDENTS)):
        for rater in random.choice(3, 2, replace=False).tolist():
            again = random.random() < 1 / 8
            for reading in range(1 + again):
                impression = 0.9 * random.standard_normal()
                for item in np.flatnonzero((random.random(4) < 0.8) | again).tolist():
                    s = slope[rater] * ability - severity[rater] - difficulty[item] + impression
                    drawn = random.choice(scores, p=special.softmax(np.append(0.0, np.cumsum(s - steps))))
                    rows.append((student, rater, reading, item, int(drawn)))
    names = ["student", "rater", "reading", "item", "score"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    whole = table.group_by(names[:3], maintain_order=True).agg("item", "score")
    distinct = whole.select("rater", "item", "score").unique(maintain_order=True)
    place = {str(row): k for k, row in enumerate(distinct.iter_rows())}
    counts = np.zeros((STUDENTS, len(distinct)))
    for student, row in zip(whole["student"], whole.select(distinct.columns).iter_rows(), strict=True):
        counts[student, place[str(row)]] += 1
    kinds = [(r, list(zip(items, given, strict=True))) for r, items, given in distinct.iter_rows()]
    return Panel(table.drop("reading"), scores, kinds, counts)


def log_likelihood(panel: Panel, parameters: np.ndarray, *, one_slope: bool) -> float:
    """By the trapezoidal rule over ability and, for every reading, over what is shared in it."""
    n_slopes = 1 if one_slope else 3
    slope, rest = np.resize(parameters[:n_slopes], 3), parameters[n_slopes:]
    base, difficulty, steps, tau = rest[:3], np.append(0.0, rest[3:6]), rest[6:-1], rest[-1]
    steps = np.append(steps, -steps.sum())[: panel.scores - 1]
    theta, u = np.arange(-5.6, 5.61, 0.4), np.arange(-5.4, 5.41, 0.6)
    prior = [np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi) * (t[1] - t[0]) for t in (theta, u)]
    probability = []
    for rater in range(3):
        s = slope[rater] * theta[:, None] + base[rater] + tau * u - difficulty[:, None, None]
        odds = np.exp(s * np.arange(panel.scores)[:, None, None, None] - _steps_below(steps))
        probability.append(odds / odds.sum(axis=0))
    tables = [
        np.log(np.prod([probability[rater][score, item] for item, score in given], axis=0) @ prior[1])
        for rater, given in panel.kinds
    ]
    return float(np.log(np.exp(panel.counts @ tables) @ prior[0]).sum())


def _steps_below(steps: np.ndarray) -> np.ndarray:
    """(scores, 1, 1, 1): what has to be overcome up to each score."""
    return np.append(0.0, np.cumsum(steps))[:, None, None, None]


@pytest.mark.parametrize(("scores", "model"), [(2, "gmf"), (4, "gmf"), (2, "tfm")])
def test_it_agrees_with_an_independent_fit(scores, model):
    given, one_slope = panel(scores), model == "tfm"
    fit = rl.fit(rl.read(given.table), model=model, halo="common", ability="normal")
    free = scores - 2
    start = np.concatenate([np.ones(1 if one_slope else 3), np.zeros(6 + free), [0.5]])
    found = optimize.minimize(
        lambda x: -log_likelihood(given, x, one_slope=one_slope),
        start,
        method="L-BFGS-B",
        options={"ftol": 1e-12},
    )
    assert fit.loglik == pytest.approx(-found.fun, abs=AGREES)
    slope, tau = np.resize(found.x[: 1 if one_slope else 3], 3), abs(found.x[-1])
    base = found.x[1 if one_slope else 3 :][:3]
    np.testing.assert_allclose(fit.raters["halo"], tau, atol=AGREES)
    np.testing.assert_allclose(fit.raters["rho"] * fit.sigma, slope, atol=AGREES)
    np.testing.assert_allclose(fit.raters["eta"], base.mean() - base, atol=AGREES)


# glmer(score ~ 0 + rater + item + (1 | student) + (1 | reading), family = binomial, nAGQ = 1), with
# reading = interaction(student, rater), of R's lme4 1.1-31 (LME4), and glmmTMB of that formula, of glmmTMB 1.1.5 (TMB):
# log-likelihood, standard deviations of students and of readings.
LME4 = (-708.2430775, 1.25722708, 0.44604554)
TMB = (-708.2417793, 1.25777745, 0.44641676)


def test_it_is_the_mixed_model_of_other_programs():
    """Both approximate by Laplace's method, which is off by 0.09 in tau with five scores per reading. The same model by
    Laplace's method is theirs, and on dense grids it is ours."""
    ratings = rl.simulate(students=60, raters=4, items=5, slope=1.2, halo=0.8, seed=5).ratings
    passed = ratings.table()["score"].to_numpy().reshape(60, 4, 5)
    start = np.concatenate([[1.0, 0.5], np.full(4, 0.8), np.zeros(4)])
    theirs = optimize.minimize(lambda x: -by_laplace(passed, x), start, method="L-BFGS-B")
    for loglik, student, reading in (LME4, TMB):
        assert -theirs.fun == pytest.approx(loglik, abs=2 * AGREES)
        np.testing.assert_allclose(np.abs(theirs.x[:2]), [student, reading], atol=AGREES)
    ours = optimize.minimize(lambda x: -on_grids(passed, x), theirs.x, method="L-BFGS-B")
    fit = rl.fit(ratings, model="tfm", halo="common", ability="normal")
    assert fit.loglik == pytest.approx(-ours.fun, abs=AGREES)
    np.testing.assert_allclose([fit.sigma, fit.raters["halo"][0]], np.abs(ours.x[:2]), atol=AGREES)


def predictor(parameters: np.ndarray) -> np.ndarray:
    """(raters, items)"""
    return parameters[2:6, None] - np.append(0.0, parameters[6:])


def by_laplace(passed: np.ndarray, parameters: np.ndarray) -> float:
    """Laplace approximation for each student, about the best ability and impressions together."""
    (sigma, tau), base = parameters[:2], predictor(parameters)
    n, raters, _ = passed.shape
    through = np.concatenate([np.full((raters, 1), sigma), tau * np.eye(raters)], axis=1)
    x = np.zeros((n, raters + 1))
    for _ in range(8):
        p = special.expit((x @ through.T)[..., None] + base)
        rise = (passed - p).sum(axis=2) @ through - x
        told = np.einsum("nr,ri,rj->nij", (p * (1 - p)).sum(axis=2), through, through) + np.eye(raters + 1)
        x = x + np.linalg.solve(told, rise[..., None])[..., 0]
    s = (x @ through.T)[..., None] + base
    height = np.sum(passed * s - np.logaddexp(0, s), axis=(1, 2)) - np.sum(x**2, axis=1) / 2
    return float(np.sum(height - np.linalg.slogdet(told)[1] / 2))


def on_grids(passed: np.ndarray, parameters: np.ndarray) -> float:
    (sigma, tau), base = parameters[:2], predictor(parameters)
    theta, u = np.arange(-5.6, 5.61, 0.4), np.arange(-5.4, 5.41, 0.6)
    prior = [np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi) * (t[1] - t[0]) for t in (theta, u)]
    s = sigma * theta[:, None] + tau * u + base[..., None, None]
    fails = np.logaddexp(0, s).sum(axis=1)
    # (raters, scores, theta): a reading counts by how many of its items pass, up to a factor.
    totals = np.arange(6.0)[:, None, None] * (sigma * theta[:, None] + tau * u)
    tables = np.log(np.exp(totals - fails[:, None]) @ prior[1])
    joint = tables[np.arange(4), passed.sum(axis=2)].sum(axis=1)
    return float(np.log(np.exp(joint) @ prior[0]).sum() + np.sum(passed * base))


def test_pieces_and_readings_are_integrated_as_on_dense_grids():
    """Integrals over abilities, over each piece and over each reading in it, at the estimates."""
    random, rows = np.random.default_rng(4), []
    for student in range(40):
        ability = random.standard_normal()
        for piece in range(2):
            quality = ability + 0.6 * random.standard_normal()
            for rater in random.choice(3, 1 + (random.random() < 0.5), replace=False).tolist():
                passed = random.random(3) < special.expit(1.5 * quality + 1.5 * random.standard_normal())
                rows += [(student, piece, rater, item, int(y)) for item, y in enumerate(passed)]
    table = pl.DataFrame(rows, schema=["student", "piece", "rater", "item", "score"], orient="row")
    columns = {name: name for name in table.columns}
    fit = rl.fit(
        rl.read(table, **columns), model="gmf", halo="common", ability="normal", standard_errors=False
    )
    slope, base = (fit.raters["rho"] * fit.sigma).to_numpy(), fit.alpha - fit.raters["eta"].to_numpy()
    difficulty, tau = fit.items["delta"].to_numpy(), fit.raters["halo"][0]
    omega = fit.table("piece effect")["spread"][0]
    theta, psi, u = np.linspace(-8, 8, 161), np.linspace(-12, 12, 241), np.linspace(-8, 8, 81)
    prior = [np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi) * (t[1] - t[0]) for t in (theta, u)]
    away = (psi - theta[:, None]) / omega
    of_piece = np.exp(-(away**2) / 2) / (omega * np.sqrt(2 * np.pi)) * (psi[1] - psi[0])
    total = 0.0
    for _, own in table.group_by("student"):
        joint = prior[0]
        for _, works in own.group_by("piece"):
            given = np.ones_like(psi)
            for (rater,), scores in works.group_by("rater"):
                s = (slope[rater] * psi[:, None] + base[rater] + tau * u)[..., None] - difficulty
                given = given * (special.expit(np.where(scores["score"] == 1, s, -s)).prod(axis=2) @ prior[1])
            joint = joint * (of_piece @ given)
        total += np.log(joint.sum())
    assert omega > 0.2
    assert tau > 0.2
    assert fit.loglik == pytest.approx(total, abs=1e-5)
