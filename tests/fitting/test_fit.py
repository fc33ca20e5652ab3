"""Repeating a fit, on other ratings, and with other options."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.fitting.checks import Run
from raterlens.fitting.fit import Fit, fitted


@pytest.fixture(scope="module")
def ratings() -> rl.Ratings:
    return rl.simulate(students=90, raters=5, items=3, raters_per_student=3, seed=4).ratings


OPTIONS = [
    {},
    {"model": "tfm", "link": "probit"},
    {"item_slopes": True, "reference": "quantile 0.75"},
    {"method": "laplace", "origin": "absolute"},
    {"method": "hl", "covariance": "conditional"},
    {"covariance": "sandwich", "population": rl.Window(0.2, 0.5)},
    {"allow_reversed": True, "reference": 1.5, "standard_errors": False},
    {"prior": "panel", "reference": "max corrected"},
    {"model": "dawid-skene", "starts": 2, "seed": 5},
    {"model": "hrm", "link": "probit", "starts": 2},
    {"model": "probit", "method": "laplace"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_same_request_again_finds_the_same(ratings, options, tmp_path):
    fit = rl.fit(ratings, **{"model": "gmf"} | options)
    again = rl.load(fit.save(tmp_path / "fit.json")).refit(ratings)
    assert isinstance(again, Fit)
    assert again.config == fit.config
    assert again.yardstick == fit.yardstick
    for name, table in ((name, table) for name, table in fit.tables.items() if name != "assumptions"):
        assert_frame_equal(again.table(name), table, check_exact=True)


def test_a_change_changes_that_and_nothing_else(ratings):
    fit = rl.fit(ratings, model="gmf", item_slopes=True, reference="quantile 0.5", covariance="sandwich")
    changed = fit.refit(ratings, model="tfm")
    by_hand = rl.fit(ratings, model="tfm", item_slopes=True, reference="quantile 0.5", covariance="sandwich")
    assert_frame_equal(changed.raters, by_hand.raters, check_exact=True)
    assert changed.config == by_hand.config


def test_an_unknown_change_is_named(ratings):
    with pytest.raises(OptionError, match="unknown option 'links'; did you mean 'link'"):
        rl.fit(ratings, model="gmf").refit(ratings, links="probit")  # type: ignore[call-arg]


def test_a_refit_can_be_anchored_by_a_fit_and_saved(ratings, tmp_path):
    fit = rl.fit(ratings, model="gmf")
    held = fit.refit(ratings, anchors=fit)
    assert held.raters["flag"].to_list() == ["anchored"] * 5
    assert held.raters["kappa"].to_list() == pytest.approx(fit.raters["kappa"].to_list(), abs=1e-9)
    again = rl.load(held.save(tmp_path / "held.json")).refit(ratings)
    assert_frame_equal(again.raters, held.raters, check_exact=True)


def test_covariates_are_kept_with_the_request(ratings, tmp_path):
    known = pl.DataFrame({"rater": ratings.raters, "years": [1.0, 4.0, 2.0, 8.0, 3.0]})
    fit = rl.fit(ratings, model="gmf", covariates=known)
    again = rl.load(fit.save(tmp_path / "fit.json")).refit(ratings)
    assert_frame_equal(again.table("covariates"), fit.table("covariates"), check_exact=True)
    assert fit.config.covariates is not None
    assert fit.config.covariates["years"] == [1.0, 4.0, 2.0, 8.0, 3.0]


def test_how_a_fit_is_carried_out_is_not_part_of_the_request(ratings, tmp_path):
    plain = fitted(ratings, rl.FitConfig())
    run = Run(checkpoint=tmp_path / "work", start=plain)
    assert fitted(ratings, rl.FitConfig(), run).config == plain.config


def test_verbs_that_need_slopes_say_so():
    fit = rl.fit(
        rl.simulate(students=60, raters=4, items=2, model="hrm", seed=1).ratings, model="hrm", starts=1
    )
    with pytest.raises(OptionError, match="model 'hrm' has no slopes") as caught:
        fit.capability()
    assert caught.value.option == "model"


CALLS = {
    "diagnose": {},
    "decisions": {"cut": 0.5},
    "consequences": {"cut": 0.5},
    "remark": {"cut": 0.5, "budget": 3},
    "monitor": {},
    "differences": {},
    "profile": {"raters": "R1"},
    "bootstrap": {"replicates": 2, "workers": 1},
    "sensitivity": {"links": (), "models": ()},
    "worth_knowing": {"n": 2},
    "refit": {"model": "tfm"},
}
WITHOUT = ("decisions", "consequences", "differences")  # say less, but something, without ratings


@pytest.mark.parametrize("method", CALLS)
def test_a_fit_remembers_its_ratings_and_a_loaded_one_asks_for_them(ratings, method, tmp_path):
    fit, options = rl.fit(ratings, model="gmf"), CALLS[method]
    loaded = rl.load(fit.save(tmp_path / "fit.json"))
    assert fit.ratings is ratings
    assert loaded.ratings is None
    assert str(getattr(fit, method)(**options)) == str(getattr(loaded, method)(ratings, **options))
    if method not in WITHOUT:
        with pytest.raises(InputError, match=f"loaded from a file.*pass them: fit.{method}") as error:
            getattr(loaded, method)(**options)
        assert error.value.option == "ratings"


def test_a_report_needs_no_ratings_again(ratings, tmp_path):
    fit = rl.fit(ratings, model="gmf")
    page, given = (fit.report(tmp_path / "a.html"), fit.report(tmp_path / "b.html", ratings))
    assert page.read_text() == given.read_text()


def test_printing_a_fit_shows_its_summary(ratings):
    fit = rl.fit(ratings, model="gmf")
    assert str(fit) == fit.summary()
    assert repr(fit).startswith("<Fit of gmf")


# -- The whole pipeline: invariances, every format, difficult raters, saving and loading -------------------------


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    ratings = rl.simulate(students=80, raters=6, items=3, raters_per_student=3, seed=11).ratings
    return pl.DataFrame(
        {
            "student": ratings.students.gather(ratings.student),
            "rater": ratings.raters.gather(ratings.rater).cast(pl.String),
            "item": ratings.items.gather(ratings.item),
            "score": ratings.score,
        }
    )


@pytest.mark.parametrize("method", ["mml", "laplace", "hl"])
def test_order_of_rows_changes_nothing(frame, method):
    first = rl.fit(frame, model="gmf", method=method)
    second = rl.fit(frame.sample(fraction=1, shuffle=True, seed=3), model="gmf", method=method)
    assert_frame_equal(first.raters, second.raters, check_exact=True)


def test_relabelling_raters_only_relabels_them(frame):
    renamed = frame.with_columns(
        ("z" + (9 - pl.col("rater").str.slice(-1).cast(int)).cast(pl.String)).alias("rater")
    )
    first = rl.fit(frame, model="gmf").raters.sort("kappa").drop("rater")
    second = rl.fit(renamed, model="gmf").raters.sort("kappa").drop("rater")
    assert_frame_equal(first, second, rel_tol=1e-4, abs_tol=1e-5)


def test_a_file_in_two_parts_is_the_file(frame, tmp_path):
    half = frame.height // 2
    (tmp_path / "whole.csv").write_text(frame.write_csv())
    parts = pl.concat([frame[half:], frame[:half]])
    (tmp_path / "parts.csv").write_text(parts.write_csv())
    assert_frame_equal(
        rl.fit(tmp_path / "whole.csv", model="gmf").raters, rl.fit(tmp_path / "parts.csv", model="gmf").raters
    )


def test_every_format_gives_the_same_estimates(frame, tmp_path):
    wide = frame.unique(["student", "rater", "item"], keep="first", maintain_order=True).pivot(
        "item", index=["student", "rater"], values="score"
    )
    items = [column for column in wide.columns if column not in ("student", "rater")]
    long = wide.unpivot(
        items, index=["student", "rater"], variable_name="item", value_name="score"
    ).drop_nulls()
    long.write_parquet(tmp_path / "long.parquet")
    (tmp_path / "long.csv").write_text(long.write_csv())
    (tmp_path / "wide.csv").write_text(wide.write_csv())
    pandas = pd.DataFrame(long.to_dict(as_series=False))
    expected = rl.fit(long, model="gmf").raters
    for source, wide_items in [
        (tmp_path / "long.parquet", None),
        (tmp_path / "long.csv", None),
        (tmp_path / "wide.csv", items),
        (wide, items),
    ]:
        found = rl.fit(rl.read(source, items=wide_items), model="gmf").raters
        assert_frame_equal(found, expected, check_exact=True, check_dtypes=False)
    from_pandas = rl.fit(pandas, model="gmf").raters
    assert isinstance(from_pandas, pd.DataFrame)
    assert from_pandas["kappa"].tolist() == expected["kappa"].to_list()


def difficult(kind: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Change what the first rater gave."""
    mine = pl.col("rater") == frame["rater"][0]
    scores = {
        "all pass": pl.lit(1),
        "all fail": pl.lit(0),
        "reversed": 1 - (pl.col("score").mean().over("student") > 0.5).cast(pl.Int16),
    }
    return frame.with_columns(
        score=pl.when(mine).then(scores[kind]).otherwise(pl.col("score")).cast(pl.Int64)
    )


