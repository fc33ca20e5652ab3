"""Findings: each line and its edge, losses that the what-if shows, one reason, and what silences what."""

import sys
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import raterlens as rl
import raterlens.output.report.page
from raterlens.config import FitConfig
from raterlens.diagnostics import residuals as passes
from raterlens.diagnostics.findings import (
    BLUNT,
    FAIR,
    FAR_OFF,
    FEWEST,
    OFF,
    SHARP,
    Interval,
    halo_verdict,
    panel_findings,
    rater_findings,
    sharpness_verdict,
    standard_verdict,
)
from raterlens.diagnostics.flags import Flag
from raterlens.diagnostics.what_if import Levers
from raterlens.diagnostics.wording import advice, label, on_results, rater_table, with_verdicts
from raterlens.estimation import scoring
from raterlens.fitting.checks import Run
from raterlens.fitting.run import fit_request
from raterlens.output.report.opening import opening
from raterlens.output.report.reproduce import Request
from tests.support.rater_records import record


def around(value: float, margin: float) -> Interval:
    return Interval(value, value - margin, value + margin)


@pytest.mark.parametrize(
    ("passes", "verdict"),
    [
        (0.5, "typical"),
        (0.36, "typical"),
        (0.32, "severe"),
        (0.27, "too severe"),
        (0.68, "lenient"),
        (0.73, "too lenient"),
    ],
)
def test_the_standard_is_off_where_all_of_its_interval_is(passes, verdict):
    assert standard_verdict(300, around(passes, 0.02)) == verdict


@pytest.mark.parametrize(
    ("value", "low", "high", "verdict"),
    [
        (0.9, SHARP, 1.0, "sharp"),
        (0.9, SHARP - 0.01, 1.0, "fair or sharp"),
        (0.6, FAIR, SHARP - 0.01, "fair"),
        (0.7, FAIR - 0.01, 0.8, "probably fair"),
        (0.49, 0.4, FAIR, "probably blunt"),
        (0.4, 0.3, FAIR - 0.01, "blunt"),
        (0.2, 0.0, FAIR - 0.01, "cannot tell students apart"),
        (0.1, 0.05, 0.19, "cannot tell students apart"),
        (-0.3, -0.5, -0.01, "reversed"),
        (0.5, 0.2, 0.8, "unclear"),
    ],
)
def test_sharpness_goes_by_the_limits_of_its_interval(value, low, high, verdict):
    assert sharpness_verdict(300, Interval(value, low, high)) == verdict


def test_a_slope_at_its_limit_is_sharp_where_its_lower_limit_is_known():
    """Right on 98 % of 300 answers: the likelihood falls off below, though it has no top."""
    assert sharpness_verdict(300, Interval(0.98, 0.95, 1.0), "slope at limit") == "sharp"
    assert sharpness_verdict(300, Interval(0.98, 0.98, 0.98), "slope at limit") == "unclear"


@pytest.mark.parametrize(("low", "verdict"), [(0.4, "none"), (0.6, "some"), (1.1, "strong")])
def test_halo_goes_by_its_lower_limit(low, verdict):
    assert halo_verdict(300, Interval(low + 0.3, low, low + 0.6)) == verdict
    assert halo_verdict(300, None) == ""


def test_few_ratings_and_one_score_for_everyone_say_nothing_of_sharpness():
    few = FEWEST - 1
    assert standard_verdict(few, around(0.1, 0.02)) == "unclear"
    assert sharpness_verdict(few, around(0.1, 0.02)) == "unclear"
    assert sharpness_verdict(300, around(0.1, 0.02), "all pass") == "unclear"
    assert halo_verdict(few, around(2, 0.1)) == "none"


def test_the_lines_of_the_standard_cost_what_their_comment_says():
    """Against the perfect rater capability is s exp(-z²/2)."""
    assert 1 - np.exp(-(stats.norm.ppf(0.5 - FAR_OFF) ** 2) / 2) == pytest.approx(0.13, abs=0.005)
    assert OFF < FAR_OFF


