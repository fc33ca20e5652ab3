"""The page of the empirical study, for estimates that are exactly the printed ones."""

import numpy as np
import polars as pl
import pytest

from raterlens.simulation import writing_assessment as assessment
from raterlens.studies import paper_tables as paper
from raterlens.studies.writing_page import page


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    found = []

    def add(how: str, parameter: str, level: str, estimate: float, replication: int = 0) -> None:
        found.append((replication, how, parameter, level, float(estimate), 0.1, 0.9))

    for row in assessment.TABLE:
        add("data", "n", row.label, row.n)
        add("data", "sum", row.label, row.total)
        for how in ("hl", "mml"):
            for name in ("rho", "eta", "kappa"):
                add(how, name, row.label, getattr(row, name))
        for replication in (1, 2):
            for name in ("rho", "kappa"):
                add("mml", name, row.label, getattr(row, name), replication)
    for how in ("hl", "mml"):
        for item, difficulty in assessment.DELTA.items():
            add(how, "delta", item, difficulty)
        for rater, values in paper.POINT_BISERIAL.items():
            for item, value in zip(assessment.DELTA, values, strict=True):
                add(how, "point-biserial", f"{rater} {item}", value)
        add(how, "sigma", "all", assessment.SIGMA)
    for how, loglik in (("hl", -110.0), ("mml", -100.0), ("tfm mml", -112.5)):
        add(how, "loglik", "all", loglik)
    columns = ["replication", "how", "parameter", "level", "estimate", "low", "high"]
    return pl.DataFrame(found, schema=columns, orient="row")


def test_what_is_reproduced_is_said(rows):
    text = page(rows).markdown
    assert "All 16 numbers of ratings and sums are the printed ones" in text
    assert "ρ 0.000, η 0.000, κ̄ 0.000" in text


def test_conclusions_are_computed(rows):
    text = page(rows).markdown
    assert "lie 10.0 log-likelihood units below the maximum" in text
    assert "likelihood ratio 25.0 on 15 degrees of freedom, p = 0.050" in text
    # The resamples are the printed table: CO:School leads, AM:Sport is last, in all of them.
    assert "in 100% and 100% of resamples" in text
    assert "the intervals of 0 do not overlap" in text.replace("\n", " ")
    assert np.mean([row.rho for row in assessment.TABLE if row.rater == "DA"]) > 0.7
