"""What the first screen says, and the numbers behind a rater's page."""

import polars as pl
import pytest

from raterlens.diagnostics.diagnosis import Diagnosis
from raterlens.diagnostics.flags import flags
from raterlens.report import english as words
from raterlens.report import render
from raterlens.report.rater_rows import overview, panel
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
        "items": items,
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
    first = overview(fit, rows, diagnosis)
    assert [card["rater"] for card in first["standing_out"]] == [best]
    html = render(fit, diagnosis=diagnosis)
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


def test_severity_is_called_severe_only_where_it_is_clear(make_fit: MakeFit):
    fit = make_fit(16)
    rows = panel(fit, None)
    for eta, word in zip(rows["eta"], rows["eta_words"], strict=True):
        side = 1 if eta > 1.96 * 0.15 else -1 if eta < -1.96 * 0.15 else 0
        assert word == words.SEVERITY_WORDS[1 + side]
