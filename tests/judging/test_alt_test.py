"""The alt-test, against its definition spelt out piece by piece, and where it can be fooled."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.judging.alt_test import FEWEST, alt_test


def panel(rates: dict[str, float], seed: int, n: int = 200, part: float = 0.8) -> rl.Ratings:
    """Each rater is right so often, on a part of the work."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    frames = []
    for rater, right in rates.items():
        score = np.where(rng.random(n) < right, truth, 1 - truth)
        frame = pl.DataFrame({"student": np.arange(n), "rater": rater, "score": score})
        frames.append(frame.filter(rng.random(n) < part))
    return rl.read(pl.concat(frames))


PEOPLE = ["Ana", "Ben", "Cho"]


@pytest.mark.parametrize("right", [0.95, 0.8, 0.6])
def test_it_is_what_its_definition_says(right):
    ratings = panel({"Ana": 0.85, "Ben": 0.8, "Cho": 0.9, "judge": right}, seed=1)
    said = {(row[0], row[1]): row[3] for row in ratings.table().iter_rows()}
    p_values, shares = [], []
    for person in PEOPLE:
        lead, wins = [], []
        for piece in range(200):
            others = [said[piece, name] for name in PEOPLE if name != person and (piece, name) in said]
            if others and (piece, person) in said and (piece, "judge") in said:
                by_judge, by_person = (
                    np.mean([said[piece, rater] == other for other in others]) for rater in ("judge", person)
                )
                wins.append(by_judge >= by_person)
                lead.append(float(by_person >= by_judge) - float(by_judge >= by_person))
        p_values.append(stats.ttest_1samp(lead, 0.2, alternative="less").pvalue)
        shares.append(np.mean(wins))
    found = alt_test(ratings, "judge", PEOPLE)
    np.testing.assert_allclose(found.table["p"], p_values, rtol=1e-9)
    np.testing.assert_allclose(found.table["judge_wins"], shares)
    # Benjamini and Yekutieli: the largest k with p_(k) <= k q / (m (1 + 1/2 + 1/3)).
    ordered = np.sort(p_values)
    below = np.flatnonzero(ordered <= np.arange(1, 4) * 0.05 / (3 * (1 + 1 / 2 + 1 / 3)))
    beaten = below[-1] + 1 if len(below) else 0
    assert found.winning_rate == pytest.approx(beaten / 3)
    assert found.advantage == pytest.approx(np.mean(shares))
    assert found.passed == (beaten >= 1.5)
    assert f"winning rate {found.winning_rate:.2f}" in found.words()


def test_a_good_judge_wins_and_a_guessing_one_does_not():
    good, guess = (
        alt_test(panel({"Ana": 0.85, "Ben": 0.8, "Cho": 0.9, "judge": right}, seed=2, n=400), "judge", PEOPLE)
        for right in (0.95, 0.5)
    )
    assert (good.passed, good.winning_rate) == (True, 1.0)
    assert (guess.passed, guess.winning_rate) == (False, 0.0)


def test_people_without_enough_shared_work_are_left_out():
    ratings = panel({"Ana": 0.9, "Ben": 0.9, "judge": 0.9}, seed=3, n=FEWEST - 1, part=1.0)
    found = alt_test(ratings, "judge", ["Ana", "Ben"])
    assert (found.table.height, found.passed) == (0, False)
    assert found.words().startswith("The alt-test says nothing")


def test_ordered_scores_agree_by_their_distance():
    rows = []
    for piece in range(60):
        scores = {"Ana": 2, "Ben": 2, "judge": 3 if piece % 2 else 2, "Cho": 0}
        rows += [(piece, rater, score) for rater, score in scores.items()]
    ratings = rl.read(pl.DataFrame(rows, schema=["student", "rater", "score"], orient="row"))
    found = alt_test(ratings, "judge", PEOPLE)
    wins = dict(found.table.select("rater", "judge_wins").iter_rows())
    assert wins == {"Ana": 0.5, "Ben": 0.5, "Cho": 1.0}


def test_raters_whom_the_ratings_do_not_have_are_named():
    ratings = panel({"Ana": 0.9, "Ben": 0.9, "judge": 0.9}, seed=3)
    with pytest.raises(OptionError, match="unknown rater of the ratings 'other'"):
        alt_test(ratings, "other", ["Ana", "Ben"])
