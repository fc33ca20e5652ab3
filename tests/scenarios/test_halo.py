"""Fits with a reading effect, on disk, anchored, scored, saved and refused; and on real marking."""

import json
from dataclasses import replace

import numpy as np
import pytest

import raterlens as rl
from raterlens.app.cli.main import DONE, main
from raterlens.base.errors import InputError, OptionError
from raterlens.estimation.scoring import place

ESTIMATES = {"rtol": 1e-5, "atol": 1e-6}


@pytest.fixture(scope="module")
def drawn():
    return rl.simulate(students=200, raters=5, items=4, raters_per_student=2, halo=1.0, seed=3)


@pytest.fixture(scope="module")
def fit(drawn):
    return rl.fit(drawn.ratings, model="gmf", halo="common")


def test_halo_is_found_and_costs_capability(drawn, fit):
    plain = rl.fit(drawn.ratings, model="gmf", halo="none")
    assert fit.n_parameters == plain.n_parameters + 1
    assert fit.loglik > plain.loglik + 10
    row = fit.raters.row(0, named=True)
    assert row["halo_low"] < 1.0 < row["halo_high"]
    assert "halo" not in plain.raters.columns
    # Wider intervals of severity, and abilities that are known less well.
    assert (fit.raters["eta_se"] > plain.raters["eta_se"]).all()
    assert fit.students["theta_se"].mean() > 1.1 * plain.students["theta_se"].mean()


def test_kappa_averages_over_the_reading_effect():
    """a = 1.5 and tau = 0, 1, 2: by brute force over ability and impression."""
    from raterlens.capability.curves import PassCurve
    from raterlens.capability.index import Index
    from raterlens.capability.links import get_link
    from raterlens.capability.population import Normal

    index = Index(PassCurve(get_link("logit")), Normal(), perfect=True)
    halo = np.array([0.0, 1.0, 4.0])
    found = index.kappa(np.full(3, 1.5), np.zeros(3), np.ones(3), halo)
    t, u = np.meshgrid(np.arange(-8, 8, 0.05), np.arange(-8, 8, 0.05))
    weight = np.exp(-(t**2 + u**2) / 2) * 0.05**2 / (2 * np.pi)
    for variance, value in zip(halo, found, strict=True):
        p = 1 / (1 + np.exp(-(1.5 * t + np.sqrt(variance) * u)))
        assert value == pytest.approx(np.sqrt(2 * np.pi) * 1.5 * np.sum(weight * p * (1 - p)), abs=1e-8)
    np.testing.assert_allclose(found, [0.665, 0.605, 0.493], atol=1e-3)


def test_halo_on_the_ability_scale_is_a_reading_effect_as_large_as_the_slope(drawn, tmp_path):
    """S = a_r (theta + omega u) has tau_r = a_r omega: the likelihood written for effects in logits gives the same."""
    fit = rl.fit(drawn.ratings, model="gmf", halo="ability")
    (omega,) = fit.raters["halo"].unique()
    assert fit.raters["halo_low"][0] < omega < fit.raters["halo_high"][0]
    known = fit.calibration
    assert known is not None
    effects = dict(known.effects)
    (variance,) = effects.pop("impression")
    assert variance == pytest.approx(omega**2)
    in_logits = replace(
        known, effects={**effects, "halo": known.effects["slope"] ** 2 * variance}, covariance=None
    )
    assert place(in_logits, drawn.ratings).loglik() == pytest.approx(fit.loglik, abs=1e-6)
    panel, other = known.panel(), in_logits.panel()
    np.testing.assert_allclose(panel.halo, other.halo)
    scored = fit.score(drawn.ratings)
    np.testing.assert_allclose(scored["theta"], fit.students["theta"], **ESTIMATES)
    again = rl.load(fit.save(tmp_path / "fit.json"))
    np.testing.assert_allclose(again.capability()["kappa"], fit.raters["kappa"], **ESTIMATES)
    with pytest.raises(OptionError, match="does not go with ability='smooth'"):
        rl.fit(drawn.ratings, model="gmf", halo="ability", ability="smooth")


