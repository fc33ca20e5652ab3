"""Plans of continuous marks: closed forms against the normal distribution itself, and what fits then find."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError
from raterlens.planning.assumed_panel import OUT_OF_100, AssumedPanel, Spreads, estimated, stated
from raterlens.planning.next_marks import MarkState, _Search
from raterlens.planning.precision import design_information, told_by_marks

RATERS, ITEMS = np.array([0, 2, 3]), 2
PANEL = stated(Spreads.of(True, {}), 4, ITEMS, 2, 0, OUT_OF_100)
assert PANEL.own is not None
HERE = np.concatenate([PANEL.slope[RATERS], PANEL.severity[RATERS], PANEL.difficulty, PANEL.own[RATERS, 0]])


def _normal(x: Array) -> tuple[Array, Array, Array]:
    """Mean and covariance of a student's marks, and their slopes, at slopes, severities, difficulties, log noise."""
    n = len(RATERS)
    slope, severity, difficulty, noise = np.split(x, [n, 2 * n, 2 * n + ITEMS])
    a = np.repeat(slope, ITEMS)
    mean = -np.repeat(severity, ITEMS) - np.tile(difficulty, n)
    return mean, np.outer(a, a) + np.diag(np.exp(2 * np.repeat(noise, ITEMS))), a


def _ability(x: Array, marks: Array) -> Array:
    mean, covariance, a = _normal(x)
    return (marks - mean) @ np.linalg.solve(covariance, a)


STEPS = 1e-5 * np.eye(len(HERE))


def test_information_is_that_of_a_normal_distribution() -> None:
    rises = [
        [(high - low) / 2e-5 for high, low in zip(_normal(HERE + e)[:2], _normal(HERE - e)[:2], strict=True)]
        for e in STEPS
    ]
    precise = np.linalg.inv(_normal(HERE)[1])
    wanted = [[m @ precise @ k + np.trace(precise @ c @ precise @ d) / 2 for k, d in rises] for m, c in rises]
    found, variance, *_ = told_by_marks(PANEL, RATERS[None], 0.0)
    np.testing.assert_allclose(found[0], wanted, atol=1e-6)
    _, covariance, a = _normal(HERE)
    np.testing.assert_allclose(variance, 1 - a @ np.linalg.solve(covariance, a))


def test_abilities_move_with_the_parameters_and_decisions_are_right_as_often_as_said() -> None:
    random = np.random.default_rng(5)
    ability = random.standard_normal(200_000)
    mean, covariance, a = _normal(HERE)
    noise = np.sqrt(np.diag(covariance) - a**2)
    marks = mean + np.outer(ability, a) + noise * random.standard_normal((len(ability), len(a)))
    rises = np.array([(_ability(HERE + e, marks) - _ability(HERE - e, marks)) / 2e-5 for e in STEPS])
    _, _, moved, drift, accuracy = told_by_marks(PANEL, RATERS[None], 0.4)
    np.testing.assert_allclose(drift[0], rises.mean(axis=1), atol=0.005)
    np.testing.assert_allclose(moved[0], rises @ rises.T / len(ability), atol=0.01)
    right = np.mean((_ability(HERE, marks) > 0.4) == (ability > 0.4))
    np.testing.assert_allclose(accuracy, right, atol=0.003)


def test_noise_is_a_sample_around_what_is_usual() -> None:
    found = design_information(PANEL, np.repeat(np.arange(3), 2), np.array([0, 1, 0, 2, 1, 2])).matrix
    own = PANEL.at("own")
    # All noise larger by the same factor costs no prior density.
    assert PANEL.known[np.ix_(own, own)].sum() == pytest.approx(0.0, abs=1e-9)
    assert PANEL.known[own[0], own[0]] == pytest.approx(0.75 / 0.2**2)
    assert np.linalg.eigvalsh(found)[0] == pytest.approx(0.0, abs=1e-9), (
        "difficulties and severities shift together"
    )


@pytest.fixture(scope="module")
def drawn() -> rl.Ratings:
    return rl.simulate(
        scale="continuous", students=200, raters=8, items=1, raters_per_student=3, seed=3
    ).ratings


@pytest.fixture(scope="module")
def fit(drawn: rl.Ratings) -> rl.Fit:
    return rl.fit(drawn, model="gmf", assumptions="ignore")


