"""The models by name, what each takes, and where slopes come from."""

import subprocess
import sys
from dataclasses import FrozenInstanceError, fields
from typing import get_args

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.capability.links import get_link
from raterlens.config import FitConfig, LinkName, Method
from raterlens.models.build import build
from raterlens.models.covariates import read_covariates
from raterlens.models.registry import COMMON, DAWID_SKENE, GMF, HRM, MODELS, TFM, Spec, own_slopes
from raterlens.models.requested import Options
from raterlens.models.responses import Adjacent, Capped, Graded, Linked
from raterlens.models.term import Blocks, Contexts
from tests.support.facets_models import make, ordered, somewhere, with_facet


@pytest.mark.parametrize(
    ("link", "scale", "categories", "expected"),
    [
        ("logit", "rating scale", 2, Adjacent),
        ("logit", "graded", 2, Adjacent),
        ("probit", "rating scale", 2, Linked),
        ("log", "rating scale", 2, Capped),
        ("logit", "partial credit", 4, Adjacent),
        ("logit", "graded", 4, Graded),
        ("cloglog", "graded", 4, Graded),
    ],
)
def test_the_response_follows_link_scale_and_scores(small, link, scale, categories, expected):
    ratings = small if categories == 2 else ordered(small)
    model, response = build(ratings, Options(MODELS["gmf"], get_link(link), scale))
    assert isinstance(response, expected)
    assert response.n_categories == categories
    assert (model.thresholds is None) == (categories == 2)
    if model.thresholds is not None:
        assert model.thresholds.n_scales == (small.n_items if scale == "partial credit" else 1)


def test_scores_that_the_ratings_do_not_show_have_their_place(small):
    _, response = build(small, Options(MODELS["gmf"], get_link("logit")), n_categories=5)
    assert response.n_categories == 5


def test_covariates_explain_slopes_and_severities(small):
    columns = np.column_stack([np.ones(5), np.arange(5.0)])
    model, _ = build(small, Options(MODELS["gmf"], get_link("logit"), covariates=columns))
    assert model.blocks.sizes["slope"] == model.blocks.sizes["severity"] == 2


# -- The models by name, what each takes, and where slopes come from ---------------------------------------------

OPTIONS = {option.name for option in fields(FitConfig)}


def test_every_option_is_taken_by_some_model_and_no_other_is_named():
    taken = COMMON.union(*(spec.takes for spec in MODELS.values()))
    assert taken == OPTIONS
    assert not any(spec.takes & COMMON for spec in MODELS.values())


@pytest.mark.parametrize("name", MODELS)
def test_a_model_takes_links_and_methods_that_there_are(name):
    spec = MODELS[name]
    assert spec.name == name
    assert spec.links
    assert set(spec.links) <= set(get_args(LinkName))
    assert set(spec.methods) <= set(get_args(Method))


def test_what_the_models_are():
    assert [name for name in MODELS if MODELS[name].true_category] == ["hrm", "dawid-skene"]
    assert MODELS["hrm"].ability
    assert not MODELS["dawid-skene"].ability
    assert MODELS["probit"].links == ("probit",)
    assert MODELS["gmf"].links[0] == "logit"
    assert "covariates" in MODELS["gmf"].takes
    assert "covariates" not in MODELS["probit"].takes


def test_listing_models_imports_nothing_heavy():
    code = "import sys, raterlens.models.registry; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_facets_model_takes_a_few_lines():
    spec = Spec("one", "one model", "raters are all alike", slopes=GMF.slopes)
    assert spec.takes == GMF.takes
    assert spec.ordered
    assert spec.links[0] == "logit"
    with pytest.raises(FrozenInstanceError):
        spec.name = "other"  # type: ignore[misc]


def test_options_of_a_family_are_not_common():
    assert not COMMON & GMF.takes
    assert "starts" not in GMF.takes


def test_only_the_hierarchical_model_has_abilities():
    assert (HRM.ability, DAWID_SKENE.ability) == (True, False)
    for spec in (HRM, DAWID_SKENE):
        assert spec.methods == ("mml",)
        assert spec.takes == {"allow_reversed"}
        assert not spec.ordered


def test_every_rater_has_a_slope_or_covariates_explain_its_logarithm():
    own = own_slopes(3, None)
    np.testing.assert_array_equal(own(np.array([0.5, 1.0, 2.0])), [0.5, 1.0, 2.0])
    explained = GMF.slopes(3, np.column_stack([np.ones(3), [0.0, 1.0, 2.0]]))
    np.testing.assert_allclose(explained(np.array([0.2, 0.3])), np.exp([0.2, 0.5, 0.8]))