def test_errors_of_capability_under_halo_on_the_ability_scale_are_by_the_delta_method(drawn):
    """The variances a^2 omega^2 move with slopes and omega^2: covariances by differences of the same numbers."""
    known = rl.fit(drawn.ratings, model="gmf", halo="ability", item_slopes=True).calibration
    assert known is not None
    item = known.labels["item"][1]
    n, spread, panel = len(known.effects["slope"]), known.covariance, known.panel(item)
    names = ("slope", "severity", "impression", "difficulty", "item_slope")
    at = np.concatenate([known.effects[name] for name in names])

    def halo_and_slope(x):
        edges = np.cumsum([len(known.effects[name]) for name in names])[:-1]
        moved = dict(zip(names, np.split(x, edges), strict=True))
        there = replace(known, effects={**known.effects, **moved}, covariance=None).panel(item)
        return np.concatenate([there.slope, there.severity, there.halo])

    step = 1e-5
    by = [
        (halo_and_slope(at + step * e) - halo_and_slope(at - step * e)) / (2 * step) for e in np.eye(len(at))
    ]
    jacobian = np.array(by).T
    expected = jacobian @ spread @ jacobian.T
    np.testing.assert_allclose(panel.halo_covariance, expected[2 * n :], rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(panel.covariance, expected[: 2 * n, : 2 * n], rtol=1e-5, atol=1e-8)


def test_each_rater_by_itself(drawn):
    own = rl.fit(drawn.ratings, model="gmf", halo="rater")
    assert own.raters["halo"].n_unique() > 2
    assert (
        own.n_parameters
        == 4 + rl.fit(drawn.ratings, model="gmf", halo="common", standard_errors=False).n_parameters
    )


@pytest.mark.parametrize("options", [{"halo": "common"}, {"ability": "smooth"}])
def test_parts_on_disk_give_the_same(drawn, tmp_path, monkeypatch, options):
    from raterlens.ratings.packed import StoredRatings, open_packed

    fit = rl.fit(drawn.ratings, **{"model": "gmf"} | options)
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", 0)
    packed = rl.pack(drawn.ratings.table(), tmp_path / "halo.rlpack")
    found = rl.fit(StoredRatings(open_packed(packed), part=500), **{"model": "gmf"} | options)
    assert found.loglik == pytest.approx(fit.loglik, rel=1e-9)
    for name in {"kappa", "kappa_se", "halo", "halo_se"} & set(fit.raters.columns):
        np.testing.assert_allclose(found.raters[name], fit.raters[name], **ESTIMATES)


def test_a_saved_fit_scores_students_as_the_fit_did(drawn, fit, tmp_path):
    fit.save(tmp_path / "fit.json")
    loaded = rl.load(tmp_path / "fit.json")
    scored = loaded.score(drawn.ratings)
    np.testing.assert_allclose(scored["theta"], fit.students["theta"], atol=1e-7)
    # With raters held as they are, their own errors do not count.
    share = scored["theta_se"].to_numpy() / fit.students["theta_se"].to_numpy()
    assert share.max() <= 1 + 1e-9
    assert share.min() > 0.9
    np.testing.assert_allclose(
        loaded.capability(reference="max")["kappa_low"], fit.raters["kappa_low"], atol=1e-9
    )


def test_anchors_hold_while_halo_is_estimated(drawn, fit):
    first = fit.raters.row(0, named=True)
    held = (first["rho"] * fit.sigma, first["eta"] - fit.alpha)
    anchored = rl.fit(
        drawn.ratings, model="gmf", halo="common", anchors=rl.Anchors(raters={first["rater"]: held})
    )
    assert anchored.loglik == pytest.approx(fit.loglik, abs=1e-3)
    np.testing.assert_allclose(anchored.raters["halo"], fit.raters["halo"], atol=0.01)


def test_one_item_per_reading_says_nothing_about_halo():
    ratings = rl.simulate(students=30, raters=3, items=1, seed=1).ratings
    with pytest.raises(InputError, match="at least 2 items"):
        rl.fit(ratings, model="gmf", halo="common")


def test_one_reading_per_student_says_nothing_about_halo():
    ratings = rl.simulate(students=30, raters=1, items=3, seed=1).ratings
    with pytest.raises(InputError, match="students with at least 2 readings"):
        rl.fit(ratings, model="gmf", halo="common")


def test_where_some_readings_have_one_item_the_others_tell():
    table = rl.simulate(students=60, raters=3, items=2, halo=1.0, seed=1).ratings.table()
    ratings = rl.read(table.filter(~((table["student"] == "S1") & (table["item"] == "I2"))))
    assert rl.fit(ratings, model="gmf", halo="common").converged


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"method": "laplace"}, "mml"),
        ({"link": "log"}, "cloglog"),
        ({"covariance": "sandwich"}, "observed"),
    ],
)
def test_what_does_not_go_with_halo(drawn, options, word):
    with pytest.raises(OptionError, match=word):
        rl.fit(drawn.ratings, halo="common", **{"model": "gmf"} | options)


