"""Findings in words: a table of raters and what is said about them; and headlines that know."""

from dataclasses import replace
from typing import Any

import pytest

import raterlens as rl
from raterlens.diagnostics.differences import Differences, Hypothesis
from raterlens.diagnostics.findings import Interval, PanelFindings, RaterFindings, panel_findings
from raterlens.diagnostics.flags import Flag
from raterlens.diagnostics.wording import (
    LABELS,
    aside,
    caveats,
    common_fault,
    explanation,
    headline,
    label,
    letter,
    meaning,
    most_urgent,
    next_step,
    who,
)
from tests.support.rater_records import record
from tests.support.report_fits import made

ALARM = "0.50 logits more lenient since 3 May (95 % interval 0.30 to 0.70)"
SEVERE, LENIENT = Interval(0.2, 0.16, 0.25), Interval(0.8, 0.76, 0.85)
FLAG = Flag("central", "favours the middle of the scale", "show work that deserves the ends")
REVERSED = Flag("reversed", "scores fall where others see better work", "check the direction")

SAID: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "sharp": (
        {},
        "sharp",
        "Tells students apart well, with the usual standard.",
        "Nothing to do.",
    ),
    "not clearly usual": (
        {"passes": Interval(0.64, 0.56, 0.71)},
        "sharp",
        "Tells students apart well. Passes about 64 of 100 students where the average rater passes 50, which may be "
        "chance.",
        "Nothing to do.",
    ),
    "probably fair": (
        {"sharpness": Interval(0.6, 0.45, 0.72)},
        "probably fair",
        "Probably tells students apart fairly well, with the usual standard.",
        "Nothing to do.",
    ),
    "too severe": (
        {"passes": SEVERE},
        "too severe",
        "Passes about 20 of 100 students where the average rater passes 50. Tells students apart well.",
        "Review borderline work with a more lenient colleague, and agree on the standard.",
    ),
    "marks": (
        {"passes": LENIENT, "ordered": True, "less": -0.62, "sharpness": Interval(0.6, 0.1, 0.8)},
        "too lenient",
        "Gives the middle mark or more to about 80 of 100 students, the average rater to 50; an average student gets "
        "0.6 marks more than from the average rater.",
        "Review borderline work with a stricter colleague, and agree on the standard.",
    ),
    "lenient": (
        {"passes": Interval(0.68, 0.66, 0.71)},
        "lenient",
        "Passes about 68 of 100 students where the average rater passes 50. Tells students apart well.",
        "Discuss the standard at the next briefing; students' results already allow for it.",
    ),
    "all pass": (
        {"passes": LENIENT, "constant": "all pass"},
        "too lenient",
        "Each of the 300 ratings is a pass, so they do not tell students apart.",
        "Ask which standard was applied, and assign some weaker work.",
    ),
    "blunt": (
        {"sharpness": Interval(0.3, 0.2, 0.42)},
        "blunt",
        "Scores follow ability only loosely: sharpness 0.30, at most 0.42.",
        "Review the criteria with benchmark work, and agree on why each piece gets its score.",
    ),
    "no relation": (
        {"sharpness": Interval(0.1, 0.0, 0.3)},
        "cannot tell students apart",
        "No sign that scores follow ability: sharpness 0.10, at most 0.30.",
        "Check that the scores belong to the right students; then train on benchmark work.",
    ),
    "reversed": (
        {"sharpness": Interval(-0.5, -0.6, -0.3)},
        "reversed",
        "Abler students get lower scores from this rater.",
        "Check that the scores were recorded the right way round.",
    ),
    "halo": (
        {"halo": Interval(1.4, 1.1, 1.8)},
        "halo",
        "One impression colours all scores of a student: it varies by 1.4 besides ability.",
        "Mark each item across all students before the next, so that one impression does not carry over.",
    ),
    "borderline sharpness": (
        {"sharpness": Interval(0.45, 0.35, 0.55)},
        "borderline",
        "Probably blunt: sharpness 0.45, but up to 0.55 is possible.",
        "Assign more double-marked work to settle it.",
    ),
    "borderline standard": (
        {"passes": Interval(0.72, 0.64, 0.8)},
        "borderline",
        "Passes about 72 of 100 students where the average rater passes 50, but that may be chance.",
        "Assign more double-marked work to settle it.",
    ),
    "too few": (
        {"sharpness": Interval(0.5, 0.2, 0.8), "n": 20},
        "too few ratings to say",
        "20 ratings are not enough to tell: sharpness could be anywhere from 0.20 to 0.80.",
        "Assign more double-marked work.",
    ),
    "one": (
        {"n": 1, "sharpness": Interval(0.5, 0.5, 0.5)},
        "too few ratings to say",
        "1 rating is not enough to tell.",
        "Assign more double-marked work.",
    ),
    "alarm": (
        {"alarm": ALARM},
        "drift alarm",
        "0.50 logits more lenient since 3 May (95 % interval 0.30 to 0.70).",
        "Review what was marked since then, and talk to the rater before more is marked.",
    ),
    "flag": (
        {"flags": (FLAG,)},
        "sharp",
        "Tells students apart well, with the usual standard.",
        "Show work that deserves the ends.",
    ),
    "costlier than a flag": (
        {"flags": (FLAG,), "passes": SEVERE},
        "too severe",
        "Passes about 20 of 100 students where the average rater passes 50. Tells students apart well.",
        "Review borderline work with a more lenient colleague, and agree on the standard.",
    ),
    "grave flag": (
        {"flags": (FLAG, REVERSED), "passes": SEVERE},
        "reversed",
        "Scores fall where others see better work.",
        "Check the direction.",
    ),
    "unlinked": (
        {"link": "unlinked", "standard": "unclear"},
        "cannot be compared",
        "Shares no students with the other groups of raters: severity rests on the assumption that all groups of "
        "students are equally able.",
        "Let raters of different groups mark some of the same students.",
    ),
}  # fmt: skip