@pytest.mark.parametrize("method", ["mml", "laplace", "hl"])
@pytest.mark.parametrize("kind", ["all pass", "all fail"])
def test_extreme_raters_are_kept_finite_and_flagged(frame, kind, method):
    raters = rl.fit(difficult(kind, frame), model="gmf", method=method).raters
    extreme = raters.filter(pl.col("flag") == kind)
    assert extreme["rater"].to_list() == [frame["rater"][0]]
    numbers = extreme.select(pl.selectors.numeric()).to_numpy()
    assert np.isfinite(numbers).all()
    assert np.sign(extreme["eta"][0]) == (-1 if kind == "all pass" else 1)
    assert abs(extreme["eta"][0]) == raters["eta"].abs().max()


@pytest.mark.parametrize("prior", ["none", "panel"])
def test_a_rater_who_only_passes_does_not_move_the_others(prior):
    """Four raters of equal severity: they stay at 0 when another rater passes everybody."""
    drawn = rl.simulate(students=120, raters=5, items=2, severity=np.zeros(5), seed=2).ratings
    lenient = replace(drawn, score=np.where(drawn.rater == 0, 1, drawn.score).astype(np.int16))
    raters = rl.fit(lenient, model="gmf", prior=prior, halo="none", ability="normal").raters
    assert raters["flag"][0] == "all pass"
    assert raters["eta"][0] < -1
    assert raters["eta"][1:].mean() == pytest.approx(0, abs=1e-9)


