"""The gate's result for pull requests and for what runs tests."""

from xml.etree import ElementTree

import pytest

import raterlens as rl


@pytest.fixture(scope="module")
def gate() -> rl.Gate:
    ratings = rl.simulate(students=120, raters=3, items=3, slope=[2.0, 2.0, 0.1], seed=1).ratings
    names = {"R1": "a|b", "R2": "<i>&", "R3": "*bad*\n"}
    table = ratings.table()
    renamed = table.with_columns(table["rater"].cast(str).replace(names).alias("rater"))
    fit = rl.fit(rl.read(renamed, student="student", rater="rater", item="item", score="score"))
    return rl.gate(fit, min_sharpness=0.5, min_ratings=10)


def test_markdown_has_a_row_per_failure_and_no_markup_from_labels(gate):
    text = gate.to_markdown()
    assert text.startswith("### Raterlens: failed: 1 of 3 raters below sharpness 0.5")
    row = next(line for line in text.splitlines() if "**failed**" in line)
    assert row.count(" | ") == 5
    assert "\\*bad\\*" in row
    assert "<i>" not in text


def test_junit_has_a_case_per_rater_and_bound(gate):
    suite = ElementTree.fromstring(gate.to_junit().split("\n", 1)[1])
    assert suite.get("tests") == str(len(suite)) == "7"
    failed = [case for case in suite if case.find("failure") is not None]
    assert suite.get("failures") == str(len(failed)) == "1"
    assert "sharpness" in failed[0].get("name")
    assert "needs 0.5" in failed[0].find("failure").get("message")
