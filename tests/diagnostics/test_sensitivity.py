"""Other choices: each is the fit that it says."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError
from raterlens.diagnostics.comparison import sensitivity
from tests.support.facets_models import ordered


def test_other_links_and_models_are_those_fits(small):
    fit = rl.fit(small, model="gmf")
    table = sensitivity(fit, small)
    assert set(table["change"]) == {
        "link probit",
        "model tfm",
        f"without {fit.raters.sort('rho')['rater'][-1]}",
    }
    tfm = table.filter(pl.col("change") == "model tfm")
    assert tfm["other"].to_numpy() == pytest.approx(
        rl.fit(small, model="tfm").raters["kappa"].to_numpy(), abs=1e-6
    )
    assert table["difference"].to_numpy() == pytest.approx((table["other"] - table["kappa"]).to_numpy())


def test_groups_are_left_out_in_turn(small):
    school = np.where(small.student % 2 == 0, "a", "b")
    table = sensitivity(rl.fit(small, model="gmf"), small, links=(), models=(), groups={"school": school})
    assert {"without school a", "without school b"} <= set(table["change"])


def test_nothing_is_left_out_where_nobody_would_remain(small):
    alone = small.subset(small.rater == 0)
    table = sensitivity(rl.fit(alone, model="gmf"), alone, links=())
    assert set(table["change"]) == {"model tfm"}


def test_raters_go_by_their_names(small):
    """Ratings may come in another order of raters; those of strangers say nothing about the fit's raters."""
    fit = rl.fit(small, model="gmf")
    again = replace(small, raters=small.raters.reverse(), rater=small.n_raters - 1 - small.rater)
    without = f"without {fit.raters.sort('rho')['rater'][-1]}"
    found, expected = (sensitivity(fit, ratings, links=(), models=()) for ratings in (again, small))
    assert other(found.sort("rater"), without) == pytest.approx(
        other(expected.sort("rater"), without), abs=1e-6
    )
    with pytest.raises(InputError, match="raters that the fit does not know"):
        sensitivity(fit, replace(small, raters=small.raters + "?"))


def other(table: pl.DataFrame, change: str) -> list[float]:
    return table.filter(pl.col("change") == change)["other"].to_list()


@pytest.mark.parametrize(
    "options",
    [
        {"item_slopes": True, "reference": "quantile 0.75", "population": (0.4, 0.8), "origin": "absolute"},
        {"method": "laplace", "allow_reversed": True, "reference": "R2"},
        {"method": "hl", "covariance": "conditional"},
        {"prior": "panel"},
    ],
    ids=["item slopes and a quantile", "laplace and a named rater", "hl", "shrunk"],
)
def test_each_change_is_the_fit_s_own_request_but_for_that(small, options):
    fit = rl.fit(small, **{"model": "gmf"} | options)
    table = fit.sensitivity(small, models=())
    best = fit.raters.sort("rho")["rater"][-1]
    rest = small.subset(small.rater != small.raters.to_list().index(best))
    options = options | {"standard_errors": False}
    kept = options | ({"reference": None} if options.get("reference") == best else {})
    assert (
        other(table, f"without {best}") == rl.fit(rest, **{"model": "gmf"} | kept).raters["kappa"].to_list()
    )
    assert (
        other(table, "link probit")
        == rl.fit(small, link="probit", **{"model": "gmf"} | options).raters["kappa"].to_list()
    )
    plain = rl.fit(small, model="gmf", link="probit", standard_errors=False).raters["kappa"].to_list()
    assert other(table, "link probit") != pytest.approx(plain, abs=1e-4)


def test_ordered_scores_are_graded_by_another_link(small):
    ratings = ordered(small)
    fit = rl.fit(
        ratings, model="gmf", scale="partial credit", population="window 0.5 0.5", standard_errors=False
    )
    table = fit.sensitivity(ratings, models=())
    graded = rl.fit(
        ratings,
        model="gmf",
        scale="graded",
        link="probit",
        population="window 0.5 0.5",
        standard_errors=False,
    )
    assert other(table, "link probit") == graded.raters["kappa"].to_list()
    best = fit.raters.sort("rho")["rater"][-1]
    rest = ratings.subset(ratings.rater != ratings.raters.to_list().index(best))
    assert other(table, f"without {best}") == fit.refit(rest).raters["kappa"].to_list()
