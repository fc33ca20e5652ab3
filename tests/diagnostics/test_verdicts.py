"""Verdicts: each rule, its boundary, and which rule silences which."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from raterlens.capability.curves import curve_of
from raterlens.capability.formulas import gmf
from raterlens.capability.links import get_link
from raterlens.diagnostics.capability_scale import Scale
from raterlens.diagnostics.verdicts import CAPABLE, FEWEST, Verdict, verdicts

SIGMA = 2.0
SCALE = Scale(SIGMA)


def verdict(scale: Scale = SCALE, **rater: Any) -> Verdict:
    """The verdict on one rater."""
    return Verdict(**verdicts(pl.DataFrame([{"flag": ""} | rater]), scale).row(0, named=True))


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
        (0.95, 1.2, "capable but severe", "fine"),
        (0.95, -1.2, "capable but lenient", "fine"),
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
    assert (strict.label, strict.standing) == ("borderline and severe", "borderline")
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


def test_a_sharp_but_strict_latent_class_rater_is_too_severe() -> None:
    facts = {"kappa": 0.52, "kappa_low": 0.45, "kappa_high": 0.59, "eta_se": 0.2, "n": 365}
    strict = verdict(**facts, rho=0.87, eta=2.55, scale=Scale(1.0, "logit", "hrm"))
    assert strict.label == "too severe"
    blunt = verdict(**facts, rho=0.53, eta=0.3, scale=Scale(1.0, "logit", "hrm"))
    assert blunt.label == "weak discrimination"
