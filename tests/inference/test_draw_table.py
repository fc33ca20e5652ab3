"""The table of repeated answers."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from tests.support.repeated_verdicts import verdicts


@pytest.fixture(scope="module")
def fit():
    table = verdicts([0.0, 1.0, 3.0, 3.0, 3.0], 3, students=120)
    same = pl.col("score").first().over("student", "rater")
    table = table.with_columns(score=pl.when(pl.col("rater") == "j4").then(same).otherwise("score"))
    table = table.filter((pl.col("rater") != "j0") | (pl.col("epoch") == 0))
    return rl.fit(rl.read(table, draw="epoch"), model="gmf", reference="perfect"), table


def test_raters_who_were_asked_once_are_left_out(fit):
    assert fit[0].table("draws")["rater"].to_list() == ["j1", "j2", "j3", "j4"]


def test_consistency_is_the_share_of_pairs_that_agree(fit):
    found, table = fit
    for label in ("j1", "j4"):
        pairs = [
            one == other
            for scores in table.filter(pl.col("rater") == label).group_by("student").agg("score")["score"]
            for one, other in combinations(scores, 2)
        ]
        row = found.table("draws").row(by_predicate=pl.col("rater") == label, named=True)
        assert row["consistency"] == pytest.approx(np.mean(pairs))
        assert row["consistency_low"] < row["consistency"] <= row["consistency_high"]
        assert (row["questions"], row["answers"]) == (120, 3)


def test_one_answer_is_worth_what_the_table_of_raters_says_and_more_are_worth_more(fit):
    found, _ = fit
    draws = found.table("draws").join(found.raters.select("rater", "kappa", "sharpness"), on="rater")
    for name in ("kappa", "sharpness"):
        values = draws.select(f"{name}_{n}" for n in ("1", "3", "5", "11", "all")).to_numpy()
        np.testing.assert_allclose(values[:, 0], draws[name], rtol=1e-9)
        assert (np.diff(values[:3], axis=1) > 0).all()
        np.testing.assert_allclose(values[3], values[3, 0])  # never differs: asking again buys nothing
    shares = draws.select("share_answer", "share_reading", "share_draw").to_numpy()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert shares[3, 2] == 0
    assert draws["spread"].null_count() == 1


def test_the_shares_of_variance_by_hand(fit):
    found, _ = fit
    assert found.calibration is not None
    slope, x = (found.calibration.effects[name][1] for name in ("slope", "draw"))
    spread = np.sqrt(np.expm1(2 * x) / 0.346)
    parts = np.array([np.exp(2 * x) * slope**2, spread**2, np.pi**2 / 3])
    row = found.table("draws").row(0, named=True)
    shares = [row[name] for name in ("share_answer", "share_reading", "share_draw")]
    np.testing.assert_allclose(shares, parts / parts.sum())
    assert row["spread"] == pytest.approx(spread)


def test_the_report_and_the_folder_show_it(fit, tmp_path):
    found, _ = fit
    found.report(tmp_path / "report.html")
    assert "Asked several times" in (tmp_path / "report.html").read_text()
