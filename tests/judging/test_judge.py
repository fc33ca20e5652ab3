"""`rl.judge` on simulated verdicts."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from tests.support.judge_panels import PEOPLE, panel

NAMES = {"student": "answer", "rater": "judge", "score": "verdict", "known": "gold"}


def table(
    shares: dict[str, float], n: int = 300, n_known: int = 60, seed: int = 1, levels: int = 2
) -> pl.DataFrame:
    """Judges who see the true level, and else any."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, levels, n)
    known = [int(level) if place < n_known else None for place, level in enumerate(truth)]
    parts = []
    for name, share in shares.items():
        verdict = np.where(rng.random(n) < share, truth, rng.integers(0, levels, n))
        parts.append(
            pl.DataFrame(
                {
                    "answer": np.arange(n),
                    "judge": name,
                    "verdict": verdict,
                    "gold": known,
                    "system": np.where(np.arange(n) % 2, "new", "old"),
                }
            )
        )
    return pl.concat(parts)


PANEL = {"a": 0.95, "b": 0.8, "c": 0.7, "d": 0.6, "coin": 0.0}


def judged(data: pl.DataFrame, **options: Any) -> rl.JudgeReport:
    return rl.judge(data, **NAMES, **options)


def test_judges_come_by_capability_with_the_numbers_that_were_drawn():
    found = judged(table(PANEL, n=600))
    judges = found.judges
    assert judges["judge"].to_list() == list(PANEL)
    # who sees the truth in a share s of cases, and else guesses, has J = s
    j = np.array(list(PANEL.values()))
    low, high = (judges[f"capability_{end}"].to_numpy() for end in ("low", "high"))
    assert ((low <= j) & (j <= high)).sum() >= 4
    assert found.failed == ("coin",)
    assert not found.passed
    assert judges["verdict"][0] == "trusted"
    np.testing.assert_allclose(judges["capability"], judges["sensitivity"] + judges["specificity"] - 1)


def test_sorted_and_bounded_by_accuracy():
    found = judged(table(PANEL), by_metric="accuracy", min_accuracy=0.7)
    assert found.judges["accuracy"].is_sorted(descending=True)
    assert found.bounds == {"accuracy": 0.7}


def test_labels_are_mostly_right_and_known_ones_are_theirs():
    data = table(PANEL, n=600)
    labels = judged(data).labels.sort("student")
    truth = np.random.default_rng(1).integers(0, 2, 600)
    assert (labels["label"].to_numpy() == truth).mean() > 0.9
    assert labels.filter("known")["probability"].min() == 1.0
    sure = labels.filter(~pl.col("needs_person") & ~pl.col("known"))
    assert sure.height > 100
    assert (sure["label"].to_numpy() == truth[sure["student"].cast(int).to_numpy()]).mean() > 0.9


def test_systems_differ_only_where_they_do():
    found = judged(table(PANEL), by="system")
    assert found.systems["system"].sort().to_list() == ["new", "old"]
    assert found.differences["p_holm"][0] > 0.01
    assert found.slices.height == 10


def test_a_random_judge_changes_nobody_beyond_its_interval():
    calm = judged(table({**PANEL, "e": 0.7}))
    noisy = judged(table({**PANEL, "e": 0.0}))
    dropped = judged(table({**PANEL, "e": 0.7}), without=["e"])
    for other in (noisy, dropped):
        both = calm.judges.join(other.judges, on="judge").filter(pl.col("judge") != "e")
        inside = (both["capability_right"] > both["capability_low"]) & (
            both["capability_right"] < both["capability_high"]
        )
        assert inside.all()
    assert "e" not in dropped.judges["judge"]


