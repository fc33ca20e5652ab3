"""The variable map of the report: everybody stands where the data say, and names fit."""

import re

import raterlens as rl
from raterlens.output.report.map_picture import variable_map
from raterlens.pictures import map_data
from tests.support.report_fits import made


def test_points_stand_at_their_locations():
    fit = made(16)
    (picture,) = variable_map(fit, (960,))
    data = map_data.wright_data(fit)
    low, high = map_data.span_of(data)
    raters = data.filter(facet="Raters").sort("location")
    drawn = re.findall(r'<circle cx="[\d.]+" cy="([\d.]+)" r="3.6" fill="var\(--severe\)"', picture)
    expected = [f"{map_data.HEIGHT * (high - at) / (high - low):.1f}" for at in raters["location"]]
    assert drawn == expected
    assert picture.count("R0003") == 2  # the name, and the words of the point


def test_large_panels_are_dots_and_true_categories_have_no_map():
    (picture,) = variable_map(made(300), (360,))
    assert ">R0003<" not in picture
    assert picture.count("<circle") >= 300
    ratings = rl.simulate(students=60, raters=4, items=2, model="hrm", seed=1).ratings
    assert variable_map(rl.fit(ratings, model="dawid-skene"), (960,)) == ()
