"""The first screen: what it means for students, whether raters differ, who needs attention, what has changed."""

from dataclasses import replace
from functools import cache

import pytest

import raterlens as rl
from raterlens.capability.yardstick import Yardstick
from raterlens.diagnostics.differences import Differences, Hypothesis
from raterlens.diagnostics.findings import Findings
from raterlens.output.report import english as words
from raterlens.output.report import render
from raterlens.output.report.opening import opening, scale, since, tally
from raterlens.output.report.rater_rows import panel
from tests.support.report_fits import made


@cache
def example() -> tuple[rl.Fit, rl.Ratings]:
    ratings = rl.load_example()
    return rl.fit(ratings), ratings


def first_screen(fit: rl.Fit, ratings: rl.Ratings, differences: Differences) -> dict:
    diagnosis = fit.diagnose(ratings)
    return opening(fit, panel(fit, diagnosis), Findings(fit.consequences(ratings), differences, diagnosis))


def test_it_opens_with_what_it_means_for_students_and_then_says_who():
    fit, ratings = example()
    found = first_screen(fit, ratings, fit.differences(ratings))
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
    for card in found["cards"]:  # the number at issue, as the sentence says it
        assert f"about {card['value']} of 100" in card["sentence"]


def test_where_chance_explains_all_the_headline_says_so_and_nobody_is_ranked():
    ratings = rl.simulate(students=60, raters=4, items=2, slope=1.5, severity=0.0, seed=3).ratings
    fit = rl.fit(ratings)
    assert fit.differences(ratings).equal
    page = render(fit, ratings=ratings)
    assert f"<h1>{words.EQUAL}</h1>" in page
    assert '<th scope="col" data-column="rank"' not in page
    assert words.RATER["rank"] not in page
    assert words.UNRANKED in page


def test_a_fit_alone_says_who():
    fit = made(16)
    found = opening(fit, panel(fit, None), Findings(fit.consequences(), Differences(())))
    assert found["headline"] == found["who"]


def test_what_most_raters_share_is_said_once_about_the_panel():
    fit, ratings = example()
    blunt = rl.simulate(students=300, raters=6, items=4, slope=0.4, seed=1).ratings
    dull = rl.fit(blunt)
    (line,) = first_screen(dull, blunt, Differences(()))["panel"]
    assert "raters are blunt" in line
    assert first_screen(fit, ratings, Differences(()))["panel"] == []


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
    fit, _ = example()
    labels = [row["label"] for row in tally(panel(fit, None))]
    order = ["sharp", "fair", "severe", "lenient", "borderline", "too severe", "too lenient", "blunt"]
    assert labels == [label for label in order if label in labels]


def test_what_changed_since_an_earlier_fit_beyond_chance():
    def run(slope: list[float], seed: int, raters: int = 4) -> rl.Fit:
        return rl.fit(rl.simulate(students=300, raters=raters, items=3, slope=slope, seed=seed).ratings)

    before, after = run([1.8] * 4, 1), run([1.8, 1.8, 1.8, 0.3, 1.8], 2, 5)
    found = since(after, before)
    assert "R4" in [row["rater"] for row in found["rows"]]
    worse = next(row for row in found["rows"] if row["rater"] == "R4" and "sharpness" in row["what"])
    assert worse["now"] in ("blunt", "cannot tell students apart")
    assert (found["compared"], found["new"], found["gone"]) == ("4 raters", "1 new rater", "")
    assert since(before, before)["rows"] == []


def test_p_values_reach_the_page():
    fit, ratings = example()
    tests = (Hypothesis("severity", "Wald", 1.0, 3, 0.8), Hypothesis("sharpness", "Wald", 1.0, 3, 0.6))
    found = first_screen(fit, ratings, Differences(tests))
    assert found["headline"] == words.EQUAL
    assert "severity (p = 0.80)" in found["differ"]
