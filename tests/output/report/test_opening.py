"""The first screen: what it means for students, whether raters differ, who needs attention, what has changed."""

from dataclasses import replace
from functools import cache

import pytest

import raterlens as rl
from raterlens.capability.yardstick import Yardstick
from raterlens.diagnostics.differences import Differences, Hypothesis
from raterlens.diagnostics.findings import PanelFindings, panel_findings
from raterlens.diagnostics.flags import Flag
from raterlens.output.report import english as words
from raterlens.output.report.opening import opening, panel_rows, scale, since, tally
from raterlens.output.report.page import render
from tests.support.rater_records import record
from tests.support.report_fits import MakeFit, made


@cache
def example() -> tuple[rl.Fit, rl.Ratings]:
    ratings = rl.load_example()
    return rl.fit(ratings, model="gmf"), ratings


@cache
def found_in_example() -> PanelFindings:
    return panel_findings(*example())


def test_it_opens_with_what_it_means_for_students_and_then_says_who():
    fit, ratings = example()
    found = opening(fit, found_in_example())
    changed = fit.consequences(ratings).changed
    assert (
        found["headline"] == f"{changed} of 363 students would pass or fail differently with an average rater"
    )
    assert found["who"] == "7 of 16 raters need attention"
    assert [name for name, *_ in found["facts"]] == [
        "Two raters agreed on work that both marked",
        "Reliability of a mean score from 4 raters",
        "An average student’s chance to pass",
    ]
    interval = fit.consequences(ratings).changed_interval
    assert interval is not None
    low, high = interval
    assert found["differ"].startswith(
        f"The 95 % interval of that number is {low} to {high}. Raters differ in severity (p < 0.001)"
    )
    kappas = dict(fit.raters.select("rater", "kappa").iter_rows())
    for card in found["cards"]:  # capability with its interval is what people come for
        assert (card["value"], card["of"]) == (f"{kappas[card['rater']]:.2f}", "capability")
        bottom, top = map(float, card["span"].split("–"))
        assert bottom < float(card["value"]) < top


def test_where_chance_explains_all_the_headline_says_so_and_nobody_is_ranked():
    ratings = rl.simulate(students=60, raters=4, items=2, slope=1.5, severity=0.0, seed=3).ratings
    fit = rl.fit(ratings, model="gmf")
    assert fit.differences(ratings).equal
    page = render(fit, ratings=ratings)
    assert "<h1>Raters do not differ beyond chance in severity or sharpness</h1>" in page
    assert '<th scope="col" data-column="rank"' not in page
    assert words.RATER["rank"] not in page
    assert words.UNRANKED in page


def test_a_fit_alone_says_who():
    fit = made(16)
    found = opening(fit, panel_findings(fit))
    assert found["headline"] == found["who"]


def test_what_most_raters_share_is_said_once_about_the_panel():
    blunt = rl.simulate(students=300, raters=6, items=4, slope=0.4, seed=1).ratings
    dull = rl.fit(blunt, model="gmf")
    (line,) = opening(dull, panel_findings(dull, blunt))["panel"]
    assert "raters are blunt" in line
    assert opening(example()[0], found_in_example())["panel"] == []


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("max", "the sharpest rater of this panel"),
        ("max corrected", "the sharpest rater of this panel"),
        ("quantile 0.9", "the sharpest raters of this panel"),
        ("perfect", "a perfect rater, one without noise"),
        ("AM", "rater AM"),
        (1.5, "a rater with slope 1.5"),
    ],
)
def test_the_yardstick_is_named_in_words(reference, said):
    fit = replace(made(3), yardstick=Yardstick(reference=reference))
    assert f"Capability is relative to {said}." in scale(fit)


def test_the_tally_goes_from_no_fault_to_the_gravest():
    labels = [row["label"] for row in tally(found_in_example().raters)]
    order = [
        "sharp",
        "fair or sharp",
        "severe",
        "lenient",
        "borderline",
        "too severe",
        "too lenient",
        "blunt",
    ]
    assert labels == [label for label in order if label in labels]


def test_what_changed_since_an_earlier_fit_beyond_chance():
    def run(slope: list[float], seed: int, raters: int = 4) -> rl.Fit:
        return rl.fit(
            rl.simulate(students=300, raters=raters, items=3, slope=slope, seed=seed).ratings, model="gmf"
        )

    before, after = run([1.8] * 4, 1), run([1.8, 1.8, 1.8, 0.3, 1.8], 2, 5)
    found = since(after, before, panel_findings(after, previous=before))
    assert found is not None
    assert "R4" in [row["rater"] for row in found["rows"]]
    worse = next(row for row in found["rows"] if row["rater"] == "R4" and "sharpness" in row["what"])
    assert worse["now"] in ("blunt", "cannot tell students apart")
    assert (found["compared"], found["new"], found["gone"]) == ("4 raters", "1 new rater", "")
    unchanged = since(before, before, panel_findings(before, previous=before))
    assert unchanged is not None
    assert unchanged["rows"] == []


def test_p_values_reach_the_page():
    tests = (Hypothesis("severity", "Wald", 1.0, 3, 0.8), Hypothesis("sharpness", "Wald", 1.0, 3, 0.6))
    found = opening(example()[0], replace(found_in_example(), differences=Differences(tests)))
    assert found["headline"] == "Raters do not differ beyond chance in severity or sharpness"
    assert "severity (p = 0.80)" in found["differ"]


def flagged(found: PanelFindings, effect: str) -> PanelFindings:
    """The same, the first rater being without fault but for a flag."""
    flag = Flag(effect, "scores fall where others see better work", "check the direction of the scores")
    return replace(found, raters=(record(rater=found.raters[0].rater, flags=(flag,)), *found.raters[1:]))


@pytest.mark.usefixtures("no_pictures")
def test_a_capable_rater_who_is_flagged_is_introduced_with_the_evidence(make_fit: MakeFit):
    fit = make_fit(16)
    html = render(fit, found=flagged(panel_findings(fit), "central"))
    assert words.STAND_OUT in html
    assert "Scores fall where others see better work." in html
    assert "Check the direction of the scores." in html
    grave = opening(fit, flagged(panel_findings(fit), "reversed"))
    assert grave["standing_out"] == []
    assert "Scores fall where others see better work." in [card["sentence"] for card in grave["cards"]]


@pytest.mark.usefixtures("no_pictures")
def test_a_panel_without_fault_is_told_so(make_fit: MakeFit):
    fit = make_fit(16)
    good = replace(panel_findings(fit), raters=tuple(record(rater=f"R{r:04d}") for r in range(16)))
    html = render(fit, found=good)
    assert "No rater needs attention" in html
    assert words.ALL_WELL in html
    assert words.ALL_WELL not in render(fit)


def test_without_ranks_raters_stand_by_name(make_fit: MakeFit):
    fit = make_fit(16)
    tests = (Hypothesis("severity", "Wald", 1.0, 3, 0.8),)
    found = panel_findings(fit)
    assert panel_rows(fit, replace(found, differences=Differences(tests)))["rater"].is_sorted()
    assert not panel_rows(fit, found)["rater"].is_sorted()