@given(
    sharpness=st.floats(-1, 1),
    passes=st.floats(0.001, 0.999),
    halves=st.tuples(*[st.floats(0, 0.6)] * 4),
    n=st.integers(1, 500),
    flag=st.sampled_from(["", "reversed", "central"]),
    alarmed=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_one_reason_decides(sharpness, passes, halves, n, flag, alarmed):
    sharp = Interval(sharpness, max(sharpness - halves[0], -1), min(sharpness + halves[1], 1))
    standard = Interval(passes, max(passes - halves[2], 0), min(passes + halves[3], 1))
    alarm = "0.50 logits more severe since May" if alarmed else ""
    flags = (Flag(flag, "what is seen", "what to do"),) if flag else ()
    it = record(sharp, standard, n=n, flags=flags, alarm=alarm)
    faulty = it.standard.startswith("too ") or it.sharpness_verdict in BLUNT
    assert (it.status == "attention") == (faulty or flag == "reversed" or alarmed)
    if flag == "reversed":
        assert it.reason == "flag"
    elif alarmed:
        assert it.reason == "alarm"
    elif it.cause != "nothing":
        assert it.reason == it.cause
        assert it.losses[it.cause] == max(it.losses.values()) > 0
    else:
        assert it.reason in ("flag", "too few", "borderline", "nothing")
        assert max(it.losses.values()) == 0


@pytest.fixture(scope="module")
def ratings() -> rl.Ratings:
    slope, severity = [4.0, 2.4, 2.4, 0.0, 2.2, 2.2], [0.0, 0.0, 0.0, 0.0, 2.0, -2.0]
    return rl.simulate(students=250, raters=6, items=3, slope=slope, severity=severity, seed=1).ratings


def test_losses_are_differences_of_the_what_if(ratings):
    fit = rl.fit(ratings, model="gmf")
    found = {it.rater: it for it in rater_findings(fit)}
    severe, dull = found["R5"], found["R4"]
    assert severe.losses["severity"] == pytest.approx(fit.what_if("R5").gain, abs=1e-12)
    row = fit.raters.filter(rater="R5").row(0, named=True)
    at_best = rl.capability.gmf(rho=row["rho"], eta=0.0, sigma=fit.sigma)
    assert severe.losses["severity"] == pytest.approx(at_best - row["kappa"], abs=1e-9)
    # A rater of slope a is just fair where sharpness(a) = 0.5.
    fair = Levers(fit).slope_of_sharpness(FAIR)[3]
    eta = fit.raters.filter(rater="R4")["eta"].item()
    assert rl.capability.sharpness(slope=fair, severity=eta) == pytest.approx(FAIR, abs=1e-6)
    just = rl.capability.gmf(rho=fair / fit.sigma, eta=eta, sigma=fit.sigma)
    assert dull.losses["discrimination"] == pytest.approx(just - dull.kappa.value, abs=1e-6)


def test_the_loss_to_halo_is_capability_without_it():
    """By brute force: the mean slope of the pass curve with and without an impression of that spread."""
    drawn = rl.simulate(students=150, raters=4, items=6, slope=1.5, halo=[2.0, 0.1, 0.1, 0.1], seed=2)
    fit = rl.fit(drawn.ratings, model="gmf", halo="rater")
    it = next(it for it in rater_findings(fit) if it.rater == "R1")
    assert it.halo_verdict in ("some", "strong")
    row = fit.raters.filter(rater="R1").row(0, named=True)
    theta = np.linspace(-8, 8, 1601)
    normal = np.exp(-(theta**2) / 2) / np.exp(-(theta**2) / 2).sum()

    def rate(tau: float) -> float:
        p = 1 / (1 + np.exp(-(Levers(fit).slope[0] * theta[:, None] - row["eta"] + tau * theta)))
        return float(normal @ (p * (1 - p)) @ normal)

    gained = it.kappa.value * (rate(0.0) / rate(row["halo"]) - 1)
    assert it.losses["halo"] == pytest.approx(gained, abs=2e-3)


def test_verdict_letter_advice_table_file_and_what_if_name_the_same_cause(ratings):
    fit = rl.fit(ratings, model="gmf")
    found, file = rater_findings(fit), with_verdicts(fit)
    assert {it.rater: it.cause for it in found} == {
        "R1": "nothing", "R2": "nothing", "R3": "nothing", "R4": "discrimination", "R5": "severity", "R6": "severity"
    }  # fmt: skip
    for it, row, told in zip(
        found, advice(fit).iter_rows(named=True), file.iter_rows(named=True), strict=True
    ):
        assert row["costs_most"] == told["costs_most"] == it.cause
        assert row["lost_to_severity"] == it.losses["severity"]
        assert told["verdict"] == label(it)
        assert ("is your standard" in row["feedback"]) == (it.cause == "severity")
        assert ("only loosely" in row["feedback"]) == (it.cause == "discrimination")
        assert (told["next_step"] in row["feedback"]) == (it.cause != "nothing")
        if it.cause == "severity":
            assert fit.what_if(it.rater).gain == pytest.approx(max(it.losses.values()))
    assert rater_table(fit)["kappa"].is_sorted(descending=True)
    steps = dict(fit.verdicts().select("rater", "next_step").iter_rows())
    assert steps == dict(file.select("rater", "next_step").iter_rows())


def test_without_the_best_rater_the_others_are_judged_as_before(ratings):
    keep = ratings.table().filter(pl.col("rater") != "R1")
    part = rl.fit(rl.read(keep, student="student", rater="rater", item="item", score="score"), model="gmf")
    before, after = (
        {it.rater: (it.standard, it.sharpness_verdict, it.cause) for it in rater_findings(fit)}
        for fit in (rl.fit(ratings, model="gmf"), part)
    )
    assert {rater: before[rater] for rater in after} == after


def test_with_ratings_everything_and_without_what_the_estimates_say():
    ratings = rl.simulate(students=80, raters=4, items=3, seed=2).ratings
    fit = rl.fit(ratings, model="gmf")
    whole, alone = panel_findings(fit, ratings), panel_findings(fit)
    assert whole.diagnosis is not None
    assert whole.consequences.changed == fit.consequences(ratings).changed
    assert [test.of for test in whole.differences.tests] == ["severity", "sharpness", "halo"]
    assert alone.diagnosis is None
    assert alone.consequences.changed is None


def apart(*groups: str) -> rl.Ratings:
    """Every group of raters has students of its own."""
    rng = np.random.default_rng(1)
    rows = [
        (f"{group}{s}", rater, item, int(rng.random() < 0.5 + 0.3 * (s % 2)))
        for group in groups
        for s in range(40)
        for rater in group
        for item in ("a", "b")
    ]
    return rl.read(pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row"))


@pytest.mark.parametrize(
    ("groups", "links"),
    [
        (("AB", "CD"), {"unlinked"}),
        (("A", "B", "C"), {"alone"}),
        (("A",), {"alone"}),
        (("ABCD",), {"linked"}),
    ],
)
def test_who_cannot_be_compared_gets_no_verdict_on_their_standard(groups, links):
    ratings = apart(*groups)
    found = panel_findings(rl.fit(ratings, model="gmf"), ratings)
    assert {it.link for it in found.raters} == links
    if links != {"linked"}:
        assert {it.standard for it in found.raters} == {"unclear"}
        assert {it.losses["severity"] for it in found.raters} == {0.0}
        assert {it.status for it in found.raters} <= {"unclear", "attention"}


def test_a_small_group_apart_leaves_the_large_one_comparable():
    ratings = apart("ABCDEF", "G")
    found = {it.rater: it.link for it in panel_findings(rl.fit(ratings, model="gmf"), ratings).raters}
    assert found == dict.fromkeys("ABCDEF", "linked") | {"G": "alone"}


def test_drift_alarms_reach_the_rater():
    drawn = rl.simulate(students=300, raters=4, items=3, seed=3).ratings
    late = drawn.student >= drawn.n_students // 2
    score = np.where(late & (drawn.rater == 0), 0, drawn.score)
    table = drawn.table().with_columns(pl.Series("score", score), time=pl.Series(drawn.student))
    ratings = rl.read(table.drop("time"), student="student", rater="rater", item="item", score="score")
    fit = rl.fit(ratings, model="gmf")
    found = panel_findings(fit, ratings, time=ratings.student)
    one = next(it for it in found.raters if it.rater == "R1")
    assert one.alarm.split("since")[0].endswith("logits more severe ")
    assert (one.status, one.reason) == ("attention", "alarm")
    assert "R1" in found.alarmed
    # The alarm says how much: the test of drift has a number of its own.
    assert "drift" in found.diagnosis.tables["flags"].filter(rater="R1")["effect"].to_list()
    assert "drift" not in {flag.effect for flag in one.flags}
    assert not any("R1" in text and "drift" in text.lower() for text in found.cautions())
    # The number that an interval belongs to is said before it.
    said = opening(fit, found)
    assert "drift" in said["headline"]
    assert said["differ"].startswith(f"{on_results(found)}.")


def test_a_fault_that_most_share_is_the_panels():
    dull = rl.simulate(students=300, raters=6, items=4, slope=0.4, seed=1).ratings
    found = panel_findings(rl.fit(dull, model="gmf"))
    assert found.common_fault is not None
    assert found.common_fault[0] == "discrimination"
    assert panel_findings(rl.fit(rl.load_example(), model="gmf")).common_fault is None


@pytest.fixture
def calls(monkeypatch) -> list[str]:
    """Names of the functions that bind a model, go over residuals, or fit, at every call of one."""
    calls: list[str] = []

    def counted(module: ModuleType, name: str) -> None:
        function = getattr(module, name)

        def call(*given: Any, **named: Any) -> Any:
            calls.append(name)
            return function(*given, **named)

        for one in [one for one in sys.modules.values() if one.__name__.startswith("raterlens")]:
            if getattr(one, name, None) is function:
                monkeypatch.setattr(one, name, call)

    fits = sys.modules["raterlens.fitting.fit"]
    for module, name in ((scoring, "place"), (passes, "residuals"), (fits, "fitted")):
        counted(module, name)
    return calls


def test_a_report_binds_the_model_once_passes_once_and_never_fits(calls, tmp_path):
    ratings = rl.simulate(students=60, raters=4, items=3, seed=1).ratings
    fit = rl.fit(ratings, model="gmf")
    calls.clear()
    fit.report(tmp_path / "report.html", ratings)
    assert sorted(calls) == ["place", "residuals"]


def test_decisions_and_marks_to_repeat_bind_no_model_of_their_own(calls, tmp_path):
    path, out = tmp_path / "ratings.csv", tmp_path / "out"
    rl.simulate(students=60, raters=4, items=3, raters_per_student=2, seed=1).ratings.table().write_csv(path)
    request = Request(
        file=str(path), fit=FitConfig(model="gmf", assumptions="ignore"), decide="0.5", remark=5
    )
    fit_request(request, Run()).write(out)
    assert (out / "remark.csv").exists()
    assert sorted(calls) == ["place", "residuals"]
