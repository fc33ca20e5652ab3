"""Flags of raters, of items and of the panel, against planted faults and panels without any."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from benchmarks.truth.planted_faults import FAULTS, diagnosed, false_alarms, found, panel
from raterlens.diagnostics.flags import flags, item_flags, shared

# ------------------------------------------------ flags against planted faults, and panels without any


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_flagged(fault):
    """Two seeds of the hundred that `python -m benchmarks.truth.planted_faults` runs."""
    assert all(found(fault, seed).flagged for seed in (0, 1))


def test_turns_along_an_even_number_of_items_are_turns_and_nobody_else_seems_biased():
    """Then every item always gets the same score, whatever the work."""
    drawn = rl.simulate(students=200, raters=8, items=4, raters_per_student=3, seed=2).ratings
    mine, score = np.flatnonzero(drawn.rater == 0), drawn.score.copy()
    score[mine] = np.arange(len(mine)) % 2
    flags = diagnosed(replace(drawn, score=score)).flags
    assert flags.select("rater", "effect").rows() == [("R1", "alternating")]


@pytest.mark.nightly
def test_clean_panels_are_left_alone():
    assert sum(false_alarms(seed, ordered)[0] for seed in range(3) for ordered in (False, True)) <= 3


def test_every_flag_says_what_how_much_and_the_next_step():
    diagnosis = diagnosed(panel(0, "reversed"))
    row = diagnosis.flags.row(0, named=True)
    assert (row["rater"], row["effect"]) == ("R01", "reversed")
    assert row["low"] < row["size"] < row["high"] < 0
    assert "right way round" in row["next_step"]
    assert "'R01'" in diagnosis.warnings()[0]
    assert "R01: reversed" in diagnosis.summary()


def table(**columns: list[float]) -> pl.DataFrame:
    n = len(next(iter(columns.values())))
    names = [
        "responsiveness",
        "responsiveness_se",
        "alternation",
        "alternation_z",
        "centrality",
        "centrality_se",
        "halo",
        "halo_se",
    ]
    nothing = {"responsiveness": 1.0, "responsiveness_se": 0.1, "alternation": 0.0, "alternation_z": 0.0}
    return pl.DataFrame({name: columns.get(name, [nothing.get(name, float("nan"))] * n) for name in names})


RATERS = pl.DataFrame({"rater": ["A", "B", "C"], "infit": [1.0] * 3, "infit_z": [0.0] * 3})


def test_a_graver_fault_silences_the_others():
    effects = table(responsiveness=[-0.8, 1.0, 1.1], halo=[0.3, 0.3, 0.0], halo_se=[0.02, 0.02, 0.02])
    found = flags(RATERS, effects, {}, None)
    assert found.select("rater", "effect").rows() == [("A", "reversed"), ("B", "halo")]
    row = found.row(1, named=True)
    assert (row["low"], row["high"]) == pytest.approx((0.3 - 1.96 * 0.02, 0.3 + 1.96 * 0.02), abs=1e-5)


def test_what_is_certain_but_small_is_no_flag():
    effects = table(halo=[0.04, 0.0, 0.0], halo_se=[0.001, 0.01, 0.01])
    assert flags(RATERS, effects, {}, None).height == 0


@pytest.mark.parametrize("unit", ["logits", "probits", "units of the cloglog link"])
def test_severity_on_a_level_is_told_in_the_units_of_the_link(unit):
    bias = pl.DataFrame(
        {
            "rater": ["A", "A"],
            "item": ["x", "y"],
            "n": [20, 20],
            "mean_score": [0.3, 0.6],
            "expected": [0.55, 0.5],
            "severity": [1.2, -0.7],
            "severity_se": [0.2, 0.2],
            "z": [6.0, -3.5],
            "p_adjusted": [1e-6, 1e-3],
        }
    )
    found = flags(RATERS, table(halo=[0.0] * 3), {"item": bias}, None, unit)
    assert found["effect"].to_list() == ["severe on item"]
    assert f"1.2 {unit} more severe on item 'x' than elsewhere" in found["evidence"][0]


def test_central_scores_are_told_as_odds():
    """exp(0.7) = 2.0: right whatever the link."""
    effects = table(centrality=[0.7, 0.0, 0.0], centrality_se=[0.1, 0.1, 0.1])
    row = flags(RATERS, effects, {}, None).row(0, named=True)
    assert row["effect"] == "central"
    assert "2.0 times" in row["evidence"]
    assert "logit" not in row["evidence"]


def test_an_unusual_use_of_the_scale_that_the_model_has_comes_with_a_step():
    use = ["keeps to the middle", "", "avoids 3"]
    found = flags(RATERS, table(halo=[0.0] * 3), {}, None, use=use)
    assert found["rater"].to_list() == ["A", "C"]
    assert found["effect"].to_list() == ["central", "avoids 3"]
    assert found["next_step"][1] == "agree on what deserves a 3"
    assert "3 less often" in found["evidence"][1]


# ------------------------------------------------- raters who agree more than if each marked alone


def four_scores(seed: int) -> rl.Ratings:
    sizes = {"students": 300, "raters": 8, "items": 4, "raters_per_student": 3}
    return rl.simulate(**sizes, thresholds=[-1, 0, 1], seed=seed).ratings


def alike(ratings: rl.Ratings) -> tuple[pl.DataFrame, pl.DataFrame]:
    fit = rl.fit(ratings, model="gmf", standard_errors=False)
    found = fit.diagnose(ratings)
    return found.flags.filter(effect="too alike"), found.table("shared flags").filter(effect="agreement")


def test_a_rater_who_copies_from_another_is_named_with_the_other():
    drawn, score = four_scores(104), None
    table, first, second = drawn.table(), str(drawn.raters[0]), str(drawn.raters[1])
    theirs = table.filter(rater=first).select("student", "item", seen="score")
    score = pl.when(pl.col("rater") == second).then(pl.coalesce("seen", "score")).otherwise("score")
    copied = table.join(theirs, on=["student", "item"], how="left").with_columns(score=score).drop("seen")
    own, panel = alike(rl.read(copied))
    assert set(own["rater"]) == {first, second}
    assert (
        f"gives the same score as '{second}' to 100 % of the work" in own.filter(rater=first)["evidence"][0]
    )
    assert "whether these scores are independent" in own["next_step"][0]
    assert panel.height == 0


def test_raters_who_mark_alone_are_not_too_alike():
    assert [table.height for table in alike(four_scores(3))] == [0, 0]


def test_a_panel_that_confers_is_told_so():
    """Everybody takes over the first score of the work, half of the time."""
    drawn = four_scores(5)
    work = drawn.student * drawn.n_items + drawn.item
    _, first, of_work = np.unique(work, return_index=True, return_inverse=True)
    coin = np.random.default_rng(0).random(drawn.n_ratings) < 0.5
    own, panel = alike(replace(drawn, score=np.where(coin, drawn.score[first][of_work], drawn.score)))
    assert own.height == 0
    (evidence,) = panel["evidence"]
    assert evidence.startswith("two raters agree on ")
    assert "marked on their own" in panel["next_step"][0]


# ---------------------------------------- items that follow ability less, or more, than the model says


def ratings_of(slopes, seed):
    """Items with slopes of their own: items of a simulated panel, each drawn by itself."""
    random = np.random.default_rng(seed)
    theta, rows = random.normal(size=400), []
    for item, slope in enumerate(slopes):
        for rater in range(3):
            passed = random.random(400) < 1 / (1 + np.exp(-1.5 * slope * theta))
            rows += [(s, f"r{rater}", f"i{item}", int(y)) for s, y in enumerate(passed)]
    table = pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")
    return rl.read(table, student="student", rater="rater", item="item", score="score")


def test_an_item_that_measures_something_else_is_named_with_a_remedy():
    ratings = ratings_of([1.0, 1.0, 1.0, 0.2], 1)
    found = rl.fit(ratings, model="gmf").diagnose(ratings)
    flags = found.table("item flags")
    assert flags.filter(effect="noisy")["item"].to_list() == ["i3"]
    assert "description" in flags["next_step"][0]
    assert any(text.startswith("item 'i3' is noisy") for text in found.warnings())
    assert "item i3: noisy" in found.summary()
    slopes = rl.fit(ratings, model="gmf", item_slopes=True)
    assert slopes.diagnose(ratings).table("item flags").filter(effect="flat")["item"].to_list() == ["i3"]


def test_items_alike_are_left_alone():
    flagged = 0
    for seed in range(4):
        ratings = ratings_of([1.0] * 4, 10 + seed)
        flagged += rl.fit(ratings, model="gmf").diagnose(ratings).table("item flags").height
    assert flagged == 0


def test_small_misfit_is_not_worth_a_word():
    table = pl.DataFrame({"item": ["a", "b"], "infit": [1.05, 1.3], "infit_z": [9.0, 1.0]})
    assert item_flags(table, pl.DataFrame({"item": ["a", "b"]})).height == 0


def test_a_single_item_has_no_other_to_be_compared_with():
    table = pl.DataFrame({"item": ["a"], "infit": [1.5], "infit_z": [9.0]})
    assert item_flags(table, pl.DataFrame({"item": ["a"]})).height == 0
    two = pl.concat([table, table.with_columns(pl.lit("b").alias("item"), pl.lit(1.0).alias("infit"))])
    assert item_flags(two, two.select("item"))["item"].to_list() == ["a"]


# ------------------------------------------------------ flags that most raters share are reported once


def flags_of(*pairs: tuple[str, str]) -> pl.DataFrame:
    return pl.DataFrame(pairs, schema=["rater", "effect"], orient="row").with_columns(size=1.0)


def test_half_of_the_raters_are_not_all_at_fault():
    flags = flags_of(*((f"r{i}", "inconsistent") for i in range(5)), ("r0", "halo"), ("r1", "reversed"))
    own, common = shared(flags, 10)
    assert own["effect"].to_list() == ["halo", "reversed"]
    assert common.select("effect", "n").row(0) == ("inconsistent", 5)
    assert "the model misfits" in common["next_step"][0]


def test_drift_is_shared_by_those_who_drift_the_same_way():
    """Who drifts makes the others seem to drift the other way."""
    flags = flags_of(*((f"r{i}", "drift") for i in range(4)))
    one_against_three = flags.with_columns(size=pl.Series([1.3, -0.5, -0.4, -0.4]))
    assert shared(one_against_three, 8)[1].height == 0
    assert shared(flags, 8)[1]["n"].to_list() == [4]


def test_bias_either_way_is_one_kind():
    pairs = [(f"r{i}", f"{'severe' if i % 2 else 'lenient'} on item") for i in range(6)]
    own, common = shared(flags_of(*pairs), 10)
    assert own.height == 0
    assert "each item asks for" in common["next_step"][0]


def test_what_a_rater_does_alone_stays_and_so_do_small_panels():
    every = flags_of(*((f"r{i}", "reversed") for i in range(6)))
    assert shared(every, 6)[0].equals(every)
    few = flags_of(*((f"r{i}", "halo") for i in range(4)))
    assert shared(few, 4)[1].height == 0
    assert shared(flags_of(("r1", "halo")), 10)[1].height == 0


def test_halo_of_most_raters_says_what_was_done_about_intervals():
    flags = flags_of(*((f"r{i}", "halo") for i in range(6)))
    for allowed_for, words in ((True, "intervals allow for it"), (False, "fit with a common halo")):
        assert shared(flags, 6, allowed_for=allowed_for)[1]["next_step"][0].endswith(words)
