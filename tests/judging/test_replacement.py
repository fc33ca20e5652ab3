"""May a judge stand in for a person? `python -m benchmarks.studies replacement` has the error rates."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from tests.support.judge_panels import PEOPLE, panel


@pytest.fixture(scope="module")
def ratings() -> rl.Ratings:
    return panel()


@pytest.fixture(scope="module")
def fit(ratings) -> rl.Fit:
    return rl.fit(ratings)


def test_a_peer_may_and_others_may_not(fit, ratings):
    found = {
        judge: rl.can_replace(fit, judge, ratings, people=PEOPLE) for judge in ("peer", "strict", "long 1")
    }
    assert {judge: each.verdict for judge, each in found.items()} == {
        "peer": "yes", "strict": "no", "long 1": "no"
    }  # fmt: skip
    assert found["peer"]
    assert not found["strict"]
    # In the fit of everybody those who like length vouch for each other.
    perfect = dict(fit.capability(reference="perfect").select("rater", "kappa").iter_rows())
    assert perfect["long 1"] > found["long 1"].table["kappa"][0] + 0.1
    # What the strict judge loses is the standard, not the eye.
    strict, *people = found["strict"].table.iter_rows(named=True)
    assert strict["sharpness"] > 0.9 * min(person["sharpness"] for person in people)
    assert strict["passes"] < 0.3


def test_numbers_are_those_of_a_fit_beside_people_alone(fit, ratings):
    """Capability against a rater without noise, severity from the people's average."""
    found = rl.can_replace(fit, "peer", ratings, people=PEOPLE)
    rows = np.isin(ratings.raters.to_list(), ["peer", *PEOPLE])[ratings.rater]
    alone = rl.fit(ratings.subset(rows))
    severity = dict(alone.table("raters").select("rater", "eta").iter_rows())
    origin = float(np.mean([severity[name] for name in PEOPLE])) - alone.alpha
    by_hand = alone.capability(reference="perfect", origin=origin)
    expected = {row["rater"]: row["kappa"] for row in by_hand.iter_rows(named=True)}
    np.testing.assert_allclose(
        found.table["kappa"], [expected[name] for name in ("peer", *PEOPLE)], atol=1e-8
    )
    assert found.difference == pytest.approx(expected["peer"] - np.mean([expected[name] for name in PEOPLE]))
    assert found.low < found.difference < found.high


def test_the_verdict_the_limits_and_p_agree(fit, ratings):
    found = rl.can_replace(fit, "peer", ratings, people=PEOPLE)
    for margin, verdict in ((-found.low + 0.005, "yes"), (max(-found.low - 0.005, 0.001), "unclear")):
        again = rl.can_replace(fit, "peer", ratings, people=PEOPLE, margin=margin)
        assert again.verdict == verdict
        assert (again.p < 0.05) == (verdict == "yes")


def test_a_fit_on_the_true_scale_needs_no_ratings(ratings):
    trusting = rl.fit(ratings, trusted=PEOPLE)
    found = rl.can_replace(trusting, "strict")
    assert (found.people, found.alt_test, found.verdict) == (tuple(PEOPLE), None, "no")


def test_words_table_and_notebook(fit, ratings):
    found = rl.can_replace(fit, "strict", ratings, people=PEOPLE)
    first, second, third = found.words()
    assert first.startswith("strict may not stand in for a person: it is at least 0.")
    assert "of 3 people ('Ana', 'Ben', 'Cho')" in second
    assert third.startswith("By the alt-test (epsilon 0.2)")
    assert found.raters["rater"].to_list() == ["strict", *PEOPLE]
    assert "capability" in found._repr_html_()
    assert repr(found) == "<Replacement of people by 'strict': no; see summary()>"
    unclear = rl.can_replace(fit, "peer", ratings, people=PEOPLE, margin=0.001)
    assert unclear.summary().startswith("It is not clear whether peer may")


def test_misuse_is_named(fit, ratings):
    with pytest.raises(OptionError, match="nobody is named"):
        rl.can_replace(fit, "peer", ratings)
    with pytest.raises(OptionError, match="on its panel's own scale"):
        rl.can_replace(fit, "peer", people=PEOPLE)
    with pytest.raises(OptionError, match="is among the people"):
        rl.can_replace(fit, "Ana", ratings, people=PEOPLE)
    with pytest.raises(OptionError, match="unknown rater 'pear'; did you mean 'peer'"):
        rl.can_replace(fit, "pear", ratings, people=PEOPLE)
    for margin in (0, 1, True, "0.1"):
        with pytest.raises(OptionError, match="margin"):
            rl.can_replace(fit, "peer", ratings, people=PEOPLE, margin=margin)
    bare = rl.fit(ratings, trusted=PEOPLE, standard_errors=False)
    with pytest.raises(OptionError, match="no standard errors"):
        rl.can_replace(bare, "peer")
    with pytest.raises(OptionError, match="no slopes and severities"):
        rl.can_replace(rl.fit(ratings, model="dawid-skene"), "peer", ratings, people=PEOPLE)
