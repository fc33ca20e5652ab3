"""Shares of good work from raters who err: the likelihood against brute force, the gradient against differences."""

import itertools

import numpy as np
import polars as pl
import pytest
from scipy import integrate, special, stats

import raterlens as rl
from raterlens.estimation.prevalence import UNKNOWN, PrevalenceProblem

Codes = np.ndarray


def verdicts(
    n: int,
    rates: list[tuple[float, float]],
    seed: int,
    prevalence: tuple[float, ...] = (0.6, 0.8),
    part: float = 0.7,
) -> tuple[rl.Ratings, Codes, Codes]:
    """Ratings, and the group and true class of every piece of work; each rater judges a part of them."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % len(prevalence)
    truth = rng.random(n) < np.array(prevalence)[group]
    frames = []
    for rater, (sensitivity, specificity) in enumerate(rates):
        passes = rng.random(n) < np.where(truth, sensitivity, 1 - specificity)
        frame = pl.DataFrame({"student": np.arange(n), "rater": f"r{rater}", "score": passes.astype(int)})
        frames.append(frame.filter(rng.random(n) < part))
    return rl.read(pl.concat(frames)), group, truth.astype(int)


def problem(
    ratings: rl.Ratings, group: Codes, known: Codes, sharing: list[bool]
) -> tuple[PrevalenceProblem, Codes, Codes]:
    student = ratings.students.cast(pl.Int64).to_numpy()[ratings.student]
    n_groups = int(group.max()) + 1
    return (
        PrevalenceProblem.of(ratings, group[student], n_groups, known[student], np.array(sharing)),
        group[student],
        known[student],
    )


@pytest.mark.parametrize("sharing", [[False] * 4, [False, True, True, True], [False, False, True, True]])
def test_the_likelihood_is_the_sum_over_truth_and_what_is_shared(sharing):
    ratings, group, truth = verdicts(40, [(0.9, 0.8)] * 4, seed=1)
    known = np.where(np.arange(40) < 8, truth, UNKNOWN)
    found, of_rating, _ = problem(ratings, group, known, sharing)
    rng = np.random.default_rng(2)
    parameters = rng.normal(size=found.blocks.size)
    lines, loading = found.lines(parameters), found.loading(parameters)
    student = ratings.students.cast(pl.Int64).to_numpy()
    total = 0.0
    for code in range(ratings.n_students):
        rows = np.flatnonzero(ratings.student == code)
        who, score = ratings.rater[rows], ratings.score[rows]
        prevalence = special.expit(parameters[of_rating[rows[0]]])

        def joint(z: float, cls: int, who: Codes = who, score: Codes = score) -> float:
            rate = special.expit(lines[who, cls] + loading[who] * z)
            return float(np.prod(np.where(score == 1, rate, 1 - rate)) * stats.norm.pdf(z))

        answer = known[student[code]]
        total += np.log(
            sum(
                (prevalence if cls else 1 - prevalence) * integrate.quad(joint, -9, 9, args=(cls,))[0]
                for cls in (0, 1)
                if answer in (UNKNOWN, cls)
            )
        )
    # 21 nodes of Gauss and Hermite.
    assert found.value(parameters).loglik == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("sharing", [[False] * 4, [True] * 4, [False, False, True, True]])
def test_the_gradient_is_that_of_the_objective(sharing):
    ratings, group, truth = verdicts(60, [(0.9, 0.8)] * 4, seed=3)
    known = np.where(np.arange(60) < 10, truth, UNKNOWN)
    found, *_ = problem(ratings, group, known, sharing)
    at, step = np.random.default_rng(4).normal(size=found.blocks.size), 1e-5
    numeric = [
        (found.value(at + step * e).objective - found.value(at - step * e).objective) / (2 * step)
        for e in np.eye(len(at))
    ]
    np.testing.assert_allclose(found.value(at).gradient, numeric, rtol=1e-5, atol=1e-6)


def test_without_groups_and_knowledge_it_is_dawid_and_skene():
    """The same maximum as `model="dawid-skene"`, which has its own code, but for half a rating per rate."""
    ratings, _, _ = verdicts(
        3000, [(0.9, 0.8), (0.8, 0.9), (0.85, 0.75)], seed=5, prevalence=(0.6,), part=1.0
    )
    found, *_ = problem(ratings, np.zeros(3000, int), np.full(3000, UNKNOWN), [False] * 3)
    best = found.maximise()
    fit = rl.fit(ratings, model="dawid-skene")
    assert best.record.converged
    assert special.expit(best.parameters[0]) == pytest.approx(fit.items["prevalence"].item(), abs=2e-3)
    np.testing.assert_allclose(
        special.expit(found.lines(best.parameters))[:, 1], fit.raters["sensitivity"], atol=3e-3
    )


def test_known_answers_name_the_classes_even_for_raters_who_are_wrong():
    ratings, group, truth = verdicts(600, [(0.2, 0.25), (0.25, 0.2), (0.2, 0.2)], seed=6, part=1.0)
    known = np.where(np.arange(600) < 100, truth, UNKNOWN)
    with_known = problem(ratings, group, known, [False] * 3)[0].maximise()
    without = problem(ratings, group, np.full(600, UNKNOWN), [False] * 3)[0].maximise()
    np.testing.assert_allclose(special.expit(with_known.parameters[:2]), [0.6, 0.8], atol=0.1)
    # Nothing known: pass is what raters pass more often, which here is bad work.
    np.testing.assert_allclose(special.expit(without.parameters[:2]), [0.4, 0.2], atol=0.1)


@pytest.mark.parametrize(
    ("n_raters", "prevalence", "n_known", "told"),
    [
        (2, (0.7,), 0, False),  # three shares for five parameters
        (2, (0.4, 0.8), 0, True),  # two groups that differ: Hui and Walter (1980)
        (1, (0.4, 0.8), 0, False),
        (1, (0.7,), 60, True),
        (3, (0.7,), 0, True),
    ],
)
def test_it_knows_what_is_identified(n_raters, prevalence, n_known, told):
    ratings, group, truth = verdicts(600, [(0.9, 0.85)] * n_raters, seed=7, prevalence=prevalence, part=1.0)
    known = np.where(np.arange(600) < n_known, truth, UNKNOWN)
    found, *_ = problem(ratings, group, known, [False] * n_raters)
    assert found.identified(found.maximise().parameters) is told


def test_raters_who_never_err_are_identified():
    ratings, group, _ = verdicts(400, [(1.0, 1.0)] * 3 + [(0.8, 0.8)], seed=8, part=1.0)
    found, *_ = problem(ratings, group, np.full(400, UNKNOWN), [False] * 4)
    assert found.identified(found.maximise().parameters)


def test_more_parameters_than_pieces_of_work_are_no_obstacle():
    """Forty raters of everything: any three of them would do."""
    ratings, group, _ = verdicts(60, [(0.85, 0.8)] * 40, seed=11, prevalence=(0.6,), part=1.0)
    found, *_ = problem(ratings, group, np.full(60, UNKNOWN), [False] * 40)
    assert found.identified(found.maximise().parameters)


def test_pairs_that_form_a_chain_are_not():
    """r0 with r1, r1 with r2: five distinct shares for seven parameters."""
    rng = np.random.default_rng(9)
    truth = rng.random(800) < 0.7
    rows = [
        (piece, f"r{rater}", int(rng.random() < (0.9 if truth[piece] else 0.1)))
        for piece, pair in zip(range(800), itertools.cycle([(0, 1), (1, 2)]))
        for rater in pair
    ]
    ratings = rl.read(pl.DataFrame(rows, schema=["student", "rater", "score"], orient="row"))
    found, *_ = problem(ratings, np.zeros(800, int), np.full(800, UNKNOWN), [False] * 3)
    assert not found.identified(found.maximise().parameters)


def test_what_is_shared_is_found():
    rng = np.random.default_rng(10)
    n = 1500
    truth, z = rng.random(n) < 0.6, rng.standard_normal(n)
    frames = []
    for rater, b in enumerate([0.0, 0.0, 1.5, 1.5, 1.5]):
        logit = np.where(truth, 1.8, -1.8) + b * z
        frames.append(
            pl.DataFrame(
                {
                    "student": np.arange(n),
                    "rater": f"r{rater}",
                    "score": (rng.random(n) < special.expit(logit)).astype(int),
                }
            )
        )
    ratings = rl.read(pl.concat(frames))
    known = np.where(np.arange(n) < 150, truth, UNKNOWN).astype(int)
    found, *_ = problem(ratings, np.zeros(n, int), known, [False, False, True, True, True])
    best = found.maximise()
    np.testing.assert_allclose(found.loading(best.parameters), [0, 0, 1.5, 1.5, 1.5], atol=0.4)
    assert special.expit(best.parameters[0]) == pytest.approx(0.6, abs=0.05)