def test_advice_and_what_if_know_halo(drawn, fit):
    found = fit.advice()
    np.testing.assert_allclose(found["kappa"], fit.raters["kappa"], atol=1e-9)
    rater = fit.raters["rater"][0]
    without = fit.what_if(rater, fit.raters["eta"][0], halo=0.0)
    assert without.curve["kappa"][0] > fit.raters["kappa"][0] + 0.01
    assert without.kappa == pytest.approx(fit.raters["kappa"][0], abs=1e-9)
    with pytest.raises(OptionError, match="at least 0"):
        fit.what_if(rater, halo=-1.0)
    own = rl.fit(drawn.ratings, model="gmf", halo="rater").advice()
    assert (own["lost_to_halo"] >= 0).all()
    assert (own["lost_to_halo"] > 0).any()


def test_the_flag_of_halo_says_what_was_done_about_intervals(drawn, fit):
    flags = fit.diagnose(drawn.ratings).table("flags")
    halo = flags.filter(flags["effect"] == "halo")
    assert halo["next_step"].str.contains("intervals allow for it").all()


def test_the_command_allows_for_clear_halo_unless_told_otherwise(drawn, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    drawn.ratings.table().write_csv("ratings.csv")
    for words, kind in (([], "ability"), (["--halo", "none"], "none")):
        assert main(["fit", "ratings.csv", "--json", *words]) == DONE
        assert json.loads(capsys.readouterr().out)["config"]["halo"] == kind
    assert main(["fit", "ratings.csv"]) == DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert "correlated beyond ability (halo, p < 0.001). The model has it." in shown


def test_profiles_are_of_fits_without_halo(drawn, fit):
    with pytest.raises(OptionError, match="profile does not know halo"):
        fit.profile(drawn.ratings)


def test_parametric_bootstrap_draws_impressions(drawn, fit):
    found = fit.bootstrap(drawn.ratings, kind="parametric", replicates=4, workers=1)
    assert found.raters().height == 5


def test_writing_data_has_none(writing):
    common = rl.fit(writing, model="gmf", halo="common", standard_errors=False)
    assert common.loglik == pytest.approx(-3297.741, abs=0.002)
    assert common.raters["halo"][0] == 0
    assert rl.fit(writing, model="gmf", halo="rater", standard_errors=False).loglik == pytest.approx(
        -3295.596, abs=0.002
    )


def test_exam_essays_against_an_independent_fit(writing_path):
    items = ["a1", "a2", "a3", "a4"]
    essays = rl.read(
        writing_path.with_name("essays.csv"), student="student", rater="rater", items=items, cut=2
    )
    common = rl.fit(essays, model="gmf", halo="common", standard_errors=False)
    assert common.loglik == pytest.approx(-14016.0443, abs=0.001)
    assert common.raters["halo"][0] == pytest.approx(0.169, abs=0.001)
    assert rl.fit(essays, model="gmf", halo="rater", standard_errors=False).loglik >= -13985.83
