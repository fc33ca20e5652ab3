"""Fits with a reading effect: on disk, anchored, scored, refused; on real marking; beside fits by other means."""

import json
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from scipy import optimize, special

import raterlens as rl
from raterlens.app.cli.main import DONE, main
from raterlens.base.errors import InputError, OptionError
from raterlens.estimation.scoring import place

# ----------- fits with a reading effect, on disk, anchored, scored, saved and refused; and on real marking


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
    assert "correlated beyond ability (halo, p < 0.001). The model allows for it." in shown


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


# --- the reading effect against fits by other means: a likelihood written out reading by reading, on dense grids, that


AGREES = 1e-3
STUDENTS = 100


class Panel(NamedTuple):
    """Ratings, and their readings: what one rater gave one piece of a student's work."""

    table: pl.DataFrame
    scores: int
    kinds: list[tuple[int, list[tuple[int, int]]]]
    """The rater, and the items with their scores."""
    counts: np.ndarray
    """(students, kinds)"""


@cache
def panel(scores: int) -> Panel:
    """Three raters, two of them for each student; one reading in eight is repeated, others lack some items."""
    random, rows = np.random.default_rng(scores), []
    slope, severity, difficulty = [1.5, 0.9, 1.2], [-0.4, 0.1, 0.3], [-0.6, -0.1, 0.2, 0.5]
    steps = np.linspace(-0.8, 0.8, scores - 1) if scores > 2 else np.zeros(1)
    for student, ability in enumerate(random.standard_normal(STUDENTS)):
        for rater in random.choice(3, 2, replace=False).tolist():
            again = random.random() < 1 / 8
            for reading in range(1 + again):
                impression = 0.9 * random.standard_normal()
                for item in np.flatnonzero((random.random(4) < 0.8) | again).tolist():
                    s = slope[rater] * ability - severity[rater] - difficulty[item] + impression
                    drawn = random.choice(scores, p=special.softmax(np.append(0.0, np.cumsum(s - steps))))
                    rows.append((student, rater, reading, item, int(drawn)))
    names = ["student", "rater", "reading", "item", "score"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    whole = table.group_by(names[:3], maintain_order=True).agg("item", "score")
    distinct = whole.select("rater", "item", "score").unique(maintain_order=True)
    place = {str(row): k for k, row in enumerate(distinct.iter_rows())}
    counts = np.zeros((STUDENTS, len(distinct)))
    for student, row in zip(whole["student"], whole.select(distinct.columns).iter_rows(), strict=True):
        counts[student, place[str(row)]] += 1
    kinds = [(r, list(zip(items, given, strict=True))) for r, items, given in distinct.iter_rows()]
    return Panel(table.drop("reading"), scores, kinds, counts)


def log_likelihood(panel: Panel, parameters: np.ndarray, *, one_slope: bool) -> float:
    """By the trapezoidal rule over ability and, for every reading, over what is shared in it."""
    n_slopes = 1 if one_slope else 3
    slope, rest = np.resize(parameters[:n_slopes], 3), parameters[n_slopes:]
    base, difficulty, steps, tau = rest[:3], np.append(0.0, rest[3:6]), rest[6:-1], rest[-1]
    steps = np.append(steps, -steps.sum())[: panel.scores - 1]
    theta, u = np.arange(-5.6, 5.61, 0.4), np.arange(-5.4, 5.41, 0.6)
    prior = [np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi) * (t[1] - t[0]) for t in (theta, u)]
    probability = []
    for rater in range(3):
        s = slope[rater] * theta[:, None] + base[rater] + tau * u - difficulty[:, None, None]
        odds = np.exp(s * np.arange(panel.scores)[:, None, None, None] - _steps_below(steps))
        probability.append(odds / odds.sum(axis=0))
    tables = [
        np.log(np.prod([probability[rater][score, item] for item, score in given], axis=0) @ prior[1])
        for rater, given in panel.kinds
    ]
    return float(np.log(np.exp(panel.counts @ tables) @ prior[0]).sum())


def _steps_below(steps: np.ndarray) -> np.ndarray:
    """(scores, 1, 1, 1): what has to be overcome up to each score."""
    return np.append(0.0, np.cumsum(steps))[:, None, None, None]


@pytest.mark.parametrize(("scores", "model"), [(2, "gmf"), (4, "gmf"), (2, "tfm")])
def test_it_agrees_with_an_independent_fit(scores, model):
    given, one_slope = panel(scores), model == "tfm"
    fit = rl.fit(rl.read(given.table), model=model, halo="common", ability="normal")
    free = scores - 2
    start = np.concatenate([np.ones(1 if one_slope else 3), np.zeros(6 + free), [0.5]])
    found = optimize.minimize(
        lambda x: -log_likelihood(given, x, one_slope=one_slope),
        start,
        method="L-BFGS-B",
        options={"ftol": 1e-12},
    )
    assert fit.loglik == pytest.approx(-found.fun, abs=AGREES)
    slope, tau = np.resize(found.x[: 1 if one_slope else 3], 3), abs(found.x[-1])
    base = found.x[1 if one_slope else 3 :][:3]
    np.testing.assert_allclose(fit.raters["halo"], tau, atol=AGREES)
    np.testing.assert_allclose(fit.raters["rho"] * fit.sigma, slope, atol=AGREES)
    np.testing.assert_allclose(fit.raters["eta"], base.mean() - base, atol=AGREES)


# glmer(score ~ 0 + rater + item + (1 | student) + (1 | reading), family = binomial, nAGQ = 1), with
# reading = interaction(student, rater), of R's lme4 1.1-31 (LME4), and glmmTMB of that formula, of glmmTMB 1.1.5 (TMB):
# log-likelihood, standard deviations of students and of readings.
LME4 = (-708.2430775, 1.25722708, 0.44604554)
TMB = (-708.2417793, 1.25777745, 0.44641676)


