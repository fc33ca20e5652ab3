"""Latent class models from the command line, diagnosed, and beside other programs."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from raterlens.diagnostics.residuals import residuals
from tests.support.latent_class import annotations, as_ratings, fitted, long
from tests.support.latent_class_panels import panel

# -------------------------------------------- latent class models from the command line, beside the others


@pytest.fixture(scope="module")
def made():
    return rl.simulate(model="hrm", students=300, raters=6, items=3, raters_per_student=4, seed=2)


def test_from_the_command_line(made, tmp_path, capsys):
    ratings = made.ratings
    pl.DataFrame(
        {
            "student": ratings.students.gather(ratings.student),
            "rater": ratings.raters.gather(ratings.rater),
            "item": ratings.items.gather(ratings.item),
            "score": ratings.score,
        }
    ).write_parquet(tmp_path / "ratings.parquet")
    for model in ("hrm", "tfm", "gmf"):
        out = str(tmp_path / model)
        assert main(["fit", str(tmp_path / "ratings.parquet"), "--model", model, "--out", out]) == 0
    capsys.readouterr()
    assert main(["compare", *(str(tmp_path / model / "fit.json") for model in ("tfm", "gmf"))]) == 0
    assert "likelihood" in capsys.readouterr().out


# --------------------------- latent class models diagnosed: planted faults, clean panels, drift and advice


MODELS = ("hrm", "dawid-skene")

# The fit's own grid of abilities is a little coarser.
GRID = 1e-4


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("fault", ["reversed", "random", "alternating"])
def test_planted_faults_are_flagged(model, fault):
    ratings = panel(3, fault, items=5)
    found = rl.fit(ratings, model=model, starts=2, standard_errors=False).diagnose(ratings)
    assert found.flags["rater"].to_list() == [str(ratings.raters[0])]
    assert found.flags["effect"].to_list() == [fault]


@pytest.mark.parametrize("model", MODELS)
def test_clean_panels_are_left_alone_and_mean_squares_average_one(model):
    ratings = panel(4, students=400)
    fit = rl.fit(ratings, model=model, starts=2)
    found = fit.diagnose(ratings, time=np.arange(ratings.n_ratings))
    assert found.flags.height == 0
    got = residuals(fit, ratings)
    assert got.squared.sum() / got.variance.sum() == pytest.approx(1, abs=0.01)
    assert found.table("raters")["infit"].is_nan().all()
    assert found.table("items")["infit"].to_numpy() == pytest.approx(1, abs=0.2)


def test_a_rater_who_becomes_severe_is_found_in_time():
    ratings = panel(5, students=400)
    mine = np.flatnonzero(ratings.rater == 0)
    score = ratings.score.copy()
    late = mine[len(mine) // 2 :]
    score[late] &= np.random.default_rng(5).random(len(late)) < 0.5
    ratings = replace(ratings, score=score)
    found = rl.fit(ratings, model="hrm", starts=2).diagnose(ratings, time=np.arange(ratings.n_ratings))
    row = found.flags.row(0, named=True)
    assert (row["rater"], row["effect"]) == (str(ratings.raters[0]), "drift")
    first = found.drift().filter(pl.col("rater") == row["rater"])
    assert first["eta"][-1] > first["eta"][0]


@pytest.mark.parametrize("model", MODELS)
def test_fair_averages_and_advice(model):
    ratings = panel(6)
    fit = rl.fit(ratings, model=model, starts=2)
    found = fit.diagnose(ratings)
    truth = fit.table("truth").group_by("student", maintain_order=True).agg(pl.col("probability").mean())
    fair = found.table("students")["fair_average"].to_numpy()
    assert fair == pytest.approx(truth["probability"].to_numpy(), abs=GRID)
    advice = fit.advice()
    causes = dict(fit.verdicts().select("rater", "costs_most").iter_rows())
    assert dict(advice.select("rater", "costs_most").iter_rows()) == causes
    first = fit.table("raters").row(0, named=True)
    assert f"passed about {100 * first['sensitivity']:.0f} %" in advice["feedback"][0]


# ---------------- latent class estimates beside those of other programs, and of the definition written out


ITEMS = ["spe", "coh", "str", "gra", "con"]


# PyPI crowd-kit 1.4.2 (left out of the dev tools for its 800 MB of dependencies) on `annotations`:
#   frame = pd.DataFrame({"task": ..., "worker": ..., "label": ...})
#   fitted = crowdkit.aggregation.DawidSkene(n_iter=100000, tol=1e-14).fit(frame)
#   fitted.errors_.loc[(worker, 1), 1], fitted.errors_.loc[(worker, 0), 0], fitted.priors_[1], fitted.probas_[1]
CROWD_KIT = {
    "sensitivity": [0.9476430620, 0.8541828504, 0.7796486500, 0.9125183109, 0.6884779727],
    "specificity": [0.8359599445, 0.8872302734, 0.7394255478, 0.6005770130, 0.6345486471],
    "prevalence": [0.36493],
}
CROWD_KIT_TASKS = [0.000126, 0.007529, 0.000126, 0.646750, 0.083506]


def test_dawid_skene_agrees_with_crowd_kit():
    fit = fitted(as_ratings(annotations()), rasch=False)
    for name, expected in CROWD_KIT.items():
        np.testing.assert_allclose(getattr(fit, name), expected, atol=1e-5)
    np.testing.assert_allclose(fit.truth["probability"][:5], CROWD_KIT_TASKS, atol=2e-6)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_dawid_skene_agrees_with_a_few_lines_of_em(link):
    labels = annotations()
    seen = np.random.default_rng(0).random(labels.shape) < 0.7
    seen[:, 0] = True
    probability = (labels * seen).sum(axis=1) / seen.sum(axis=1)
    for _ in range(3000):
        weights = np.stack([1 - probability, probability])
        rate = weights @ (labels * seen) / (weights @ seen)
        prior = weights.mean(axis=1)
        given = np.where(seen, np.where(labels == 1, rate[:, None], 1 - rate[:, None]), 1.0).prod(axis=2)
        joint = prior[:, None] * given
        probability = joint[1] / joint.sum(axis=0)
    task, annotator = np.nonzero(seen)
    rows = zip(task.tolist(), annotator.tolist(), ["all"] * len(task), labels[seen].tolist(), strict=True)
    fit = fitted(long(list(rows)), rasch=False, link=link)
    assert fit.loglik == pytest.approx(np.log(joint.sum(axis=0)).sum(), abs=1e-7)
    np.testing.assert_allclose(fit.sensitivity, rate[1], atol=1e-5)
    np.testing.assert_allclose(fit.specificity, 1 - rate[0], atol=1e-5)
    np.testing.assert_allclose(fit.kappa, rate[1] - rate[0], atol=1e-5)
    np.testing.assert_allclose(fit.truth["probability"], probability, atol=1e-5)


@pytest.fixture(scope="module")
def first_essays(writing_path) -> rl.Ratings:
    """The writing data with only the first of repeated (student, rater, topic) rows."""
    rows = pl.read_csv(writing_path).unique(["pid", "rater", "topic"], keep="first", maintain_order=True)
    return rl.read(rows, student="pid", rater=["rater", "topic"], items=ITEMS, cut=3)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_writing_data_above_sirt_and_equal_to_an_independent_fit(first_essays, link):
    """rater = rater:topic, item = criterion, so that the essays of a student on several topics share a true category.

    R: sirt::rm.sdt(dat, pid, rater, est.c.rater = "r", est.d.rater = "r") stops at -2636.85. A direct maximisation
    with SciPy, apart from this package (81 nodes on [-8, 8]), reaches -2627.1339 and sigma 7.857 from every start.
    """
    assert first_essays.n_ratings == 5355
    fit = fitted(first_essays, link=link)
    assert fit.loglik > -2636.85
    assert fit.loglik == pytest.approx(-2627.1339, abs=1e-3)
    assert fit.sigma == pytest.approx(7.857, abs=2e-3)
    assert fit.optimiser.converged
    assert fit.n_parameters == 16 + 16 + 5 + 1
    assert fit.flag.tolist() == [""] * 16
    single, *several = fit.warnings
    assert single.startswith("145 of 1,815 student-items (8%) have a single rating")
    # With the probit link some starts end at another maximum, 0.62 lower, which Newton's method confirms.
    assert [text[:35] for text in several] == ["the likelihood has several maxima: "] * (link == "probit")
    assert all("3 reached the best" in text for text in several)
    assert np.nanmax(fit.kappa_se) < 0.07
    assert len(fit.truth) == 1815