def test_all_raters_share_a_slope_whatever_the_covariates():
    for covariates in (None, np.ones((3, 1))):
        slopes = TFM.slopes(3, covariates)
        assert slopes.size == 1
        np.testing.assert_array_equal(slopes(np.array([1.7])), [1.7] * 3)


def test_a_rater_passes_what_it_sees_above_its_threshold(small):
    """P(pass) = Phi((theta - alpha_r - delta_i) / sigma_r), with a_r = 1 / sigma_r and b_r = alpha_r / sigma_r."""
    model, response = make(small, "probit")
    x, theta = somewhere(model), 0.7
    a, b, delta = (x[model.blocks[name]] for name in ("slope", "severity", "difficulty"))
    log_prob = response.log_prob(model.predictor(x), np.array([theta]))[:, 1, 0]
    r, i = model.contexts.rater, model.contexts.item
    noise, threshold = 1 / a[r], b[r] / a[r]
    assert np.exp(log_prob) == pytest.approx(
        stats.norm.cdf((theta - threshold - delta[i]) / noise), rel=1e-12
    )


# -- Contexts ----------------------------------------------------------------------------------------------------


def test_contexts_are_the_distinct_raters_items_and_levels(small):
    ratings = with_facet(ordered(small))
    contexts = Contexts.of(ratings)
    seen = np.column_stack([ratings.rater, ratings.item, ratings.facets[0].codes])
    distinct, of_rating = np.unique(seen, axis=0, return_inverse=True)
    np.testing.assert_array_equal(
        np.column_stack([contexts.rater, contexts.item, *contexts.facets]), distinct
    )
    np.testing.assert_array_equal(contexts.places(ratings), of_rating)
    given = np.zeros((len(distinct), 4))
    np.add.at(given, (of_rating, ratings.score), 1)
    np.testing.assert_array_equal(contexts.given, given)
    np.testing.assert_array_equal(contexts.counts(6), np.pad(given, [(0, 0), (0, 2)]))


def test_blocks_follow_each_other():
    blocks = Blocks({"slope": 3, "severity": 0, "difficulty": 2})
    assert (blocks["slope"], blocks["severity"], blocks["difficulty"]) == (
        slice(0, 3),
        slice(3, 3),
        slice(3, 5),
    )
    assert blocks.size == 5
    assert "slope" in blocks
    with pytest.raises(KeyError):
        blocks["threshold"]


# -- Raters explained by covariates: recovery, the user's units, and refusals ------------------------------------


@pytest.fixture(scope="module")
def made():
    """log slope = 0.2 + 0.05 years - 0.3 novice; severity = 0.5 - 0.08 years + 0.4 novice, years around 2000."""
    rng = np.random.default_rng(3)
    years, novice = 2000 + rng.integers(0, 12, 20), np.tile([0, 1], 10)
    slope = np.exp(0.2 + 0.05 * (years - 2006) - 0.3 * novice)
    severity = 0.5 - 0.08 * (years - 2006) + 0.4 * novice
    made = rl.simulate(
        students=1500, raters=20, items=3, raters_per_student=3, slope=slope, severity=severity, seed=2
    )
    return made, pl.DataFrame({"rater": made.ratings.raters, "since": years, "novice": novice.astype(bool)})


def test_coefficients_are_recovered_in_the_users_units(made):
    simulated, frame = made
    fit = rl.fit(simulated.ratings, model="gmf", covariates=frame.sample(fraction=1, shuffle=True, seed=1))
    assert fit.converged
    table = fit.table("covariates")
    assert table["term"].to_list() == ["intercept", "since", "novice"]
    for name, true in (("severity", [-0.08, 0.4]), ("log_discrimination", [0.05, -0.3])):
        z = (table[name].to_numpy()[1:] - true) / table[f"{name}_se"].to_numpy()[1:]
        assert np.abs(z).max() < 3, name
        assert table[f"{name}_se"].to_numpy()[1:].max() < 0.1
    assert fit.n_parameters == 3 + 3 + 3 - 1
    # Every rater's slope and severity is the linear function that the table states.
    terms = np.column_stack([np.ones(20), *(frame[name].cast(float) for name in ("since", "novice"))])
    effects = fit.calibration.effects
    np.testing.assert_allclose(effects["severity"], terms @ table["severity"].to_numpy(), atol=1e-8)
    np.testing.assert_allclose(
        np.log(effects["slope"]), terms @ table["log_discrimination"].to_numpy(), atol=1e-8
    )


