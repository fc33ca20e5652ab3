"""The raters as the report shows them."""

import polars as pl
import pytest

from raterlens.diagnostics.diagnosis import Diagnosis
from raterlens.diagnostics.findings import find
from raterlens.diagnostics.flags import flags
from raterlens.diagnostics.item_flags import item_flags
from raterlens.output.report import english as words
from raterlens.output.report import render
from raterlens.output.report.rater_pages import rater_data
from raterlens.output.report.rater_rows import panel
from tests.support.report_fits import MakeFit


def flagged(fit, rater: str) -> Diagnosis:
    """A diagnosis in which one rater scores the wrong way round."""
    raters = fit.table("raters").select("rater", "n").with_columns(infit=1.0, infit_z=0.0, outfit=1.0)
    effects = raters.select("rater").with_columns(
        *(pl.lit(value).alias(name) for name, value in (("alternation", 0.0), ("alternation_z", 0.0))),
        *(
            pl.lit(float("nan")).alias(f"{name}{end}")
            for name in ("centrality", "halo")
            for end in ("", "_se")
        ),
        responsiveness=pl.when(pl.col("rater") == rater).then(-0.9).otherwise(1.0),
        responsiveness_se=pl.lit(0.1),
    )
    unexpected = pl.DataFrame(
        {
            "rater": [rater],
            "student": [7],
            "item": ["a"],
            "score": [0],
            "expected": [0.97],
            "probability": [0.03],
        }
    )
    items = fit.table("items").select("item").with_columns(infit=1.0, outfit=1.0)
    tables = {
        "flags": flags(raters, effects, {}, None),
        "raters": raters,
        "effects": effects,
        "items": items,
        "item flags": item_flags(items.with_columns(infit_z=0.0), fit.table("items")),
        "unexpected": unexpected,
    }
    return Diagnosis(tables, fit.n_raters)


@pytest.mark.usefixtures("no_pictures")
def test_a_capable_rater_who_is_flagged_is_introduced_with_the_evidence(make_fit: MakeFit):
    fit = make_fit(16)
    best = fit.table("raters").sort("kappa")["rater"][-1]
    diagnosis = flagged(fit, best)
    rows = panel(fit, diagnosis)
    assert rows.filter(rater=best)["notice"].item() == "flagged"
    html = render(fit, found=find(fit, None, diagnosis))
    assert words.STAND_OUT in html
    assert "scores fall where the other raters see better work" in html
    assert "check that the scores were recorded the right way round" in html.lower()


@pytest.mark.usefixtures("no_pictures")
def test_a_panel_without_fault_is_told_so(make_fit: MakeFit):
    fit = make_fit(1, margin=0.01)
    html = render(fit)
    assert "No rater needs attention" in html
    assert words.ALL_WELL in html
    assert words.ALL_WELL not in render(make_fit(16))


def test_without_ranks_raters_stand_by_name(make_fit: MakeFit):
    rows = panel(make_fit(16), None, ranked=False)
    assert rows["rater"].is_sorted()
    assert not panel(make_fit(16), None)["rater"].is_sorted()


@pytest.mark.usefixtures("no_pictures")
def test_there_is_one_next_step_that_of_what_costs_most(make_fit: MakeFit):
    """A flag is evidence; it changes neither the next step nor the letter of a rater with a costlier fault."""
    fit = make_fit(16)
    severe = fit.verdicts().filter(costs_most="severity").row(0, named=True)
    diagnosis = flagged(fit, severe["rater"])
    row = panel(fit, diagnosis).filter(rater=severe["rater"]).row(0, named=True)
    assert row["reasons"]
    assert row["advice"] == severe["next_step"]
    numbers = rater_data(fit, panel(fit, diagnosis), diagnosis)
    letter = numbers["feedback"][numbers["rater"].index(severe["rater"])]
    assert severe["next_step"] in letter
    assert "One point to discuss" not in letter
