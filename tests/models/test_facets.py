"""Every facets model: its derivatives by finite differences, and directions that change no probability."""

import numpy as np
import polars as pl
import pytest
from scipy import integrate, special, stats

import raterlens as rl
from raterlens.base.errors import RaterlensError
from tests.support.facets_models import INTERACTING, KINDS, SHIFTED, flat, make, somewhere, with_some_known

STEP = 1e-6
# Central differences of functions of order one, with this step.
CLOSE = {"rtol": 1e-7, "atol": 1e-8}


@pytest.mark.parametrize("kind", [*KINDS, *SHIFTED, *INTERACTING])
def test_derivatives_agree_with_differences(small, kind):
    model, _ = make(small, kind)
    x = somewhere(model)
    jacobian = model.jacobian(x).toarray()
    differences = np.column_stack(
        [
            (flat(model.predictor(x + d)) - flat(model.predictor(x - d))) / (2 * STEP)
            for d in STEP * np.eye(len(x))
        ]
    )
    np.testing.assert_allclose(jacobian, differences, **CLOSE)

    weights = np.random.default_rng(6).normal(size=len(jacobian))
    n = len(model.contexts)
    d_slope, d_intercepts = weights[:n], weights[n:].reshape(n, -1)
    np.testing.assert_allclose(model.pullback(x, d_slope, d_intercepts), jacobian.T @ weights, atol=1e-12)
    second = np.column_stack(
        [
            (model.pullback(x + d, d_slope, d_intercepts) - model.pullback(x - d, d_slope, d_intercepts))
            / (2 * STEP)
            for d in STEP * np.eye(len(x))
        ]
    )
    np.testing.assert_allclose(model.second(x, d_slope, d_intercepts).toarray(), second, **CLOSE)


@pytest.mark.parametrize("kind", [*KINDS, *SHIFTED, *INTERACTING])
def test_every_parameter_has_finite_bounds(small, kind):
    model, _ = make(small, kind)
    lower, upper = model.bounds(allow_reversed=False)
    assert np.isfinite(lower).all()
    assert np.isfinite(upper).all()
    assert (lower < upper).all()
    assert not model.at_limit((lower + upper) / 2).any()
    assert model.at_limit(upper).all()


# -- Known answers in a facets model, against the likelihood written out -----------------------------------------


def judged(n: int = 120, known: int = 40, seed: int = 1) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    ability, slope = random.standard_normal(n), np.array([1.0, 1.5, 2.0, 0.7])
    score = random.random((n, 4)) < special.expit(slope * ability[:, None])
    gold = [int(each > 0.4) if place < known else None for place, each in enumerate(ability)]
    return pl.DataFrame(
        {
            "student": np.repeat(np.arange(n), 4),
            "rater": np.tile(list("abcd"), n),
            "score": score.ravel().astype(int),
            "gold": [each for each in gold for _ in range(4)],
        }
    )


def test_the_likelihood_is_that_of_a_steep_rater_with_a_threshold_of_its_own() -> None:
    table = judged()
    fit = rl.fit(table, model="gmf", known="gold", known_slope=5.0)
    effects = fit.calibration.effects
    score = table["score"].to_numpy().reshape(-1, 4)
    gold = table["gold"].to_numpy().reshape(-1, 4)[:, 0]

    def density(theta: float, given: np.ndarray, answer: float) -> float:
        s = effects["slope"] * theta - effects["severity"] - effects["difficulty"][0]
        found = np.prod(special.expit(np.where(given == 1, s, -s))) * stats.norm.pdf(theta)
        k = 5.0 * theta - effects["known"][0, 0]
        return float(found if np.isnan(answer) else found * special.expit(k if answer else -k))

    whole = sum(
        np.log(integrate.quad(density, -8, 8, args=(given, answer), points=[0.0, 0.4], epsabs=1e-12)[0])
        for given, answer in zip(score, gold, strict=True)
    )
    assert fit.loglik == pytest.approx(whole, abs=1e-5)
    assert fit.n_parameters == 9
    assert abs(effects["known"][0, 0] / 5.0 - 0.4) < 0.25


def test_they_are_no_rater_and_no_item() -> None:
    table = judged()
    fit = rl.fit(table, model="gmf", known="gold", prior="panel", reference="max")
    assert fit.raters["rater"].to_list() == list("abcd")
    assert fit.n_raters == 4
    assert fit.n_items == 1
    assert fit.sigma < 3
    assert fit.n_ratings == 480
    assert set(fit.verdicts()["rater"]) == set("abcd")


def test_saved_and_scored_again(tmp_path) -> None:
    table = judged()
    ratings = rl.read(table, known="gold")
    fit = rl.fit(ratings, model="gmf", trusted=["a", "b"])
    fit.save(tmp_path / "fit.json")
    again = rl.load(tmp_path / "fit.json")
    assert again.config == fit.config
    assert again.config.trusted == ("a", "b")
    np.testing.assert_allclose(again.score(ratings)["theta"], fit.students["theta"], atol=1e-8)
    plain = fit.score(rl.read(table.drop("gold")))
    assert (plain["theta_se"][:40] > fit.students["theta_se"][:40]).all()


def test_expected_abilities_of_diagnostics_know_the_answers() -> None:
    ratings = rl.read(judged(), known="gold")
    fit = rl.fit(ratings, model="gmf", standard_errors=False)
    from raterlens.diagnostics.residuals import residuals

    np.testing.assert_allclose(residuals(fit, ratings).ability.mean, fit.students["theta"], atol=1e-5)


@pytest.mark.parametrize("scale", ["rating scale", "partial credit", "graded"])
def test_ordered_answers_have_thresholds_of_their_own(scale: str) -> None:
    made = rl.simulate(students=80, raters=4, items=2, thresholds=[-0.5, 0.5], seed=3)
    ratings = with_some_known(made.ratings)
    fit = rl.fit(ratings, model="gmf", scale=scale)
    assert fit.converged
    assert fit.calibration.effects["known"].shape == (2, 2)


def test_bootstraps_draw_answers_too() -> None:
    ratings = rl.read(judged(), known="gold")
    fit = rl.fit(ratings, model="gmf")
    for kind in ("students", "parametric"):
        assert fit.bootstrap(ratings, replicates=2, kind=kind, workers=1).raters()["se"].is_finite().all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "laplace"}, "known= does not go with method='laplace'.*use method='mml'"),
        ({"link": "log"}, "known= does not go with link='log'.*use link='cloglog'"),
        ({"halo": "common"}, "halo='common' does not go with known=; leave out one of them"),
        ({"trusted": ["a", "e"]}, "unknown rater 'e'"),
        ({"known_slope": -1}, "give a number from 0.5 to 20"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, object], message: str) -> None:
    both = pl.concat([judged().with_columns(item=pl.lit(item)) for item in "ij"])
    with pytest.raises(RaterlensError, match=message):
        rl.fit(both, known="gold", **{"model": "gmf"} | options)


def test_an_answer_that_nobody_gave_is_refused() -> None:
    table = judged().with_columns(gold=pl.col("gold") * 2)
    with pytest.raises(
        RaterlensError, match="the answer 2 is known to be right for some, but nobody ever gave"
    ):
        rl.fit(table, model="gmf", known="gold")
