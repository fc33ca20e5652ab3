"""Verdicts: each line and its edge, what silences what, and one cause in every sentence."""

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import raterlens as rl
from raterlens.diagnostics.verdicts import BLIND, FAIR, FAR_OFF, FEWEST, OFF, SHARP, Verdict, verdicts

ABOUT = {"severity": "colleague, and agree on the standard", "discrimination": "benchmark"}


def judge(
    sharpness: float = 0.75, passes: float = 0.5, *, margin: float = 0.05, ordered: bool = False, **other: Any
) -> Verdict:
    """The verdict on a rater with intervals of that half-width."""
    facts = {
        **{f"sharpness{end}": sharpness + by for end, by in (("", 0), ("_low", -margin), ("_high", margin))},
        **{f"passes{end}": passes + by for end, by in (("", 0), ("_low", -margin), ("_high", margin))},
        **{"n": 300, "flag": ""},
    }
    return Verdict(**verdicts(pl.DataFrame([facts | other]), ordered=ordered).row(0, named=True))


@pytest.mark.parametrize(
    ("passes", "standard", "standing"),
    [
        (0.5, "typical", "fine"),
        (0.36, "typical", "fine"),
        (0.32, "severe", "fine"),
        (0.24, "too severe", "attention"),
        (0.68, "lenient", "fine"),
        (0.76, "too lenient", "attention"),
    ],
)
def test_the_standard_is_off_where_all_of_its_interval_is(passes, standard, standing):
    found = judge(passes=passes, margin=0.02)
    assert (found.standard, found.standing) == (standard, standing)
    assert found.costs_most == ("nothing" if standard == "typical" else "severity")
    assert found.label == ("sharp" if standard == "typical" else standard)


@pytest.mark.parametrize(
    ("sharpness", "word", "standing"),
    [
        (SHARP, "sharp", "fine"),
        (SHARP - 0.01, "fair", "fine"),
        (FAIR - 0.04, "fair", "borderline"),
        (FAIR - 0.06, "blunt", "attention"),
        (0.04, "cannot tell students apart", "attention"),
        (BLIND - 0.06, "cannot tell students apart", "attention"),
        (-0.06, "reversed", "attention"),
    ],
)
def test_sharpness_has_its_lines(sharpness, word, standing):
    found = judge(sharpness)
    assert (found.sharpness_verdict, found.standing) == (word, standing)
    assert found.costs_most == ("discrimination" if standing == "attention" else "nothing")


def test_losses_are_those_of_capability_against_the_perfect_rater():
    """s exp(-z^2 / 2) with sharpness 0.8 and 20 of 100 passes: z = -0.8416."""
    found = judge(0.8, 0.2)
    z = stats.norm.ppf(0.2)
    assert found.lost_to_severity == pytest.approx(0.8 - 0.8 * np.exp(-z * z / 2))
    assert found.lost_to_discrimination == 0
    assert judge(0.3).lost_to_discrimination == pytest.approx(FAIR - 0.3)
    # The lines of the standard in the same terms: what the constants' comments promise.
    assert 1 - np.exp(-(stats.norm.ppf(0.5 - FAR_OFF) ** 2) / 2) == pytest.approx(0.13, abs=0.005)
    assert OFF < FAR_OFF


@given(
    sharpness=st.floats(-1, 1),
    passes=st.floats(0.001, 0.999),
    halves=st.tuples(*[st.floats(0, 0.6)] * 4),
    n=st.integers(1, 500),
    flag=st.sampled_from(["", "all pass", "all fail", "slope at limit", "slope at 0", "anchored"]),
    ordered=st.booleans(),
)
@settings(max_examples=400, deadline=None)
def test_one_cause_the_largest_loss_and_no_other_advice(sharpness, passes, halves, n, flag, ordered):
    facts = {
        "sharpness": sharpness,
        "sharpness_low": max(sharpness - halves[0], -1),
        "sharpness_high": min(sharpness + halves[1], 1),
        "passes": passes,
        "passes_low": max(passes - halves[2], 0),
        "passes_high": min(passes + halves[3], 1),
    }
    found = Verdict(
        **verdicts(pl.DataFrame([facts | {"n": n, "flag": flag}]), ordered=ordered).row(0, named=True)
    )
    losses = {"severity": found.lost_to_severity, "discrimination": found.lost_to_discrimination}
    if found.costs_most == "nothing":
        assert max(losses.values()) == 0
        assert found.next_step in (
            "Nothing to do.",
            "Assign more double-marked work.",
            "Assign more double-marked work to settle it.",
        )
    else:
        assert losses[found.costs_most] == max(losses.values()) > 0
        other = "discrimination" if found.costs_most == "severity" else "severity"
        assert ABOUT[other] not in found.next_step
    assert found.sentence.endswith(".")
    assert found.next_step.endswith(".")
    assert (found.standing == "attention") == (
        found.standard.startswith("too ")
        or found.sharpness_verdict in ("blunt", "cannot tell students apart", "reversed")
    )


