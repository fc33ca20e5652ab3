"""Verdicts: each rule, its boundary, and which rule silences which."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.capability.curves import curve_of
from raterlens.capability.formulas import gmf, probit
from raterlens.capability.links import get_link
from raterlens.diagnostics.capability_scale import Scale
from raterlens.diagnostics.panel_summary import attention, caveats, headline, judged
from raterlens.diagnostics.verdicts import CAPABLE, FEWEST, Verdict, verdict, verdicts

SIGMA = 2.0
SCALE = Scale(SIGMA)


def rate(rho: float, eta: float, *, margin: float = 0.05, **other: Any) -> Verdict:
    """The verdict on a rater whose kappa is what rho and eta make it."""
    kappa = float(gmf(rho=rho, eta=eta, sigma=SIGMA))
    facts: dict[str, Any] = {
        "kappa_low": kappa - margin,
        "kappa_high": kappa + margin,
        "eta_se": 0.2,
        "n": 300,
    }
    return verdict(**(facts | {"kappa": kappa, "rho": rho, "eta": eta, "scale": SCALE} | other))


@pytest.mark.parametrize(
    ("rho", "eta", "label", "standing"),
    [
        (0.95, 0.1, "capable", "fine"),
        (0.95, 1.2, "capable, rather severe", "fine"),
        (0.95, -1.2, "capable, rather lenient", "fine"),
        (1.0, 3.5, "too severe", "attention"),
        (1.0, -3.5, "too lenient", "attention"),
        (0.3, 0.0, "weak discrimination", "attention"),
        (0.05, 0.0, "cannot tell students apart", "attention"),
    ],
)
def test_what_loses_capability_names_the_verdict(rho: float, eta: float, label: str, standing: str) -> None:
    found = rate(rho, eta)
    assert (found.label, found.standing) == (label, standing)
    assert found.sentence.endswith(".")
    assert found.advice.endswith(".")


def test_severity_is_told_in_passes_out_of_a_hundred() -> None:
    # logit: F(-1.2) = 1 / (1 + e^1.2) = 0.231, F(0) = 0.5
    assert "Passes about 23 in 100 where the average rater passes 50" in rate(0.95, 1.2).sentence
    # cloglog: F(0) = 1 - 1/e = 0.632
    assert "passes 63" in rate(0.95, 1.2, scale=Scale(SIGMA, "cloglog")).sentence


def test_severity_that_may_be_chance_is_not_spoken_of() -> None:
    assert rate(0.95, 1.2, eta_se=0.7).label == "capable"


def test_a_second_cause_is_named() -> None:
    assert "Discrimination is weak as well" in rate(0.4, 4.5).sentence
    assert "Passes about 18 in 100" in rate(0.3, 1.5).sentence


def test_low_capability_within_the_margin_of_error_is_borderline() -> None:
    dull, strict = rate(0.45, 0.0, margin=0.15), rate(1.0, 2.3, margin=0.15)
    assert (dull.label, dull.standing) == ("borderline discrimination", "borderline")
    assert (strict.label, strict.standing) == ("borderline, rather severe", "borderline")
    assert rate(0.45, 0.0, margin=0.01).standing == "attention"


def test_capable_is_hedged_where_the_interval_reaches_below() -> None:
    assert "margin of error" in rate(0.6, 0.0, margin=0.15).sentence
    assert "margin of error" not in rate(0.95, 0.0, margin=0.05).sentence


def test_the_line_for_capable_belongs_to_capable() -> None:
    base = {"rho": 0.5, "eta": 0.0, "eta_se": 0.2, "n": 300, "scale": SCALE}
    assert verdict(kappa=CAPABLE, kappa_low=0.65, kappa_high=0.75, **base).label == "capable"
    assert (
        verdict(kappa=CAPABLE - 1e-9, kappa_low=0.65, kappa_high=0.69, **base).label == "weak discrimination"
    )


def test_wide_interval_around_the_line_says_nothing() -> None:
    found = rate(0.7, 0.0, margin=0.25)
    assert (found.label, found.standing) == ("too few ratings to say", "unclear")
    assert "anywhere from" in found.sentence


def test_wide_interval_wholly_below_the_line_says_enough() -> None:
    assert rate(0.1, 0.0, kappa_low=0.0, kappa_high=0.6).standing == "attention"


def test_few_ratings_silence_everything() -> None:
    for flag in ("", "all pass", "slope at 0"):
        assert rate(0.9, 0.0, n=FEWEST - 1, flag=flag).label == "too few ratings to say"
    assert rate(0.9, 0.0, n=1).sentence.startswith("1 rating is")


@pytest.mark.parametrize(
    ("flag", "label"),
    [
        ("all pass", "passes everyone"),
        ("all fail", "passes nobody"),
        ("slope at limit", "too few ratings to say"),
    ],
)
def test_flags(flag: str, label: str) -> None:
    assert rate(0.9, 0.0, flag=flag, margin=0.5).label == label


def test_ordered_scores_are_spoken_of_as_scores() -> None:
    scores = Scale(SIGMA, curve=curve_of(get_link("logit"), np.array([[-1.0, 0.0, 1.0]])))
    strict = rate(1.0, 3.5, scale=scores)
    assert strict.label == "too severe"
    assert strict.sentence.startswith("Scores lower than the average rater")
    assert rate(0.9, 0.0, flag="all highest", scale=scores).label == "always the highest score"
    assert "pass" not in (strict.sentence + strict.advice).lower()


def test_probit_yardstick_is_the_closed_form() -> None:
    noise, threshold = np.array([0.3, 1.0, 2.5]), np.array([-1.0, 0.4, 2.0])
    rho, eta = 1 / np.sqrt(1 + noise**2), threshold / noise
    scale = Scale(link="probit", model="probit")
    np.testing.assert_allclose(
        scale.capability(rho, eta), probit(noise=noise, threshold=threshold), rtol=1e-12
    )


def test_slope_at_zero() -> None:
    found = verdict(
        kappa=0.0,
        kappa_low=0.0,
        kappa_high=0.2,
        rho=0.0,
        eta=0.5,
        eta_se=0.1,
        n=300,
        flag="slope at 0",
        scale=SCALE,
    )
    assert found.label == "cannot tell students apart"


def test_scores_against_ability() -> None:
    found = verdict(
        kappa=-0.4, kappa_low=-0.6, kappa_high=-0.2, rho=-0.5, eta=0.0, eta_se=0.1, n=300, scale=SCALE
    )
    assert (found.label, found.standing) == ("scores against ability", "attention")


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_without_intervals_the_estimate_decides(nothing: float | None) -> None:
    row = {
        "kappa": [0.5, 0.9],
        "kappa_low": nothing,
        "kappa_high": nothing,
        "rho": [0.3, 1.0],
        "eta": [0.0, 0.0],
    }
    table = pl.DataFrame(row | {"eta_se": nothing, "n": 300, "flag": ""})
    assert verdicts(table, SCALE)["label"].to_list() == ["weak discrimination", "capable"]


@pytest.fixture
def panel() -> pl.DataFrame:
    rho, eta = [1.0, 0.3, 1.0, 0.45, 0.9], [0.0, 0.0, 3.5, 0.0, 1.2]
    kappa = gmf(rho=rho, eta=eta, sigma=SIGMA)
    table = pl.DataFrame(
        {"rater": list("ABCDE"), "rho": rho, "eta": eta, "kappa": kappa, "eta_se": 0.2, "n": 300}
    )
    return table.with_columns(kappa_low=kappa - 0.1, kappa_high=kappa + 0.1, flag=pl.lit(""))


def test_table_is_sorted_and_agrees_with_single_verdicts(panel: pl.DataFrame) -> None:
    table = judged(panel, SCALE)
    assert table["kappa"].is_sorted(descending=True)
    for row in table.iter_rows(named=True):
        assert row["label"] == rate(row["rho"], row["eta"], margin=0.1).label


def test_clear_cases_come_first_then_borderline(panel: pl.DataFrame) -> None:
    wanting = attention(judged(panel, SCALE))
    assert wanting["standing"].to_list() == ["attention", "attention", "borderline"]
    assert wanting["rater"].to_list()[2] == "D"
    assert wanting["kappa"][0] <= wanting["kappa"][1]


def test_headline(panel: pl.DataFrame) -> None:
    table = judged(panel, SCALE)
    assert headline(table) == (
        "2 of 5 raters need attention",
        "1 is borderline; 1 capable one is rather severe or lenient",
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


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_latent_class_scale_gives_back_the_capability_of_the_model(link) -> None:
    from raterlens.capability.formulas import hrm
    from raterlens.capability.links import get_link

    slope, criterion = np.array([0.5, 2.0, 4.0]), np.array([0.1, 2.5, 1.0])
    shape = get_link(link)
    rho = np.exp(shape.log_pass(slope / 2)) - np.exp(shape.log_pass(-slope / 2))
    found = Scale(1.0, link, "hrm").capability(rho, criterion - slope / 2)
    np.testing.assert_allclose(found, hrm(criterion=criterion, slope=slope, link=link), rtol=1e-9)


def test_a_sharp_but_strict_latent_class_rater_is_too_severe() -> None:
    facts = {"kappa": 0.52, "kappa_low": 0.45, "kappa_high": 0.59, "eta_se": 0.2, "n": 365}
    strict = verdict(**facts, rho=0.87, eta=2.55, scale=Scale(1.0, "logit", "hrm"))
    assert strict.label == "too severe"
    blunt = verdict(**facts, rho=0.53, eta=0.3, scale=Scale(1.0, "logit", "hrm"))
    assert blunt.label == "weak discrimination"


def test_the_scale_of_ordered_scores_is_that_of_the_fit():
    """Capability from rho and eta is the kappa of the table, thresholds and all."""
    ratings = rl.simulate(
        students=400, raters=6, items=3, raters_per_student=3, thresholds=(-2.0, 0.0, 2.0), seed=2
    ).ratings
    fit = rl.fit(ratings, standard_errors=False)
    scale, raters = Scale.of(fit), fit.table("raters")
    found = scale.capability(raters["rho"].to_numpy(), raters["eta"].to_numpy())
    assert found == pytest.approx(raters["kappa"].to_numpy(), abs=1e-9)
    binary = Scale(fit.sigma).capability(raters["rho"].to_numpy(), raters["eta"].to_numpy())
    assert np.abs(binary - found).max() > 0.02
    assert scale.pass_rate(np.array([0.0, 1.0]))[1] < scale.pass_rate(0.0)
