import numpy as np
import pytest
from scipy import stats

from raterlens.inference.panel_draws import outer_quantiles


@pytest.mark.parametrize("numbers", [0, np.inf])
@pytest.mark.parametrize("tail", [0.025, 0.05, 0.3])
def test_they_are_closer_to_the_truth_than_numpys_quantiles_with_and_without_compiled_code(
    numbers, tail, monkeypatch
):
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", numbers)
    draws = np.random.default_rng(5).normal(size=(400, 1000))
    for apply, truth in ((lambda z: z, stats.norm.ppf), (np.exp, stats.lognorm(1).ppf)):
        wanted = truth([[tail], [1 - tail]])
        ours, plain = (
            np.abs(found - wanted).mean(axis=1)
            for found in (
                outer_quantiles(apply(draws), tail),
                np.quantile(apply(draws), [tail, 1 - tail], axis=1),
            )
        )
        assert (ours < plain).all()
        bias = np.mean(outer_quantiles(apply(draws), tail) - wanted, axis=1)
        assert (np.abs(bias) < 0.1 * plain + 4 * ours / np.sqrt(400)).all()


def test_where_many_draws_are_the_same_they_are_the_quantile():
    draws = np.concatenate([np.zeros(100), np.linspace(0.1, 1, 800), np.ones(100)])[None]
    low, high = outer_quantiles(draws, 0.025)
    assert (low[0], high[0]) == (0.0, 1.0)


def test_few_draws_will_do():
    low, high = outer_quantiles(np.arange(100.0)[None], 0.025)
    assert 0 < low[0] < 5
    assert 94 < high[0] < 99


def test_draws_that_come_in_pairs_are_no_jump():
    once = stats.norm.ppf((np.arange(512) + 0.5) / 512)
    twice = np.concatenate([once, once])[None]
    nudged = np.concatenate([once, np.nextafter(once, np.inf)])[None]
    for paired, apart in zip(outer_quantiles(twice, 0.025), outer_quantiles(nudged, 0.025), strict=True):
        np.testing.assert_allclose(paired, apart, rtol=1e-12)
        np.testing.assert_allclose(np.abs(paired), stats.norm.ppf(0.975), atol=0.005)