def test_a_reversed_rater_has_no_capability_unless_reversal_is_allowed(frame):
    data, who = difficult("reversed", frame), frame["rater"][0]
    held = rl.fit(data, model="gmf").raters.filter(pl.col("rater") == who).row(0, named=True)
    assert held["kappa"] == 0
    assert held["flag"] == "slope at 0"
    assert held["kappa_low"] == 0 < held["kappa_high"] < 0.5
    free = (
        rl.fit(data, model="gmf", allow_reversed=True)
        .raters.filter(pl.col("rater") == who)
        .row(0, named=True)
    )
    assert free["kappa_high"] < 0
    assert -1 <= free["rho"] < 0


def test_a_rater_who_never_errs_does_not_become_the_yardstick(frame):
    """Four ratings in perfect order let the slope run away; the panel's scale must not follow it."""
    best = rl.fit(frame, model="gmf")
    ability = best.students.sort("theta")["student"]
    perfect = pl.DataFrame(
        {
            "student": [ability[0], ability[1], ability[-2], ability[-1]],
            "rater": ["sure"] * 4,
            "item": [frame["item"][0]] * 4,
            "score": [0, 0, 1, 1],
        }
    ).cast(frame.schema)
    fit = rl.fit(pl.concat([frame, perfect]), model="gmf")
    sure = fit.raters.filter(pl.col("rater") == "sure").row(0, named=True)
    assert sure["flag"] == "slope at limit"
    assert sure["rho"] == 1
    assert fit.sigma == pytest.approx(best.sigma, rel=0.2)
    assert any("'sure'" in warning and "limit" in warning for warning in fit.warnings)
    # Nor does it count in the average severity, which is where the others are seen from.
    others = fit.raters.filter(pl.col("rater") != "sure")["eta"].to_numpy()
    assert others.mean() == pytest.approx(0, abs=1e-9)


