"""Little data: every fit ends soon, in finite numbers, and says what ran to a limit."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from benchmarks.truth.recorded_designs import found, moved, recorded
from raterlens.app.cli.main import main
from raterlens.capability.yardstick import LARGEST_ITEM_SLOPE
from raterlens.likelihood.nodes import MOST_NODES

# --- few ratings and many parameters: every fit ends soon, in finite numbers, and says what ran to a limit


# Centring after the fit moves log item slopes by what rounding and a weak hold leave.
CENTRED = 1.05


def at_random(seed: int, students: int, raters: int, items: int) -> pl.DataFrame:
    """Everybody rates everything by tossing a coin."""
    score = np.random.default_rng(seed).integers(2, size=(students, raters, items))
    rows = [(s, f"r{r}", f"i{i}", int(score[s, r, i])) for s, r, i in np.ndindex(score.shape)]
    return pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")


@pytest.mark.parametrize(
    ("seed", "items", "link"),
    [
        (2, 3, "logit"),
        pytest.param(0, 3, "logit", marks=pytest.mark.nightly),
        pytest.param(0, 4, "cauchit", marks=pytest.mark.nightly),
        pytest.param(2, 4, "cauchit", marks=pytest.mark.nightly),
    ],
)
def test_item_slopes_stay_within_their_bounds(seed, items, link):
    """Without bounds these took minutes, or asked for 198 GiB of ability nodes."""
    fit = rl.fit(at_random(seed, 4, 3, items), model="gmf", item_slopes=True, link=link)
    slope = fit.items["slope"].to_numpy()
    assert np.isfinite(fit.loglik)
    assert fit.loglik < 0
    assert (slope < CENTRED * LARGEST_ITEM_SLOPE).all()
    assert (slope > 1 / CENTRED / LARGEST_ITEM_SLOPE).all()
    np.testing.assert_allclose(np.log(slope).mean(), 0, atol=1e-9)
    assert np.isfinite(fit.raters["kappa"].to_numpy()).all()
    assert fit.optimiser.n_nodes <= MOST_NODES + 2


def test_an_item_slope_at_its_limit_is_flagged_and_explained():
    """All pass on the first item and all fail on the second but for the ablest: they differ as much as may be."""
    rows = [
        (s, f"r{r}", f"i{i}", int(s >= (1 + 2 * i))) for s in range(6) for r in range(2) for i in range(2)
    ]
    rows += [(s, f"r{r}", "i2", (s * 5 + r * 3) % 2) for s in range(6) for r in range(2)]
    table = pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")
    fit = rl.fit(table, model="gmf", item_slopes=True)
    limited = fit.items.filter(pl.col("flag") == "slope at limit")
    assert len(limited)
    assert limited["slope_se"].is_nan().all()
    (told,) = [str(warning) for warning in fit.warnings if "ran to its limit, 20 times" in warning]
    assert all(repr(item) in told for item in limited["item"])
    assert "item_slopes=False" in told


# ------------------- next to no data: every command still answers, and without a warning from the numerics


@pytest.mark.parametrize(
    "rows",
    [
        ["1,A,x,1", "1,B,x,0", "2,A,x,0", "2,B,x,1"],
        ["1,A,x,1", "2,A,x,0"],
        ["1,A,x,1", "2,B,x,0"],
        ["1,A,x,1", "1,B,x,0", "2,A,x,0", "2,B,x,1", "3,A,x,7"],
        ["1,A,x,1", "1,A,x,1", "2,A,x,0", "2,A,x,0"],
    ],
    ids=["two by two", "one rater", "no shared student", "a gap in the scores", "only repeats"],
)
def test_a_handful_of_ratings_is_fitted_and_diagnosed(rows, tmp_path, capsys):
    table = tmp_path / "ratings.csv"
    table.write_text("\n".join(["student,rater,item,score", *rows]))
    assert main(["fit", str(table), "--out", str(tmp_path / "results")]) == 0
    assert main(["check", str(table)]) == 0
    assert "Traceback" not in capsys.readouterr().err


# --- some of the recorded small designs: all of them are compared by `python -m benchmarks.truth.recorded_designs`


# One for each way of fitting, and two more of ordered scores; quick ones.
SOME = (2, 3, 10, 12, 16, 22, 24, 34, 35, 36, 38, 45)


@pytest.fixture(scope="module")
def known():
    return recorded()


@pytest.mark.parametrize("number", SOME)
def test_small_designs_give_the_recorded_numbers(known, number):
    assert moved(known[number], found(number)) == []


def test_a_number_that_moved_is_named():
    old = {"loglik": [-10.0], "kappa": [0.5, None]}
    assert moved(old, {"loglik": [-10.0], "kappa": [0.5, None]}) == []
    assert moved(old, {"loglik": [-10.1], "kappa": [0.5, 0.2]}) == [
        "loglik[0] -10.0 -> -10.1",
        "kappa[1] None -> 0.2",
    ]
