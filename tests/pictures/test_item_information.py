"""Information against closed forms and differences of probabilities."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.pictures.item_information import ALL, information_data


def test_information_of_pass_and_fail_is_slope_squared_p_q(example):
    data, effects = information_data(example.fit), example.fit.calibration.effects
    item = example.fit.items["item"][0]
    one = data.filter(item=item)
    s = np.multiply.outer(effects["slope"], one["theta"].to_numpy()) - effects["severity"][:, None]
    p = 1 / (1 + np.exp(-(s - effects["difficulty"][0])))
    np.testing.assert_allclose(
        one["information"], (effects["slope"][:, None] ** 2 * p * (1 - p)).mean(axis=0)
    )
    whole = data.filter(item=ALL)["information"].to_numpy()
    parts = (
        data.filter(pl.col("item") != ALL)
        .group_by("theta", maintain_order=True)
        .agg(pl.col("information").sum())
    )
    np.testing.assert_allclose(whole, parts["information"])


@pytest.mark.parametrize("scale", ["rating scale", "partial credit", "graded"])
def test_information_of_ordered_scores_is_that_of_their_probabilities(ordered, scale):
    """sum (dP/dtheta)^2 / P with derivatives by differences of the model's own expected curve."""
    fit = rl.fit(ordered.ratings, scale=scale, standard_errors=False)
    item = fit.items["item"][0]
    data = information_data(fit).filter(item=item)
    theta = data["theta"].to_numpy()
    calibration, step = fit.calibration, 1e-5
    tau = calibration.effects["threshold"][0]
    panel = calibration.panel(item)

    def probabilities(t):
        s = np.multiply.outer(panel.slope, t) - panel.severity[:, None]
        if scale == "graded":
            above = [np.ones_like(s), *(1 / (1 + np.exp(-(s - x))) for x in tau), np.zeros_like(s)]
            return -np.diff(above, axis=0)
        logits = [k * s - tau[:k].sum() for k in range(len(tau) + 1)]
        return np.exp(logits) / np.exp(logits).sum(axis=0)

    rise = (probabilities(theta + step) - probabilities(theta - step)) / (2 * step)
    closed = (rise**2 / probabilities(theta)).sum(axis=0).mean(axis=0)
    np.testing.assert_allclose(data["information"], closed, rtol=1e-5)