def test_two_ratings_of_an_unlinked_rater_change_nobody_else_s_capability():
    """One who passes a student and fails another, both rated by nobody else, would be the yardstick."""
    rng = np.random.default_rng(1)
    ability = rng.normal(size=60)
    rows = [
        (f"s{s}", f"r{r}", "i", int(rng.random() < 1 / (1 + np.exp(-slope * ability[s]))))
        for s in range(60)
        for r, slope in enumerate((0.9, 0.7, 0.5))
    ]
    linked = pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")
    apart = pl.DataFrame({"student": ["x", "y"], "rater": "z", "item": "i", "score": [1, 0]}).cast(
        linked.schema
    )
    before, after = rl.fit(linked, model="gmf"), rl.fit(pl.concat([linked, apart]), model="gmf")
    slope = after.calibration.effects["slope"]
    assert slope[3] > slope[:3].max()
    assert after.sigma == pytest.approx(before.sigma, rel=1e-4)
    for name in ("kappa", "eta", "rho"):
        np.testing.assert_allclose(after.raters[name][:3], before.raters[name], atol=1e-4)
    assert after.raters["rho"][3] == 1
    assert any("'z' would be the yardstick" in warning for warning in after.warnings)


def test_rater_estimates_recover_the_truth():
    """Large enough that every estimate lies within four standard errors."""
    made = rl.simulate(students=3000, raters=8, items=4, raters_per_student=4, seed=5)
    raters = rl.fit(made.ratings, model="gmf").raters
    for name, true in (("rho", made.truth.rho), ("eta", made.truth.severity), ("kappa", made.truth.kappa)):
        se = np.maximum(raters[f"{name}_se"].to_numpy(), 1e-3)
        assert np.abs((raters[name].to_numpy() - true) / se).max() < 4, name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "gmff"}, "did you mean 'gmf'"),
        ({"method": "em"}, "choose one of: mml, laplace, hl"),
        ({"link": "logistic"}, "unknown link 'logistic'"),
        ({"link": "cauchit", "method": "laplace"}, "use method='mml'"),
        ({"model": "probit", "link": "logit"}, "leave link out"),
        ({"scale": "likert"}, "unknown scale"),
    ],
)
def test_wrong_options_say_what_to_do(small, options, message):
    with pytest.raises(OptionError, match=message):
        rl.fit(small, **{"model": "gmf"} | options)


def test_ordered_scores_need_a_model_for_them(writing_scores):
    with pytest.raises(InputError, match=r"from 0 to 3.*cut=3.*'gmf'"):
        rl.fit(writing_scores, model="probit")
    with pytest.raises(InputError, match="use method='mml'"):
        rl.fit(writing_scores, model="gmf", method="hl")


def test_progress_is_reported(small):
    seen: list[Any] = []
    rl.fit(small, model="gmf", progress=seen.append)
    assert seen[-1].gradient < seen[0].gradient
    assert all(step.stage.startswith("marginal") for step in seen)


def test_a_pair_of_raters_and_a_pair_of_students_is_enough_to_run():
    frame = pl.DataFrame({"student": [1, 1, 2, 2], "rater": list("abab"), "score": [1, 1, 0, 1]})
    fit = rl.fit(frame, model="gmf")
    assert np.isfinite(fit.loglik)
    assert fit.raters.height == 2


def test_a_common_slope_does_not_get_stuck_at_zero():
    """Slope 0 is level by symmetry; a first step that overshoots to it must not end there."""
    made = rl.simulate(
        students=400,
        raters=8,
        items=4,
        raters_per_student=4,
        model="tfm",
        link="log",
        slope=0.325,
        severity=np.linspace(-0.175, 0.175, 8),
        difficulty=np.linspace(-0.15, 0.15, 4),
        alpha=-1.6,
        seed=[1, 0, 9, 400],
    )
    fit = rl.fit(made.ratings, model="tfm", link="cloglog", standard_errors=False)
    assert fit.sigma == pytest.approx(0.366, abs=0.01)


