"""The latent class likelihood: the sum over all true categories, with exact derivatives."""

import itertools

import numpy as np
import pytest
from scipy import stats

from raterlens.estimation.latent_estimate import posterior_truth
from raterlens.inference.covariance import in_full
from raterlens.likelihood import true_category as student_items_module
from tests.support.facets_models import assert_gradient, by_differences, with_some_known
from tests.support.latent_class import (
    BOTH,
    NODES,
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


def test_parts_of_students_make_no_difference(panel, monkeypatch):
    whole = problem_on(panel)
    x = somewhere(whole)
    monkeypatch.setattr(student_items_module, "_PART", 7)
    parted = problem_on(panel)
    assert len(parted.parts) == 6
    one, many = whole.value(x, NODES), parted.value(x, NODES)
    assert many.loglik == pytest.approx(one.loglik, rel=1e-12)
    np.testing.assert_allclose(many.gradient, one.gradient, atol=1e-9)
    np.testing.assert_allclose(parted.information(x, NODES), whole.information(x, NODES), atol=1e-8)
    moments, alone = parted.moments(x, NODES), whole.moments(x, NODES)
    np.testing.assert_allclose(moments.mean, alone.mean, atol=1e-12)
    np.testing.assert_allclose(moments.sd, alone.sd, atol=1e-12)
    assert len(moments.mean) == parted.n_students == panel.n_students
