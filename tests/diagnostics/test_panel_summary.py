"""A panel summed up."""

import polars as pl
import pytest

from raterlens.capability.formulas import gmf
from raterlens.diagnostics.capability_scale import Scale
from raterlens.diagnostics.panel_summary import attention, caveats, headline, judged
from raterlens.diagnostics.verdicts import verdicts

SIGMA = 2.0

SCALE = Scale(SIGMA)


@pytest.fixture
def panel() -> pl.DataFrame:
    rho, eta = [1.0, 0.3, 1.0, 0.45, 0.9], [0.0, 0.0, 3.5, 0.0, 1.2]
    kappa = gmf(rho=rho, eta=eta, sigma=SIGMA)
    table = pl.DataFrame(
        {"rater": list("ABCDE"), "rho": rho, "eta": eta, "kappa": kappa, "eta_se": 0.2, "n": 300}
    )
    return table.with_columns(kappa_low=kappa - 0.1, kappa_high=kappa + 0.1, flag=pl.lit(""))


def test_the_table_is_sorted_with_its_verdicts(panel: pl.DataFrame) -> None:
    table = judged(panel, SCALE)
    assert table["kappa"].is_sorted(descending=True)
    assert (
        table["label"].to_list() == verdicts(panel.sort("kappa", descending=True), SCALE)["label"].to_list()
    )


def test_clear_cases_come_first_then_borderline(panel: pl.DataFrame) -> None:
    wanting = attention(judged(panel, SCALE))
    assert wanting["standing"].to_list() == ["attention", "attention", "borderline"]
    assert wanting["rater"].to_list()[2] == "D"
    assert wanting["kappa"][0] <= wanting["kappa"][1]


def test_headline(panel: pl.DataFrame) -> None:
    table = judged(panel, SCALE)
    assert headline(table) == (
        "2 of 5 raters need attention",
        "1 is borderline; 1 other is reliable but strict or lenient",
    )
    assert headline(table.filter(pl.col("standing") == "fine")).text == "All 2 raters are capable"
    assert (
        headline(table.filter(pl.col("standing") == "borderline")).text == "No rater clearly needs attention"
    )
    assert headline(table.filter(pl.col("standing") == "attention")).text == "All 2 raters need attention"
    assert headline(table.filter(rater="A")).text == "The rater is capable"


def test_a_model_of_severity_only_says_so() -> None:
    assert "severity" in caveats("tfm")[0]
    assert caveats("gmf") == ()
