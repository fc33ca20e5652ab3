"""Charts of a fit as its attributes."""

import pytest

import raterlens as rl
from raterlens.base.errors import OptionError


def test_every_chart_of_a_fit_is_offered_and_drawn_of_it():
    ratings = rl.simulate(students=60, raters=3, items=2, seed=1).ratings
    fit = rl.fit(ratings, model="gmf")
    offered = dir(fit.plot)
    assert {"capability", "severity", "curves", "wright", "fit_statistics"} <= set(offered)
    assert "network" not in offered
    assert fit.plot.capability().to_dict() == rl.charts.capability(fit).to_dict()
    assert fit.plot.curves(["R1"], width=400).to_dict()["description"]
    assert fit.plot.fit_statistics(ratings).to_dict()
    assert "How capable" in (fit.plot.capability.__doc__ or "")
    with pytest.raises(OptionError, match="capability"):
        fit.plot.capabilty  # noqa: B018
