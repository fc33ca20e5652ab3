"""The Wright map as a chart."""

import raterlens as rl


def test_a_column_each_for_students_raters_and_items(example):
    chart = rl.charts.wright(example.fit).to_dict()
    assert len(chart["hconcat"]) == 3
    assert chart["description"].startswith("Students, raters and items on one scale: 363 students")
