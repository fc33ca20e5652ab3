"""Fewer ratings per student: the bias of hierarchical likelihood."""

import polars as pl
import pytest

from benchmarks.studies import ratings
from raterlens.studies.study import Task
from tests.support.replications import replicated

pytestmark = pytest.mark.nightly


def test_fewer_ratings_per_student_make_hierarchical_likelihood_overstate_severities():
    designs = {200: ratings.DESIGNS[200], 10: ratings.DESIGNS[10]}
    rows = ratings.replicate(Task(1, 0), designs, total=8_000)
    spread = {
        (method, each): estimate
        for method, each, estimate in rows.filter(pl.col("level") == ratings.SEVERITY)
        .select("method", "each", "estimate")
        .iter_rows()
    }
    assert spread["hl", 10] > spread["mml", 10] + 0.15
    assert abs(spread["hl", 200] - spread["mml", 200]) < 0.03
    assert abs(spread["laplace", 200] - spread["mml", 200]) < 0.01
    results = ratings.summarise(replicated(rows))
    assert "Estimated over true" in results.markdown
    assert "Spread of severities, estimated / true" in str(ratings.draw(results).to_dict())
