"""Judges on the scale of people, and whether one may stand in for a person."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.judging.replacement import (
    FEWEST_WITH_OTHERS,
    alt_test,
    jackknife_error,
    latent_correlation,
    measure_on_people_scale,
)
from tests.support.judge_panels import PEOPLE, panel

# --- may a judge stand in for a person? `python -m benchmarks.studies replacement` has the error rates


@pytest.fixture(scope="module")
def ratings() -> rl.Ratings:
    return panel()


def test_a_peer_may_and_others_may_not(ratings):
    found = {judge: rl.can_replace(ratings, judge, people=PEOPLE) for judge in ("peer", "strict", "long 1")}
    assert found["peer"].verdict in ("yes", "unclear")
    assert found["peer"].difference > -0.1
    assert (found["strict"].verdict, found["long 1"].verdict) == ("no", "no")
    assert not found["strict"]
    # What the strict judge loses is the standard, not the eye.
    strict, *people = found["strict"].table.iter_rows(named=True)
    assert strict["sharpness"] > 0.85 * min(person["sharpness"] for person in people)
    assert strict["passes"] < 0.3


def test_other_judges_have_no_say(ratings):
    found = rl.can_replace(ratings, "long 1", people=PEOPLE)
    alone = ratings.subset(np.isin(ratings.raters.to_list(), ["long 1", *PEOPLE])[ratings.rater])
    again = rl.can_replace(alone, "long 1", people=PEOPLE)
    assert found.difference == pytest.approx(again.difference)


def test_the_verdict_the_limits_and_p_agree(ratings):
    found = rl.can_replace(ratings, "peer", people=PEOPLE)
    assert found.low < found.difference < found.high
    for margin, verdict in ((-found.low + 0.005, "yes"), (max(-found.low - 0.005, 0.001), "unclear")):
        again = rl.can_replace(ratings, "peer", people=PEOPLE, margin=margin)
        assert again.verdict == verdict
        assert (again.p < 0.05) == (verdict == "yes")


def test_the_trusted_raters_of_a_fit_are_the_people(ratings, tmp_path):
    trusting = rl.fit(ratings, model="gmf", trusted=PEOPLE, standard_errors=False)
    found = rl.can_replace(trusting, "strict")
    assert (found.people, found.verdict) == (tuple(PEOPLE), "no")
    trusting.save(tmp_path / "fit.json")
    with pytest.raises(OptionError, match="loaded from a file"):
        rl.can_replace(rl.load(tmp_path / "fit.json"), "strict")


def test_words_table_and_notebook(ratings):
    found = rl.can_replace(ratings, "strict", people=PEOPLE)
    first, second, third = found.words()
    assert first.startswith("strict may not stand in for a person: it is at least 0.")
    assert "of 3 people ('Ana', 'Ben', 'Cho')" in second
    assert third.startswith("By the alt-test (epsilon 0.2)")
    assert found.raters["rater"].to_list() == ["strict", *PEOPLE]
    assert "capability" in found._repr_html_()
    assert repr(found) == "<Replacement of people by 'strict': no; see summary()>"
    unclear = rl.can_replace(ratings, "peer", people=PEOPLE, margin=0.001)
    assert unclear.summary().startswith("It is not clear whether peer may")


def test_misuse_is_named(ratings):
    with pytest.raises(OptionError, match="nobody is named"):
        rl.can_replace(ratings, "peer")
    with pytest.raises(OptionError, match="name at least two"):
        rl.can_replace(ratings, "peer", people="Ana")
    with pytest.raises(OptionError, match="is among the people"):
        rl.can_replace(ratings, "Ana", people=PEOPLE)
    with pytest.raises(OptionError, match="unknown rater 'pear'; did you mean 'peer'"):
        rl.can_replace(ratings, "pear", people=PEOPLE)
    for margin in (0, 1, True, "0.1"):
        with pytest.raises(OptionError, match="margin"):
            rl.can_replace(ratings, "peer", people=PEOPLE, margin=margin)


def test_people_who_do_not_agree_or_share_no_work_set_no_scale():
    rng = np.random.default_rng(1)
    frames = [
        pl.DataFrame({"student": np.arange(200), "rater": name, "score": rng.integers(0, 2, 200)})
        for name in ("a", "b", "judge")
    ]
    with pytest.raises(InputError, match="hardly better than chance"):
        rl.can_replace(rl.read(pl.concat(frames)), "judge", people=["a", "b"])
    apart = pl.concat([frames[0].head(100), frames[1].tail(100), frames[2]])
    with pytest.raises(InputError, match="no two of the people"):
        rl.can_replace(rl.read(apart), "judge", people=["a", "b"])


# -------------------------------------------------------------------------------------------- alt-test


def drawn(rates: dict[str, float], seed: int, n: int = 200, part: float = 0.8) -> rl.Ratings:
    """Each rater is right so often, on a part of the work."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    frames = []
    for rater, right in rates.items():
        score = np.where(rng.random(n) < right, truth, 1 - truth)
        frame = pl.DataFrame({"student": np.arange(n), "rater": rater, "score": score})
        frames.append(frame.filter(rng.random(n) < part))
    return rl.read(pl.concat(frames))


