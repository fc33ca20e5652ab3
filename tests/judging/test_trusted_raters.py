"""Raters judged beside the trusted alone: nobody vouches for anybody."""

from contextlib import nullcontext

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError
from raterlens.judging.trusted_raters import (
    beside_trusted,
    has_shared_dimension,
    only,
    trusted_raters,
)
from tests.support.judge_panels import PEOPLE, panel


@pytest.fixture(scope="module")
def ratings() -> rl.Ratings:
    return panel()


@pytest.fixture(scope="module")
def people(ratings) -> rl.Fit:
    return rl.fit(only(ratings, PEOPLE))


def test_anchored_raters_and_trusted_ones_define_the_scale(ratings, people):
    assert trusted_raters(rl.fit(ratings, anchors=people, standard_errors=False)) == PEOPLE
    assert trusted_raters(rl.fit(ratings, trusted=["Ben"], standard_errors=False)) == ["Ben"]
    assert trusted_raters(people) == []


def test_each_row_is_that_of_a_fit_beside_the_anchors_alone(ratings, people):
    everybody = rl.fit(ratings, anchors=people)
    found = beside_trusted(everybody, ratings, ["Ana", "long 1"], misfit=True)
    rows = found.fit.table("raters")
    alone = rl.fit(only(ratings, ["long 1", *PEOPLE]), anchors=people).table("raters")
    assert rows.filter(rater="long 1")["kappa"].item() == alone.filter(rater="long 1")["kappa"].item()
    assert rows.filter(rater="Ana").equals(everybody.table("raters").filter(rater="Ana"))
    assert found.misfit is not None
    assert found.misfit["rater"].to_list() == ["Ana", "long 1"]
    assert found.converged
    assert "3 trusted raters alone" in found.note
    # In the fit of everybody those who like long answers vouch for each other.
    together = everybody.table("raters").filter(rater="long 1")["kappa"].item()
    assert rows.filter(rater="long 1")["kappa"].item() < together - 0.15


def test_a_judge_sets_no_scale_for_itself(ratings, people):
    """Severity from the trusted raters' average, discrimination relative to the sharpest of them: as with anchors."""
    fit = rl.fit(ratings, trusted=PEOPLE)
    rows = beside_trusted(fit, ratings, ["strict", "peer"]).fit.table("raters")
    anchored = beside_trusted(rl.fit(ratings, anchors=people), ratings, ["strict", "peer"]).fit.table(
        "raters"
    )
    for column in ("eta", "kappa", "passes", "sharpness"):
        np.testing.assert_allclose(rows[column], anchored[column], atol=0.05)


def test_a_shared_dimension_does_as_well(ratings, people):
    fit = rl.fit(ratings, trusted=PEOPLE, shared=True)
    assert has_shared_dimension(fit)
    assert not has_shared_dimension(people)
    found = beside_trusted(fit, ratings, ["long 1", "strict"])
    alone = beside_trusted(rl.fit(ratings, trusted=PEOPLE, shared=False), ratings, ["long 1", "strict"])
    assert "by the yardstick and the standard of the 3 trusted raters" in found.note
    for column in ("kappa", "sharpness", "eta"):
        np.testing.assert_allclose(
            found.fit.table("raters")[column], alone.fit.table("raters")[column], atol=0.15
        )


@pytest.mark.parametrize("score", [0, 1])
def test_whoever_gave_the_same_score_as_the_trusted_to_everybody_is_not_judged(score):
    table = pl.DataFrame(
        {
            "student": [0, 1, 2, 3] * 3,
            "rater": np.repeat(["Ana", "Ben", "Cem"], 4),
            "score": [score] * 8 + [0, 1, 1, 0],
        }
    )
    ratings = rl.read(table)
    fit = rl.fit(ratings, trusted=["Ana"], shared=False)
    assert beside_trusted(fit, ratings, ["Cem"]).fit.raters.height == 1
    with pytest.raises(InputError, match=f"Ben and those whom you trust only ever gave the score {score}"):
        beside_trusted(fit, ratings, ["Ben"])
    with pytest.raises(InputError, match="so nothing can be estimated") if score == 0 else nullcontext():
        fit.refit(only(ratings, ["Ana", "Ben"]))
