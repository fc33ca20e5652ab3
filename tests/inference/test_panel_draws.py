"""Draws of what is known of raters: their moments, and the same whatever is drawn together."""

import numpy as np
import pytest

from raterlens.capability.yardstick import Measure
from raterlens.inference import panel_draws
from raterlens.inference.intervals import measure
from raterlens.inference.panel_draws import over_draws
from raterlens.models.panel import Panel

N = 7
RANDOM = np.random.default_rng(3)
ROOT = 0.03 * RANDOM.standard_normal((2 * N, 2 * N))
PANEL = Panel(np.linspace(1.0, 2.0, N), RANDOM.standard_normal(N), ROOT @ ROOT.T, np.zeros(N))


def draws_of_all(*, is_most: bool, each_by_itself: bool = True) -> tuple[np.ndarray, ...]:
    steepest = Measure(0.0, np.eye(1, N, N - 1)[0])
    on = measure(PANEL, steepest, Measure(0.0, np.full(N, 1 / N)), is_most=is_most)
    parts = over_draws(on, lambda rows, draws: (rows, draws), each_by_itself=each_by_itself)
    assert [row for rows, _ in parts for row in range(rows.start, rows.stop)] == list(range(N))
    return tuple(
        np.concatenate([getattr(draws, name) for _, draws in parts]) for name in ("a", "eta", "sigma")
    )


def test_means_and_variances_are_those_of_the_panel(monkeypatch):
    monkeypatch.setattr(panel_draws, "_FEW", 3)
    a, eta, sigma = draws_of_all(is_most=False)
    centred = PANEL.severity - PANEL.severity.mean()
    # Every number is drawn with its opposite: means are exact.
    np.testing.assert_allclose(a.mean(axis=1), PANEL.slope, rtol=1e-12)
    np.testing.assert_allclose(eta.mean(axis=1), centred, atol=1e-12)
    np.testing.assert_allclose(sigma.mean(axis=1), PANEL.slope[-1], rtol=1e-12)
    spread = np.sqrt(np.diag(ROOT @ ROOT.T))
    np.testing.assert_allclose(a.std(axis=1), spread[:N], rtol=0.1)
    np.testing.assert_allclose(sigma.std(axis=1), spread[N - 1], rtol=0.1)


@pytest.mark.parametrize("many", [3, 1_000])
def test_who_else_is_drawn_changes_nothing(monkeypatch, many):
    monkeypatch.setattr(panel_draws, "_MANY", many)
    together = draws_of_all(is_most=True, each_by_itself=False)
    np.testing.assert_allclose(draws_of_all(is_most=True), together, rtol=1e-14, atol=1e-15)


def test_who_does_better_than_the_yardstick_becomes_it():
    a, _, sigma = draws_of_all(is_most=True)
    assert (sigma >= np.abs(a)).all()
    assert (sigma[-2] == a[-2]).any()
