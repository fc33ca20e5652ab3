"""Interactions as a sample: against mixed models elsewhere, against a likelihood written out, and against the truth."""

import numpy as np
import polars as pl
import pytest
from scipy import optimize, special

import raterlens as rl
from raterlens.estimation.scoring import place
from raterlens.inference import spreads
from raterlens.output.report.page import settings
from tests.support.interaction_ratings import planted

PLAIN = {"halo": "none", "ability": "normal"}


def test_without_ability_it_is_a_mixed_model_of_glmmtmb():
    """R, with planted(0.6, 11, students=60, raters=5, items=4)[0].table() as d:

    m <- glmmTMB::glmmTMB(score ~ 0 + rater + item + (1 | rater:item), d, binomial, REML = TRUE)
    exp(m$fit$par); ranef(m)
    """
    ratings, _ = planted(0.6, 11, students=60, raters=5, items=4)
    no_slopes = rl.Anchors(raters=dict.fromkeys(ratings.raters, (0.0, None)))
    fit = rl.fit(ratings, "gmf", interactions=[("rater", "item")], anchors=no_slopes, **PLAIN)
    assert fit.table("spreads")["spread"][0] == pytest.approx(0.5195663, abs=0.002)
    expected = [-0.58153, 0.27187, -0.29421, 0.60387, 0.09448, -0.54888]
    np.testing.assert_allclose(fit.interactions["severity"][:6], expected, atol=0.002)


def test_with_ability_it_is_the_likelihood_written_out():
    """Abilities by Gauss-Hermite quadrature, interactions by Laplace's approximation, every table dense."""
    ratings, _ = planted(0.8, 2, students=50, raters=4, items=3)
    fit = rl.fit(ratings, "tfm", interactions="rater:item", **PLAIN)
    (term,) = fit.table("spreads").iter_rows(named=True)
    marginal, restricted = _written_out(ratings, term["spread"])
    assert fit.loglik == pytest.approx(marginal, abs=0.001)
    for factor in (0.93, 1.07):
        assert _written_out(ratings, factor * term["spread"])[1] < restricted
    nothing = _written_out(ratings, 1e-4)[1]
    assert term["statistic"] == pytest.approx(2 * (restricted - nothing), abs=0.01)
    plain = rl.fit(ratings, "tfm", **PLAIN)
    assert fit.n_parameters == plain.n_parameters + 1


def _written_out(ratings: rl.Ratings, spread: float) -> tuple[float, float]:
    """The log-likelihood, marginal over interactions; and over all parameters, but for a constant."""
    t, w = np.polynomial.hermite_e.hermegauss(81)
    w = np.log(w / w.sum())
    n_raters, n_items = ratings.n_raters, ratings.n_items
    cell = ratings.rater * n_items + ratings.item
    sign = np.where(ratings.score == 1, 1.0, -1.0)

    def loglik(x):
        slope, severity, difficulty, added = np.split(x, np.cumsum([1, n_raters, n_items]))
        base = -severity[ratings.rater] - difficulty[ratings.item] - added[cell]
        s = sign[:, None] * (slope * t + base[:, None])
        by_student = np.zeros((ratings.n_students, len(t)))
        np.add.at(by_student, ratings.student, special.log_expit(s))
        each = special.logsumexp(by_student + w, axis=1)
        posterior = np.exp(by_student + w - each[:, None])[ratings.student]
        d_s = posterior * sign[:, None] * special.expit(-s)
        d_base = d_s.sum(axis=1)
        gradient = [
            [(d_s @ t).sum()],
            -np.bincount(ratings.rater, d_base),
            -np.bincount(ratings.item, d_base),
            -np.bincount(cell, d_base),
        ]
        return each.sum(), np.concatenate(gradient)

    n_cells = n_raters * n_items

    def fall(x):
        value, gradient = loglik(x)
        h = x[-n_cells:]
        gradient[-n_cells:] -= h / spread**2
        # Difficulties average 0.
        middle = x[1 + n_raters : 1 + n_raters + n_items].mean()
        gradient[1 + n_raters : 1 + n_raters + n_items] -= middle / n_items
        return -(value - h @ h / (2 * spread**2) - middle**2 / 2), -gradient

    start = np.concatenate([[1.0], np.zeros(n_raters + n_items + n_cells)])
    x = optimize.minimize(fall, start, jac=True, method="BFGS", options={"gtol": 1e-6}).x
    steps = 1e-4 * np.eye(len(x))
    second = np.array([(loglik(x - d)[1] - loglik(x + d)[1]) / 2e-4 for d in steps])
    second[-n_cells:, -n_cells:] += np.eye(n_cells) / spread**2
    middle = np.zeros(len(x))
    middle[1 + n_raters : 1 + n_raters + n_items] = 1.0
    h = x[-n_cells:]
    at = loglik(x)[0] - h @ h / (2 * spread**2) - n_cells * np.log(spread)
    own, every = second[-n_cells:, -n_cells:], second + np.outer(middle, middle)
    by_own, by_every = (float(at - np.linalg.slogdet(part)[1] / 2) for part in (own, every))
    # The slope on the scale on which what ratings say of it is about normal, h' = (1 + a^4)^(-1/4).
    return by_own, by_every - float(np.log1p(x[0] ** 4)) / 4