def test_a_plan_from_a_fit_expects_the_errors_of_the_fit(drawn: rl.Ratings, fit: rl.Fit) -> None:
    found = rl.plan(200, fit=fit, marks=3)
    for name, own, within in (("severity_se", "eta_se", 0.1), ("sharpness_se", "sharpness_se", 0.3)):
        ratio = found.raters[name].to_numpy() / fit.raters[own].to_numpy()
        np.testing.assert_allclose(ratio, 1.0, atol=within, err_msg=name)
    assert found.ability_se == pytest.approx(
        np.sqrt(np.mean(fit.students["theta_se"].to_numpy() ** 2)), rel=0.05
    )
    assert f"severity {found.severity_se:.2f} marks" in found.summary()
    fewer = rl.plan(200, fit=fit, target_severity_se=1.5)
    assert fewer.reached
    assert (
        fewer.severity_se <= 1.5 < rl.plan(200, fit=fit, marks=max(fewer.scheme.marks - 0.25, 1)).severity_se
    )


def test_marks_out_of_100_are_planned_in_marks() -> None:
    found = rl.plan(
        400, 8, scale="continuous", noise=6, noise_spread=0, slope_spread=0, target_severity_se=1.0
    )
    assert found.reached
    # Of n students by two raters each, most of what severities are uncertain by is the noise of both marks.
    per_rater = found.raters["n"].to_numpy().mean()
    assert found.severity_se == pytest.approx(6 * np.sqrt(2 / per_rater), rel=0.1)
    quieter = rl.plan(400, 8, scale="continuous", noise=3)
    assert quieter.severity_se < 0.6 * rl.plan(400, 8, scale="continuous", noise=6).severity_se


def test_schools_of_marks_need_links() -> None:
    alone, linked = (
        rl.plan(200, 10, items=2, marks=1, groups=5, crossed=share, scale="continuous")
        for share in (0.0, 0.5)
    )
    assert np.isinf(alone.severity_se)
    assert linked.severity_se < 3


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"categories": 4}, "categories=4 does not go with scale='continuous'"),
        ({"threshold_spread": 0.3}, "threshold_spread=0.3 does not go"),
        ({"seeded": 3}, "seeded=3 does not go"),
        ({"reference": "perfect"}, "reference='perfect' does not go"),
        ({"noise": 0}, "noise=0; give a number above 0"),
        ({"scale": "rating scale", "noise": 3.0}, "noise=3.0 does not go with scale='rating scale'"),
        ({"scale": "continous"}, "did you mean 'continuous'"),
    ],
)
def test_what_does_not_go_with_marks_is_refused(options: dict[str, object], what: str) -> None:
    with pytest.raises(OptionError, match=what):
        rl.plan(**{"scale": "continuous", **options})


# ------------------------------------------------------------------------------------------------ next marks


def _moved(panel: AssumedPanel, name: str, who: int, step: float) -> AssumedPanel:
    values = getattr(panel, name).copy()
    values[who] += step
    return replace(panel, **{name: values})


def test_information_of_a_reading_is_that_of_its_mean_and_variance(drawn: rl.Ratings, fit: rl.Fit) -> None:
    panel = estimated(fit)
    assert panel.own is not None
    noise = np.exp(2 * panel.own[:, 0])
    student = 0
    state = MarkState.of(panel, drawn)
    rater, earlier = (int(np.flatnonzero(state.marked[student] == seen)[0]) for seen in (False, True))

    def predicted(panel: AssumedPanel) -> Array:
        state = MarkState.of(panel, drawn)
        mean = panel.slope[rater] * state.mean[student] - panel.severity[rater]
        return np.array([mean, panel.slope[rater] ** 2 * state.variance[student] + noise[rater]])

    reading = state.gradients(np.array([student]), np.array([rater]))
    _, by_slope, by_severity, through = (each[0, ..., 0, :] for each in reading)
    variance = predicted(panel)[1]
    for name, who, found in (
        ("slope", rater, by_slope),
        ("severity", rater, by_severity),
        ("slope", earlier, through[earlier]),
        ("severity", earlier, through[8 + earlier]),
    ):
        rise = (predicted(_moved(panel, name, who, 1e-5)) - predicted(_moved(panel, name, who, -1e-5))) / 2e-5
        wanted = rise / [np.sqrt(variance), np.sqrt(2) * variance]
        np.testing.assert_allclose(found, wanted, atol=1e-7, err_msg=name)


def test_the_next_marks_are_worth_their_gain(drawn: rl.Ratings, fit: rl.Fit) -> None:
    found = rl.next_marks(fit, drawn, 20)
    assert found.kappa_se == pytest.approx(fit.raters["kappa_se"].to_numpy().mean(), rel=1e-6)
    assert found.expected < found.kappa_se
    panel = estimated(fit)
    search = _Search(fit, panel, MarkState.of(panel, drawn))
    bounds = search.bounds(np.arange(3))
    for student, rater in zip(*np.nonzero(~search.state.marked[:3]), strict=True):
        assert 0 < search._exact(int(student), int(rater))[0] <= bounds[student, rater] * (1 + 1e-9)
    seen = set(drawn.table().select(pl.col("student", "rater").cast(pl.String)).iter_rows())
    assert not seen & set(found.table.select("student", "rater").iter_rows())
