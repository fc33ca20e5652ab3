"""Findings as notes and as questions."""

import pickle

import pytest

from raterlens.base.text import Option, worded
from raterlens.config import ReadConfig
from raterlens.reading.read_plan import Finding, ReadPlan, UncertainError

SURE = Finding("4 sheets", "read together", (Option("table", "*"),))
ASKED = Finding(
    "marks from 0 to 100", "put into bands", (Option("bands", "50"),), Option("cut", 60), certain=False
)


def test_what_is_certain_is_noted_and_asks_nothing() -> None:
    plan = ReadPlan.of(ReadConfig()).add([SURE])
    plan.raise_questions()
    assert plan.config == ReadConfig(table="*")
    assert [finding.note for finding in plan.findings] == ["4 sheets: read together"]


def test_a_question_is_refused_with_an_answer_that_says_everything() -> None:
    plan = ReadPlan.of(ReadConfig(student="name")).add([SURE, ASKED])
    with pytest.raises(UncertainError) as caught:
        plan.raise_questions()
    error = caught.value
    assert str(error) == (
        "marks from 0 to 100; proposal: put into bands; accept it with bands='50', "
        "or choose otherwise, for example cut=60"
    )
    assert error.proposal is not None
    assert error.proposal.config == ReadConfig(student="name", table="*", bands="50")
    assert error.proposal.questions == (ASKED,)
    assert error.option == "bands"
    assert str(pickle.loads(pickle.dumps(error))) == str(error), "it may come from another process"


def test_notes_are_worded_for_each_surface() -> None:
    assert worded(ASKED.note, lambda option: f"--{option.name} {option.value}") == (
        "marks from 0 to 100: put into bands (otherwise: --cut 60)"
    )
