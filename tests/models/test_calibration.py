"""Calibrations: the panel on one item, what is kept of a large one, and the way through JSON."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.inference.result import encoded
from raterlens.models.calibration import Calibration, Panel
from raterlens.models.registry import MODELS, Spec
from raterlens.models.term import Effect
from tests.support.facets_models import FITS, ordered
from tests.support.interaction_ratings import planted


@pytest.fixture(scope="module")
def known() -> Calibration:
    ratings = rl.simulate(students=120, raters=4, items=3, raters_per_student=3, seed=2).ratings
    found = rl.fit(ratings, model="gmf", item_slopes=True).calibration
    assert found is not None
    return found


def test_on_an_item_raters_have_its_slope_and_difficulty(known):
    panel = known.panel("I2")
    stretch = np.exp(known.effects["item_slope"][1])
    assert panel.slope == pytest.approx(known.effects["slope"] * stretch)
    assert panel.severity == pytest.approx(known.effects["severity"] + known.effects["difficulty"][1])


def test_the_covariance_on_an_item_is_that_of_sums_and_products(known):
    """By finite differences of the map from (slope, severity, difficulty, log item slope)."""
    names = ("slope", "severity", "difficulty", "item_slope")
    at = np.concatenate([known.effects[name] for name in names])
    n, items = len(known.effects["slope"]), len(known.effects["difficulty"])

    def mapped(x: np.ndarray) -> np.ndarray:
        slope, severity, difficulty, log_slope = np.split(x, [n, 2 * n, 2 * n + items])
        return np.concatenate([slope * np.exp(log_slope[1]), severity + difficulty[1]])

    step = 1e-6
    jacobian = np.stack(
        [(mapped(at + e) - mapped(at - e)) / (2 * step) for e in step * np.eye(len(at))], axis=1
    )
    assert known.covariance is not None
    expected = jacobian @ np.asarray(known.covariance) @ jacobian.T
    assert known.panel("I2").covariance == pytest.approx(expected, abs=1e-7)


def test_an_unknown_item_is_named(known):
    with pytest.raises(OptionError, match="unknown item 'I9'"):
        known.panel("I9")


def test_a_large_panel_keeps_covariances_within_raters_only(known, monkeypatch):
    monkeypatch.setattr("raterlens.models.calibration.MOST_RATERS", 2)
    kept = known.for_keeping().covariance
    assert sparse.issparse(kept)
    whole, n = np.asarray(known.covariance), len(known.effects["slope"])
    assert kept.diagonal() == pytest.approx(np.diag(whole))
    assert kept[0, n] == pytest.approx(whole[0, n])
    assert kept[0, 1] == 0


def test_through_json_and_back(known):
    again = Calibration.from_plain(json.loads(encoded(known.to_plain())))
    assert np.array_equal(again.covariance, known.covariance)
    assert {name: values.tolist() for name, values in again.effects.items()} == {
        name: values.tolist() for name, values in known.effects.items()
    }
    assert again.known("difficulty") == known.known("difficulty")


# -- A panel takes any covariance that can be multiplied and has diagonals ---------------------------------------


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_dense_and_sparse_covariances_answer_alike(kind):
    matrix = np.array(
        [[2.0, 0.0, 0.5, 0.0], [0.0, 1.0, 0.0, 0.2], [0.5, 0.0, 1.0, 0.0], [0.0, 0.2, 0.0, 3.0]]
    )
    panel = Panel(np.array([1.0, 2.0]), np.array([0.1, -0.1]), kind(matrix), np.zeros(2))
    assert panel.covariance is not None
    assert np.asarray(panel.covariance @ np.array([1.0, -1.0, 0.0, 0.0])) == pytest.approx(
        matrix[:, 0] - matrix[:, 1]
    )
    assert panel.covariance.diagonal(2) == pytest.approx([0.5, 0.2])


# -- Held parameters ---------------------------------------------------------------------------------------------

# Promised: the same abilities, however the grid was chosen.
ABILITIES = 1e-8
# Optima reached from different starts, in units of the estimates.
OPTIMUM = 2e-4


@pytest.mark.parametrize("kind", FITS)
def test_anchoring_everything_estimates_nothing(small, kind):
    change, options = FITS[kind]
    ratings = change(small)
    first = rl.fit(ratings, **{"model": "gmf"} | options)
    again = rl.fit(ratings, **{"model": "gmf"} | options, anchors=first)
    assert again.n_parameters == 2  # the mean and standard deviation of the students, 0 and 1 as they were
    if kind == "item slopes":  # which no severity can make up for a shift of the mean
        assert abs(again.table("population")["mean"][0]) < again.table("population")["mean_se"][0]
        return
    np.testing.assert_allclose(again.table("population").select("mean", "sd").row(0), [0, 1], atol=OPTIMUM)
    assert (again.table("population").select("mean_se", "sd_se").to_numpy() > 0).all()
    assert again.loglik == pytest.approx(first.loglik, abs=1e-6)
    assert (again.sigma, again.alpha) == (first.sigma, first.alpha)
    for name, columns in (("raters", ["rho", "eta", "kappa"]), ("items", ["delta"])):
        for column in columns:
            np.testing.assert_allclose(again.table(name)[column], first.table(name)[column], atol=1e-12)
    np.testing.assert_allclose(again.students["theta"], first.students["theta"], atol=3 * OPTIMUM)
    if kind != "laplace":  # whose abilities are modes
        np.testing.assert_allclose(again.score(ratings)["theta"], again.students["theta"], atol=ABILITIES)
    assert (again.raters["eta_se"] == 0).all()
    assert (again.raters["kappa_se"] == 0).all()
    assert (again.items["delta_se"] == 0).all()
    assert (again.raters["flag"] == "anchored").all()
    assert (again.items["flag"] == "anchored").all()


def test_a_new_rater_is_placed_on_the_old_scale():
    made = rl.simulate(students=1200, raters=6, items=4, raters_per_student=3, seed=8)
    known = made.ratings.raters[0] == made.ratings.raters
    old = made.ratings.rater != 0
    frame = pl.DataFrame(
        {
            "student": made.ratings.students.gather(made.ratings.student),
            "rater": made.ratings.raters.gather(made.ratings.rater),
            "item": made.ratings.items.gather(made.ratings.item),
            "score": made.ratings.score,
        }
    )
    first = rl.fit(frame.filter(pl.Series(old)), model="gmf")
    fit = rl.fit(frame, model="gmf", anchors=first)
    assert known.sum() == 1
    assert (
        fit.n_parameters == 4
    )  # the new rater's slope and severity, the students' mean and standard deviation
    assert (fit.sigma, fit.alpha) == (first.sigma, first.alpha)
    joint = fit.raters.join(first.raters, on="rater")
    for column in ("rho", "eta", "kappa"):
        np.testing.assert_allclose(joint[column], joint[f"{column}_right"], atol=1e-9)
    new = fit.raters.row(0, named=True)
    whole = rl.fit(frame, model="gmf").raters.row(0, named=True)
    assert new["flag"] == ""
    assert new["kappa_se"] > 0
    assert abs(new["kappa"] - whole["kappa"]) < 2 * whole["kappa_se"]
    assert fit.warnings == ()


def test_held_numbers_are_on_the_scale_of_the_predictor(small):
    free = rl.fit(small, model="gmf")
    effects = {name: values.copy() for name, values in free.calibration.effects.items()}
    anchors = rl.Anchors(
        raters={"R1": (effects["slope"][0], effects["severity"][0]), "R3": (None, effects["severity"][2])},
        items={"I2": effects["difficulty"][1]},
    )
    held = rl.fit(small, model="gmf", anchors=anchors)
    # At the free optimum nothing pulls: the others stay where they were. The anchors use up what was redundant, the
    # origin and the population's mean and standard deviation.
    assert held.n_parameters == free.n_parameters - 4 + 1 + 2
    assert held.loglik == pytest.approx(free.loglik, abs=1e-6)
    for name, values in effects.items():
        np.testing.assert_allclose(held.calibration.effects[name], values, atol=OPTIMUM)
    assert held.raters["flag"].to_list() == ["anchored", "", "", "", ""]
    spread = np.diag(held.calibration.covariance)
    assert (spread[[0, 5, 7, 11]] == 0).all()  # slope and severity of R1, severity of R3, difficulty of I2
    assert (np.delete(spread, [0, 5, 7, 11]) > 0).all()


def test_anchors_move_the_others(small):
    free = rl.fit(small, model="gmf")
    held = rl.fit(small, model="gmf", anchors=rl.Anchors(items={"I1": 2.0}))
    assert held.loglik == pytest.approx(free.loglik, abs=1e-5)  # one item alone only moves the origin
    np.testing.assert_allclose(np.diff(held.items["delta"]), np.diff(free.items["delta"]), atol=OPTIMUM)
    two = rl.fit(small, model="gmf", anchors=rl.Anchors(items={"I1": 2.0, "I2": -2.0}))
    assert two.items["delta"].to_list()[:2] == [2.0, -2.0]
    assert two.loglik < free.loglik - 1


def test_held_thresholds(small):
    ratings = ordered(small)
    fit = rl.fit(ratings, model="gmf", scale="graded", anchors=rl.Anchors(thresholds=[-1.0, 0.2, 1.1]))
    np.testing.assert_allclose(fit.table("thresholds")["threshold"], [-1.0, 0.2, 1.1], atol=1e-14)
    assert (fit.table("thresholds")["threshold_se"] == 0).all()
    own = rl.fit(
        ratings, model="gmf", scale="partial credit", anchors=rl.Anchors(thresholds={"I2": [0.5, 0.0, -0.5]})
    )
    held = own.table("thresholds").filter(item="I2")
    assert held["threshold"].to_list() == [0.5, 0.0, -0.5]
    assert (held["threshold_se"] == 0).all()
    assert (own.table("thresholds").filter(item="I1")["threshold_se"] > 0).all()


@pytest.fixture(scope="module")
def unlike():
    """A fit of standard normal students, and weaker and more alike students of the same raters and a new one."""
    slope, severity, difficulty = [1.0, 1.5, 0.8, 1.2, 2.0], [-0.5, 0.3, 0.0, 0.2, 0.4], [-0.4, 0.1, 0.3, 0.0]
    shared = {"items": 4, "difficulty": difficulty, "slope": slope, "severity": severity, "raters": 5}
    first = rl.simulate(students=1500, **shared, seed=3).ratings
    known = first.rater < 4
    first = replace(
        first,
        **{name: getattr(first, name)[known] for name in ("student", "rater", "item", "score")},
        raters=first.raters.head(4),
    )
    ability = np.random.default_rng(1).normal(-0.9, 0.6, 1500)
    return rl.fit(first, model="gmf"), rl.simulate(students=1500, **shared, ability=ability, seed=4)


def test_the_population_of_new_students_is_estimated(unlike):
    first, weak = unlike
    fit = rl.fit(weak.ratings, model="gmf", anchors=first)
    assert fit.converged
    row = fit.table("population").row(0, named=True)
    # Their own sampling error, and that of the anchors' scale.
    assert abs(row["mean"] + 0.9) < 3 * row["mean_se"] + 0.05
    assert abs(row["sd"] - 0.6) < 3 * row["sd_se"] + 0.05
    assert fit.warnings == ()
    new, truth = fit.raters.row(4, named=True), weak.truth
    sd = np.sqrt(np.diag(fit.calibration.covariance))
    assert abs(fit.calibration.effects["slope"][4] - truth.slope[4]) < 3 * sd[4] + 0.1
    assert abs(new["eta"] - fit.alpha - (truth.severity[4] - truth.alpha)) < 3 * new["eta_se"] + 0.1
    error = fit.students["theta"].to_numpy() - truth.ability
    assert abs(error.mean()) < 0.05
    assert np.std(error / fit.students["theta_se"].to_numpy()) == pytest.approx(1, abs=0.05)


def test_standard_errors_know_that_the_population_is_estimated(unlike):
    """Holding the population at its estimate would make the new rater's severity look surer than it is."""
    first, weak = unlike
    free = rl.fit(weak.ratings, model="gmf", anchors=first)
    twice = rl.fit(weak.ratings, model="gmf", anchors=free)
    assert free.raters["eta_se"][4] > 0
    assert twice.raters["eta_se"][4] == 0
    np.testing.assert_allclose(
        twice.table("population").select("mean", "sd").row(0),
        free.table("population").select("mean", "sd").row(0),
        atol=OPTIMUM,
    )