def test_its_limits_are_where_the_likelihood_has_fallen_by_half_of_3_84():
    ratings, _ = planted(0.8, 2, students=50, raters=4, items=3)
    (term,) = (
        rl.fit(ratings, "tfm", interactions="rater:item", **PLAIN).table("spreads").iter_rows(named=True)
    )
    top, there = (_written_out(ratings, term[name])[1] for name in ("spread", "high"))
    assert 2 * (top - there) == pytest.approx(1.96**2, abs=0.5)
    assert term["low"] == 0 < term["p"] < 0.05  # a two-sided interval, a one-sided test


def test_raters_who_are_a_sample_have_the_same_interactions():
    """The prior of severities and slopes, too, is part of what is compared between spreads."""
    ratings, _ = planted(0.5, 2, students=250, raters=16, items=3)
    free, sampled = (
        rl.fit(ratings, "gmf", interactions="rater:item", prior=prior, standard_errors=False, **PLAIN)
        for prior in (None, "panel")
    )
    expected = free.table("spreads").row(0)[1:4]
    assert sampled.table("spreads").row(0)[1:4] == pytest.approx(
        expected, rel=0.05
    )  # raters' own spread follows


def test_planted_interactions_are_found():
    ratings, added = planted(0.8)
    fit = rl.fit(ratings, interactions="rater:item", **{"model": "gmf"} | PLAIN)
    (term,) = fit.table("spreads").iter_rows(named=True)
    assert 0.2 < term["low"] < 0.8 < term["high"] < 1.6
    assert term["p"] < 1e-10
    found = fit.interactions
    assert np.corrcoef(found["severity"], _own(added))[0, 1] > 0.85
    off = (found["severity"].to_numpy() - added.ravel()) / found["severity_se"].to_numpy()
    assert np.abs(off).max() < 4
    assert 0.6 < np.std(off) < 1.4


def _own(added: np.ndarray) -> np.ndarray:
    """Take out the means of raters and items: those are severities and difficulties."""
    return (added - added.mean(axis=0) - added.mean(axis=1, keepdims=True) + added.mean()).ravel()


def test_a_spread_of_0_has_no_upper_limit():
    for seed in range(100, 110):
        ratings, _ = planted(0.0, seed, students=40, raters=4, items=3)
        fit = rl.fit(ratings, "tfm", interactions="rater:item", standard_errors=False, **PLAIN)
        (term,) = fit.table("spreads").iter_rows(named=True)
        if term["spread"] == 0:
            break
    assert (term["spread"], term["low"], term["p"]) == (0, 0, 1)
    assert np.isnan(term["high"])
    assert "spread 0.00 (upper limit not known)" in dict(settings(fit))["Interactions"]


@pytest.mark.nightly
def test_clean_ratings_have_none_beyond_chance():
    """At 5 %, of 20 clean panels 4 or more are flagged with probability 0.016."""
    p = []
    for seed in range(20):
        ratings, _ = planted(0.0, 100 + seed, students=40, raters=4, items=3)
        fit = rl.fit(ratings, "tfm", interactions="rater:item", standard_errors=False, **PLAIN)
        (term,) = fit.table("spreads").iter_rows(named=True)
        p.append(term["p"])
        if term["spread"] == 0:
            assert (fit.interactions["severity"] == 0).all()
            plain = rl.fit(ratings, "tfm", starts=1, standard_errors=False, **PLAIN)
            assert fit.loglik == pytest.approx(plain.loglik, abs=1e-6)
    assert sum(value < 0.05 for value in p) <= 3
    assert sum(value == 1.0 for value in p) >= 5


@pytest.mark.parametrize("options", [{"prior": "panel"}, {"halo": "common"}, {"model": "probit"}])
def test_with_other_parts_of_a_model(options):
    ratings, added = planted(0.8, students=60, raters=4, items=4)
    fit = rl.fit(ratings, interactions="rater:item", **{"model": "gmf"} | (PLAIN | options))
    plain = rl.fit(ratings, **{"model": "gmf"} | (PLAIN | options))
    assert fit.loglik > plain.loglik + 5
    assert np.corrcoef(fit.interactions["severity"], _own(added))[0, 1] > 0.7
    assert (fit.raters["kappa_se"] > 0).all()


