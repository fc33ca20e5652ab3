"""A panel summed up; and verdicts that stay where they are, whoever else is on the panel."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.diagnostics.panel_summary import (
    attention,
    caveats,
    headline,
    judged,
    shared_fault,
    with_verdicts,
)
from raterlens.diagnostics.verdicts import verdicts


def table_of(sharpness: list[float], passes: list[float], margin: float = 0.05) -> pl.DataFrame:
    raters = pl.DataFrame(
        {
            "rater": list("ABCDEFGH"[: len(passes)]),
            "sharpness": sharpness,
            "passes": passes,
            "kappa": sharpness,
        }
    ).with_columns(
        *(
            pl.col(name).add(by).alias(name + end)
            for name in ("sharpness", "passes")
            for end, by in (("_low", -margin), ("_high", margin))
        ),
        n=300,
        flag=pl.lit(""),
    )
    return raters.hstack(verdicts(raters))


@pytest.fixture
def panel() -> pl.DataFrame:
    return table_of([0.8, 0.3, 0.8, 0.49, 0.8], [0.5, 0.5, 0.1, 0.5, 0.32], margin=0.025)


def test_clear_cases_come_first_and_the_costliest_of_them(panel):
    wanting = attention(panel)
    assert wanting["standing"].to_list() == ["attention", "attention", "borderline"]
    assert wanting["rater"].to_list() == ["C", "B", "D"]


def test_headline(panel):
    assert headline(panel) == (
        "2 of 5 raters need attention",
        "1 is borderline; 1 other is reliable but strict or lenient",
    )
    assert headline(panel.filter(pl.col("standing") == "fine")).text == "No rater needs attention"
    assert (
        headline(panel.filter(pl.col("standing") == "borderline")).text == "No rater clearly needs attention"
    )
    assert headline(panel.filter(pl.col("standing") == "attention")).text == "All 2 raters need attention"


def test_what_most_raters_share_is_said_once():
    assert shared_fault(table_of([0.3, 0.3, 0.3, 0.3, 0.8], [0.5] * 5)).startswith(
        "4 of 5 raters are blunt (median"
    )
    assert shared_fault(table_of([0.3, 0.3, 0.8, 0.8, 0.8], [0.5] * 5)) == ""
    assert shared_fault(table_of([0.3, 0.3, 0.3], [0.5] * 3)) == ""


def test_a_model_of_severity_only_says_so():
    assert "severity" in caveats("tfm")[0]
    assert caveats("gmf") == ()


@pytest.fixture(scope="module")
def ratings() -> rl.Ratings:
    slope, severity = [4.0, 2.4, 2.4, 0.0, 2.2, 2.2], [0.0, 0.0, 0.0, 0.0, 2.0, -2.0]
    return rl.simulate(students=250, raters=6, items=3, slope=slope, severity=severity, seed=1).ratings


def test_letters_advice_table_and_file_name_the_same_cause(ratings):
    fit = rl.fit(ratings)
    found, advice, file = judged(fit), fit.advice(), with_verdicts(fit)
    known = {row["rater"]: row for row in found.iter_rows(named=True)}
    assert found["kappa"].is_sorted(descending=True)
    for row in advice.iter_rows(named=True):
        own = known[row["rater"]]
        assert row["costs_most"] == own["costs_most"]
        assert row["lost_to_severity"] == own["lost_to_severity"]
        assert ("standard that you apply" in row["feedback"]) == (own["costs_most"] == "severity")
        assert ("only loosely" in row["feedback"]) == (own["costs_most"] == "discrimination")
        assert (own["next_step"] in row["feedback"]) == (own["costs_most"] != "nothing")
    assert dict(file.select("rater", "costs_most").iter_rows()) == {
        rater: row["costs_most"] for rater, row in known.items()
    }
    assert dict(fit.verdicts().select("rater", "next_step").iter_rows()) == {
        rater: row["next_step"] for rater, row in known.items()
    }
    causes = dict(found.select("rater", "costs_most").iter_rows())
    assert causes == {
        "R1": "nothing", "R2": "nothing", "R3": "nothing", "R4": "discrimination", "R5": "severity", "R6": "severity"
    }  # fmt: skip


def test_without_the_best_rater_the_others_are_judged_as_before(ratings):
    whole = rl.fit(ratings)
    keep = ratings.table().filter(pl.col("rater") != "R1")
    part = rl.fit(rl.read(keep, student="student", rater="rater", item="item", score="score"))
    before, after = (
        dict(fit.verdicts().select("rater", pl.struct("standard", "sharpness", "costs_most")).iter_rows())
        for fit in (whole, part)
    )
    assert {rater: before[rater] for rater in after} == after
    # The yardstick of kappa has moved: somebody's kappa is larger by 0.07 and more.
    kappas = [dict(fit.raters.select("rater", "kappa").iter_rows()) for fit in (whole, part)]
    assert max(kappas[1][rater] - kappas[0][rater] for rater in kappas[1]) > 0.07
    assert np.isfinite(list(kappas[1].values())).all()