def test_no_bootstrap_turns_a_certain_verdict_round():
    data = table({"a": 0.95, "b": 0.5, "coin": 0.0, "c": 0.75}, n=150)
    certain = {row["judge"]: row["verdict"] for row in judged(data).judges.iter_rows(named=True)}
    opposite = {"trusted": "not trusted", "not trusted": "trusted"}
    rng = np.random.default_rng(3)
    for _ in range(5):
        drawn = pl.DataFrame({"answer": rng.integers(0, 150, 150), "new": np.arange(150)})
        again = drawn.join(data, on="answer").drop("answer").rename({"new": "answer"})
        for row in judged(again).judges.iter_rows(named=True):
            assert row["verdict"] != opposite.get(certain[row["judge"]])


def test_ordered_scores_are_judged_at_every_cut():
    found = judged(table(PANEL, n=400, levels=4, n_known=80))
    assert found.judges["judge"].to_list()[0] == "a"
    assert "means over 3 cuts" in found.summary()
    assert set(found.labels["label"].unique()) == {0, 1, 2, 3}


def test_judges_against_the_truth_are_negative():
    data = table({"a": 0.9, "b": 0.8, "c": 0.8, "turned": 0.9})
    turned = data.with_columns(
        pl.when(pl.col("judge") == "turned").then(1 - pl.col("verdict")).otherwise("verdict").alias("verdict")
    )
    found = judged(turned).judges
    assert found["judge"][-1] == "turned"
    assert found["capability"][-1] < -0.5


def test_too_few_known_answers_are_refused():
    with pytest.raises(rl.RaterlensError, match="look up at least 3 more"):
        judged(table(PANEL, n_known=12))
    few_bad = (pl.col("gold") == 1) | (pl.col("answer") < 4)
    data = table(PANEL).with_columns(pl.when(few_bad).then("gold").alias("gold"))
    with pytest.raises(rl.RaterlensError, match="nearly all are alike"):
        judged(data)


def test_pandas_in_pandas_out():
    pandas = pytest.importorskip("pandas")
    found = judged(table(PANEL).to_pandas())
    assert isinstance(found.judges, pandas.DataFrame)


def test_estimates_decide_where_asked():
    found = judged(table(PANEL, n=100, n_known=30), confident=False)
    assert set(found.judges["verdict"]) <= {"trusted", "not trusted", "contradicted"}


def test_numbers_show_on_which_side_of_a_bound_they_are():
    data = table({"a": 0.9, "b": 0.8, "c": 0.7})
    low = judged(data).judges["capability_low"].to_numpy()
    for bound in (low[1] + 1e-4, low[1] - 1e-4):
        found = judged(data, min_capability=float(bound))
        assert found.judges["verdict"][1] == ("trusted" if bound < low[1] else "not certain")
        written = next(line for line in found.summary().splitlines() if line.startswith("b: "))
        shown = float(written.split("(")[1].split(" to ")[0])
        assert (shown > bound) == (low[1] > bound)
        assert written.split("; ")[0].split(",")[0] in found.to_junit()


def test_the_headline_counts_everybody():
    found = judged(table(PANEL))
    assert (
        found.headline()
        == "3 of 5 judges can be trusted (capability at least 0.5); 1 not certain; 1 not trusted"
    )


# --------------------------------------------------------------------------- people instead of known answers


@pytest.fixture(scope="module")
def beside_people() -> rl.JudgeReport:
    return rl.judge(panel(), trusted=PEOPLE)


def test_judges_on_the_scale_of_people(beside_people: rl.JudgeReport) -> None:
    judges = {row["judge"]: row for row in beside_people.judges.iter_rows(named=True)}
    assert set(judges) == {"peer", "strict", "long 1", "long 2", "long 3"}
    # In a fit of all, those who like length would pass.
    assert set(beside_people.failed) == {"long 1", "long 2", "long 3"}
    assert judges["peer"]["verdict"] == "trusted"
    assert judges["strict"]["stands_in"] == "no"
    assert judges["strict"]["sharpness"] > judges["strict"]["capability"] + 0.2
    assert beside_people.people == tuple(PEOPLE)
    assert beside_people.labels is None
    assert "strict may not stand in for a person" in beside_people.summary()
    assert beside_people.bounds == {"sharpness": 0.5}