def test_it_is_the_mixed_model_of_other_programs():
    """Both approximate by Laplace's method, which is off by 0.09 in tau with five scores per reading. The same model by
    Laplace's method is theirs, and on dense grids it is ours."""
    ratings = rl.simulate(students=60, raters=4, items=5, slope=1.2, halo=0.8, seed=5).ratings
    passed = ratings.table()["score"].to_numpy().reshape(60, 4, 5)
    start = np.concatenate([[1.0, 0.5], np.full(4, 0.8), np.zeros(4)])
    theirs = optimize.minimize(lambda x: -by_laplace(passed, x), start, method="L-BFGS-B")
    for loglik, student, reading in (LME4, TMB):
        assert -theirs.fun == pytest.approx(loglik, abs=2 * AGREES)
        np.testing.assert_allclose(np.abs(theirs.x[:2]), [student, reading], atol=AGREES)
    ours = optimize.minimize(lambda x: -on_grids(passed, x), theirs.x, method="L-BFGS-B")
    fit = rl.fit(ratings, model="tfm", halo="common", ability="normal")
    assert fit.loglik == pytest.approx(-ours.fun, abs=AGREES)
    np.testing.assert_allclose([fit.sigma, fit.raters["halo"][0]], np.abs(ours.x[:2]), atol=AGREES)


def predictor(parameters: np.ndarray) -> np.ndarray:
    """(raters, items)"""
    return parameters[2:6, None] - np.append(0.0, parameters[6:])


def by_laplace(passed: np.ndarray, parameters: np.ndarray) -> float:
    """Laplace approximation for each student, about the best ability and impressions together."""
    (sigma, tau), base = parameters[:2], predictor(parameters)
    n, raters, _ = passed.shape
    through = np.concatenate([np.full((raters, 1), sigma), tau * np.eye(raters)], axis=1)
    x = np.zeros((n, raters + 1))
    for _ in range(8):
        p = special.expit((x @ through.T)[..., None] + base)
        rise = (passed - p).sum(axis=2) @ through - x
        told = np.einsum("nr,ri,rj->nij", (p * (1 - p)).sum(axis=2), through, through) + np.eye(raters + 1)
        x = x + np.linalg.solve(told, rise[..., None])[..., 0]
    s = (x @ through.T)[..., None] + base
    height = np.sum(passed * s - np.logaddexp(0, s), axis=(1, 2)) - np.sum(x**2, axis=1) / 2
    return float(np.sum(height - np.linalg.slogdet(told)[1] / 2))


def on_grids(passed: np.ndarray, parameters: np.ndarray) -> float:
    (sigma, tau), base = parameters[:2], predictor(parameters)
    theta, u = np.arange(-5.6, 5.61, 0.4), np.arange(-5.4, 5.41, 0.6)
    prior = [np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi) * (t[1] - t[0]) for t in (theta, u)]
    s = sigma * theta[:, None] + tau * u + base[..., None, None]
    fails = np.logaddexp(0, s).sum(axis=1)
    # (raters, scores, theta): a reading counts by how many of its items pass, up to a factor.
    totals = np.arange(6.0)[:, None, None] * (sigma * theta[:, None] + tau * u)
    tables = np.log(np.exp(totals - fails[:, None]) @ prior[1])
    joint = tables[np.arange(4), passed.sum(axis=2)].sum(axis=1)
    return float(np.log(np.exp(joint) @ prior[0]).sum() + np.sum(passed * base))


def test_pieces_and_readings_are_integrated_as_on_dense_grids():
    """Integrals over abilities, over each piece and over each reading in it, at the estimates."""
    random, rows = np.random.default_rng(4), []
    for student in range(40):
        ability = random.standard_normal()
        for piece in range(2):
            quality = ability + 0.6 * random.standard_normal()
            for rater in random.choice(3, 1 + (random.random() < 0.5), replace=False).tolist():
                passed = random.random(3) < special.expit(1.5 * quality + 1.5 * random.standard_normal())
                rows += [(student, piece, rater, item, int(y)) for item, y in enumerate(passed)]
    table = pl.DataFrame(rows, schema=["student", "piece", "rater", "item", "score"], orient="row")
    columns = {name: name for name in table.columns}
    fit = rl.fit(
        rl.read(table, **columns), model="gmf", halo="common", ability="normal", standard_errors=False
    )
    slope, base = (fit.raters["rho"] * fit.sigma).to_numpy(), fit.alpha - fit.raters["eta"].to_numpy()
    difficulty, tau = fit.items["delta"].to_numpy(), fit.raters["halo"][0]
    omega = fit.table("piece effect")["spread"][0]
    theta, psi, u = np.linspace(-8, 8, 161), np.linspace(-12, 12, 241), np.linspace(-8, 8, 81)
    prior = [np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi) * (t[1] - t[0]) for t in (theta, u)]
    away = (psi - theta[:, None]) / omega
    of_piece = np.exp(-(away**2) / 2) / (omega * np.sqrt(2 * np.pi)) * (psi[1] - psi[0])
    total = 0.0
    for _, own in table.group_by("student"):
        joint = prior[0]
        for _, works in own.group_by("piece"):
            given = np.ones_like(psi)
            for (rater,), scores in works.group_by("rater"):
                s = (slope[rater] * psi[:, None] + base[rater] + tau * u)[..., None] - difficulty
                given = given * (special.expit(np.where(scores["score"] == 1, s, -s)).prod(axis=2) @ prior[1])
            joint = joint * (of_piece @ given)
        total += np.log(joint.sum())
    assert omega > 0.2
    assert tau > 0.2
    assert fit.loglik == pytest.approx(total, abs=1e-5)