def test_a_wide_interval_says_nothing():
    found = judge(0.5, margin=0.3)
    assert (found.sharpness_verdict, found.label, found.standing) == (
        "unclear",
        "too few ratings to say",
        "unclear",
    )
    assert "anywhere from 0.20 to 0.80" in found.sentence


def test_few_ratings_silence_everything():
    for flag, sharpness in itertools.product(("", "all pass", "slope at 0"), (0.1, 0.9)):
        found = judge(sharpness, 0.1, n=FEWEST - 1, flag=flag)
        assert (found.standard, found.sharpness_verdict) == ("unclear", "unclear")
        assert found.label == "too few ratings to say"
    assert judge(n=1).sentence.startswith("1 rating is not enough")


def test_one_score_for_everyone_is_a_matter_of_the_standard_where_chance_is_ruled_out():
    clear = judge(0.6, 0.9, flag="all pass")
    assert (clear.standard, clear.sharpness_verdict, clear.costs_most) == (
        "too lenient",
        "unclear",
        "severity",
    )
    assert clear.sentence.startswith("Each of the 300 ratings is a pass")
    assert "weaker work" in clear.next_step
    assert judge(0.6, 0.8, margin=0.35, flag="all pass").standing == "unclear"


def test_ordered_scores_are_spoken_of_as_marks():
    strict = judge(0.8, 0.2, ordered=True)
    assert strict.sentence.startswith("Gives about 20 % of the marks where the average rater gives 50 %")
    assert "pass" not in (strict.sentence + strict.next_step).lower()


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_without_intervals_the_estimate_decides(nothing):
    ends = {f"{name}{end}": nothing for name in ("sharpness", "passes") for end in ("_low", "_high")}
    table = pl.DataFrame([{"sharpness": s, "passes": 0.5, "n": 300, "flag": ""} | ends for s in (0.4, 0.9)])
    assert verdicts(table)["label"].to_list() == ["blunt", "sharp"]


def with_halo(halo: float, low: float, sharp: float = 0.6, **more: float) -> dict:
    row = {
        "n": 300,
        "flag": "",
        "sharpness": sharp,
        "sharpness_low": sharp - 0.05,
        "sharpness_high": sharp + 0.05,
    }
    row |= {"passes": 0.5, "passes_low": 0.45, "passes_high": 0.55}
    return row | {"halo": halo, "halo_low": low, "halo_high": halo + 0.3} | more


@pytest.mark.parametrize(
    ("low", "said", "standing"), [(0.0, "none", "fine"), (0.6, "some", "fine"), (1.1, "strong", "attention")]
)
def test_halo_is_judged_where_each_rater_has_one(low, said, standing):
    found = verdicts(pl.DataFrame([with_halo(low + 0.3, low), with_halo(0.1, 0.0)])).row(0, named=True)
    assert (found["halo_verdict"], found["standing"]) == (said, standing)
    assert found["costs_most"] == ("nothing" if said == "none" else "halo")
    common = verdicts(pl.DataFrame([with_halo(2.0, 1.5)] * 3))  # one halo for all is the panel's
    assert common["costs_most"].unique().to_list() == ["nothing"]


@pytest.mark.parametrize("tau", [1.0, 2.0])
def test_the_cost_of_halo_is_the_sharpness_that_it_takes(tau):
    """By brute force: sharpness of slope 1.5, with and without an impression of that spread on the logit scale."""
    theta, u = (np.linspace(-7, 7, 561) for _ in range(2))
    weight = np.exp(-(theta**2) / 2) / np.exp(-(theta**2) / 2).sum()
    mean = (1 / (1 + np.exp(-(1.5 * theta[:, None] + tau * u)))) @ weight
    sharp = np.sqrt(2 * np.pi) * (mean * theta) @ weight
    found = verdicts(pl.DataFrame([with_halo(tau, tau - 0.1, float(sharp)), with_halo(0.1, 0.0)]))
    assert found["lost_to_halo"][0] == pytest.approx(rl.capability.sharpness(slope=1.5) - sharp, abs=0.01)


def test_a_costlier_standard_comes_before_halo():
    row = with_halo(1.2, 1.1, passes=0.1, passes_low=0.05, passes_high=0.15)
    found = verdicts(pl.DataFrame([row, with_halo(0.1, 0.0)])).row(0, named=True)
    assert found["costs_most"] == "severity"
    assert found["lost_to_severity"] > found["lost_to_halo"] > 0
