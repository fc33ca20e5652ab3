"""Pieces of work: from draw to page and figure, on one small replication."""

import numpy as np
import pytest

from benchmarks.studies import pieces
from raterlens.studies.study import Task
from tests.support.replications import replicated

pytestmark = pytest.mark.nightly


def test_from_draw_to_page_and_figure(monkeypatch):
    monkeypatch.setattr(pieces, "SIZES", (60, 80))
    rows = pieces.STUDY.replicate(Task(1, 0))
    assert set(rows.filter(students=60)["fitted"]) == set(pieces.KINDS)
    assert set(rows.filter(students=80)["fitted"]) == {"pieces and halo"}
    results = pieces.STUDY.summarise(replicated(rows))
    assert "python -m benchmarks.studies pieces --replications 2" in results.markdown
    assert "Covered" in str(pieces.STUDY.draw(results).to_dict())


def test_truth_is_averaged_over_readings_and_pieces():
    """Against draws of both."""
    severity, kappa = pieces.truth()
    random = np.random.default_rng(1)
    quality = np.sqrt(1 + pieces.OMEGA**2) * random.standard_normal(400_000)
    shared = pieces.TAU * random.standard_normal(400_000)

    def rate(a, b, u):
        return float(np.mean(a / (2 + 2 * np.cosh(a * quality - b + u))))

    best = rate(pieces.SLOPE[-1], 0.0, 0.0)
    own = [rate(a, b, shared) / best for a, b in zip(pieces.SLOPE, severity, strict=True)]
    np.testing.assert_allclose(kappa, own, rtol=0.01)


def test_a_fifth_of_the_pieces_is_read_twice():
    ratings = pieces.draw_ratings(400, [1])
    readings = ratings.n_ratings / pieces.ITEMS
    assert readings == pytest.approx(1.2 * 400 * pieces.PIECES, rel=0.05)
    assert ratings.piece is not None