def test_the_other_judges_change_nothing(beside_people: rl.JudgeReport) -> None:
    ratings = panel()
    without = ratings.subset(ratings.raters.is_in(["peer", "strict", *PEOPLE]).to_numpy()[ratings.rater])
    columns = ("judge", "sharpness", "capability")
    fewer = rl.judge(without, trusted=PEOPLE).judges.select(columns)
    same = beside_people.judges.filter(pl.col("judge").is_in(["peer", "strict"])).select(columns)
    np.testing.assert_allclose(
        fewer.sort("judge").drop("judge").to_numpy(), same.sort("judge").drop("judge").to_numpy()
    )


def test_what_says_what_is_right_is_asked_for_once() -> None:
    data = panel()
    with pytest.raises(rl.RaterlensError, match="nothing says what is right"):
        rl.judge(data)
    with pytest.raises(rl.RaterlensError, match="two ways to say"):
        judged(table(PANEL), trusted=["a"])
    with pytest.raises(rl.RaterlensError, match="nobody is left to judge"):
        rl.judge(data, trusted=data.raters.to_list())
    with pytest.raises(rl.RaterlensError, match=r"min_accuracy.*is not estimated; give min_capability"):
        rl.judge(data, trusted=PEOPLE, min_accuracy=0.8)
    with pytest.raises(rl.RaterlensError, match="pass rates are estimated from known answers"):
        rl.judge(data, trusted=PEOPLE, by="item")
    assert "is taken for the truth" in rl.judge(data, trusted="Ana").summary()


def test_draws_of_a_judge_enter_as_one() -> None:
    """Five copies of one judge's verdicts change no number of anybody."""
    data = table(PANEL)
    copied = pl.concat([data, *[data.filter(judge="b")] * 4])
    for name in ("capability", "accuracy_low", "accuracy_high"):
        np.testing.assert_allclose(judged(copied).judges[name], judged(data).judges[name], atol=1e-12)


def test_many_judges_beside_people_are_told_by_verdict() -> None:
    shares = (
        {"Ann": 0.95, "Bob": 0.93, "Cid": 0.94}
        | {f"good{k}": 0.95 for k in range(4)}
        | {f"bad{k}": 0.6 for k in range(3)}
    )
    data = table(shares, n=500).drop("gold")
    found = rl.judge(data, student="answer", rater="judge", score="verdict", trusted=["Ann", "Bob", "Cid"])
    said = [one for one in found.sentences() if "stand in" in one]
    by_verdict = found.judges.group_by("stands_in").len()
    assert len(said) + (by_verdict["stands_in"] == "unclear").sum() == by_verdict.height
    assert "3 judges may not stand in for a person: 'bad" in said[-1]


def test_labels_are_scores_of_the_file() -> None:
    data = table(PANEL, n=400, levels=3, n_known=80).with_columns(pl.col("verdict", "gold") / 2)
    assert set(judged(data).labels["label"].unique()) == {0.0, 0.5, 1.0}


def test_where_all_answers_are_known_no_label_is_said_to_need_a_person() -> None:
    data = table(PANEL, n=60, n_known=60)
    assert "All answers are known, so no label is estimated." in judged(data).sentences()


def test_columns_that_would_be_empty_are_left_out(beside_people: rl.JudgeReport) -> None:
    data = table({"Ann": 0.95, "Bob": 0.93, "judge": 0.9}, levels=4).drop("gold")
    names = {"student": "answer", "rater": "judge", "score": "verdict"}
    ordered, alone = (
        rl.judge(data, **names, trusted=people).columns()[0] for people in (["Ann", "Bob"], "Ann")
    )
    assert ordered == ("Judge", "Sharpness", "95 % interval", "Stands in", "Verdict")
    assert alone == ("Judge", "Sharpness", "95 % interval", "Verdict")
    assert {"Passes of 100", "Stands in"} <= set(beside_people.columns()[0])
