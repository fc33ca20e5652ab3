"""Halo: from draw to page and figure, on one replication."""

import pytest

from benchmarks.studies import dependence
from raterlens.studies.study import Task
from tests.support.replications import replicated

pytestmark = pytest.mark.nightly


def test_from_draw_to_page_and_figure(monkeypatch):
    monkeypatch.setattr(dependence, "SPREADS", (1.0,))
    study = dependence.STUDY
    rows = study.replicate(Task(1, 0))
    by = rows.rows_by_key(["fitted", "measure"], named=True, unique=True)
    assert by["halo common", "eta"]["width"] > by["without halo", "eta"]["width"]
    assert by["halo common", "kappa"]["p"] < 1e-3
    assert 0.6 < by["halo common", "kappa"]["estimate"] < 1.4
    results = study.summarise(replicated(rows))
    assert f"python -m benchmarks.studies {study.name} --replications 2" in results.markdown
    assert "reading effect" in str(study.draw(results).to_dict())