DOUBLED = pd.DataFrame([["a", 1, 2], ["b", 2, 3]], columns=["rater", "x", "x"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"start": 5}, "start=5; give a fit"),
        ({"progress": 5}, "progress=5; give a function"),
        ({"checkpoint": 5}, "checkpoint=5; give the path"),
        ({"covariates": {"rater": ["a", "b"], "x": [1]}}, "columns of different lengths: 'rater' 2, 'x' 1"),
        ({"covariates": {"rater": "a", "x": 1}}, "'a' for 'rater', not a column"),
        ({"covariates": DOUBLED}, "doubled column names: 'x' 2 times"),
    ],
)
def test_options_of_the_wrong_kind(options: dict, said: str) -> None:
    with pytest.raises(rl.RaterlensError, match=said):
        rl.fit(rl.load_example(), **{"model": "gmf"} | options)


@pytest.mark.parametrize("theta", [[], "x", [None], [[1, 2]]])
def test_abilities_of_the_wrong_kind(theta: object) -> None:
    fit = rl.fit(rl.simulate(students=40, raters=3, items=2, seed=1).ratings, model="gmf")
    with pytest.raises(rl.RaterlensError, match="give an ability or a list of abilities, all finite"):
        fit.capability(theta=theta)  # type: ignore[arg-type]


def test_a_dataframe_is_read_by_the_columns_that_are_named():
    table = rl.simulate(students=40, raters=3, items=2, seed=1).ratings.table()
    renamed = table.rename({"student": "a", "rater": "b", "item": "c", "score": "d"})
    fit = rl.fit(renamed, model="gmf", student="a", rater="b", item="c", score="d", standard_errors=False)
    assert fit.loglik == rl.fit(table, model="gmf", standard_errors=False).loglik
    with pytest.raises(OptionError, match="have been read"):
        rl.fit(rl.read(table), model="gmf", rater="rater")


# -- Several models side by side give what each gives alone, in the order asked for ------------------------------


def test_each_model_is_fitted_as_if_alone(small: rl.Ratings) -> None:
    wanted = {"free": {}, "equal": {"model": "tfm"}, "probits": {"model": "gmf", "link": "probit"}}
    found = rl.fit_models(small, wanted, workers=1)
    assert list(found) == list(wanted)
    for name, options in wanted.items():
        alone = rl.fit(small, **options)
        assert found[name].loglik == alone.loglik
        assert found[name].config == alone.config


def test_names_alone_are_models(small: rl.Ratings) -> None:
    found = rl.fit_models(small.table(), ["tfm", "gmf"], workers=1)
    assert [fit.model for fit in found.values()] == list(found) == ["tfm", "gmf"]


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ("gmf", "give a list"),
        ([], "give a list"),
        (["gmf", "gmf"], "twice"),
        ({"a": "gmf"}, "options of 'a'"),
        ({"a": {"checkpoint": "x"}}, "'checkpoint' among the options of 'a'"),
    ],
)
def test_what_cannot_be_told_apart_is_refused_before_any_fit(
    small: rl.Ratings, models: Any, message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        rl.fit_models(small, models)


# -- Charts of a fit as its attributes ---------------------------------------------------------------------------


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


# -- Decisions and what to mark again ----------------------------------------------------------------------------


def test_decisions_can_be_handed_on_to_remark():
    ratings = rl.simulate(students=60, raters=4, items=3, raters_per_student=2, seed=8).ratings
    fit = rl.fit(ratings, model="gmf")
    found = fit.decisions(ratings, cut=0.6, grades=("refer", "accept"), safe=0.8)
    plan = fit.remark(ratings, cut=found, budget=5)
    again = fit.remark(ratings, cut=0.6, budget=5)
    assert plan.table["gain"].to_list() == again.table["gain"].to_list()
    assert set(plan.table["grade"]) <= {"refer", "accept"}
    assert plan.unsafe == found.unsafe < again.unsafe
    assert (plan.table["becomes_safe"] >= again.table["becomes_safe"]).all()


def test_a_loaded_fit_decides_as_the_fit_did(tmp_path):
    ratings = rl.simulate(students=60, raters=4, items=3, raters_per_student=2, seed=8).ratings
    fit = rl.fit(ratings, model="gmf")
    loaded = rl.load(fit.save(tmp_path / "fit.json"))
    assert loaded.decisions(ratings, cut=0.6).table.equals(fit.decisions(ratings, cut=0.6).table)
