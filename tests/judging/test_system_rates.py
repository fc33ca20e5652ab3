"""`rl.pass_rate`: shares of good answers, allowing for judges' errors."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import special

import raterlens as rl
from raterlens.base.errors import InputError, OptionError

GOOD = {"a": 0.6, "b": 0.75, "c": 0.85}


def answers(seed: int, n: int = 400, known: int = 150, bias: float = 0.0, people: int = 0) -> pl.DataFrame:
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


COLUMNS = {"student": "answer", "rater": "rater", "score": "verdict"}


def ratings(table: pl.DataFrame) -> rl.Ratings:
    return rl.read(table, **COLUMNS, facets="system", known="gold")


@pytest.mark.parametrize("bias", [0.0, 1.5])
def test_shares_and_differences_are_those_of_the_truth(bias):
    found = rl.pass_rate(ratings(answers(2, bias=bias)), by="system")
    rates = {row["system"]: row for row in found.rates.iter_rows(named=True)}
    assert (found.n_known, found.rates["known"].sum()) == (150, 150)
    for system, share in GOOD.items():
        assert rates[system]["low"] < share < rates[system]["high"]
        assert rates[system]["high"] - rates[system]["low"] < 0.26
    # judges' verdicts favour the worst
    assert rates["c"]["observed"] < rates["c"]["rate"] - 0.1
    pair = found.differences.filter(system="c", other="a").row(0, named=True)
    assert pair["low"] < 0.25 < pair["high"]
    assert pair["difference"] == pytest.approx(rates["c"]["rate"] - rates["a"]["rate"])
    assert "c beats a by" in found.summary()
    assert "share of good answers" in found._repr_html_()
    assert repr(found) == "<PassRates of 3 groups by 'system': see summary()>"


def test_it_is_what_judge_says():
    data = answers(3)
    found = rl.pass_rate(data, **COLUMNS, by="system", known="gold")
    assert found.rates.equals(rl.judge(data, **COLUMNS, by="system", known="gold").systems)
    fit = rl.fit(ratings(data), model="tfm", shared=False, halo="none", ability="normal")
    assert found.rates.equals(rl.pass_rate(fit, by="system").rates)


def test_groups_may_be_a_mapping_of_students():
    data = ratings(answers(4))
    half = {student: "odd" if k % 2 else "even" for k, student in enumerate(data.students)}
    assert set(rl.pass_rate(data, by=half).rates["group"]) == {"odd", "even"}
    with pytest.raises(OptionError, match="no group for 1 student"):
        rl.pass_rate(data, by=dict(list(half.items())[1:]))


def test_a_system_without_known_answers_is_named():
    table = answers(5).with_columns(gold=pl.when(pl.col("system") != "c").then("gold"))
    found = rl.pass_rate(ratings(table), by="system")
    assert "c has 0 known answers: its rate rests on how judges do on other answers." in found.words()


def test_dataframes_are_of_the_kind_that_came_in():
    assert isinstance(rl.pass_rate(ratings(answers(1).to_pandas()), by="system").rates, pd.DataFrame)


def test_misuse_is_named():
    data = ratings(answers(5, n=60))
    with pytest.raises(InputError, match="no answer is known"):
        rl.pass_rate(rl.read(answers(5, n=60), **COLUMNS, facets="system"), by="system")
    with pytest.raises(OptionError, match="no facet 'sistem'"):
        rl.pass_rate(data, by="sistem")
    doubled = answers(5, n=60).with_columns(pl.col("verdict", "gold") * 2)
    with pytest.raises(InputError, match="scores go from 0 to 2"):
        rl.pass_rate(rl.read(doubled, **COLUMNS, known="gold"), by="item")
    mixed = answers(5, n=60).with_columns(
        system=pl.when(pl.col("rater") == "judge 0").then(pl.lit("a")).otherwise("system")
    )
    with pytest.raises(InputError, match="has more than one system"):
        rl.pass_rate(ratings(mixed), by="system")
