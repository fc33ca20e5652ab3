import numpy as np
import pytest

import raterlens as rl
from raterlens.diagnostics.halo_test import CLEAR, clear_halo, of_common, of_raters


@pytest.mark.parametrize(("raters", "point"), [(5, 7.5), (10, 11.8), (16, 16.4)])
def test_the_mixture_of_several_variances(raters, point):
    """Against draws: the squared positive parts of independent normal estimates."""
    assert of_raters(point, raters) == pytest.approx(0.05, abs=0.002)
    drawn = np.maximum(np.random.default_rng(1).standard_normal((40_000, raters)), 0) ** 2
    assert np.mean(drawn.sum(axis=1) > point) == pytest.approx(of_raters(point, raters), abs=0.004)


def test_one_variance_is_half_a_chi_squared():
    assert of_common(5.412) == pytest.approx(0.01, abs=1e-4)
    assert of_common(5.412) == pytest.approx(of_raters(5.412, 1))
    assert of_common(-1e-9) == of_raters(0.0, 3) == 1.0


def test_a_fit_is_tested_against_one_with_halo():
    ratings = rl.simulate(students=100, raters=4, items=4, raters_per_student=2, halo=1.2, seed=2).ratings
    fit = rl.fit(ratings, halo="none", standard_errors=False)
    found = fit.halo_test(ratings)
    assert found.loglik == pytest.approx(fit.loglik, abs=1e-4)
    table = found.table
    assert table["p"][0] < CLEAR
    assert table["statistic"][1] == pytest.approx(table["statistic"][0] + table["statistic"][2])
    assert found.spread == pytest.approx(rl.fit(ratings, halo="common").raters["halo"][0], abs=1e-4)


def test_python_warns_where_it_is_clear_and_the_fit_says_nothing_of_it():
    ratings = rl.simulate(students=100, raters=4, items=4, raters_per_student=2, halo=1.2, seed=2).ratings
    (said,) = (text for text in rl.fit(ratings).warnings if "share more" in text)
    assert "halo='common'" in str(said)
    assert not any("share more" in text for text in rl.fit(ratings, halo="none").warnings)
    assert clear_halo(rl.fit(ratings, halo="common"), ratings) is None


def test_nothing_is_said_where_there_is_none_or_it_cannot_be_told():
    for drawn in (
        rl.simulate(students=100, raters=4, items=4, raters_per_student=2, seed=2),
        rl.simulate(students=100, raters=4, items=1, seed=2),
    ):
        assert clear_halo(rl.fit(drawn.ratings), drawn.ratings) is None


def test_no_second_fit_where_each_student_has_one_reading(monkeypatch):
    """Ability and what the reading's scores share are one there: the fit would wander along a level ridge."""
    ratings = rl.simulate(students=40, raters=1, items=3, halo=2.0, seed=2).ratings
    fit = rl.fit(ratings, halo="none", standard_errors=False)
    monkeypatch.setattr(
        "raterlens.diagnostics.halo_test._likely", lambda *_: pytest.fail("asked all the same")
    )
    assert clear_halo(fit.refit(ratings, halo=None), ratings) is None


def test_the_second_fit_is_short(monkeypatch):
    ratings = rl.simulate(students=30, raters=3, items=2, seed=2).ratings
    fit = rl.fit(ratings, standard_errors=False)
    monkeypatch.setattr("raterlens.diagnostics.halo_test.halo_score", lambda *_: float("inf"))
    seen = []

    def refit(self, *_, **changes):
        seen.append(changes["max_iterations"])
        return self

    monkeypatch.setattr("raterlens.fitting.fit.Fit.refit", refit)
    clear_halo(fit, ratings)
    assert seen == [60]
