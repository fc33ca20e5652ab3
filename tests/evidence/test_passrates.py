"""Pass rates from judges who err: from draw to page and figure, on one replication; what the corrections do."""

import numpy as np
import pytest

from benchmarks.studies import passrates
from raterlens.base.arrays import Array
from raterlens.studies.study import Task
from tests.support.replications import replicated

pytestmark = pytest.mark.nightly


def test_from_draw_to_page_and_figure(monkeypatch):
    monkeypatch.setattr(passrates, "DESIGNS", passrates.DESIGNS[:2])
    study = passrates.STUDY
    rows = study.replicate(Task(1, 0))
    by = rows.rows_by_key(["design", "method", "good"], named=True, unique=True)
    assert len(by) == 2 * (4 * 3 + 1)
    first, best = passrates.DESIGNS[0].name, passrates.GOOD[-1]
    # The judge alone is off by ten points, whatever its interval says.
    assert by[first, "raw", best]["error"] > 1.5 * by[first, "pass_rate", best]["error"]
    results = study.summarise(replicated(rows))
    assert f"python -m benchmarks.studies {study.name} --replications 2" in results.markdown
    assert "Rogan and Gladen" in str(study.draw(results).to_dict())


def test_corrections_are_right_where_labels_are():
    """With people's labels replaced by the truth, both corrections are unbiased: mean of 300 draws."""
    rng = np.random.default_rng(1)
    system = np.repeat(np.arange(3), passrates.ANSWERS)
    found: dict[str, list[Array]] = {"rogan_gladen": [], "prediction_powered": []}
    for _ in range(300):
        good = rng.random(len(system)) < passrates.GOOD[system]
        judge = np.where(rng.random(len(system)) < np.where(good, 0.85, 0.3), 1.0, 0.0)
        label = np.where(rng.random(len(system)) < 0.5, good, np.nan)
        drawn = passrates.Drawn(None, system, judge, label)
        for name, estimates in found.items():
            estimates.append(getattr(passrates, name)(drawn)[0])
    for estimates in found.values():
        np.testing.assert_allclose(np.mean(estimates, axis=0), passrates.GOOD, atol=0.012)


def test_a_design_has_its_known_answers():
    drawn = passrates.draw_verdicts(passrates.DESIGNS[2], [1])
    assert drawn.ratings.known is not None
    assert len(drawn.ratings.known) == np.isfinite(drawn.label).sum() == 120
