"""Methods of a fit that need no ratings."""

import pandas as pd
import polars as pl

import raterlens as rl


def test_tables_come_in_the_kind_of_dataframe_that_came_in(tmp_path):
    table = rl.simulate(students=60, raters=4, items=2, seed=3).ratings.table()
    for frame, kind in ((table, pl.DataFrame), (table.to_pandas(), pd.DataFrame)):
        fit = rl.fit(frame, model="gmf")
        found = (
            fit.raters,
            fit.verdicts(),
            fit.advice(),
            fit.assignment(),
            fit.capability(reference="perfect"),
        )
        assert all(isinstance(one, kind) for one in found)
        loaded = rl.load(fit.save(tmp_path / "fit.json"))
        assert list(loaded.verdicts()["costs_most"]) == list(fit.verdicts()["costs_most"])


def test_verdicts_have_the_promised_columns():
    found = rl.fit(rl.load_example(), model="gmf").verdicts()
    assert found.columns == ["rater", "standard", "sharpness", "costs_most", "next_step"]
    assert set(found["standard"]) <= {"too severe", "severe", "typical", "lenient", "too lenient", "unclear"}
