"""The list of charts is the charts there are."""

from raterlens import charts
from raterlens.pictures.chart_names import CHART_HELP, CHARTS


def test_every_chart_is_listed_once():
    assert set(CHARTS) == set(charts.__all__) - {"save", "svg"}
    assert all(name in CHART_HELP for name in CHARTS)


def test_a_chart_of_named_raters_says_how_many():
    assert all(needs.fewest <= needs.most or needs.most == 0 for needs in CHARTS.values())
    assert CHARTS["what_if"].fewest == CHARTS["what_if"].most == 1
