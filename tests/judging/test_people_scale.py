"""Judges on the scale that people's agreement sets."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import raterlens as rl
from raterlens.judging.replacement import (
    jackknife_error,
    latent_correlation,
    measure_on_people_scale,
)

PEOPLE = ["h0", "h1", "h2"]
CUTS = np.array([-1.5, -0.5, 0.5, 1.5])


def essays(judge: str, seed: int = 1, n: int = 200) -> rl.Ratings:
    """Three people with slope 1.6 on scores 1 to 5, and a judge of some kind."""
    rng = np.random.default_rng(seed)
    ability = rng.standard_normal(n)

    def seen() -> np.ndarray:
        return ability + rng.logistic(size=n) / 1.6

    scores = {name: 1 + (seen()[:, None] > CUTS).sum(axis=1) for name in PEOPLE}
    scores["judge"] = {
        "coin": rng.choice([1, 5], n),
        "squeezed": np.where(seen() > 0, 4, 3),
        "alike": 1 + (seen()[:, None] > CUTS).sum(axis=1),
        "constant": np.full(n, 3),
    }[judge]
    return rl.read(
        pl.concat(
            pl.DataFrame({"student": np.arange(n), "rater": name, "score": score})
            for name, score in scores.items()
        )
    )


@pytest.mark.parametrize(
    ("kind", "verdicts"),
    [("coin", {"no"}), ("constant", {"no"}), ("squeezed", {"yes", "unclear"}), ("alike", {"yes", "unclear"})],
)
def test_only_judges_who_follow_quality_may_stand_in(kind: str, verdicts: set[str]) -> None:
    ratings = essays(kind)
    found = rl.can_replace(ratings, "judge", people=PEOPLE)
    assert found.verdict in verdicts
    assert found.measure == "sharpness"
    assert "harp" in found.summary()
    assert "sharpness" in found._repr_html_()


@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.3, 0.8, 0.95])
@pytest.mark.parametrize(
    ("cuts", "others"), [([0.3], [-0.8]), ([-1.0, 0.3], [0.5]), ([-1.5, 0.0, 1.5], [-0.5, 0.5])]
)
def test_the_latent_correlation_gives_the_covariance(
    rho: float, cuts: list[float], others: list[float]
) -> None:
    """Covariance of the scores by SciPy's bivariate normal distribution: cov = sum_kl P(x > k, y > l) - P P."""
    both = stats.multivariate_normal([0, 0], [[1, rho], [rho, 1]])
    covariance = sum(
        both.cdf(np.array([-k, -m])) - stats.norm.sf(k) * stats.norm.sf(m) for k in cuts for m in others
    )
    one, other = (
        (np.ones(len(part)), np.repeat(np.array(part)[:, None], 2, axis=1)) for part in (cuts, others)
    )
    found = latent_correlation(np.full(2, covariance), one, other)
    np.testing.assert_allclose(found, rho, atol=2e-4)


def drawn(sharpness: dict[str, float], n: int, seed: int, cuts: dict[str, list[float]]) -> rl.Ratings:
    rng = np.random.default_rng(seed)
    quality = rng.standard_normal(n)
    frames = []
    for name, s in sharpness.items():
        seen = s * quality + np.sqrt(1 - s**2) * rng.standard_normal(n)
        score = (seen[:, None] > np.array(cuts[name])).sum(axis=1)
        frames.append(pl.DataFrame({"student": np.arange(n), "rater": name, "score": score}))
    return rl.read(pl.concat(frames))


def test_sharpness_and_capability_are_those_drawn() -> None:
    """For pass/fail, kappa = s exp(-t^2 / 2) with t from the people's mean threshold."""
    sharpness = {"h0": 0.9, "h1": 0.7, "h2": 0.8, "judge": 0.6}
    cuts = {"h0": [0.2], "h1": [-0.2], "h2": [0.0], "judge": [1.0]}
    ratings = drawn(sharpness, 20_000, 1, cuts)
    found = measure_on_people_scale(ratings, [0, 1, 2], [3])
    np.testing.assert_allclose(found.sharpness[:, 0], list(sharpness.values()), atol=0.02)
    np.testing.assert_allclose(found.severity[:, 0], [0.2, -0.2, 0.0, 1.0], atol=0.03)
    assert found.capability[3, 0] == pytest.approx(0.6 * np.exp(-0.5), abs=0.02)
    # the jackknife's error is that of other draws
    again = [measure_on_people_scale(drawn(sharpness, 300, seed, cuts), [0, 1, 2], [3]) for seed in range(40)]
    errors = np.mean([jackknife_error(each.capability) for each in again], axis=0)
    np.testing.assert_allclose(errors, np.std([each.capability[:, 0] for each in again], axis=0), rtol=0.4)


def test_two_people_share_a_sharpness_and_one_is_the_scale() -> None:
    sharpness = {"h0": 0.8, "h1": 0.8, "judge": 0.6}
    ratings = drawn(sharpness, 20_000, 2, {key: [-0.5, 0.5] for key in sharpness})
    np.testing.assert_allclose(
        measure_on_people_scale(ratings, [0, 1], [2]).sharpness[:, 0], [0.8, 0.8, 0.6], atol=0.02
    )
    alone = measure_on_people_scale(ratings, [0], [2])
    assert alone.sharpness[1, 0] == pytest.approx(0.8 * 0.6, abs=0.02)


def test_draws_of_a_judge_are_one_score_and_copies_change_nothing() -> None:
    ratings = drawn(
        {"h0": 0.8, "h1": 0.8, "judge": 0.6}, 300, 3, {key: [0.0] for key in ["h0", "h1", "judge"]}
    )
    table = ratings.table().select("student", "rater", "score")
    copied = rl.read(pl.concat([table, *[table.filter(rater="judge")] * 4]))
    once, often = (rl.can_replace(each, "judge", people=["h0", "h1"]) for each in (ratings, copied))
    assert once.difference == pytest.approx(often.difference, abs=1e-12)
