"""Linkage: the designs, the sorted students, and from draw to page and figure."""

import numpy as np
import pytest

from raterlens.studies import study_linkage as linkage
from raterlens.studies.study import Task
from tests.support.replications import replicated


@pytest.mark.parametrize("kind", [linkage.SET, linkage.CHAIN])
@pytest.mark.parametrize("common", linkage.COMMON)
def test_linkage_designs_give_every_rater_the_same_work(kind, common):
    student, rater = linkage.design(kind, common)
    assert np.unique(student).size == student.max() + 1
    np.testing.assert_array_equal(np.bincount(rater), linkage.WORK)
    raters_of = np.bincount(student)
    shared = np.bincount(rater[raters_of[student] > 1], minlength=linkage.RATERS)
    np.testing.assert_array_equal(shared, common)
    if common:
        assert raters_of.max() == (linkage.RATERS if kind == linkage.SET else 2)


def test_sorted_students_have_abilities_in_the_order_of_their_raters():
    student, rater = linkage.design(linkage.SET, 0)
    ability = linkage.abilities(student, rater, linkage.SORTED, np.random.default_rng(0))
    means = np.bincount(rater, ability[student]) / linkage.WORK
    assert np.corrcoef(np.arange(linkage.RATERS), means)[0, 1] > 0.9
    assert ability.std() == pytest.approx(1)


def test_from_draw_to_page_and_figure():
    study = linkage.STUDY
    results = study.summarise(replicated(study.replicate(Task(1, 0))))
    assert results.markdown.startswith("# ")
    assert f"raterlens study {study.name} --replications 2" in results.markdown
    assert "RMSE of severity η" in str(study.draw(results).to_dict())
