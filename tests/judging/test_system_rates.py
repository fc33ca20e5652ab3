"""`rl.pass_rate`: shares of good work as if nobody erred."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import special

import raterlens as rl
from raterlens.base.errors import InputError, OptionError

GOOD = {"a": 0.6, "b": 0.75, "c": 0.85}


def answers(seed: int, n: int = 400, known: int = 0, bias: float = 0.0, people: int = 3) -> pl.DataFrame:
    """Answers of three systems, judged by people (90 % right) and three judges who may share a bias."""
    rng = np.random.default_rng(seed)
    system = np.repeat(list(GOOD), n)
    truth = rng.random(3 * n) < np.array([GOOD[name] for name in system])
    z = rng.standard_normal(3 * n)
    gold = [
        int(right) if place < known else None
        for place, right in zip(rng.permutation(3 * n), truth, strict=True)
    ]
    shown = {"answer": [f"{s}{k}" for k, s in enumerate(system)], "system": system}
    shown |= {"gold": pl.Series(gold, dtype=pl.Int64)}
    frames = []
    for rater, (right, b) in {
        **{f"person {k}": (0.9, 0.0) for k in range(people)},
        **{f"judge {k}": (0.8, bias) for k in range(3)},
    }.items():
        logit = special.logit(right) * np.where(truth, 1, -1) + b * z
        verdict = (rng.random(3 * n) < special.expit(logit)).astype(int)
        frames.append(pl.DataFrame({**shown, "rater": rater, "verdict": verdict}))
    return pl.concat(frames)


def ratings(table: pl.DataFrame, known: bool = False) -> rl.Ratings:
    options = {"known": "gold"} if known else {}
    return rl.read(table, student="answer", rater="rater", score="verdict", facets="system", **options)


def test_shares_and_differences_are_those_of_the_truth():
    found = rl.pass_rate(ratings(answers(1)), by="system")
    rates = {row["system"]: row for row in found.rates.iter_rows(named=True)}
    for system, share in GOOD.items():
        assert rates[system]["low"] < share < rates[system]["high"]
        assert rates[system]["high"] - rates[system]["low"] < 0.15
    # What everybody says on average is off by ten points, in favour of the worst.
    assert rates["c"]["observed"] < rates["c"]["low"]
    pair = found.differences.filter(system="c", other="a").row(0, named=True)
    assert pair["low"] < 0.25 < pair["high"]
    assert pair["difference"] == pytest.approx(rates["c"]["rate"] - rates["a"]["rate"])
    assert found.raters.filter(rater="person 0")["sensitivity"].item() == pytest.approx(0.9, abs=0.05)
    assert "c beats a by" in found.summary()
    assert "No answer is known" in found.summary()
    assert "share of good work" in found._repr_html_()
    assert repr(found) == "<PassRates of 3 groups by 'system': see summary()>"


def test_known_answers_make_up_for_people_and_bias_is_allowed_for():
    data = ratings(answers(2, known=150, bias=1.5, people=0), known=True)
    found = rl.pass_rate(data, by="system")
    assert (found.n_known, found.shared) == (150, True)
    assert found.p_shared < 0.01
    assert found.rates["known"].sum() == 150
    blind = rl.pass_rate(data, by="system", shared=False)
    assert not blind.shared
    for system, share in GOOD.items():
        low, high = found.rates.filter(system=system).select("low", "high").row(0)
        assert low < share < high
    # Judges who agree for another reason than the truth look better than they are.
    assert blind.raters["sensitivity"].mean() > found.raters["sensitivity"].mean()


def test_people_are_the_trusted_raters_of_a_fit():
    data = ratings(answers(3, bias=1.5))
    people = [f"person {k}" for k in range(3)]
    fit = rl.fit(data, trusted=people, standard_errors=False)
    found = rl.pass_rate(fit, data, by="system")
    assert found.shared
    assert found.rates.equals(rl.pass_rate(data, by="system", people=people).rates)
    assert found.raters.filter(pl.col("rater").is_in(people))["shares"].to_list() == [0.0] * 3


def test_groups_may_be_items_or_a_mapping_of_students():
    drawn = rl.simulate(model="dawid-skene", students=400, raters=4, items=2, seed=1)
    by_item = rl.pass_rate(drawn.ratings, by="item").rates
    fit = rl.fit(drawn.ratings, model="dawid-skene")
    for item, rate in by_item.select("item", "rate").iter_rows():
        assert rate == pytest.approx(fit.items.filter(item=item)["prevalence"].item(), abs=0.01)
    half = {student: "odd" if k % 2 else "even" for k, student in enumerate(drawn.ratings.students)}
    assert set(rl.pass_rate(drawn.ratings, by=half).rates["group"]) == {"odd", "even"}
    with pytest.raises(OptionError, match="no group for 1 student"):
        rl.pass_rate(drawn.ratings, by=dict(list(half.items())[1:]))


def test_dataframes_are_of_the_kind_that_came_in():
    data = rl.read(answers(1).to_pandas(), student="answer", rater="rater", score="verdict", facets="system")
    assert isinstance(rl.pass_rate(data, by="system").rates, pd.DataFrame)


def test_what_is_not_identified_is_refused():
    table = answers(4).filter(pl.col("rater").is_in(["person 0", "judge 1"]), pl.col("system") == "a")
    with pytest.raises(InputError, match="do not tell the share of good work by item from the errors"):
        rl.pass_rate(rl.read(table.drop("system", "gold"), student="answer", score="verdict"), by="item")


def test_misuse_is_named():
    data = ratings(answers(5, n=60))
    fit = rl.fit(data, standard_errors=False, halo="none", ability="normal")
    with pytest.raises(OptionError, match="give them too"):
        rl.pass_rate(fit, by="system")
    with pytest.raises(OptionError, match="no facet 'sistem'"):
        rl.pass_rate(data, by="sistem")
    with pytest.raises(OptionError, match="unknown rater 'Ann'"):
        rl.pass_rate(data, by="system", people=["Ann"])
    with pytest.raises(OptionError, match="nothing tells shared errors"):
        rl.pass_rate(data, by="system", shared=True)
    with pytest.raises(InputError, match="scores go from 0 to 2"):
        rl.pass_rate(
            rl.read(answers(5, n=60).with_columns(pl.col("verdict") * 2), student="answer", score="verdict"),
            by="item",
        )
    mixed = answers(5, n=60).with_columns(
        system=pl.when(pl.col("rater") == "judge 0").then(pl.lit("a")).otherwise("system")
    )
    with pytest.raises(InputError, match="has more than one system"):
        rl.pass_rate(ratings(mixed), by="system")