@pytest.mark.parametrize("right", [0.95, 0.8, 0.6])
def test_it_is_what_its_definition_says(right):
    ratings = drawn({"Ana": 0.85, "Ben": 0.8, "Cho": 0.9, "judge": right}, seed=1)
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
        alt_test(drawn({"Ana": 0.85, "Ben": 0.8, "Cho": 0.9, "judge": right}, seed=2, n=400), "judge", PEOPLE)
        for right in (0.95, 0.5)
    )
    assert (good.passed, good.winning_rate) == (True, 1.0)
    assert (guess.passed, guess.winning_rate) == (False, 0.0)


def test_people_without_enough_shared_work_are_left_out():
    ratings = drawn({"Ana": 0.9, "Ben": 0.9, "judge": 0.9}, seed=3, n=FEWEST_WITH_OTHERS - 1, part=1.0)
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
    ratings = drawn({"Ana": 0.9, "Ben": 0.9, "judge": 0.9}, seed=3)
    with pytest.raises(OptionError, match="unknown rater of the ratings 'other'"):
        alt_test(ratings, "other", ["Ana", "Ben"])


# ---------------------------------------------------- judges on the scale that people's agreement sets


MEASURED_PEOPLE = ["h0", "h1", "h2"]
CUTS = np.array([-1.5, -0.5, 0.5, 1.5])


def essays(judge: str, seed: int = 1, n: int = 200) -> rl.Ratings:
    """Three people with slope 1.6 on scores 1 to 5, and a judge of some kind."""
    rng = np.random.default_rng(seed)
    ability = rng.standard_normal(n)

    def seen() -> np.ndarray:
        return ability + rng.logistic(size=n) / 1.6

    scores = {name: 1 + (seen()[:, None] > CUTS).sum(axis=1) for name in MEASURED_PEOPLE}
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
    found = rl.can_replace(ratings, "judge", people=MEASURED_PEOPLE)
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


def drawn_by_sharpness(
    sharpness: dict[str, float], n: int, seed: int, cuts: dict[str, list[float]]
) -> rl.Ratings:
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
    ratings = drawn_by_sharpness(sharpness, 20_000, 1, cuts)
    found = measure_on_people_scale(ratings, [0, 1, 2], [3])
    np.testing.assert_allclose(found.sharpness[:, 0], list(sharpness.values()), atol=0.02)
    np.testing.assert_allclose(found.severity[:, 0], [0.2, -0.2, 0.0, 1.0], atol=0.03)
    assert found.capability[3, 0] == pytest.approx(0.6 * np.exp(-0.5), abs=0.02)
    # the jackknife's error is that of other draws
    again = [
        measure_on_people_scale(drawn_by_sharpness(sharpness, 300, seed, cuts), [0, 1, 2], [3])
        for seed in range(40)
    ]
    errors = np.mean([jackknife_error(each.capability) for each in again], axis=0)
    np.testing.assert_allclose(errors, np.std([each.capability[:, 0] for each in again], axis=0), rtol=0.4)


def test_two_people_share_a_sharpness_and_one_is_the_scale() -> None:
    sharpness = {"h0": 0.8, "h1": 0.8, "judge": 0.6}
    ratings = drawn_by_sharpness(sharpness, 20_000, 2, {key: [-0.5, 0.5] for key in sharpness})
    np.testing.assert_allclose(
        measure_on_people_scale(ratings, [0, 1], [2]).sharpness[:, 0], [0.8, 0.8, 0.6], atol=0.02
    )
    alone = measure_on_people_scale(ratings, [0], [2])
    assert alone.sharpness[1, 0] == pytest.approx(0.8 * 0.6, abs=0.02)


def test_draws_of_a_judge_are_one_score_and_copies_change_nothing() -> None:
    ratings = drawn_by_sharpness(
        {"h0": 0.8, "h1": 0.8, "judge": 0.6}, 300, 3, {key: [0.0] for key in ["h0", "h1", "judge"]}
    )
    table = ratings.table().select("student", "rater", "score")
    copied = rl.read(pl.concat([table, *[table.filter(rater="judge")] * 4]))
    once, often = (rl.can_replace(each, "judge", people=["h0", "h1"]) for each in (ratings, copied))
    assert once.difference == pytest.approx(often.difference, abs=1e-12)
