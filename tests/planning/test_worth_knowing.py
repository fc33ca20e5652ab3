"""The worth of an unknown answer, against the information with it known."""

from dataclasses import replace

import numpy as np
import pytest

import raterlens as rl
from raterlens.base.errors import RaterlensError
from raterlens.estimation.methods import sharp_nodes
from raterlens.estimation.scoring import place
from raterlens.inference.covariance import in_full
from raterlens.inference.measurement import measured_fit
from raterlens.likelihood.nodes import Nodes
from raterlens.models.build import COVARYING
from raterlens.planning import next_marks as module
from raterlens.ratings.coded import KnownAnswers
from tests.support.shared_panels import panel


def with_answer(ratings: rl.Ratings, student: int, answer: int) -> rl.Ratings:
    known = ratings.known
    assert known is not None
    at = int(np.searchsorted(known.student, student))
    parts = (
        np.insert(part, at, value)
        for part, value in ((known.student, student), (known.item, 0), (known.answer, answer))
    )
    return replace(ratings, known=KnownAnswers(*parts))


@pytest.mark.parametrize("shared", [False, True])
def test_the_expected_gain_is_that_of_the_information_with_the_answer(shared: bool) -> None:
    ratings = panel(students=40, raters=5, known=12, seed=1).ratings
    fit = rl.fit(ratings, model="gmf", shared=shared)
    calibration = fit.calibration
    whole = place(calibration, ratings)
    own = whole.problem.own_nodes(whole.parameters)

    def information(these: rl.Ratings) -> np.ndarray:
        placed = place(calibration, these)
        x, problem = placed.parameters, placed.problem
        nodes = own if own is not None else sharp_nodes(problem, x, placed.abilities())
        found = in_full(problem.information(x, nodes))
        through = problem.model.effect_jacobian(x, *COVARYING)
        return through @ found @ through.T

    (candidates,) = module._blocks(whole, calibration, 6.0)
    assert candidates.student[0] == 12
    for place_of in (0, 7):
        gain, chance = candidates.gains[place_of], candidates.chance[place_of]
        np.testing.assert_allclose(chance.sum(), 1.0, atol=1e-6)
        known = sum(
            chance[k] * information(with_answer(ratings, int(candidates.student[place_of]), k))
            for k in (0, 1)
        )
        expected = known - information(ratings)
        np.testing.assert_allclose(gain @ gain.T, expected, atol=3e-4 * np.abs(expected).max())


def test_the_first_choice_is_the_best_single_one_and_known_answers_are_no_choice() -> None:
    made = panel(students=60, raters=6, known=20, seed=2)
    fit = rl.fit(made.ratings, model="gmf", shared=True)
    one, five = (fit.worth_knowing(made.ratings, n) for n in (1, 5))
    assert one["student"][0] == five["student"][0]
    assert five["student"].n_unique() == 5
    assert (five["student"] >= 20).all()
    assert five["worth"].is_sorted(descending=True)
    assert five["worth"].sum() < 1
    assert five["expected"].is_between(0, 1).all()


def test_items_without_a_known_answer_are_judged_by_their_scores() -> None:
    made = rl.simulate(students=40, raters=4, items=2, thresholds=[-0.5, 0.5], seed=3)
    found = rl.fit(made.ratings, model="gmf").worth_knowing(made.ratings, 4)
    assert found["worth"].min() > 0
    assert found["expected"].is_between(0, 2).all()


def test_it_takes_standard_errors() -> None:
    ratings = panel(students=40, raters=5, known=12).ratings
    fit = rl.fit(ratings, model="gmf", shared=False, standard_errors=False)
    with pytest.raises(RaterlensError, match="follows from standard errors"):
        fit.worth_knowing(ratings)


def test_worth_is_by_how_much_the_summed_variance_falls() -> None:
    """V' = inv(inv(V) + W W')."""
    random = np.random.default_rng(0)
    root, by, gains = random.normal(size=(5, 5)), random.normal(size=(3, 5)), random.normal(size=(4, 5, 2))
    spread = root @ root.T
    for gain, worth in zip(gains, module._worth(gains, spread, by), strict=True):
        after = np.linalg.inv(np.linalg.inv(spread) + gain @ gain.T)
        np.testing.assert_allclose(module._after(spread, gain), after, rtol=1e-9)
        assert worth == pytest.approx(np.trace(by @ (spread - after) @ by.T))


def test_students_in_blocks_are_chosen_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    made = panel(students=30, raters=4, known=6, seed=2)
    fit = rl.fit(made.ratings, model="gmf", shared=False)
    whole = fit.worth_knowing(made.ratings, 6)
    monkeypatch.setattr(module, "_STUDENTS", 7)
    assert fit.worth_knowing(made.ratings, 6).equals(whole)
    assert fit.worth_knowing(made.ratings, 40).height == 24  # as many as there are
    # What is worth most by itself comes first, and worth is a share of the whole.
    monkeypatch.setattr(module, "_KEPT", 1)
    assert fit.worth_knowing(made.ratings, 1).equals(whole.head(1))


@pytest.mark.parametrize("scale", ["graded", "rating scale"])
def test_answers_that_nobody_knows_divide_students_as_scores_do(scale: str) -> None:
    made = rl.simulate(students=60, raters=4, items=2, thresholds=[-0.8, 0.9], scale=scale, seed=3)
    calibration = rl.fit(made.ratings, model="gmf", scale=scale).calibration
    placed = place(calibration, made.ratings)
    nodes = Nodes.equally_spaced(-8.0, 8.0, 0.05)
    answers = module._answers(placed, calibration, 30.0, nodes)
    for item, chances in enumerate(answers):
        np.testing.assert_allclose(chances.sum(axis=0), 1.0)
        scores = placed.ratings.score[placed.ratings.item == item]
        share = np.bincount(scores, minlength=3) / len(scores)
        np.testing.assert_allclose(chances @ np.exp(nodes.log_weights), share, atol=0.02)


def test_derivatives_of_sharpness() -> None:
    made = panel(students=25, raters=5, known=8, seed=1)
    fit = rl.fit(made.ratings, model="gmf", shared=True)
    calibration = fit.calibration
    effects, step = calibration.effects, 1e-5
    found = module._sharpness_by(fit, calibration)
    on = measured_fit(fit, fit.yardstick)
    assert found.shape == (5, in_full(calibration.covariance).shape[0])

    def sharp(slope, severity, bias):
        return on.index.sharpness(on.on.a + slope, on.on.eta + severity, (effects["bias"] + bias) ** 2)

    moves = step * np.eye(3)
    for block, move in enumerate(moves):
        own = (sharp(*move) - sharp(*-move)) / (2 * step)
        np.testing.assert_allclose(found[np.arange(5), block * 5 + np.arange(5)], own, atol=1e-6)
    assert np.count_nonzero(found) <= 15
