"""The same ratings told in another way give the same digits; a change whose effect is known has that effect.

No other program is needed to know what must come out: names, order, files and threads mean nothing, mirrored scores
mirror severity, and a panel seen twice is known √2 times as well.
"""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import raterlens as rl
from tests.support.reading_files import FILES

# Two runs of the same optimiser over sums in another order.
CLOSE, LOGLIK = 1e-3, 1e-6
EXACT = ["csv", "csv.gz", "jsonl", "json", "xlsx", "sav", "dta", "rds", "sqlite", "duckdb", "parquet folder"]

FEW = settings(
    max_examples=3,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
panels = st.builds(
    lambda seed, students, thresholds: rl.simulate(
        students=students, raters=4, items=2, raters_per_student=3, thresholds=thresholds, seed=seed
    ).ratings.table(),
    st.integers(0, 1000),
    st.integers(80, 120),
    st.sampled_from([None, None, [-0.7, 0.7]]),
)
models = st.sampled_from([{}, {"model": "tfm"}, {"link": "probit"}, {"covariance": "sandwich"}])


def raters(fit: rl.Fit) -> pl.DataFrame:
    return fit.raters.select("rater", "kappa", "eta", "kappa_se").sort("rater")


def assert_same(one: rl.Fit, other: rl.Fit) -> None:
    assert one.loglik == pytest.approx(other.loglik, rel=LOGLIK)
    for name in ("kappa", "eta", "kappa_se"):
        np.testing.assert_allclose(
            raters(one)[name], raters(other)[name], rtol=CLOSE, atol=CLOSE, err_msg=name
        )


@FEW
@given(panels, models, st.randoms(use_true_random=False))
def test_names_and_order_mean_nothing(table, model, random):
    order = list(range(len(table)))
    random.shuffle(order)
    other = table[order].with_columns(
        student=pl.col("student").str.reverse() + "z", rater="q" + pl.col("rater"), item="x" + pl.col("item")
    )
    assert_same(rl.fit(table, **{"model": "gmf"} | model), rl.fit(other, **{"model": "gmf"} | model))


@FEW
@given(panels, models)
def test_a_panel_seen_twice_is_known_better_by_the_root_of_two(table, model):
    twice = pl.concat([table, table.with_columns(student="again " + pl.col("student"))])
    one, two = rl.fit(table, **{"model": "gmf"} | model), rl.fit(twice, **{"model": "gmf"} | model)
    assert two.loglik == pytest.approx(2 * one.loglik, rel=LOGLIK)
    for name, factor in (("kappa", 1), ("eta", 1), ("kappa_se", np.sqrt(2))):
        np.testing.assert_allclose(factor * raters(two)[name], raters(one)[name], rtol=CLOSE, atol=CLOSE)


@FEW
@given(panels, models)
def test_mirrored_scores_mirror_severity(table, model):
    mirrored = table.with_columns(score=pl.col("score").max() - pl.col("score"))
    one, other = (
        rl.fit(table, allow_reversed=True, **{"model": "gmf"} | model),
        rl.fit(mirrored, allow_reversed=True, **{"model": "gmf"} | model),
    )
    assert other.loglik == pytest.approx(one.loglik, rel=LOGLIK)
    np.testing.assert_allclose(raters(other)["kappa"], raters(one)["kappa"], rtol=CLOSE, atol=CLOSE)
    np.testing.assert_allclose(raters(other)["eta"], -raters(one)["eta"], rtol=CLOSE, atol=CLOSE)


@FEW
@given(panels)
def test_a_student_whom_only_a_stranger_saw_changes_nobody(table):
    stranger = table.head(1).with_columns(student=pl.lit("new"), rater=pl.lit("zz stranger"))
    one, other = rl.fit(table, model="gmf"), rl.fit(pl.concat([table, stranger]), model="gmf")
    known = raters(other).filter(pl.col("rater") != "zz stranger")
    np.testing.assert_allclose(known["kappa"], raters(one)["kappa"], rtol=1e-3, atol=1e-3)


@FEW
@given(panels, st.sampled_from(EXACT))
def test_every_file_gives_the_same_digits(tmp_path_factory, table, kind):
    folder: Path = tmp_path_factory.mktemp("files")
    expected = rl.fit(table, model="gmf")
    found = rl.fit(FILES[kind](table, folder), model="gmf")
    assert found.loglik == expected.loglik
    assert raters(found).equals(raters(expected))


@FEW
@given(panels)
def test_every_dataframe_gives_the_same_digits(table):
    expected = rl.fit(table, model="gmf")
    for backend in (table.to_pandas(), table.to_arrow(), table.lazy()):
        found = rl.fit(backend, model="gmf")
        assert found.loglik == expected.loglik
        kappa = found.raters["kappa"]
        assert list(kappa.to_numpy()) == list(expected.raters["kappa"].to_numpy())


def test_one_thread_and_two_give_the_same_digits(monkeypatch):
    table = rl.simulate(students=400, raters=6, items=2, raters_per_student=3, seed=3).ratings
    monkeypatch.setattr("raterlens.likelihood.marginal.large_fit", lambda counts: True)
    found = []
    for cores in (1, 2):
        for module in ("likelihood.engines.compiled", "base.threads"):
            monkeypatch.setattr(f"raterlens.{module}.available_cores", lambda cores=cores: cores)
        found.append(rl.fit(table, model="gmf"))
    one, two = found
    assert one.loglik == pytest.approx(two.loglik, rel=1e-13)
    np.testing.assert_allclose(raters(one)["kappa"], raters(two)["kappa"], rtol=1e-9)


labels = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"]), min_size=1, max_size=4
)


@settings(FEW, max_examples=15)
@given(
    st.lists(labels, min_size=2, max_size=5, unique=True),
    st.lists(labels, min_size=2, max_size=3, unique=True),
    st.sampled_from(["csv", "jsonl", "json", "xlsx", "sqlite", "parquet folder", "sav"]),
    st.integers(0, 99),
)
def test_labels_of_any_text_survive_every_file(tmp_path_factory, students, names, kind, seed):
    random = np.random.default_rng(seed)
    rows = [("s" + s, "r" + r, int(random.integers(0, 2))) for s in students for r in names]
    rows[0], rows[-1] = (*rows[0][:2], 0), (*rows[-1][:2], 1)
    table = pl.DataFrame(rows, schema=["student", "rater", "score"], orient="row")
    found = rl.read(FILES[kind](table, tmp_path_factory.mktemp("labels"))).table()
    assert (
        found.select("student", "rater", "score").rows()
        == rl.read(table).table().select("student", "rater", "score").rows()
    )
