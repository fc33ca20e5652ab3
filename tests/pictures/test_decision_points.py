"""Plot data of decisions."""

import raterlens as rl
from raterlens.pictures.decision_points import SAFE, UNSAFE, decision_points, description


def test_one_point_per_student_those_that_are_not_safe_on_top():
    ratings = rl.simulate(students=80, raters=4, items=3, raters_per_student=2, seed=8).ratings
    found = rl.fit(ratings).decisions(ratings, cut=0.5)
    points = decision_points(found)
    assert points.height == 80
    assert points["kind"].to_list() == [SAFE] * (80 - found.unsafe) + [UNSAFE] * found.unsafe
    assert ((points["sure"] < 0.9) == (points["kind"] == UNSAFE)).all()
    assert points["words"][0].startswith(f"{points['student'][0]}: raw ")
    assert decision_points(found, most=20).height == 20
    assert (
        description(found)
        == f"Ability against the raw result of 80 students; {found.unsafe} decisions are not safe."
    )
