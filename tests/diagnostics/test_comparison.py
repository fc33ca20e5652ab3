"""Fits side by side, and sensitivity to choices."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

import raterlens as rl
from raterlens.app.cli.file_commands import compare as compare_files
from raterlens.base.errors import InputError, OptionError
from raterlens.diagnostics.comparison import nested, sensitivity
from tests.support.facets_models import ordered, with_facet

# --- fits side by side: likelihood ratios where nested, warnings where not comparable, rankings in words


@pytest.fixture(scope="module")
def fits(small):
    """Every kind, without standard errors: comparing needs none."""
    years = pl.DataFrame({"rater": small.raters, "years": [1.0, 5.0, 2.0, 8.0, 3.0]})
    scores = ordered(small)
    kinds = {
        "tfm": (small, {"model": "tfm"}),
        "gmf": (small, {}),
        "gmf probit": (small, {"link": "probit"}),
        "probit": (small, {"model": "probit"}),
        "gmf item slopes": (small, {"item_slopes": True}),
        "tfm item slopes": (small, {"model": "tfm", "item_slopes": True}),
        "gmf covariates": (small, {"covariates": years}),
        "tfm covariates": (small, {"model": "tfm", "covariates": years}),
        "gmf facet": (with_facet(small), {}),
        "hl": (small, {"method": "hl"}),
        "anchored": (small, {"anchors": rl.Anchors(items={"I1": 0.0})}),
        "rating scale": (scores, {}),
        "partial credit": (scores, {"scale": "partial credit"}),
        "graded": (scores, {"scale": "graded"}),
        "halo": (scores, {"halo": "common"}),
        "own halo": (scores, {"halo": "rater"}),
        "partial credit halo": (scores, {"scale": "partial credit", "halo": "common"}),
    }
    return {
        name: rl.fit(data, **{"model": "gmf"} | options, standard_errors=False)
        for name, (data, options) in kinds.items()
    }


@pytest.mark.parametrize(
    ("small_one", "large_one"),
    [
        ("tfm", "gmf"),
        ("gmf", "gmf item slopes"),
        ("tfm", "gmf item slopes"),
        ("tfm", "tfm item slopes"),
        ("gmf covariates", "gmf"),
        ("tfm covariates", "gmf covariates"),
        ("tfm covariates", "gmf"),
        ("tfm covariates", "tfm"),
        ("gmf", "gmf facet"),
        ("rating scale", "partial credit"),
        ("halo", "own halo"),
        ("halo", "partial credit halo"),
    ],
)
def test_special_cases_are_known(fits, small_one, large_one):
    assert nested(fits[small_one], fits[large_one])
    assert not nested(fits[large_one], fits[small_one])
    assert fits[small_one].loglik <= fits[large_one].loglik + 1e-6  # as it must be, if it is one


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("gmf", "gmf probit"),
        ("gmf probit", "probit"),
        ("tfm", "gmf covariates"),
        ("gmf covariates", "tfm item slopes"),
        ("rating scale", "graded"),
        ("graded", "partial credit"),
        ("anchored", "gmf"),
        ("halo", "partial credit"),
        ("own halo", "partial credit halo"),
    ],
)
def test_what_is_no_special_case_is_not_taken_for_one(fits, one, other):
    assert not nested(fits[one], fits[other])
    assert not nested(fits[other], fits[one])


def test_likelihood_ratio_against_the_largest_special_case(fits):
    found = rl.compare(fits["tfm"], fits["gmf"], fits["gmf item slopes"])
    assert found.models["fit"].to_list() == ["tfm", "gmf", "gmf item slopes"]
    assert found.models["against"].to_list() == [None, "tfm", "gmf"]
    row = found.models.row(1, named=True)
    assert row["lr"] == pytest.approx(2 * (fits["gmf"].loglik - fits["tfm"].loglik))
    assert row["df"] == 4
    assert row["p"] == pytest.approx(stats.chi2.sf(row["lr"], 4))
    assert (row["aic"], row["bic"]) == (fits["gmf"].aic, fits["gmf"].bic)
    assert found.warnings == ()


def test_on_the_writing_data_the_ratio_is_the_published_one(writing):
    """Twice 3310.3655 - 3297.7409 on 15 degrees of freedom: p = 0.05."""
    found = rl.compare(
        rl.fit(writing, model="tfm", standard_errors=False),
        rl.fit(writing, model="gmf", standard_errors=False),
    )
    row = found.models.row(1, named=True)
    assert row["lr"] == pytest.approx(25.2492, abs=0.005)
    assert (row["df"], round(row["p"], 3)) == (15, 0.047)


def test_rankings_and_their_agreement(fits):
    found = rl.compare(fits["tfm"], fits["gmf"])
    kappa = found.raters["kappa gmf"].to_numpy()
    assert found.raters["rank gmf"].to_list() == stats.rankdata(-kappa, method="min").astype(int).tolist()
    moved = (found.raters["rank tfm"] - found.raters["rank gmf"]).abs()
    assert found.raters["moved"].to_list() == moved.to_list()
    (pair,) = found.agreement.rows(named=True)
    both = found.raters["kappa tfm"].to_numpy(), kappa
    assert pair["spearman"] == pytest.approx(stats.spearmanr(*both).statistic)
    assert pair["kendall"] == pytest.approx(stats.kendalltau(*both).statistic)


def test_the_summary_says_it_in_words(fits):
    text = rl.compare(fits["tfm"], fits["gmf"]).summary()
    assert "gmf against tfm: likelihood ratio" in text
    assert "on 4 degrees of freedom" in text
    assert "Rankings of tfm and gmf: Spearman's correlation" in text
    assert "AIC is lowest for" in text
    same = rl.compare(fits["gmf"], fits["gmf"], names=["one", "other"]).summary()
    assert "No rater changes rank." in same


def test_what_cannot_be_compared_is_pointed_out(small, fits):
    fewer = rl.fit(replace(small, score=1 - small.score), model="gmf", standard_errors=False)
    found = rl.compare(fits["gmf"], fewer)
    assert any("a fit of other ratings" in warning for warning in found.warnings)
    assert found.models["against"].to_list() == [None, None]
    found = rl.compare(fits["tfm"], fits["hl"])
    assert any("method 'hl'" in warning for warning in found.warnings)
    assert found.models["lr"].to_list() == [None, None]
    assert any("hold parameters" in warning for warning in rl.compare(fits["gmf"], fits["anchored"]).warnings)
    stopped = rl.fit(small, model="gmf", max_iterations=1, standard_errors=False)
    assert any("did not converge" in warning for warning in rl.compare(fits["gmf"], stopped).warnings)
    other = rl.fit(small, model="gmf", reference=2.0, standard_errors=False)
    assert any("different yardsticks" in warning for warning in rl.compare(fits["gmf"], other).warnings)


def test_names_set_fits_apart(fits):
    assert rl.compare(fits["gmf"], fits["gmf probit"]).models["fit"].to_list() == ["gmf logit", "gmf probit"]
    assert rl.compare(fits["gmf"], fits["gmf"]).models["fit"].to_list() == ["gmf (1)", "gmf (2)"]
    scales = rl.compare(fits["rating scale"], fits["graded"]).models["fit"].to_list()
    assert scales == ["gmf rating scale", "gmf graded"]


def test_wrong_arguments_say_what_to_do(small, fits):
    with pytest.raises(OptionError, match="two or more fits"):
        rl.compare(fits["gmf"])
    with pytest.raises(OptionError, match="two or more fits"):
        rl.compare(fits["gmf"], "fit.json")
    with pytest.raises(OptionError, match="a name of its own"):
        rl.compare(fits["gmf"], fits["tfm"], names=["a", "a"])
    strangers = rl.fit(
        replace(small, raters=pl.Series("rater", [f"X{i}" for i in range(5)])),
        model="gmf",
        standard_errors=False,
    )
    with pytest.raises(OptionError, match="share fewer than two raters"):
        rl.compare(fits["gmf"], strangers)


def test_raters_without_any_difference_have_no_ranking():
    ratings = rl.simulate(students=50, raters=2, items=3, seed=1).ratings
    fit = rl.fit(ratings, model="tfm", standard_errors=False)
    flat = replace(fit, tables={**fit.tables, "raters": fit.table("raters").with_columns(kappa=pl.lit(0.5))})
    found = rl.compare(fit, flat, names=["fit", "flat"])
    assert np.isnan(found.agreement["spearman"][0])
    assert "no ranking to compare" in found.summary()


def test_saved_fits_are_compared_by_their_names(fits, tmp_path, capsys):
    for name in ("tfm", "gmf"):
        (tmp_path / name).mkdir()
        fits[name].save(tmp_path / name / "fit.json")
    compare_files([tmp_path / "tfm" / "fit.json", tmp_path / "gmf" / "fit.json"])
    expected = rl.compare(fits["tfm"], fits["gmf"], names=["tfm", "gmf"]).summary()
    assert capsys.readouterr().out == f"{expected}\n"
    fits["tfm"].save(tmp_path / "small.json")
    compare_files([tmp_path / "small.json", tmp_path / "tfm" / "fit.json"])
    assert "gmf" not in capsys.readouterr().out
    with pytest.raises(OptionError, match=r"1 fit to compare; give the paths of two or more"):
        compare_files([tmp_path / "small.json"])
    with pytest.raises(InputError, match="no such file"):
        compare_files([tmp_path / "small.json", tmp_path / "none.json"])


# --------------------------------------------------------- other choices: each is the fit that it says


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
