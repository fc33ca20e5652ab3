"""Recovery of every model, from draw to page and figure."""

import pytest

from benchmarks.studies import recovery
from raterlens.studies.study import Task
from tests.support.replications import replicated

pytestmark = pytest.mark.nightly


def test_recovery_of_every_model_from_draw_to_page():
    rows = recovery.replicate(Task(1, 0), sizes=(100, 400))
    assert set(rows["case"]) == set(recovery.CASES)
    results = recovery.summarise(replicated(rows))
    assert "| GMF log | slope |" in results.markdown
    assert "Model and link" in str(recovery.draw(results).to_dict())
