"""Use of the scores, by the panel and by each rater."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import special

import raterlens as rl
from raterlens.capability.curves import AdjacentCurve
from raterlens.capability.population import Normal
from raterlens.diagnostics.findings import rater_findings
from raterlens.diagnostics.wording import explanation

# ------------------- how scores are used, against sums over single ratings on a fine grid of abilities


QUADRATURE = 2e-5
"""The steps of the diagnosis's own grid of abilities are wide."""


@pytest.fixture(scope="module")
def ratings() -> rl.Ratings:
    return rl.simulate(
        students=120, raters=4, items=2, raters_per_student=2, thresholds=[-1.0, 0.2, 0.8], seed=5
    ).ratings


def by_brute_force(fit: rl.Fit, ratings: rl.Ratings, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Statistics of each score over the ratings `rows`: every rating's posterior spelt out on a grid of its own."""
    effects, theta = fit.calibration.effects, np.linspace(-7, 7, 1401)
    s = (
        effects["slope"][ratings.rater][:, None] * theta
        - effects["severity"][ratings.rater][:, None]
        - effects["difficulty"][ratings.item][:, None]
    )
    own = len(effects["threshold"]) > 1
    tau = effects["threshold"][ratings.item if own else np.zeros_like(ratings.item)]
    steps = np.concatenate([np.zeros((len(tau), 1)), np.cumsum(tau, axis=1)], axis=1)
    scores = np.arange(4)
    logits = scores[:, None, None] * s - steps.T[:, :, None]
    p = np.exp(logits - logits.max(axis=0))
    p /= p.sum(axis=0)
    log_posterior = np.tile(-(theta**2) / 2, (ratings.n_students, 1))
    np.add.at(log_posterior, ratings.student, np.log(p[ratings.score, np.arange(ratings.n_ratings)]))
    posterior = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
    posterior = (posterior / posterior.sum(axis=1, keepdims=True))[ratings.student][rows]
    p, s, given = p[:, rows], s[rows], ratings.score[rows]
    mean = np.einsum("knq,k->nq", p, scores)
    variance = np.einsum("knq,knq->nq", p, (scores[:, None, None] - mean) ** 2)
    found: dict[str, list[float]] = {
        "n": [],
        "measure": [],
        "measure_expected": [],
        "infit": [],
        "outfit": [],
    }
    for k in scores:
        mine, away = given == k, (k - mean) ** 2
        expected = posterior * p[k]
        found["n"].append(mine.sum())
        found["measure"].append((posterior * s)[mine].sum() / mine.sum())
        found["measure_expected"].append((expected * s).sum() / expected.sum())
        found["infit"].append((posterior * away)[mine].sum() / (expected * away).sum())
        found["outfit"].append((posterior * away / variance)[mine].sum() / (expected * away / variance).sum())
    return {name: np.array(values) for name, values in found.items()}


@pytest.mark.parametrize(("model", "scale"), [("tfm", "rating scale"), ("gmf", "partial credit")])
def test_category_statistics_are_sums_over_ratings(ratings: rl.Ratings, model: str, scale: str) -> None:
    fit = rl.fit(ratings, model, scale=scale)
    table = fit.diagnose().table("categories")
    items = ["all"] if scale == "rating scale" else ratings.items.to_list()
    assert table["item"].unique(maintain_order=True).to_list() == items
    for place, name in enumerate(items):
        rows = np.flatnonzero(np.ones_like(ratings.item) if name == "all" else ratings.item == place)
        shown, wanted = table.filter(item=name), by_brute_force(fit, ratings, rows)
        for column, values in wanted.items():
            np.testing.assert_allclose(shown[column], values, atol=QUADRATURE, err_msg=column)
        assert shown["share"].sum() == pytest.approx(1.0)
        thresholds = fit.table("thresholds").filter(item=name)
        assert shown["threshold"][1:].to_list() == thresholds["threshold"].to_list()
        assert shown["threshold_se"][1:].to_list() == thresholds["threshold_se"].to_list()


def test_scores_are_named_as_in_the_file() -> None:
    ratings = rl.simulate(students=80, raters=3, items=1, thresholds=[-1.0, 1.0], seed=2).ratings
    table = pl.DataFrame({"student": ratings.student, "rater": ratings.rater, "score": 4 + ratings.score / 2})
    halves = rl.read(table, student="student", rater="rater", score="score")
    assert rl.fit(halves, "gmf").diagnose().table("categories")["score"].to_list() == ["4", "4.5", "5"]


def test_pass_and_fail_have_no_categories(small: rl.Ratings) -> None:
    assert "categories" not in rl.fit(small, "gmf").diagnose().tables


# ------ how raters use the scale, in words, and what that costs: planted raters, and a formula by hand


MOVED = {
    "plain": [0.0, 0.0, 0.0],
    "central": [-1.5, 0.0, 1.5],
    "ends": [1.2, 0.0, -1.2],
    "usual": [0.0, 0.0, 0.0],
    "avoids": [0.8, -1.6, 0.8],
}


@pytest.fixture(scope="module")
def fit() -> rl.Fit:
    random, rows = np.random.default_rng(5), []
    for student, ability in enumerate(random.standard_normal(300)):
        for name, moved in MOVED.items():
            for item in range(2):
                steps = np.cumsum(1.5 * ability - np.array([-1.0, 0.0, 1.0]) - moved)
                chance = special.softmax(np.concatenate([[0.0], steps]))
                rows.append((student, name, f"i{item}", int(random.choice(4, p=chance))))
    table = pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")
    return rl.fit(rl.read(table), model="gmf", scale="rater", assumptions="ignore")


def test_planted_uses_of_the_scale_are_named(fit: rl.Fit) -> None:
    found = {it.rater: it.category_use for it in rater_findings(fit)}
    assert found == {
        "plain": "",
        "central": "keeps to the middle",
        "ends": "uses the ends",
        "usual": "",
        "avoids": "avoids 1",
    }


def test_thresholds_of_raters_that_do_not_vary_are_used_alike(fit: rl.Fit) -> None:
    known = fit.calibration
    assert known is not None
    alike = known.effects | {"rater threshold": np.zeros_like(known.effects["rater threshold"])}
    found = rater_findings(replace(fit, calibration=replace(known, effects=alike)))
    assert {it.category_use for it in found} == {""}


def test_the_cost_is_what_the_panels_thresholds_would_gain(fit: rl.Fit) -> None:
    known, students = fit.calibration, Normal()
    assert known is not None
    severity = known.effects["severity"] - known.effects["severity"].mean()
    shared = AdjacentCurve(known.effects["threshold"])
    for r, it in enumerate(rater_findings(fit)):
        a, eta = known.effects["slope"][[r]], severity[[r]]
        own = AdjacentCurve(known.effects["threshold"] + known.effects["rater threshold"][r])
        gain = students.rate(shared, a, eta) - students.rate(own, a, eta)
        lost = it.lost_to_categories
        assert lost is not None
        assert lost.value == pytest.approx(
            float(gain[0] / students.best(shared, np.array([fit.sigma]))[0]), abs=1e-6
        )
        assert lost.low < lost.value < lost.high


def test_words_and_columns(fit: rl.Fit) -> None:
    said = {it.rater: explanation(it) for it in rater_findings(fit)}
    assert said["central"].endswith("of capability.")
    assert "Keeps to the middle of the scale, which costs 0." in said["central"]
    assert "Avoids 1." in said["avoids"] or "Avoids 1, which" in said["avoids"]
    assert "scale" not in said["plain"]
    assert {"category_use", "lost_to_categories_low"} <= set(fit.advice().columns)
    alike = rl.fit(fit.ratings, model="gmf", scale="rating scale", assumptions="ignore")
    assert "category_use" not in alike.advice().columns