def test_students_that_anchors_cannot_place_are_pointed_out(unlike):
    first, weak = unlike
    effects = first.calibration.effects
    raters = {f"R{r + 1}": (float(effects["slope"][r]), float(effects["severity"][r])) for r in range(4)}
    fit = rl.fit(weak.ratings, model="gmf", anchors=rl.Anchors(raters=raters))
    assert "population" not in fit.tables
    severe = fit.items["delta"].mean()  # weaker students look like harder items
    assert severe > 0.3
    slopes = rl.Anchors(raters={name: (pair[0], None) for name, pair in raters.items()}, items={"I1": 0.0})
    fit = rl.fit(weak.ratings, model="gmf", anchors=slopes)
    assert any("standard deviation of 0." in warning for warning in fit.warnings)


@pytest.mark.parametrize(
    ("anchors", "options", "message"),
    [
        (rl.Anchors(raters={"R9": (1.0, 0.0)}), {}, "unknown rater in anchors 'R9'"),
        (rl.Anchors(items={"I": 0.0}), {}, "unknown item in anchors 'I'"),
        (rl.Anchors(facets={"topic": {"a": 0.0}}), {}, "unknown facet in anchors 'topic'"),
        (rl.Anchors(items={"I1": np.nan}), {}, "give a finite number"),
        (rl.Anchors(item_slopes={"I1": 1.0}), {}, "add item_slopes=True"),
        (rl.Anchors(item_slopes={"I1": -1.0}), {"item_slopes": True}, "give a number above 0"),
        (rl.Anchors(thresholds=[0.0, 1.0]), {}, "pass/fail ratings have none"),
        (rl.Anchors(raters={"R1": (1.0, None), "R2": (2.0, None)}), {"model": "tfm"}, "use model='gmf'"),
        (rl.Anchors(items={"I1": 0.0}), {"method": "hl"}, "method='hl' does not go with anchors"),
        ({"I1": 0.0}, {}, r"give a fit, or rl.Anchors"),
    ],
)
def test_wrong_anchors_say_what_to_do(small, anchors, options, message):
    with pytest.raises(OptionError, match=message):
        rl.fit(small, anchors=anchors, **{"model": "gmf"} | options)