def rater(facts: dict[str, Any]) -> RaterFindings:
    standard = facts.get("standard")
    it = record(**{name: value for name, value in facts.items() if name != "standard"})
    return it if standard is None else replace(it, standard=standard)


@pytest.mark.parametrize("case", SAID)
def test_label_sentence_and_next_step(case):
    facts, *said = SAID[case]
    it = rater(facts)
    assert [label(it), explanation(it), next_step(it)] == said
    assert label(it) in LABELS


@pytest.mark.parametrize("case", SAID)
def test_a_letter_is_about_what_decides(case):
    """Who has something to change is told the same next step as the card; nobody else is told any."""
    it = rater(SAID[case][0])
    text = letter(it, -2.0, -0.5)
    assert text.startswith("Dear AM, thank you for your ")
    decides = it.cause != "nothing" or it.reason == "alarm" or it.status == "attention"
    assert (f"Suggested next step: {next_step(it)}" in text) == decides
    assert ("best at separating weaker work" in text) == (
        it.reason in ("severity", "halo", "borderline", "flag", "nothing") and label(it) != "reversed"
    )
    if it.reason == "flag" and it.cause == "nothing":
        assert it.flags[0].evidence in text


def panel(*raters: RaterFindings, **others: Any) -> PanelFindings:
    found = panel_findings(made(3))
    return replace(found, raters=raters, **others)


GOOD, OTHER = record(), record(passes=Interval(0.68, 0.66, 0.71))
TOO_SEVERE = record(passes=SEVERE)
EQUAL = Differences((Hypothesis("severity", "Wald", 1.0, 3, 0.8),))


