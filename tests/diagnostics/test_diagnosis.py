"""A diagnosis as a whole: what it is asked for, and what it holds."""

import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError


def test_wrong_arguments_are_answered():
    ratings = rl.simulate(students=30, raters=3, items=2, seed=1).ratings
    fit = rl.fit(ratings, model="gmf")
    with pytest.raises(InputError, match=r"time has 3 values for 180 ratings"):
        fit.diagnose(ratings, time=[1, 2, 3])
    with pytest.raises(OptionError, match="column 'session' was not read"):
        fit.diagnose(ratings, time="session")
    with pytest.raises(OptionError, match="column 'school' was not read"):
        fit.diagnose(groups=["school"])
    with pytest.raises(InputError, match="school is 'x' for every rating"):
        fit.diagnose(ratings, groups={"school": ["x"] * 180})


def test_columns_by_name_are_those_by_value():
    table = (
        rl.simulate(students=60, raters=3, items=2, seed=1)
        .ratings.table()
        .sample(fraction=1, shuffle=True, seed=1)
    )
    table = table.with_columns(day=pl.int_range(pl.len()).cast(pl.String), school=pl.int_range(pl.len()) % 3)
    fit = rl.fit(rl.read(table, beside=["day", "school"]), model="gmf")
    plain = rl.fit(rl.read(table), model="gmf")
    assert fit.raters.equals(plain.raters)
    named = fit.diagnose(time="day", groups=["school"])
    given = plain.diagnose(time=table["day"].cast(int), groups={"school": table["school"]})
    for name in ("change", "bias period", "bias school"):
        assert named.table(name).equals(given.table(name)), name
    assert fit.monitor(time="day").words() == plain.monitor(time=table["day"].cast(int)).words()
