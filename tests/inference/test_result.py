"""A fit as data: what it keeps, its summary, and JSON."""

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.inference.result import encoded
from tests.support.facets_models import ordered

# ----------------------------------------------------------------------------------------------------
# A result as data.


@pytest.fixture(scope="module")
def fit():
    return rl.fit(
        rl.simulate(students=40, raters=3, items=2, seed=1).ratings, model="gmf", standard_errors=False
    )


def test_information_criteria_count_parameters_and_students(fit):
    """AIC = 2 k - 2 l; BIC = k log(students) - 2 l."""
    import math

    k = 3 + 3 + 2 - 1
    assert fit.n_parameters == k
    assert fit.aic == pytest.approx(2 * k - 2 * fit.loglik)
    assert fit.bic == pytest.approx(k * math.log(40) - 2 * fit.loglik)


def test_tables_come_back_as_the_kind_that_came_in(small):
    frame = pd.DataFrame({"student": [1, 1, 2, 2], "rater": list("abab"), "score": [1, 1, 0, 1]})
    fit = rl.fit(frame, model="gmf", standard_errors=False)
    assert isinstance(fit.raters, pd.DataFrame)
    assert fit.raters["kappa"].tolist() == fit.table("raters")["kappa"].to_list()


def test_a_table_that_is_not_there_is_named_with_those_that_are(fit):
    with pytest.raises(OptionError, match="did you mean 'raters'"):
        fit.table("rater")


def test_what_needs_slopes_says_so(small):
    fit = rl.fit(small, model="dawid-skene", starts=1, standard_errors=False)
    with pytest.raises(OptionError, match=r"'dawid-skene' has no slopes.*; fit 'gmf' or 'tfm'") as caught:
        fit.calibrated("no curves")
    assert caught.value.option == "model"


# ----------------------------------------------------------------------------------------------------
# A fit as JSON and back: the same numbers, the same request.


@pytest.mark.parametrize("model", ["tfm", "gmf", "probit"])
def test_save_and_load(small, tmp_path, model):
    fit = rl.fit(small, model=model)
    loaded = rl.load(fit.save(tmp_path / "fit.json"))
    for name in ("raters", "items", "students"):
        assert_frame_equal(fit.table(name), loaded.table(name), check_exact=True)
    assert (loaded.loglik, loaded.sigma, loaded.optimiser) == (fit.loglik, fit.sigma, fit.optimiser)
    content = json.loads((tmp_path / "fit.json").read_text())
    for key in ("model", "method", "link", "loglik", "sigma", "alpha", "converged", "n_parameters"):
        assert key in content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a saved fit"),
        ('{"format": "raterlens fit", "version": 99}', "version 99"),
    ],
)
def test_a_file_that_is_no_fit_is_refused(tmp_path, content, message):
    (tmp_path / "fit.json").write_text(content)
    with pytest.raises(InputError, match=message):
        rl.load(tmp_path / "fit.json")