def test_headlines_know_what_comes_first():
    unlinked = rater({"link": "unlinked", "standard": "unclear"})
    few = rater(SAID["too few"][0])
    assert headline(panel(record(alarm=ALARM), GOOD)).text == "1 rater drifts: look into that first"
    assert headline(panel(record(alarm=ALARM), GOOD)).who == "1 of 2 raters needs attention"
    assert headline(panel(unlinked, unlinked, groups=2)).text.startswith("Raters cannot be compared")
    assert headline(panel(unlinked)).text == "One rater: there is nobody to compare with"
    assert headline(panel(few, few)).text == "Too few ratings to say how capable any rater is"
    assert headline(panel(GOOD, TOO_SEVERE, differences=EQUAL)).text.startswith("Raters do not differ")
    assert headline(panel(GOOD, TOO_SEVERE)).text == "1 of 2 raters needs attention"
    assert headline(panel(GOOD, GOOD)) == ("No rater needs attention", "No rater needs attention", "")


def test_with_a_pass_mark_the_headline_is_about_students():
    ratings = rl.load_example()
    found = panel_findings(rl.fit(ratings, model="gmf"), ratings)
    changed = found.consequences.changed
    assert (
        headline(found).text
        == f"{changed} of 363 students would pass or fail differently with an average rater"
    )


def test_who_and_who_else():
    borderline = rater(SAID["borderline standard"][0])
    raters = (GOOD, TOO_SEVERE, TOO_SEVERE, borderline, OTHER, record(flags=(FLAG,)))
    assert who(raters) == "2 of 6 raters need attention"
    assert aside(raters) == ("1 is severe or lenient; 1 is borderline; 1 stands out for another reason")
    far_but_unsure = record(passes=Interval(0.71, 0.66, 0.76))
    assert (far_but_unsure.status, label(far_but_unsure)) == ("borderline", "lenient")
    assert aside((far_but_unsure, OTHER)) == "2 are severe or lenient"
    assert who([TOO_SEVERE] * 2) == "All 2 raters need attention"
    assert who([borderline, GOOD]) == "No rater clearly needs attention"


def test_the_costliest_fault_comes_first():
    blunt = record(Interval(0.3, 0.2, 0.42))
    unclear = rater(SAID["too few"][0])
    found = most_urgent((unclear, blunt, GOOD, TOO_SEVERE), "attention", "unclear")
    assert found == [TOO_SEVERE, blunt, unclear]


def test_what_most_raters_share_is_said_once():
    blunt = record(Interval(0.3, 0.2, 0.42))
    assert common_fault(panel(*[blunt] * 4, GOOD)).startswith(
        "4 of 5 raters are blunt (median sharpness 0.30)"
    )
    assert common_fault(panel(*[blunt] * 2, *[GOOD] * 3)) == ""
    assert common_fault(panel(*[blunt] * 3)) == ""
    assert "halo costs 4 of 4" in common_fault(panel(*[record(halo=Interval(1.4, 1.1, 1.8))] * 4))


def test_a_model_of_severity_only_says_so():
    ratings = rl.load_example()
    assert "severity" in caveats(rl.fit(ratings, model="tfm"))[0]
    assert caveats(rl.fit(ratings, model="gmf")) == ()


def test_small_panels_are_told_of_the_panel_prior_unless_they_have_it_or_refused_it():
    ratings = rl.simulate(students=60, raters=5, items=1, seed=1).ratings
    (said,) = caveats(rl.fit(ratings, model="gmf"))
    assert "about 60 ratings per rater" in said
    assert said.endswith("prior='panel'")
    for settled in (rl.fit(ratings), *(rl.fit(ratings, model="gmf", prior=one) for one in ("panel", "none"))):
        assert caveats(settled) == ()


def test_nothing_is_said_to_follow_from_differences_where_nobody_can_be_compared():
    ratings = rl.simulate(students=90, raters=3, items=1, raters_per_student=1, seed=2).ratings
    found = panel_findings(rl.fit(ratings, model="gmf"), ratings)
    assert not found.comparable
    (said,) = meaning(found)
    assert "equally able" in said
