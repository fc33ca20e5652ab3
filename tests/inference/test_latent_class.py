"""Latent class models through the same door as all others."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.output.folder import write_results


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
