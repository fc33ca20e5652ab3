"""Fits to draw charts of, each made once."""

import pytest

import raterlens as rl
from tests.support.chart_cases import Case


@pytest.fixture(scope="session")
def example() -> Case:
    ratings = rl.load_example()
    return Case(rl.fit(ratings, model="gmf"), ratings)


@pytest.fixture(scope="session")
def three() -> Case:
    ratings = rl.simulate(students=80, raters=3, items=2, seed=3).ratings
    return Case(rl.fit(ratings, model="gmf"), ratings)


@pytest.fixture(scope="session")
def many() -> Case:
    """Three hundred raters."""
    ratings = rl.simulate(students=1500, raters=300, items=2, raters_per_student=3, seed=1).ratings
    return Case(rl.fit(ratings, model="gmf"), ratings)


@pytest.fixture(scope="session")
def hrm() -> Case:
    ratings = rl.simulate(model="hrm", students=150, raters=6, items=3, raters_per_student=4, seed=2).ratings
    return Case(rl.fit(ratings, model="hrm"), ratings)


@pytest.fixture(scope="session")
def ordered() -> Case:
    ratings = rl.simulate(
        students=150, raters=6, items=3, thresholds=[-1.0, 0.0, 1.0], raters_per_student=3, seed=5
    ).ratings
    return Case(rl.fit(ratings, model="gmf"), ratings)


@pytest.fixture(params=["example", "three", "many", "hrm", "ordered"])
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.getfixturevalue(request.param)
    return found
