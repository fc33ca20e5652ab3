"""Calibrations: the panel on one item, what is kept of a large one, and the way through JSON."""

import json

import numpy as np
import pytest
from scipy import sparse

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.inference.result import encoded
from raterlens.models.calibration import Calibration


@pytest.fixture(scope="module")
def known() -> Calibration:
    ratings = rl.simulate(students=120, raters=4, items=3, raters_per_student=3, seed=2).ratings
    found = rl.fit(ratings, model="gmf", item_slopes=True).calibration
    assert found is not None
    return found


def test_on_an_item_raters_have_its_slope_and_difficulty(known):
    panel = known.panel("I2")
    stretch = np.exp(known.effects["item_slope"][1])
    assert panel.slope == pytest.approx(known.effects["slope"] * stretch)
    assert panel.severity == pytest.approx(known.effects["severity"] + known.effects["difficulty"][1])


def test_the_covariance_on_an_item_is_that_of_sums_and_products(known):
    """By finite differences of the map from (slope, severity, difficulty, log item slope)."""
    names = ("slope", "severity", "difficulty", "item_slope")
    at = np.concatenate([known.effects[name] for name in names])
    n, items = len(known.effects["slope"]), len(known.effects["difficulty"])

    def mapped(x: np.ndarray) -> np.ndarray:
        slope, severity, difficulty, log_slope = np.split(x, [n, 2 * n, 2 * n + items])
        return np.concatenate([slope * np.exp(log_slope[1]), severity + difficulty[1]])

    step = 1e-6
    jacobian = np.stack(
        [(mapped(at + e) - mapped(at - e)) / (2 * step) for e in step * np.eye(len(at))], axis=1
    )
    assert known.covariance is not None
    expected = jacobian @ np.asarray(known.covariance) @ jacobian.T
    assert known.panel("I2").covariance == pytest.approx(expected, abs=1e-7)


def test_an_unknown_item_is_named(known):
    with pytest.raises(OptionError, match="unknown item 'I9'"):
        known.panel("I9")


def test_a_large_panel_keeps_covariances_within_raters_only(known, monkeypatch):
    monkeypatch.setattr("raterlens.models.calibration.MOST_RATERS", 2)
    kept = known.for_keeping().covariance
    assert sparse.issparse(kept)
    whole, n = np.asarray(known.covariance), len(known.effects["slope"])
    assert kept.diagonal() == pytest.approx(np.diag(whole))
    assert kept[0, n] == pytest.approx(whole[0, n])
    assert kept[0, 1] == 0


def test_through_json_and_back(known):
    again = Calibration.from_plain(json.loads(encoded(known.to_plain())))
    assert np.array_equal(again.covariance, known.covariance)
    assert {name: values.tolist() for name, values in again.effects.items()} == {
        name: values.tolist() for name, values in known.effects.items()
    }
    assert again.known("difficulty") == known.known("difficulty")