def test_thresholds_must_fit_the_scores(small):
    for thresholds, scale, message in (
        ([0.0, 1.0], "rating scale", "give the 3 finite thresholds"),
        ({"I1": [0.0, 1.0, 2.0]}, "rating scale", "one list for all items"),
        ([0.0, 1.0, 2.0], "partial credit", "a list for each item"),
    ):
        with pytest.raises(OptionError, match=message):
            rl.fit(ordered(small), model="gmf", scale=scale, anchors=rl.Anchors(thresholds=thresholds))


def test_a_fit_without_common_raters_is_no_anchor(small):
    other = rl.fit(small, model="gmf")
    strangers = replace(
        small,
        raters=pl.Series("rater", [f"X{i}" for i in range(5)]),
        items=pl.Series("item", ["J1", "J2", "J3"]),
    )
    with pytest.raises(OptionError, match="knows none of these raters"):
        rl.fit(strangers, model="gmf", anchors=other)


# ---------------------------------------------------------------------------------------------------- scoring


def test_a_calibration_without_errors_is_saved_too(small):
    plain = rl.fit(small, model="gmf", standard_errors=False).calibration.to_plain()
    assert plain["covariance"] is None
    assert Calibration.from_plain(plain).covariance is None


def test_with_severities_held_difficulties_still_trade_against_thresholds() -> None:
    """Thresholds then average zero, and nothing that is left has a flat direction."""
    ordered = rl.simulate(students=60, raters=4, items=3, thresholds=[-0.8, 0.8], seed=3).ratings
    fit = rl.fit(ordered, "tfm", anchors=rl.Anchors(raters={"R1": (None, 0.5), "R2": (None, 0.2)}))
    assert fit.n_parameters == 1 + 2 + 3 + 2 - 1
    assert fit.table("thresholds")["threshold"].sum() == pytest.approx(0, abs=1e-9)
    assert fit.items["delta_se"].max() < 0.5


