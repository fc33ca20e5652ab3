"""Few ratings and many parameters: every fit ends soon, in finite numbers, and says what ran to a limit."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.capability.yardstick import LARGEST_ITEM_SLOPE
from raterlens.likelihood.nodes import MOST_NODES

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
