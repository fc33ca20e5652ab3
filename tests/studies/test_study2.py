"""Study 2: its severities, and from draw to page and figure."""

import numpy as np
import polars as pl
import pytest

from raterlens.simulation import writing_assessment as writing
from raterlens.studies import study2
from raterlens.studies.figures import save
from raterlens.studies.study import Results, Task
from tests.support.replications import replicated


def test_study2_gives_every_rater_every_severity_and_keeps_the_average_rater():
    table = np.array([study2.severities(k) for k in range(51)])
    np.testing.assert_allclose(table.sum(axis=1), 0, atol=1e-12)
    for column in table.T:
        np.testing.assert_array_equal(np.sort(column), study2.GRID)


def test_study2_from_draw_to_page():
    results = study2.summarise(replicated(study2.replicate(Task(1, 0), conditions=range(0, 51, 25))))
    boxes = results.tables["boxes"]
    assert set(boxes["method"]) == {"hl", "mml"}
    assert (boxes["q05"] <= boxes["q95"]).all()
    assert "| AM:Sport | 0.48 | -1.77 |" in results.markdown


@pytest.mark.nightly
def test_study2_is_drawn_for_every_rater_and_topic(tmp_path):
    boxes = pl.DataFrame(
        [
            {
                "method": "mml",
                "level": level,
                "severity": x,
                "truth": 0.5,
                "rater": level[:2],
                "topic": level[3:],
            }
            | dict.fromkeys(("q05", "q25", "q50", "q75", "q95"), 0.5)
            for level in writing.RATERS
            for x in (-2.5, 2.5)
        ]
    )
    (svg, _) = save({"study2": study2.draw(Results("", {"boxes": boxes}))}, tmp_path)
    text = svg.read_text(encoding="utf-8")
    for level in writing.RATERS:
        assert level.replace(":", ", ") in text
