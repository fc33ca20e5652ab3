"""A judge beside people on ordered scores."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.judging.people_scale import polyserial

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
def test_only_judges_who_follow_ability_may_stand_in(kind: str, verdicts: set[str]) -> None:
    ratings = essays(kind)
    found = rl.can_replace(rl.fit(ratings, standard_errors=False), "judge", ratings, people=PEOPLE)
    assert found.verdict in verdicts
    assert found.measure == "sharpness"
    assert found.alt_test is not None
    assert "harp" in found.summary()
    assert "sharpness" in found._repr_html_()


def test_one_person_is_not_enough_for_ordered_scores() -> None:
    ratings = essays("alike")
    with pytest.raises(rl.RaterlensError, match="name at least two"):
        rl.can_replace(rl.fit(ratings, standard_errors=False), "judge", ratings, people=["h0"])


def test_polyserial_finds_the_correlation_whatever_the_thresholds() -> None:
    rng = np.random.default_rng(1)
    ability, noise = rng.standard_normal((2, 100_000))
    latent = 0.6 * ability + 0.8 * noise
    once = np.ones((1, len(ability)))
    for cuts in ([0.0], [-1.0, 0.3], [0.5, 1.0, 1.5], [-2.0, -1.0, 0.0, 1.0, 2.0]):
        score = (latent[:, None] > np.array(cuts)).sum(axis=1).astype(float)
        assert polyserial(score, ability, once)[0] == pytest.approx(0.6, abs=0.015)


def test_polyserial_of_weights_is_that_of_repeated_rows() -> None:
    rng = np.random.default_rng(2)
    score, ability, times = (
        rng.integers(0, 4, 50).astype(float),
        rng.standard_normal(50),
        rng.integers(0, 3, 50),
    )
    weighted = polyserial(score, ability, times[None].astype(float))
    rows = np.repeat(np.arange(50), times)
    np.testing.assert_allclose(weighted, polyserial(score[rows], ability[rows], np.ones((1, len(rows)))))