def test_units_do_not_matter(small):
    frame = pl.DataFrame({"rater": small.raters, "years": [1.0, 5.0, 2.0, 8.0, 3.0]})
    days = frame.with_columns(years=365.25 * pl.col("years") + 1e5)
    one, other = rl.fit(small, model="gmf", covariates=frame), rl.fit(small, model="gmf", covariates=days)
    assert one.loglik == pytest.approx(other.loglik, abs=1e-8)
    for column in ("severity", "severity_se", "log_discrimination", "log_discrimination_se"):
        ratio = one.table("covariates")[column][1] / other.table("covariates")[column][1]
        assert ratio == pytest.approx(365.25, rel=1e-4)


def test_a_standard_error_against_a_profile(small):
    """Twice the fall of the log-likelihood one standard error away is about 1."""
    frame = pl.DataFrame({"rater": small.raters, "years": [1.0, 5.0, 2.0, 8.0, 3.0]})
    fit = rl.fit(small, model="tfm", covariates=frame)
    row = fit.table("covariates").row(1, named=True)
    assert set(row) == {"term", "severity", "severity_se"}
    best, h = fit.loglik, row["severity_se"]

    def fall(shift: float) -> float:
        own = fit.calibration.effects["severity"] + shift * frame["years"].to_numpy()
        # The intercept and the items are free: hold the differences between raters, let their origin move.
        anchors = rl.Anchors(raters=dict(zip(small.raters, [(None, float(b)) for b in own], strict=True)))
        return 2 * (best - rl.fit(small, model="tfm", anchors=anchors, standard_errors=False).loglik)

    assert fall(0.0) == pytest.approx(0, abs=1e-6)
    assert (fall(h) + fall(-h)) / 2 == pytest.approx(1, abs=0.02)


def test_any_dataframe_and_any_order(small):
    frame = pd.DataFrame({"rater": ["R5", "R4", "R3", "R2", "R1", "R0"], "x": [5, 4, 3, 2, 1, 0]})
    found = read_covariates(frame, small.raters)
    assert found.names == ("x",)
    assert found.values[:, 0].tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"rater": ["R1", "R2"], "x": [1, 2]}, "covariates lack 'R3', 'R4', 'R5'"),
        ({"judge": ["R1"], "x": [1]}, "into one called 'rater'"),
        ({"rater": [f"R{i}" for i in range(1, 6)]}, "at least one column"),
        ({"rater": ["R1", "R1", "R2", "R3", "R4", "R5"], "x": range(6)}, "rater 'R1' more than once"),
        ({"rater": [f"R{i}" for i in range(1, 6)], "x": list("abcde")}, "code categories as 0 and 1"),
        ({"rater": [f"R{i}" for i in range(1, 6)], "x": [1, 2, None, 4, 5]}, "no finite number for 'R3'"),
        ({"rater": [f"R{i}" for i in range(1, 6)], "x": [2] * 5}, "is 2 for every rater"),
        (
            {"rater": [f"R{i}" for i in range(1, 6)], "x": range(5), "y": [1.0, 3.0, 5.0, 7.0, 9.0]},
            "'y' is determined",
        ),
        (
            {"rater": [f"R{i}" for i in range(1, 6)]}
            | {c: np.random.default_rng(ord(c)).random(5) for c in "abcde"},
            "fewer columns than raters",
        ),
    ],
)
def test_wrong_covariates_say_what_to_do(small, columns, message):
    with pytest.raises(InputError, match=message):
        rl.fit(small, model="gmf", covariates=pl.DataFrame(columns, strict=False))


def test_wrong_combinations_say_what_to_do(small):
    frame = pl.DataFrame({"rater": small.raters, "x": [1, 2, 3, 4, 6]})
    with pytest.raises(OptionError, match="takes no covariates"):
        rl.fit(small, model="probit", covariates=frame)
    with pytest.raises(OptionError, match="leave out one of them"):
        rl.fit(small, model="gmf", covariates=frame, anchors=rl.Anchors(items={"I1": 0.0}))
    with pytest.raises(InputError, match="cannot read a table from an object of type 'int'"):
        rl.fit(small, model="gmf", covariates=3)
