"""A diagnosis as a whole: what it is asked for, and what it holds."""

import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError


def test_wrong_arguments_are_answered():
    ratings = rl.simulate(students=30, raters=3, items=2, seed=1).ratings
    fit = rl.fit(ratings, model="gmf")
    with pytest.raises(InputError, match=r"time has 3 values for 180 ratings"):
        fit.diagnose(ratings, time=[1, 2, 3])
    with pytest.raises(OptionError, match="facet for time"):
        fit.diagnose(ratings, time="session")
    with pytest.raises(InputError, match="school is 'x' for every rating"):
        fit.diagnose(ratings, groups={"school": ["x"] * 180})
