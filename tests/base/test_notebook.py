"""Notebook output: short, escaped, with a picture; and short reprs."""

from xml.etree import ElementTree

import pytest

import raterlens as rl
from raterlens.base.notebook import MOST, intervals, lines, shown, table


@pytest.fixture(scope="module")
def ratings() -> rl.Ratings:
    return rl.simulate(students=60, raters=4, items=2, seed=1).ratings


def test_text_is_escaped_and_long_lists_are_cut():
    points = [("<script>" if k == 0 else f"R{k}", k / 40, 0.0, float("nan")) for k in range(40)]
    page = shown("<h>", lines(["a & b"]), table(["<c>"], [["<x>"]] * 30), intervals(points, (0.0, 1.0), "κ"))
    root = ElementTree.fromstring(page.replace("&nbsp;", " "))
    assert len(list(root.iter("circle"))) == MOST
    assert not list(root.iter("script"))
    assert "and 20 more" in page
    assert "and 10 more" in page


def test_a_point_stands_where_its_value_is():
    (circle,) = ElementTree.fromstring(intervals([("a", 0.5, 0.4, 0.6)], (0.0, 1.0), "κ")).iter("circle")
    (other,) = ElementTree.fromstring(intervals([("a", 1.0, 0.9, 1.0)], (0.0, 1.0), "κ")).iter("circle")
    (first,) = ElementTree.fromstring(intervals([("a", 0.0, 0.0, 0.1)], (0.0, 1.0), "κ")).iter("circle")
    assert float(circle.get("cx")) == pytest.approx((float(other.get("cx")) + float(first.get("cx"))) / 2)


def test_every_object_shows_itself_in_a_few_lines(ratings):
    fit = rl.fit(ratings, model="gmf")
    found = {
        "ratings": ratings,
        "fit": fit,
        "diagnosis": fit.diagnose(ratings),
        "comparison": fit.compare_raters(),
        "models": rl.compare(fit, fit.refit(ratings, model="tfm")),
    }
    for name, one in found.items():
        page = one._repr_html_()
        assert list(ElementTree.fromstring(page).iter("svg")), name
        assert len(page) < 20_000, name
        assert len(repr(one)) < 200, name
        assert repr(one).startswith("<"), name
    assert repr(ratings) == "<Ratings: 480 ratings of 60 students by 4 raters on 2 items>"
    assert "4 raters" in repr(fit)
