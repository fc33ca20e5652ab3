"""Estimates as other tools want them: xarray, the kind of dataframe that came in, progress as it goes."""

import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import raterlens as rl
from raterlens.base.errors import OptionError


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    found = rl.simulate(students=60, raters=4, items=2, seed=4).ratings
    return found.table()


def test_a_dataset_has_every_estimate_under_its_label(table, tmp_path):
    fit = rl.fit(table, model="gmf")
    found = fit.to_xarray()
    assert dict(found.sizes) == {"rater": 4, "item": 2, "student": 60}
    for name in ("raters", "items", "students"):
        kept = fit.table(name)
        label = kept.columns[0]
        for column in (c for c in kept.columns if c.endswith("_se") or c == "kappa_low"):
            one = found[column].sel({label: kept[label][-1]}).item()
            assert one == kept[column][-1]
    assert found["n_rater"].sum() == found["n_student"].sum() == fit.n_ratings
    assert found.attrs["loglik"] == fit.loglik
    assert "kappa" in found[["kappa", "kappa_se"]].to_dataframe()


def test_without_xarray_the_extra_is_named(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(OptionError, match=r"raterlens\[xarray\]"):
        rl.fit(table, "tfm", standard_errors=False).to_xarray()


@pytest.mark.parametrize(
    ("convert", "kind"),
    [(pl.DataFrame, pl.DataFrame), (pl.DataFrame.to_pandas, pd.DataFrame), (pl.DataFrame.to_arrow, pa.Table)],
)
def test_the_same_kind_of_frame_comes_out(table, convert, kind):
    source = convert(table)
    fit = rl.fit(source, model="gmf")
    tables = [fit.raters, fit.items, fit.students, fit.capability(), fit.advice(), fit.score(source)]
    tables.append(rl.gate(fit, min_kappa=0.5).checks)
    assert [type(each) for each in tables] == [kind] * len(tables)
    np.testing.assert_allclose(
        np.asarray(fit.raters["kappa"]), rl.fit(table, model="gmf").table("raters")["kappa"]
    )


@pytest.mark.parametrize(
    "options", [{}, {"method": "laplace"}, {"method": "hl"}, {"model": "hrm", "starts": 1}]
)
def test_progress_is_told_at_every_iteration(table, options):
    seen: list[Any] = []
    fit = rl.fit(table, progress=seen.append, standard_errors=False, **{"model": "gmf"} | options)
    assert len(seen) >= 2
    assert all(isinstance(step.stage, str) and step.iteration >= 0 for step in seen)
    if fit.method != "hl":  # whose objective is another one than the log-likelihood it is reported with
        assert seen[-1].loglik == pytest.approx(fit.loglik, abs=0.5)
    assert seen[-1].loglik >= seen[0].loglik


def test_a_fit_can_be_stopped_from_its_progress(table):
    class Enough(Exception):  # noqa: N818
        pass

    def stop(step):
        raise Enough

    with pytest.raises(Enough):
        rl.fit(table, model="gmf", progress=stop)
