"""The paper's empirical study."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from raterlens.base.errors import RaterlensError
from raterlens.simulation import example as assessment
from raterlens.simulation import example as writing
from raterlens.studies import paper
from raterlens.studies.figures import WIDTH
from raterlens.studies.study import Task
from raterlens.studies.study_writing import STUDY, check_data, load, page, replicate, resample


@pytest.fixture(scope="module")
def rows(writing_path) -> pl.DataFrame:
    frames = [replicate(Task(1, index, writing_path)) for index in range(3)]
    return pl.concat(
        [frame.select(pl.lit(i, pl.Int32).alias("replication"), pl.all()) for i, frame in enumerate(frames)]
    )


def values(rows: pl.DataFrame, how: str, parameter: str) -> dict[str, float]:
    own = rows.filter(pl.col("replication") == 0, pl.col("how") == how, pl.col("parameter") == parameter)
    return dict(own.select("level", "estimate").iter_rows())


def test_numbers_of_ratings_and_sums_are_the_printed_ones(rows):
    printed = {row.label: (row.n, row.total) for row in writing.TABLE}
    n, total = values(rows, "data", "n"), values(rows, "data", "sum")
    assert {rater: (n[rater], total[rater]) for rater in n} == printed


@pytest.mark.parametrize(("parameter", "tolerance"), [("rho", 0.01), ("eta", 0.05), ("kappa", 0.015)])
def test_hierarchical_likelihood_gives_the_printed_estimates(rows, parameter, tolerance):
    printed = {row.label: getattr(row, parameter) for row in writing.TABLE}
    assert values(rows, "hl", parameter) == pytest.approx(printed, abs=tolerance)


def test_point_biserials_are_the_printed_ones(rows):
    printed = {
        f"{rater} {item}": value
        for rater, all_items in paper.POINT_BISERIAL.items()
        for item, value in zip(writing.DELTA, all_items, strict=True)
    }
    assert values(rows, "hl", "point-biserial") == pytest.approx(printed, abs=0.01)


def test_scale_and_difficulties(rows):
    assert values(rows, "hl", "sigma")["all"] == pytest.approx(writing.SIGMA, abs=0.03)
    assert values(rows, "hl", "delta") == pytest.approx(writing.DELTA, abs=0.01)


def test_the_page_says_what_changes(rows):
    results = STUDY.summarise(rows)
    assert "All 16 numbers of ratings and sums are the printed ones" in results.markdown
    assert "likelihood ratio 25.2 on 15 degrees of freedom, p = 0.047" in results.markdown
    raters = results.tables["raters"]
    assert (raters["kappa_low"] < raters["kappa_mml"]).all()
    assert (raters["kappa_mml"] < raters["kappa_high"]).all()
    assert "Mean capability κ̄ (95 % interval)" in STUDY.draw(results).svg(WIDTH)


def test_both_formats_are_the_same_table(writing_path):
    pytest.importorskip("rdata")
    assert_frame_equal(load(writing_path), load(writing_path.with_name("data.cqc04.rda")), check_dtypes=False)


def test_resampled_students_keep_their_essays(writing_path):
    table = load(writing_path)
    drawn = resample(table, np.random.default_rng(0))
    assert drawn["pid"].n_unique() == table["pid"].n_unique()
    sizes = set(table.group_by("pid").len()["len"])
    assert set(drawn.group_by("pid").len()["len"]) <= sizes


def test_without_the_file_it_is_said_how_to_get_it(tmp_path):
    for path in (None, tmp_path / "nothing.csv"):
        with pytest.raises(
            RaterlensError, match=r"data\.cqc04\.rda from the source of the R package TAM"
        ) as caught:
            check_data(path)
        assert "write.csv" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n", "has no column 'pid' among a, b"),
        ("pid,rater,topic,spe,coh,str,gra,con\n1,AM,Work,1,1,1,1,1\n", "1 essays"),
    ],
)
def test_another_table_is_refused(tmp_path: Path, content, message):
    path = tmp_path / "other.csv"
    path.write_text(content)
    with pytest.raises(RaterlensError, match=message):
        check_data(path)


def test_r_s_format_without_its_package_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "rdata", None)
    path = tmp_path / "data.cqc04.rda"
    path.write_bytes(b"RDX3")
    with pytest.raises(RaterlensError, match=r"pip install 'raterlens\[rda\]'"):
        check_data(path)


@pytest.fixture(scope="module")
def rows_of_writing_page() -> pl.DataFrame:
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


def test_what_is_reproduced_is_said(rows_of_writing_page):
    text = page(rows_of_writing_page).markdown
    assert "All 16 numbers of ratings and sums are the printed ones" in text
    assert "ρ 0.000, η 0.000, κ̄ 0.000" in text


def test_conclusions_are_computed(rows_of_writing_page):
    text = page(rows_of_writing_page).markdown
    assert "lie 10.0 log-likelihood units below the maximum" in text
    assert "likelihood ratio 25.0 on 15 degrees of freedom, p = 0.050" in text
    # The resamples are the printed table: CO:School leads, AM:Sport is last, in all of them.
    assert "in 100% and 100% of resamples" in text
    assert "the intervals of 0 do not overlap" in text.replace("\n", " ")
    assert np.mean([row.rho for row in assessment.TABLE if row.rater == "DA"]) > 0.7
