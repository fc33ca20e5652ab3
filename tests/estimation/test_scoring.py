from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError
from tests.support.facets_models import FITS, half, ordered, with_facet

# Promised: the same abilities, however the grid was chosen.
ABILITIES = 1e-8


@pytest.mark.parametrize("kind", [kind for kind in FITS if kind != "laplace"])
def test_scoring_the_fitted_ratings_gives_the_fitted_abilities(small, kind):
    change, options = FITS[kind]
    ratings = change(small)
    fit = rl.fit(ratings, **{"model": "gmf"} | options, standard_errors=False)
    scored = fit.score(ratings)
    assert scored.columns == ["student", "n", "mean_score", "theta", "theta_se"]
    for column in ("theta", "theta_se"):
        np.testing.assert_allclose(scored[column], fit.students[column], rtol=0, atol=ABILITIES)


def test_new_students_are_scored_by_a_saved_fit(small, tmp_path):
    first, second = half(small, True), half(small, False)
    fit = rl.fit(first, model="gmf")
    loaded = rl.load(fit.save(tmp_path / "fit.json"))
    scored = loaded.score(second)
    assert scored["student"].to_list() == second.students.to_list()
    np.testing.assert_allclose(scored["theta"], fit.score(second)["theta"], atol=1e-12)
    # By hand, for one student: the posterior mean over a fine grid.
    effects, one = fit.calibration.effects, second.student == 0
    t = np.linspace(-8, 8, 4001)
    s = np.multiply.outer(effects["slope"][second.rater[one]], t)
    s -= (effects["severity"][second.rater[one]] + effects["difficulty"][second.item[one]])[:, None]
    signed = np.where(second.score[one, None] == 1, s, -s)
    posterior = np.exp(-np.log1p(np.exp(-signed)).sum(axis=0) - t**2 / 2)
    mean = np.sum(posterior * t) / posterior.sum()
    assert scored["theta"][0] == pytest.approx(mean, abs=1e-9)
    assert scored["theta_se"][0] == pytest.approx(
        np.sqrt(np.sum(posterior * (t - mean) ** 2) / posterior.sum()), abs=1e-9
    )


def test_scoring_takes_a_part_of_the_raters_and_scores(small):
    ratings = ordered(small)
    fit = rl.fit(ratings, model="gmf", scale="partial credit")
    low = (ratings.score < 3) & (ratings.rater > 1)
    students, student = np.unique(ratings.student[low], return_inverse=True)
    raters, rater = np.unique(ratings.rater[low], return_inverse=True)
    part = replace(
        ratings,
        student=student.astype(np.int32),
        rater=rater.astype(np.int32),
        item=ratings.item[low],
        score=ratings.score[low],
        students=ratings.students.gather(students),
        raters=ratings.raters.gather(raters),
    )
    scored = fit.score(part)
    assert scored.height == part.n_students
    assert np.isfinite(scored["theta"].to_numpy()).all()


def test_who_is_unknown_is_named(small):
    fit = rl.fit(half(small, True), model="gmf")
    new = half(small, False)
    with pytest.raises(InputError, match=r"raters that the fit does not know: 'R6'.*'R1'"):
        fit.score(replace(new, raters=pl.Series("rater", ["R1", "R2", "R3", "R4", "R6"])))
    with pytest.raises(InputError, match="items that the fit does not know: 'I9'"):
        fit.score(replace(new, items=pl.Series("item", ["I1", "I2", "I9"])))
    with pytest.raises(InputError, match=r"scores of 2, 3 occur, but the fit knows only 0, 1"):
        fit.score(ordered(new))
    with pytest.raises(InputError, match="the fit has the facets none, these ratings 'topic'"):
        fit.score(with_facet(new))


def test_numeric_labels_match_however_they_are_written(small, tmp_path):
    numbered = replace(small, raters=pl.Series("rater", [1, 2, 3, 4, 5]))
    texts = replace(small, raters=pl.Series("rater", ["1", "2", "3", "4", "5"]))
    fit = rl.load(rl.fit(numbered, model="gmf").save(tmp_path / "fit.json"))
    np.testing.assert_allclose(fit.score(texts)["theta"], fit.students["theta"], atol=ABILITIES)


def test_a_student_scored_alone_gets_the_same_ability():
    # Steep raters: a posterior can be wide, and still have a flank that a coarse grid would miss.
    found = rl.simulate(students=80, raters=4, items=1, slope=[6.0, 5.0, 1.0, 0.5], seed=2).ratings
    table = pl.DataFrame(
        {"student": found.student, "rater": found.raters.gather(found.rater), "score": found.score}
    )
    fit = rl.fit(table, model="gmf")
    together = fit.score(table)["theta"].to_numpy()
    alone = [fit.score(table.filter(student=n))["theta"].item() for n in range(15)]
    np.testing.assert_allclose(alone, together[:15], atol=1e-9)
