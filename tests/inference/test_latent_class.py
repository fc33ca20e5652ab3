"""Latent class models: covariance, intervals, tables and warnings."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import special

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.capability.links import get_link
from raterlens.estimation.latent_estimate import LatentClassEstimate, estimate_latent_class
from raterlens.inference.covariance import in_full
from raterlens.inference.latent_class import (
    LatentClassErrors,
    Quantity,
    _measured,
    latent_class_covariance,
    latent_class_warnings,
    no_errors_seen,
    one_sided,
)
from raterlens.models.signal_detection import LatentClassModel
from raterlens.output.folder import write_results
from tests.support.latent_class import fitted, long, problem_on, rows_of

# ----------------------------------------------------------------------------------------------------
# Latent class models through the same door as all others.


@pytest.fixture(scope="module")
def made():
    return rl.simulate(model="hrm", students=300, raters=6, items=3, raters_per_student=4, seed=2)


def test_hrm_recovers_the_raters(made):
    fit = rl.fit(made.ratings, model="hrm")
    raters = fit.raters
    assert fit.converged
    off = (raters["kappa"] - made.truth.kappa) / raters["kappa_se"]
    assert off.abs().max() < 4
    # Youden's J, and what severity costs: kappa is at most the discrimination rho, reached at eta = 0.
    np.testing.assert_allclose(raters["kappa"], raters["sensitivity"] + raters["specificity"] - 1, atol=1e-12)
    assert (raters["kappa"] <= raters["rho"] + 1e-12).all()
    np.testing.assert_allclose(raters["eta"], raters["criterion"] - raters["slope"] / 2, atol=1e-12)


def test_the_true_category_of_every_student_item_is_a_table(made, tmp_path):
    fit = rl.fit(made.ratings, model="hrm")
    truth = fit.table("truth")
    assert truth.height == 300 * 3
    assert truth["probability"].is_between(0, 1).all()
    high = truth.filter(pl.col("mean_score") == 1)["probability"].mean()
    assert high > truth.filter(pl.col("mean_score") == 0)["probability"].mean()
    loaded = rl.load(fit.save(tmp_path / "fit.json"))
    assert loaded.table("truth").equals(truth)


def test_labels_are_the_more_probable_scores_and_the_doubtful_come_first(made, tmp_path):
    fit = rl.fit(made.ratings, model="dawid-skene")
    labels, truth = fit.labels, fit.table("truth")
    both = labels.join(truth, on=["student", "item"], suffix="_one")
    one = both["probability_one"]
    assert (both["label"] == (one >= 0.5).cast(int)).all()
    np.testing.assert_allclose(both["probability"], np.maximum(one, 1 - one))
    assert (labels["needs_person"] == (labels["probability"] < 0.9)).all()
    doubtful = labels.filter("needs_person")
    assert 0 < doubtful.height < labels.height
    assert labels.head(doubtful.height).equals(doubtful)
    assert doubtful["probability"].is_sorted()
    write_results(fit, tmp_path / "out")
    assert (
        (tmp_path / "out" / "labels.csv")
        .read_text()
        .startswith("student,item,label,probability,n,needs_person")
    )
    with pytest.raises(rl.RaterlensError, match="no true score"):
        _ = rl.fit(made.ratings, model="tfm", standard_errors=False).labels


def test_dawid_skene_has_no_ability(made):
    fit = rl.fit(made.ratings, model="dawid-skene")
    assert fit.students["theta"].is_nan().all()
    assert fit.n_parameters == 2 * 6 + 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "laplace"}, "takes method 'mml'"),
        ({"reference": "max"}, "takes no reference"),
        ({"item_slopes": True}, "takes no item_slopes"),
        ({"link": "cauchit"}, "cauchit"),
    ],
)
def test_options_of_other_models_are_refused(made, options, message):
    with pytest.raises(OptionError, match=message):
        rl.fit(made.ratings, model="hrm", **options)


def test_ordered_scores_are_refused():
    frame = pl.DataFrame({"student": [1, 1, 2, 2], "rater": list("abab"), "score": [0, 4, 2, 1]})
    with pytest.raises(InputError, match=r"from 0 to 4.*cut=4"):
        rl.fit(frame, model="hrm")


# ----------------------------------------------------------------------------------------------------
# Standard errors of latent class models: at the limits, and whatever the link.


@pytest.fixture(scope="module")
def panel() -> rl.Ratings:
    return rl.simulate(model="hrm", students=40, raters=5, items=3, raters_per_student=2, seed=3).ratings


def test_standard_errors_do_not_depend_on_the_parametrisation_of_f():
    ratings = rl.simulate(model="hrm", students=300, raters=6, items=2, raters_per_student=3, seed=5).ratings
    logit, probit = (fitted(ratings, link=link) for link in ("logit", "probit"))
    assert logit.loglik == pytest.approx(probit.loglik, abs=1e-4)
    np.testing.assert_allclose(logit.kappa, probit.kappa, atol=1e-3)
    np.testing.assert_allclose(logit.kappa_se, probit.kappa_se, atol=2e-3)
    np.testing.assert_allclose(logit.sigma_se, probit.sigma_se, rtol=1e-2)


def test_perfect_passing_and_failing_raters_are_finite_and_flagged():
    sample = rl.simulate(
        model="hrm",
        students=150,
        raters=3,
        items=2,
        slope=[3.0, 3.0, 3.0],
        criterion=[1.5, 1.5, 1.5],
        seed=11,
    )
    rows = [(s, f"R{r}", i, y) for s, r, i, y in rows_of(sample.ratings)]
    majority: dict[Any, list[int]] = {(s, i): [] for s, _, i, _ in rows}
    for s, _, i, y in rows:
        majority[s, i].append(y)
    for (s, i), scores in majority.items():
        rows += [(s, "all pass", i, 1), (s, "all fail", i, 0), (s, "perfect", i, int(np.mean(scores) > 0.5))]
    fit = fitted(long(rows))
    assert fit.flag.tolist() == ["", "", "", "all fail", "all pass", "slope at limit"]
    assert fit.optimiser.converged
    for name in ("criterion", "slope", "kappa", "kappa_se", "kappa_low", "kappa_high"):
        assert np.isfinite(getattr(fit, name)).all(), name
    assert (fit.kappa[3:5] < 0.01).all()
    assert (fit.kappa_high[3:5] < 0.1).all()
    assert fit.kappa[5] > 0.98
    assert 0.9 < fit.kappa_low[5] < fit.kappa[5]
    assert ((fit.kappa_low <= fit.kappa) & (fit.kappa <= fit.kappa_high)).all()
    assert any(w.startswith("no error of 'perfect'") for w in fit.warnings)


def test_a_rater_who_guesses_has_capability_zero_and_a_one_sided_interval():
    sample = rl.simulate(
        model="hrm", students=400, raters=4, items=1, slope=[4, 4, 4, 0], criterion=[2, 2, 2, 0], seed=2
    )
    fit = fitted(sample.ratings, rasch=False)
    assert fit.kappa[3] < 0.12
    assert fit.kappa_low[3] == 0
    assert 0.02 < fit.kappa_high[3] < 0.25
    rows = rows_of(sample.ratings)
    rows += [(s, 4, i, 1 - y) for s, r, i, y in rows if r == 0 and s < 200]
    against = fitted(long(rows), rasch=False)
    assert against.flag[4] == "slope at 0"
    assert against.kappa[4] == 0
    assert against.kappa_low[4] == 0
    assert 0 < against.kappa_high[4] < 0.2


def test_without_standard_errors_everything_else_stays(panel):
    quick, full = (fitted(panel, starts=1, standard_errors=wanted) for wanted in (False, True))
    np.testing.assert_array_equal(quick.kappa, full.kappa)
    assert np.isnan(quick.kappa_se).all()
    assert (quick.flag == full.flag).all()


def test_sharpness_is_kappa_at_the_best_criterion_and_covers():
    """Dawid-Skene: tanh(a / 4); the hierarchical model multiplies it by the sharpness of the true category."""
    slope, criterion = np.array([4.0, 3.0, 2.0, 1.0]), np.array([2.0, 2.2, 0.3, 0.5])
    sample = rl.simulate(
        model="hrm", students=400, raters=4, items=2, slope=slope, criterion=criterion, sigma=2.0, seed=2
    )
    fit = rl.fit(sample.ratings, model="hrm")
    raters = fit.table("raters")
    of_truth = rl.capability.sharpness(slope=fit.sigma)
    np.testing.assert_allclose(
        raters["sharpness"], np.tanh(raters["slope"].to_numpy() / 4) * of_truth, rtol=1e-9
    )
    true = np.tanh(slope / 4) * rl.capability.sharpness(slope=2.0)
    low, high = raters.select("sharpness_low", "sharpness_high").to_numpy().T
    assert ((low < true) & (true < high)).all()
    assert (raters["sharpness_se"] > 0).all()
    bias = criterion - slope / 2
    off = bias - bias.mean()
    passes = (special.expit(-(off + slope / 2)) + special.expit(-(off - slope / 2))) / 2
    low, high = raters.select("passes_low", "passes_high").to_numpy().T
    assert ((low < passes) & (passes < high)).all()
    alone = rl.fit(sample.ratings, model="dawid-skene").table("raters")
    np.testing.assert_allclose(alone["sharpness"], alone["rho"], rtol=1e-9)


# ------------------------------------------------------------------------------- against what it means, spelled out


@pytest.fixture(scope="module", params=[True, False], ids=["rasch", "no ability"])
def found(request) -> LatentClassEstimate:
    made = rl.simulate(
        model="hrm",
        students=300,
        raters=4,
        items=3,
        slope=[4.0, 3.0, 2.0, 1.2],
        criterion=[2.0, 1.0, 1.3, 0.4],
        sigma=1.5,
        seed=4,
    )
    model = LatentClassModel(4, 3, get_link("logit"), request.param)
    return estimate_latent_class(made.ratings, model, starts=2)


def test_standard_errors_and_intervals_are_those_of_the_parameters(found):
    """Standard errors by differences, intervals against independent draws of all parameters."""
    known, blocks, x = latent_class_covariance(found), found.model.blocks, found.parameters
    matrix = in_full(known.matrix)
    errors = LatentClassErrors.of(found, known)
    assert not no_errors_seen(found).any()

    def values(given: np.ndarray) -> dict[str, np.ndarray]:
        """(..., parameters) -> (..., raters)"""
        a, b, s = given[..., blocks["slope"]], given[..., blocks["bias"]], given[..., blocks["sigma"]]
        a = np.maximum(a, 0.0)
        detects = np.tanh(a / 4)
        if found.model.rasch:
            detects = detects * rl.capability.sharpness(slope=np.maximum(s, 1e-6))
        off = b - b.mean(axis=-1, keepdims=True)
        return {
            "criterion": b + a / 2,
            "kappa": special.expit(b + a / 2) - special.expit(b - a / 2),
            "sharpness": detects,
            "passes": (special.expit(-off - a / 2) + special.expit(-off + a / 2)) / 2,
        }

    step = 1e-4
    rises = [
        {n: (values(x + m)[n] - values(x - m)[n]) / (2 * step) for n in values(x)}
        for m in step * np.eye(len(x))
    ]
    for name in ("criterion", "kappa", "sharpness"):
        by = np.stack([rise[name] for rise in rises])
        expected = np.sqrt(np.einsum("ir,ij,jr->r", by, matrix, by))
        np.testing.assert_allclose(errors.raters[f"{name}_se"], expected, rtol=2e-3)
    np.testing.assert_allclose(errors.raters["slope_se"], np.sqrt(np.diag(matrix)[blocks["slope"]]))
    np.testing.assert_allclose(errors.raters["eta_se"], np.sqrt(np.diag(matrix)[blocks["bias"]]))
    centring = np.eye(3) - 1 / 3
    difficulties = matrix[blocks["difficulty"], blocks["difficulty"]]
    np.testing.assert_allclose(errors.delta, np.sqrt(np.diag(centring @ difficulties @ centring)))
    if found.model.rasch:
        assert errors.sigma == pytest.approx(np.sqrt(matrix[-1, -1]))
    else:
        assert np.isnan(errors.sigma)
    drawn = values(np.random.default_rng(1).multivariate_normal(x, matrix, 4_000))
    for name in ("kappa", "sharpness", "passes"):
        ends = np.quantile(drawn[name], [0.025, 0.975], axis=0)
        found_ends = [errors.raters[f"{name}_{end}"] for end in ("low", "high")]
        # 1,000 draws, antithetic.
        np.testing.assert_allclose(found_ends, ends, atol=0.4 * drawn[name].std(axis=0).max())
    assert not errors.undetermined.any()


def test_without_a_covariance_nothing_is_known(found):
    errors = LatentClassErrors.of(found, None)
    assert {"eta_se", "kappa_se", "kappa_low", "sharpness_high", "passes_low"} <= set(errors.raters)
    assert all(np.isnan(each).all() for each in (*errors.raters.values(), errors.delta, errors.sigma))
    assert errors.undetermined.tolist() == [False] * 4
    assert errors.delta.shape == (3,)


def test_an_interval_at_0_is_one_sided():
    def own(n: int) -> np.ndarray:
        return np.eye(2 * n).reshape(n, 2, 2 * n)

    flat = Quantity(lambda c, a: np.maximum(a, 0.0), own(2))
    _, low, high = _measured(flat, np.zeros(4), np.eye(4), np.array([True, False]))
    np.testing.assert_allclose(high, [1.645, 1.96], atol=0.15)
    assert low.tolist() == [0.0, 0.0]
    many = Quantity(lambda c, a: c, own(150))
    _, low, high = _measured(many, np.full(300, 5.0), np.eye(300), np.zeros(150, bool))
    np.testing.assert_allclose([low, high], [np.full(150, 5 - 1.96), np.full(150, 5 + 1.96)], atol=0.15)


def test_errors_on_either_true_category_are_looked_for(found):
    """Expected answers (raters, score, truth): a pass that should be a fail, and the other way round."""
    answers = np.full((4, 2, 2), 30.0)
    answers[1, 1, 0] = answers[2, 0, 1] = 0.001
    answers[3, 0, 0] = 0.001  # nobody fails who should: no error
    seen = replace(found, complete=replace(found.complete, answers=answers))
    assert no_errors_seen(seen).tolist() == [False, True, True, False]
    steep = found.parameters.copy()
    steep[found.model.blocks["slope"].start] = found.model.largest_slope
    assert no_errors_seen(replace(seen, parameters=steep)).tolist() == [True, True, True, False]
    truths = found.complete.truths.copy()
    truths[0, 1] = 0.0
    alike = replace(found, complete=replace(found.complete, truths=truths))
    assert one_sided(found).tolist() == [False] * 3
    assert one_sided(alike).tolist() == [False, True, False]


# ----------------------------------------------------------------------------------------------------
# Warnings of a latent class fit.


def test_single_ratings_are_counted_and_said_plainly():
    sample = rl.simulate(model="hrm", students=80, raters=4, items=2, raters_per_student=1, seed=1)
    fit = fitted(sample.ratings, starts=2)
    (said,) = (
        w for w in fit.warnings if w.startswith("160 of 160 student-items (100%) have a single rating")
    )
    assert "rated by two or more" in said
    assert np.nanmin(fit.kappa_high) > 0.3  # next to nothing is known, and the intervals say so
    with pytest.raises(InputError, match="single rating"):
        fitted(sample.ratings, rasch=False)


@pytest.mark.parametrize(
    ("reached", "said"),
    [
        ([-100.0, -100.05, -100.09], None),
        (
            [-100.0, -100.05, -103.2, -104.6],
            "of 4 starts, 2 reached the best, and the others fell short by up to 4.6",
        ),
        ([-100.0, -100.3], "no second start found it"),
    ],
)
def test_several_maxima_are_said_plainly(panel, reached, said):
    found = estimate_latent_class(panel, problem_on(panel, rasch=False).model, starts=1)
    found = replace(found, reached=np.array(reached))
    errors = LatentClassErrors.of(found, None)
    warnings = [w for w in latent_class_warnings(panel, found, errors) if "several maxima" in w]
    assert (len(warnings) == 0) if said is None else (said in warnings[0])


def test_an_easy_item_is_not_taken_for_one_on_which_all_are_alike():
    """Categories that follow ability strictly: sigma is large, and so is the difficulty of an item that 88 % master."""
    rng = np.random.default_rng(2)
    ability = rng.normal(size=150)
    rows = [
        (s, f"r{r}", f"i{i}", int((theta > cut) != (rng.random() < 0.1)))
        for s, theta in enumerate(ability)
        for i, cut in enumerate((-1.2, -0.3, 0.4, 1.0))
        for r in range(3)
    ]
    table = pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")
    fit = rl.fit(table, model="hrm")
    assert not [warning for warning in fit.warnings if "same true category" in warning]
    assert fit.items["delta_se"].is_finite().all()
    share = (ability[:, None] > np.array([-1.2, -0.3, 0.4, 1.0])).mean(axis=0)
    np.testing.assert_allclose(fit.items["prevalence"].to_numpy(), share, atol=0.08)