def test_a_model_of_a_few_kinds_of_raters_begins_where_an_earlier_fit_ended(small, monkeypatch) -> None:
    def two_kinds(n_raters, covariates):
        return Effect(sparse.csr_array(np.eye(2)[np.arange(n_raters) % 2]))

    monkeypatch.setitem(MODELS, "two kinds", Spec("two kinds", "two", "two slopes", slopes=two_kinds))
    fit = rl.fit(small, model="two kinds", halo="none", standard_errors=False)
    again = rl.fit(small, model="two kinds", halo="none", standard_errors=False, start=fit)
    assert again.loglik == pytest.approx(fit.loglik, abs=1e-6)
    assert again.optimiser.iterations < fit.optimiser.iterations
    gmf = rl.fit(small, model="gmf", halo="none", standard_errors=False)
    with pytest.raises(OptionError, match="that raters of this model cannot have"):
        rl.fit(small, model="two kinds", start=gmf)


def test_what_a_rater_adds_on_all_items_alike_is_in_its_severity():
    fit = rl.fit(planted(0.5)[0], model="gmf", interactions=("rater", "item"))
    known, labels = fit.calibration, fit.items["item"].to_list()
    on_items = [known.panel(item) for item in labels]
    np.testing.assert_allclose(
        known.panel().severity,
        np.mean(
            [on.severity - delta for on, delta in zip(on_items, known.effects["difficulty"], strict=True)],
            axis=0,
        ),
    )
    table = fit.table("interactions")
    np.testing.assert_allclose(
        table.group_by("rater").agg(pl.col("severity").sum())["severity"], 0.0, atol=1e-12
    )
    # Of a severity and the same on one item, each with its own error.
    average, *others = (on.covariance.diagonal()[6:] for on in (known.panel(), *on_items))
    assert all((other > average).all() for other in others)
