"""Which judges can be trusted, as data, Markdown and JSON."""

import json

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.judging.bounds import Bounds
from raterlens.judging.judgement import Judgement, judged
from tests.support.judge_panels import PEOPLE, panel


@pytest.fixture(scope="module")
def ratings() -> rl.Ratings:
    return panel()


@pytest.fixture(scope="module")
def found(ratings) -> Judgement:
    return judged(rl.fit(ratings, trusted=PEOPLE, reference="perfect"), ratings, margin=0.1)


def test_judges_are_those_who_are_not_trusted_by_name(found):
    assert set(found.table["judge"]) == {"peer", "strict", "long 1", "long 2", "long 3"}
    assert found.people == tuple(PEOPLE)
    assert dict(found.table.select("judge", "trusted").iter_rows())["peer"] is True
    assert not found.passed
    assert {row["judge"] for row in found.table.filter(~pl.col("trusted")).iter_rows(named=True)} == set(
        found.gate.failed
    )
    # In a fit of all, those who like length would pass.
    assert set(found.gate.failed) == {"long 1", "long 2", "long 3"}


def test_the_table_is_the_gate(found):
    for row in found.table.iter_rows(named=True):
        check = found.gate.table.filter(rater=row["judge"]).row(0, named=True)
        assert (row["sharpness"], row["trusted"], row["certain"]) == (
            check["value"], check["passed"], check["certain"]
        )  # fmt: skip


def test_people_can_be_stood_in_for(found):
    verdicts = {each.judge: each.verdict for each in found.replacements}
    assert verdicts["peer"] == "yes"
    assert verdicts["strict"] == "no"
    headings, rows = found.columns()
    place = headings.index("Stands in")
    assert {row[0]: row[place] for row in rows} == verdicts
    assert "Right on known" not in headings  # nobody has any


def test_markdown_has_every_judge_and_escapes_names(ratings):
    renamed = rl.read(
        ratings.table().with_columns(pl.col("rater").cast(pl.String).replace("peer", "pe|er *new*"))
    )
    text = judged(rl.fit(renamed, trusted=PEOPLE), renamed, Bounds(min_kappa=0.6)).to_markdown()
    assert text.startswith("### Raterlens: ")
    assert "| pe\\|er \\*new\\* |" in text
    assert "On the scale of 3 people" in text
    assert "- long 1: kappa" in text
    assert len({line.count(" | ") for line in text.splitlines() if line.startswith("| ")}) == 1


def test_json_is_whole(found):
    content = json.loads(found.to_json())
    assert content["format"] == "raterlens judgement"
    assert content["passed"] is False
    assert {row["judge"] for row in content["judges"]} == set(found.table["judge"])
    assert content["gate"]["bounds"] == {"min_sharpness": 0.5}
    assert {row["verdict"] for row in content["replacements"]} == {"yes", "no"}


def test_known_answers_are_counted_as_they_are():
    """Shares of known answers hit, with Wilson's interval: 8 of 10 is 0.49 to 0.94."""
    rng = np.random.default_rng(1)
    rows = []
    for answer in range(60):
        right = int(answer % 2)
        known = right if answer < 10 else None
        wrong = {"a": answer in (3, 4), "b": rng.random() < 0.3, "c": rng.random() < 0.2}
        rows += [(answer, judge, right ^ int(miss), known) for judge, miss in wrong.items()]
    table = pl.DataFrame(rows, schema=["answer", "judge", "verdict", "gold"], orient="row")
    ratings = rl.read(table, known="gold")
    found = judged(rl.fit(ratings), ratings)
    row = found.table.filter(judge="a").row(0, named=True)
    assert (row["n_known"], row["right"]) == (10, 0.8)
    assert (round(row["right_low"], 2), round(row["right_high"], 2)) == (0.49, 0.94)
    assert found.basis() == "On the scale of 10 known answers"


def test_misuse_is_named(ratings):
    with pytest.raises(OptionError, match="nothing says what is right"):
        judged(rl.fit(ratings, standard_errors=False), ratings)
    with pytest.raises(OptionError, match="nobody is left to judge"):
        judged(rl.fit(ratings, trusted=ratings.raters.to_list(), standard_errors=False), ratings)
