"""Pandas in, pandas out: every table that a fit, its diagnosis and its comparisons give."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import raterlens as rl
from raterlens.ratings.backend import as_came


@pytest.mark.parametrize(
    ("backend", "kind"), [("polars", pl.DataFrame), ("pandas", pd.DataFrame), ("pyarrow", pa.Table)]
)
def test_values_survive(backend, kind):
    table = pl.DataFrame({"rater": ["AM", "BE"], "kappa": [0.5, None], "n": [1, 2]})
    found = as_came(table, backend)
    assert isinstance(found, kind)
    assert list(found["rater"].to_pylist() if backend == "pyarrow" else found["rater"]) == ["AM", "BE"]


def test_every_table_is_of_the_kind_that_came_in():
    ratings = rl.read(rl.simulate(students=60, raters=4, items=2, seed=1).ratings.table().to_pandas())
    fit = rl.fit(ratings)
    found, compared = fit.diagnose(ratings, time=range(ratings.n_ratings)), fit.compare_raters()
    models = rl.compare(fit, fit.refit(ratings, model="tfm"))
    tables = {
        "raters": fit.raters,
        "verdicts": fit.verdicts(),
        "advice": fit.advice(),
        "flags": found.flags,
        "diagnosis": found.table("raters"),
        "curves": found.curves("R1"),
        "drift": found.drift(),
        "compared": compared.raters,
        "pairs": compared.pairs,
        "models": models.models,
        "agreement": models.agreement,
        "ranks": models.raters,
        "what if": fit.what_if("R1").curve,
        "differences": fit.differences(ratings).table,
        "bootstrap": fit.bootstrap(ratings, replicates=2, workers=1).raters(),
        "profile": fit.profile(ratings, "R1").raters,
        "gate": rl.gate(fit, min_sharpness=0.1).checks,
    }
    others = [name for name, table in tables.items() if not isinstance(table, pd.DataFrame)]
    assert others == []
    assert "R1" in compared.summary()
    assert "gmf" in models.summary()
