"""The latent class likelihood: the sum over all true categories, with exact derivatives."""

import itertools

import numpy as np
import pytest
from scipy import stats

from raterlens.engine import student_items as student_items_module
from raterlens.estimation.latent_estimate import posterior_truth
from raterlens.estimation.latent_information import observed_information
from tests.support.latent_class import (
    BOTH,
    DIFFERENCE,
    NODES,
    long,
    nodes_of,
    problem_on,
    somewhere,
)


@BOTH
def test_likelihood_is_the_sum_over_all_true_categories(panel, rasch):
    """For each student, over all 2^items combinations of true categories and all abilities."""
    problem = problem_on(panel, rasch)
    x, nodes = somewhere(problem), nodes_of(problem)
    line = problem.model.lines(x)
    prevalence = problem.model.prevalence(x, nodes.points)
    expected, truths = 0.0, []
    for student in range(panel.n_students):
        mine = panel.student == student
        total, passed = np.zeros(len(nodes.points)), np.zeros(panel.n_items)
        for truth in itertools.product((0, 1), repeat=panel.n_items):
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


def test_a_pattern_is_one_cell_however_its_rows_are_ordered():
    one = [("A", "R1", "I1", 1), ("A", "R2", "I1", 0), ("A", "R1", "I1", 1)]
    other = [("B", "R2", "I1", 0), ("B", "R1", "I1", 1), ("B", "R1", "I1", 1)]
    different = [("C", "R1", "I1", 1), ("C", "R2", "I1", 0), ("C", "R1", "I1", 0)]
    units = problem_on(long(one + other + different)).units
    assert units.cell[0] == units.cell[1] != units.cell[2]
    assert units.n.tolist() == [3, 3, 3]
    assert units.passes.tolist() == [2, 2, 1]
    assert units.members[[units.cell[0]]].toarray().tolist() == [[0, 2, 1, 0]]


def test_parts_of_students_make_no_difference(panel, monkeypatch):
    whole = problem_on(panel)
    x = somewhere(whole)
    monkeypatch.setattr(student_items_module, "_PART", 7)
    parted = problem_on(panel)
    assert len(parted.parts) == 6
    one, many = whole.value(x, NODES), parted.value(x, NODES)
    assert many.loglik == pytest.approx(one.loglik, rel=1e-12)
    np.testing.assert_allclose(many.gradient, one.gradient, atol=1e-9)
    np.testing.assert_allclose(
        observed_information(parted, x, NODES), observed_information(whole, x, NODES), atol=1e-8
    )
    moments, alone = parted.moments(x, NODES), whole.moments(x, NODES)
    np.testing.assert_allclose(moments.mean, alone.mean, atol=1e-12)
    np.testing.assert_allclose(moments.sd, alone.sd, atol=1e-12)
    assert len(moments.mean) == parted.n_students == panel.n_students


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
    np.testing.assert_allclose(observed_information(problem, x, nodes), -np.array(bend), atol=DIFFERENCE)
