"""The scikit-learn estimator: scikit-learn's own checks, and agreement with `rl.fit`."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import raterlens as rl
from raterlens.sklearn import RaterCapability

# Scikit-learn's checks draw numbers of many ranges. Where a whole data set lies on one side of the cut, all ratings
# are the same and nothing can be estimated, which is refused; such checks are run with a cut within their range.
ONE_SIDED = "all numbers of this check lie on one side of the cut 0.5; run with another cut below"
OTHER_CUT = {
    "check_fit2d_1feature": 2.0,
    "check_fit_idempotent": 100.0,
    "check_fit_check_is_fitted": 100.0,
    "check_n_features_in": 100.0,
}


def failures(cut: float) -> dict[str, str]:
    found = check_estimator(
        RaterCapability(cut=cut),
        on_fail=None,
        on_skip=None,
        expected_failed_checks=dict.fromkeys(OTHER_CUT, ONE_SIDED),
    )
    assert len(found) > 40
    # An expected failure that does not fail is "passed".
    return {
        check["check_name"]: check["status"]
        for check in found
        if check["status"] not in ("passed", "skipped")
    }


@pytest.mark.nightly
def test_scikit_learns_own_checks():
    assert failures(0.5) == dict.fromkeys(OTHER_CUT, "xfail")


@pytest.mark.parametrize("check", OTHER_CUT)
def test_checks_with_a_cut_of_their_own(check):
    from sklearn.utils import estimator_checks

    getattr(estimator_checks, check)("RaterCapability", RaterCapability(cut=OTHER_CUT[check]))


@pytest.fixture(scope="module")
def verdicts() -> pd.DataFrame:
    """400 answers, four judges from sharp to noisy, a fifth of the cells missing."""
    rng = np.random.default_rng(5)
    slope = np.array([3.0, 2.5, 2.5, 0.1])
    chance = 1 / (1 + np.exp(-slope * rng.normal(size=(400, 1)) + np.array([0.0, 1.0, -1.0, 0.0])))
    scores = (rng.random(chance.shape) < chance).astype(float)
    scores[rng.random(chance.shape) < 0.2] = np.nan
    return pd.DataFrame(scores, columns=["a", "b", "c", "d"])


def long(verdicts: pd.DataFrame) -> pd.DataFrame:
    table = (
        verdicts.rename_axis("student").reset_index().melt("student", var_name="rater", value_name="score")
    )
    return table.dropna().reset_index(drop=True)


def test_it_is_the_same_fit(verdicts):
    estimator, fit = RaterCapability().fit(verdicts), rl.fit(long(verdicts))
    np.testing.assert_allclose(estimator.kappa_, fit.raters["kappa"], atol=1e-10)
    assert estimator.raters_.tolist() == ["a", "b", "c", "d"]
    rated = verdicts.notna().any(axis=1).to_numpy()
    np.testing.assert_allclose(estimator.transform(verdicts)[rated, 0], fit.students["theta"], atol=1e-8)
    assert (estimator.transform(verdicts)[~rated] == 0).all()
    assert estimator.score(verdicts) * len(verdicts) == pytest.approx(fit.loglik, abs=1e-4)


def test_columns_that_are_raters_and_items(verdicts):
    estimator = RaterCapability(raters=["x", "x", "y", "y"], items=["1", "2", "1", "2"]).fit(verdicts)
    table = long(verdicts).assign(item=lambda t: t["rater"].map(dict(zip("abcd", "1212", strict=True))))
    fit = rl.fit(table.assign(rater=table["rater"].map(dict(zip("abcd", "xxyy", strict=True)))))
    np.testing.assert_allclose(estimator.kappa_, fit.raters["kappa"], atol=1e-10)
    with pytest.raises(ValueError, match="raters has 1 labels for 4 columns"):
        RaterCapability(raters=["x"]).fit(verdicts)


def test_cross_validation_chooses_the_model_that_the_ratings_came_from(verdicts):
    search = GridSearchCV(RaterCapability(), {"model": ["tfm", "gmf"]}, cv=3).fit(verdicts)
    assert search.best_params_ == {"model": "gmf"}
    assert clone(search.best_estimator_).get_params()["model"] == "gmf"


def test_abilities_come_as_the_frame_that_was_asked_for(verdicts):
    pipeline = make_pipeline(RaterCapability()).set_output(transform="polars")
    assert pipeline.fit_transform(verdicts).columns == ["ratercapability0"]


def test_bad_scores_are_value_errors_that_say_what_to_do():
    with pytest.raises(ValueError, match=r"2\.3"):
        RaterCapability().fit([[0, 1], [2.3, 1]])
    with pytest.raises(ValueError, match="students cannot be scored"):
        RaterCapability("dawid-skene").fit(np.eye(6)).transform(np.eye(6))


def test_y_has_known_answers(verdicts: pd.DataFrame) -> None:
    answers = np.where(np.arange(400) < 60, verdicts.mean(axis=1).to_numpy() > 0.5, np.nan)
    known = RaterCapability(shared=False).fit(verdicts, answers)
    plain = RaterCapability(shared=False).fit(verdicts)
    assert known.fit_.loglik != plain.fit_.loglik
    assert "60 known answers" in " ".join(known.fit_.notes)
    with pytest.raises(ValueError, match="3 known answers for 400 rows"):
        RaterCapability().fit(verdicts, [1.0, np.nan, 0.0])
