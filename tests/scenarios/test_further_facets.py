"""Further facets from the table to the fit."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """Topic c is harder by 1 than a, b by 0.3; occasion makes no difference."""
    made = rl.simulate(students=600, raters=5, items=3, raters_per_student=3, seed=9).ratings
    n = made.n_ratings
    topic = np.random.default_rng(1).integers(0, 3, n)
    passed = made.score.astype(bool)
    # A pass becomes a fail more often on harder topics.
    passed &= np.random.default_rng(2).random(n) > np.array([0.0, 0.1, 0.35])[topic]
    return pl.DataFrame(
        {
            "student": made.students.gather(made.student),
            "rater": made.raters.gather(made.rater),
            "item": made.items.gather(made.item),
            "topic": pl.Series(list("abc")).gather(topic),
            "day": np.random.default_rng(3).integers(1, 3, n),
            "score": passed.astype(int),
        }
    )


def test_facets_are_coded_beside_raters_and_items(frame):
    ratings = rl.read(frame, facets=["topic", "day"])
    topic, day = ratings.facets
    assert (topic.name, topic.labels.to_list()) == ("topic", ["a", "b", "c"])
    assert (day.name, day.labels.to_list()) == ("day", [1, 2])
    assert topic.labels.gather(topic.codes).to_list() == frame["topic"].to_list()
    assert rl.read(frame, facets="topic").facets[0].codes.tolist() == topic.codes.tolist()
    assert rl.read(frame).facets == ()


def test_wide_tables_have_facets_too(frame):
    essays = pl.DataFrame(
        {
            "pid": [1, 1, 2],
            "judge": ["x", "y", "x"],
            "topic": ["a", None, "b"],
            "s1": [0, 1, 1],
            "s2": [1, 0, None],
        }
    )
    ratings = rl.read(essays, items=["s1", "s2"], facets=["topic"])
    assert ratings.facets[0].labels.gather(ratings.facets[0].codes).to_list() == ["a", "a", "b"]
    assert "1 of 3 rows left out: no student, rater or 'topic' label" in ratings.notes


def test_effects_of_facets_are_estimated(frame):
    ratings = rl.read(frame, facets=["topic", "day"])
    fit, without = rl.fit(ratings, model="gmf"), rl.fit(frame, model="gmf")
    table = fit.table("facets")
    assert table.columns == ["facet", "level", "n", "mean_score", "effect", "effect_se"]
    topic = table.filter(facet="topic")
    assert topic["effect"].is_sorted()
    assert topic["effect"].sum() == pytest.approx(0, abs=1e-12)
    assert topic["effect"][2] - topic["effect"][0] > 4 * topic["effect_se"].max()
    day = table.filter(facet="day")
    assert day["effect"].abs().max() < 3 * day["effect_se"].max()
    assert fit.n_parameters == without.n_parameters + 2 + 1
    row = rl.compare(without, fit, names=["without", "with"]).models.row(1, named=True)
    assert (row["against"], row["df"]) == ("without", 3)
    assert row["p"] < 1e-6
    np.testing.assert_allclose(fit.score(ratings)["theta"], fit.students["theta"], atol=1e-8)


def test_facets_survive_a_file(frame, tmp_path):
    fit = rl.fit(rl.read(frame, facets="topic"), model="gmf", standard_errors=False)
    loaded = rl.load(fit.save(tmp_path / "fit.json"))
    assert loaded.table("facets")["effect"].to_list() == fit.table("facets")["effect"].to_list()
    again = loaded.score(frame, facets="topic")
    np.testing.assert_allclose(again["theta"], fit.students["theta"], atol=1e-8)


@pytest.mark.parametrize(
    ("facets", "error", "message"),
    [
        ("topics", InputError, "no column 'topics' for facets; did you mean 'topic'"),
        (["topic", "topic"], OptionError, r"'topic' is given for facets \(2 times\)"),
        ("rater", OptionError, "'rater' is given for rater and facets"),
        ([], OptionError, r"facets=\[\] names no column"),
    ],
)
def test_wrong_facets_say_what_to_do(frame, facets, error, message):
    with pytest.raises(error, match=message):
        rl.read(frame, rater="rater", facets=facets)


def test_a_blank_facet_is_refused(frame):
    with pytest.raises(InputError, match="facet column 'blank' is blank in all"):
        rl.read(frame.with_columns(blank=pl.lit("")), facets="blank")


def test_one_new_student_can_be_scored(frame):
    """Even with passes only, which could not be fitted."""
    fit = rl.fit(frame, model="gmf", standard_errors=False)
    new = pd.DataFrame({"student": ["new"] * 2, "rater": ["R1", "R2"], "item": ["I1", "I2"], "score": [3, 2]})
    scored = fit.score(new, cut=2)
    assert isinstance(scored, pd.DataFrame)
    assert scored["student"].tolist() == ["new"]
    assert scored["theta"].item() > 0
    with pytest.raises(InputError, match="one student"):
        rl.read(new)