def test_several_terms_are_told_apart():
    """Raters differ between topics, not between items; each topic is a part of the students."""
    ratings, _ = planted(0.0, 4, students=80, raters=4, items=3)
    random = np.random.default_rng(0)
    table = ratings.table()
    topic = np.array(["a", "b", "c"])[random.integers(0, 3, 80)]
    place = table["student"].str.slice(1).cast(int).to_numpy()
    rater = table["rater"].str.slice(1).cast(int).to_numpy()
    bias = random.normal(0, 1.2, (4, 3))[rater, np.searchsorted(["a", "b", "c"], topic[place])]
    # A pass turns into a fail where the rater is more severe with the topic, and the other way round.
    chance = np.abs(special.expit(bias) - 0.5)
    flipped = random.random(len(table)) < chance
    score = np.where(flipped, bias < 0, table["score"].to_numpy()).astype(int)
    table = table.with_columns(pl.Series("topic", topic[place]), pl.Series("score", score))
    again = rl.read(table, facets="topic")
    fit = rl.fit(again, "tfm", interactions=["rater:item", ("rater", "topic")], **PLAIN)
    rows = {row["term"]: row for row in fit.table("spreads").iter_rows(named=True)}
    assert rows["rater:topic"]["p"] < 1e-4
    assert rows["rater:item"]["p"] > 0.01
    assert set(fit.interactions["facet"]) == {"item", "topic"}
    assert fit.n_parameters == rl.fit(again, "tfm", **PLAIN).n_parameters + 2


def test_free_thresholds_of_raters_are_a_rating_scale_for_each():
    """A rater who alone marks its students is a fit by itself, but for the scale of ability that all share."""
    made = rl.simulate(students=150, raters=3, items=3, thresholds=[-0.8, 0.8], seed=5)
    free = rl.fit(made.ratings, "tfm", scale="rater free", standard_errors=False, **PLAIN)
    shared = rl.fit(made.ratings, "tfm", standard_errors=False, **PLAIN)
    assert free.n_parameters == shared.n_parameters + 2
    own = free.calibration.effects["rater threshold"]
    np.testing.assert_allclose(own.sum(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(own.sum(axis=1), 0, atol=1e-9)


@pytest.mark.parametrize("scale", ["rater", "partial credit, rater", "graded, rater"])
def test_raters_who_use_the_scale_in_their_own_ways_are_found(scale):
    ratings, wide = own_scales(seed=3)
    fit = rl.fit(ratings, "tfm", scale=scale, **PLAIN)
    (term,) = fit.table("spreads").iter_rows(named=True)
    assert term["p"] < 1e-6
    assert 0.2 < term["low"] < term["spread"] < term["high"] < 3
    own = fit.calibration.effects["rater threshold"]
    assert np.corrcoef(own[:, 1] - own[:, 0], wide)[0, 1] > 0.9
    np.testing.assert_allclose(fit.score(ratings)["theta"], fit.students["theta"], atol=1e-8)
    ranked = fit.compare_raters().raters  # by each rater's own curve
    assert (ranked["rank_low"] <= ranked["rank_high"]).all()


def own_scales(seed: int, students: int = 150) -> tuple[rl.Ratings, np.ndarray]:
    """Scores 0-2; each rater's two thresholds lie further apart by `wide`."""
    random = np.random.default_rng(seed)
    wide = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    rows = []
    for student, ability in enumerate(random.standard_normal(students)):
        for rater in random.choice(5, 3, replace=False):
            for item in range(3):
                steps = 1.5 * ability - np.array([-0.5 - wide[rater] / 2, 0.5 + wide[rater] / 2]) - 0.3 * item
                chance = special.softmax(np.concatenate([[0.0], np.cumsum(steps)]))
                rows.append((student, f"r{rater}", f"i{item}", int(random.choice(3, p=chance))))
    return rl.read(pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")), wide


def test_expected_scores_are_those_of_the_rater_s_own_curve():
    ratings, _ = own_scales(seed=4, students=60)
    fit = rl.fit(ratings, "gmf", scale="partial credit, rater", standard_errors=False, **PLAIN)
    known, theta = fit.calibration, np.array([-1.0, 0.5])
    at = place(known, ratings)
    model = at.problem.model
    expected = np.exp(at.problem.response.log_prob(model.predictor(at.parameters), theta))
    for item in range(3):
        found = known.rows(np.arange(5), item).chances(theta)
        rows = model.contexts.item == item
        np.testing.assert_allclose(found[model.contexts.rater[rows]], expected[rows], atol=1e-12)
    raters = fit.diagnose().table("raters")
    assert raters["fair_average"].is_finite().all()


def test_sparse_factors_give_what_the_inverse_gives(monkeypatch):
    ratings, _ = planted(0.8, students=60, raters=4, items=4)
    options = {"model": "gmf", "prior": "panel", "interactions": ("rater:item",), "assumptions": "ignore"}
    in_full = rl.fit(ratings, **options)
    monkeypatch.setattr(spreads, "SPARSE_PARAMETERS", 0)
    monkeypatch.setattr(spreads, "SPARSE_SHARE", 2.0)
    by_factors = rl.fit(ratings, **options)
    assert by_factors.loglik == pytest.approx(in_full.loglik, abs=1e-4)
    for name in ("spread", "low", "high", "statistic"):
        expected = in_full.table("spreads")[name].to_numpy()
        assert by_factors.table("spreads")[name].to_numpy() == pytest.approx(expected, rel=1e-3)
