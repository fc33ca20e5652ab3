"""The latent class likelihood: the sum over all true categories, with exact derivatives."""

import itertools

import numpy as np
import polars as pl
import pytest
from scipy import stats

import raterlens as rl
from raterlens.estimation.latent_estimate import posterior_truth
from raterlens.inference.covariance import in_full
from raterlens.likelihood.true_category import as_known, known_categories
from tests.support.facets_models import assert_gradient, by_differences, with_some_known
from tests.support.latent_class import (
    BOTH,
    DIFFERENCE,
    long,
    nodes_of,
    problem_on,
    somewhere,
)


def answers_of(panel, student: int) -> dict[int, int]:
    """Known answers of a student on items that were rated."""
    if panel.known is None:
        return {}
    own, rated = panel.known.student == student, panel.item[panel.student == student]
    both = zip(panel.known.item[own].tolist(), panel.known.answer[own].tolist(), strict=True)
    return {item: answer for item, answer in both if item in rated}


@BOTH
def test_known_categories_have_exact_derivatives_too(panel, rasch):
    problem = problem_on(with_some_known(panel), rasch)
    x, nodes = somewhere(problem), nodes_of(problem)
    assert_gradient(lambda at: problem.value(at, nodes), x)
    found = in_full(problem.information(x, nodes))
    np.testing.assert_allclose(found, by_differences(problem, x, nodes), atol=1e-5 * np.abs(found).max())


@BOTH
@pytest.mark.parametrize("known", [False, True])
def test_likelihood_is_the_sum_over_all_true_categories(panel, rasch, known):
    """For each student, over all 2^items combinations of true categories that could be, and all abilities."""
    panel = with_some_known(panel) if known else panel
    problem = problem_on(panel, rasch)
    x, nodes = somewhere(problem), nodes_of(problem)
    line = problem.model.lines(x)
    prevalence = problem.model.prevalence(x, nodes.points)
    expected, truths = 0.0, []
    for student in range(panel.n_students):
        mine = panel.student == student
        total, passed = np.zeros(len(nodes.points)), np.zeros(panel.n_items)
        told = answers_of(panel, student)
        for truth in itertools.product((0, 1), repeat=panel.n_items):
            if any(truth[item] != answer for item, answer in told.items()):
                continue
            category = np.array(truth)[panel.item[mine]]
            passing = 1 - stats.logistic.cdf(line[panel.rater[mine], category])
            ratings = np.prod(np.where(panel.score[mine] == 1, passing, 1 - passing))
            level_2 = np.prod([prevalence[xi, item] for item, xi in enumerate(truth)], axis=0)
            total += ratings * level_2
            passed += np.array(truth) * ((ratings * level_2) @ np.exp(nodes.log_weights))
        marginal = total @ np.exp(nodes.log_weights)
        expected += np.log(marginal)
        truths += list(passed[np.unique(panel.item[mine])] / marginal)
    assert problem.value(x, nodes).loglik == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(posterior_truth(problem, x, nodes), truths, atol=1e-10)


@BOTH
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_gradient_and_information_are_exact(panel, rasch, link):
    problem = problem_on(panel, rasch, link)
    x, nodes, h = somewhere(problem, 1), nodes_of(problem), 1e-5
    ahead = [problem.value(x + h * e, nodes) for e in np.eye(len(x))]
    behind = [problem.value(x - h * e, nodes) for e in np.eye(len(x))]
    slope = [(a.objective - b.objective) / (2 * h) for a, b in zip(ahead, behind, strict=True)]
    bend = [(a.gradient - b.gradient) / (2 * h) for a, b in zip(ahead, behind, strict=True)]
    np.testing.assert_allclose(problem.value(x, nodes).gradient, slope, atol=DIFFERENCE)
    np.testing.assert_allclose(problem.information(x, nodes), -np.array(bend), atol=DIFFERENCE)


def test_a_pattern_is_one_cell_however_its_rows_are_ordered():
    one = [("A", "R1", "I1", 1), ("A", "R2", "I1", 0), ("A", "R1", "I1", 1)]
    other = [("B", "R2", "I1", 0), ("B", "R1", "I1", 1), ("B", "R1", "I1", 1)]
    different = [("C", "R1", "I1", 1), ("C", "R2", "I1", 0), ("C", "R1", "I1", 0)]
    units = problem_on(long(one + other + different)).units
    assert units.cell[0] == units.cell[1] != units.cell[2]
    assert units.n.tolist() == [3, 3, 3]
    assert units.passes.tolist() == [2, 2, 1]
    assert units.members[[units.cell[0]]].toarray().tolist() == [[0, 2, 1, 0]]


def test_a_category_is_known_where_its_own_answer_is():
    """Before, between and after the known ones, none is."""
    table = pl.DataFrame(
        {
            "student": [s for s in "abcde" for _ in "xy"],
            "rater": ["r", "q"] * 5,
            "item": ["x", "y"] * 5,
            "score": [0, 1] * 5,
            "known": [None, None, None, 1, None, None, 0, 1, None, None],
        }
    )
    ratings = rl.read(table, known="known")
    student, item = np.repeat(np.arange(5), 2), np.tile([0, 1], 5)
    found = known_categories(ratings, student, item)
    assert found.tolist() == [-1, -1, -1, 1, -1, -1, 0, 1, -1, -1]
    plain = rl.read(table.drop("known"))
    assert known_categories(plain, student, item).tolist() == [-1] * 10
    log_given = as_known(np.zeros((10, 2)), found)
    assert np.argwhere(np.isinf(log_given)).tolist() == [[3, 0], [6, 1], [7, 0]]