def test_a_fit_of_an_earlier_format_is_refused_with_what_to_do(small, tmp_path):
    path = rl.fit(small, model="gmf", standard_errors=False).save(tmp_path / "fit.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 1}))
    with pytest.raises(InputError, match=r"format version 1, this release reads \d; fit again") as caught:
        rl.load(path)
    assert caught.value.value == 1


@cache
def numbered(ratings: rl.Ratings) -> rl.Ratings:
    """The same with items called 1, 2, 3."""
    return replace(ratings, items=ratings.items.cast(pl.String).str.extract(r"(\d+)"))


@cache
def earlier(ratings: rl.Ratings) -> rl.Fit:
    return rl.fit(ratings, model="gmf", reference=ratings.raters[0], population="estimated")


def requests(ratings: rl.Ratings) -> dict[str, dict[str, Any]]:
    """Options that take more than text and numbers, or that change what a fit is measured by."""
    raters = ratings.raters.to_list()
    years = {"rater": raters, "years": [float(place**2) for place in range(len(raters))]}
    return {
        "yardstick": {
            "item_slopes": True,
            "reference": "quantile 0.75",
            "population": rl.Window(0.5, 0.25),
            "origin": "absolute",
            "covariance": "sandwich",
        },
        "named": {"reference": raters[1], "population": (0.3, 1.2), "origin": -0.25, "allow_reversed": True},
        "anchored by a fit": {"anchors": earlier(ratings)},
        "anchored by hand": {"anchors": rl.Anchors(raters={raters[0]: (1.0, None)}, items={"1": 0.2})},
        "covariates": {"covariates": pl.DataFrame(years)},
        "hl": {"method": "hl", "covariance": "conditional", "model": "tfm"},
        "latent class": {"model": "hrm", "starts": 2, "seed": 3},
        "sampled": {"prior": "panel", "max_iterations": 300},
    }


@pytest.mark.parametrize(
    "name",
    [
        "yardstick",
        "named",
        "anchored by a fit",
        "anchored by hand",
        "covariates",
        "hl",
        "latent class",
        "sampled",
    ],
)
def test_a_loaded_fit_knows_the_request_and_repeats_it(small, tmp_path, name):
    ratings = numbered(small)
    fit = rl.fit(ratings, **{"model": "gmf"} | (requests(ratings)[name]))
    loaded = rl.load(fit.save(tmp_path / "fit.json"))
    assert loaded.config == fit.config
    assert loaded.yardstick == fit.yardstick
    again = loaded.refit(ratings)
    assert again.loglik == fit.loglik
    assert_frame_equal(again.table("raters"), fit.table("raters"), check_exact=True)


def test_ordered_scores_anchored_by_a_fit_come_back(small, tmp_path):
    ratings = ordered(small)
    earlier = rl.fit(ratings, model="gmf", scale="partial credit", standard_errors=False)
    fit = rl.fit(ratings, model="gmf", scale="partial credit", anchors=earlier, standard_errors=False)
    loaded = rl.load(fit.save(tmp_path / "fit.json"))
    assert loaded.config == fit.config
    assert loaded.refit(ratings).loglik == fit.loglik


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("tables", "raters", "kappa"), [0.5]),
        (("tables", "raters", "kappa"), "high"),
        (("tables", "raters", "rater"), {}),
        (("tables", "raters"), {}),
        (("loglik",), "much"),
        *((("loglik",), value) for value in (float("nan"), float("inf"), None)),
        (("n_students",), -3),
        (("calibration",), []),
        *((("calibration", name), [True]) for name in ("falling", "at_limit", "apart", "extreme")),
        (("calibration", "labels", "rater"), ["R1"]),
        (("calibration", "labels", "item"), ["I1"]),
        (("calibration", "labels", "rater"), None),
        (("calibration", "effects", "slope"), 10**400),
        (("tables",), {"raters": {}}),
        (("backend",), {}),
        (("config", "model"), 7),
        (("optimiser", "iterations"), "ten"),
    ],
)
def test_a_damaged_fit_is_refused(small, tmp_path, place, value):
    rl.fit(small, model="gmf").save(tmp_path / "fit.json")
    content = json.loads((tmp_path / "fit.json").read_text())
    part = content
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    (tmp_path / "fit.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="is a damaged saved fit: a part is missing or of the wrong kind"):
        rl.load(tmp_path / "fit.json")


def test_json_nested_without_end_is_no_fit(tmp_path):
    (tmp_path / "fit.json").write_text("[" * 200_000)
    with pytest.raises(InputError, match="is not JSON"):
        rl.load(tmp_path / "fit.json")


def test_long_lists_are_written_digit_for_digit():
    random = np.random.default_rng(4)
    numbers = (random.normal(size=500) * 10.0 ** random.integers(-300, 300, 500)).tolist()
    content = {
        "é": [*numbers, None, -0.0, 5e-324, 1e22, 1e-5],
        "rows": [numbers[:i] for i in (1, 80, 2)],
        "few": [1, 2.5, None],
        "mixed": [*numbers, 1],
        "labels": ("a", "\x00", '"'),
        "none": None,
    }
    assert json.loads(encoded(content)) == json.loads(json.dumps(content))
    rows = [np.array(numbers[:i]) for i in (1, 80, 2)]
    assert json.loads(encoded({"arrays": rows})) == {"arrays": content["rows"]}
    with pytest.raises(ValueError, match="JSON"):
        encoded([*numbers, float("nan")])
    with pytest.raises(ValueError, match="JSON"):
        encoded([np.array([1.0, np.nan])])


# ----------------------------------------------------------------------------------------------------
# A fit in a few lines.


def test_raters_stand_from_most_to_least_capable(small):
    fit = rl.fit(small, model="gmf")
    lines = fit.summary().splitlines()
    ranked = fit.raters.sort("kappa", descending=True)["rater"].to_list()
    assert [line.split()[0] for line in lines[1 : 1 + len(ranked)]] == ranked
    assert f"log-likelihood {fit.loglik:.4f}" in lines[len(ranked) + 2]
    assert f"Converged in {fit.optimiser.iterations} iterations" in lines


def test_a_fit_that_did_not_converge_says_why(small):
    lines = rl.fit(small, model="gmf", max_iterations=1, standard_errors=False).summary().splitlines()
    assert any(line.startswith("Did not converge in ") and "limit of 1 iteration" in line for line in lines)
    assert any(line.startswith("Warning: the estimates have not converged") for line in lines)
