"""rl.plan: a plan in one call, targets, refusals."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import raterlens as rl


def test_a_plan_is_reproducible_and_says_what_to_expect(tmp_path: Path) -> None:
    one, two = (rl.plan(120, 6, items=2, common=5, seeded=3, seed=4) for _ in range(2))
    assert one.assignment.equals(two.assignment)
    assert one.readings == 115 * 2 + 6 * 8
    assert one.raters["n"].sum() == one.readings
    assert one.assignment["kind"].value_counts().sort("kind")["count"].to_list() == [30, 230, 18]
    assert "3 seeded scripts marked by everybody" in one.summary()
    assert pl.read_csv(one.save(tmp_path / "a.csv")).height == one.readings
    assert one.expected()["kappa_se"] == one.kappa_se


def test_a_target_is_put_in_words() -> None:
    """The marks that were found may be a number of NumPy's."""
    forbidden = pl.DataFrame({"student": ["S1"], "rater": ["R1"]})
    found = rl.plan(3, 10, items=20, forbidden=forbidden, target_se=0.2)
    assert f"{found.scheme.marks:g} mark" in found.summary()


def test_more_marks_and_more_links_help() -> None:
    errors = [rl.plan(300, 8, items=2, marks=marks).kappa_se for marks in (2, 3, 4)]
    assert errors == sorted(errors, reverse=True)
    alone, linked = (rl.plan(300, 8, items=2, marks=1, common=c).kappa_se for c in (0, 20))
    assert linked < 0.8 * alone


def test_a_ring_of_an_even_number_in_pairs_cannot_tell_slopes_on_one_item() -> None:
    # Agreement of neighbours gives products of slopes; around an even ring, every second may rise and the others fall.
    assert np.isinf(rl.plan(300, 6, scheme="ring").kappa_se)
    assert np.isfinite(rl.plan(300, 7, scheme="ring").kappa_se)


def test_the_cheapest_design_reaches_the_target_and_one_with_fewer_marks_does_not() -> None:
    found = rl.plan(200, 6, items=3, target_se=0.09, target_accuracy=0.75)
    assert found.reached
    assert found.kappa_se <= 0.09
    assert found.accuracy >= 0.75
    scheme = found.scheme
    fewer = rl.plan(200, 6, items=3, marks=max(scheme.marks - 0.125, 1), common=scheme.common)
    assert fewer.kappa_se > 0.09 or fewer.accuracy < 0.75 or scheme.marks == 1
    out_of_reach = rl.plan(50, 4, target_se=0.001)
    assert out_of_reach.reached is False
    assert "No design of this kind" in out_of_reach.summary()


def test_with_an_earlier_fit() -> None:
    fit = rl.fit(rl.simulate(students=150, raters=5, items=2, seed=1).ratings, model="gmf", halo="none")
    found = rl.plan(150, fit=fit, marks=5)
    assert found.raters["rater"].to_list() == fit.raters["rater"].to_list()
    assert found.n_items == 2
    ratio = found.raters["severity_se"].to_numpy() / fit.raters["eta_se"].to_numpy()
    np.testing.assert_allclose(ratio, 1.0, atol=0.15)


def test_the_network_shows_the_links() -> None:
    ratings = rl.plan(60, 6, items=1, scheme="blocks", team=3).ratings()
    from raterlens.ratings.design import connected_groups

    assert connected_groups(ratings).n == 2


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"scheme": "rong"}, "did you mean 'ring'"),
        ({"marks": 11}, "marks=11.0 with 10 raters; give 1 to 10"),
        ({"common": 501}, "more than the 500 students"),
        ({"seeded": -1}, "seeded is -1"),
        ({"target_accuracy": 1.2}, "give a share between 0.5 and 1"),
        ({"scheme": "blocks", "team": 1}, "teams of 1 cannot give 2 marks"),
    ],
)
def test_what_cannot_be_planned_is_refused(options: dict[str, object], what: str) -> None:
    with pytest.raises(rl.RaterlensError, match=what):
        rl.plan(**options)
