"""Flags that most raters share are reported once."""

import polars as pl

from raterlens.diagnostics.flags import shared


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
