"""Interactions are refused, with the reason, where ratings cannot show them."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import RaterlensError
from raterlens.models.terms import rater_interactions
from tests.support.facets_models import with_some_known
from tests.support.interaction_ratings import planted


def refused(ratings: rl.Ratings, message: str, **options) -> None:
    with pytest.raises(RaterlensError, match=message):
        rl.fit(ratings, **{"model": "gmf"} | ({"interactions": "rater:item", "starts": 1} | options))


def test_one_item_one_rater_and_nested_raters():
    one = rl.simulate(students=40, raters=4, items=1, raters_per_student=2, seed=1).ratings
    refused(one, r"4 raters on 1 item, 4 combinations of which occur, tell no interaction from severities")
    table = rl.simulate(students=40, raters=3, items=3, raters_per_student=3, seed=1).ratings.table()
    alone = rl.read(table.filter(pl.col("rater") == table["rater"][0]))
    refused(alone, r"1 rater on 3 items, 3 combinations")
    nested = table.filter(pl.col("rater").rank("dense") == pl.col("item").rank("dense"))
    refused(rl.read(nested), r"3 raters on 3 items, 3 combinations")


def test_one_rating_per_cell():
    rows = [(f"s{r}{i}", f"r{r}", f"i{i}", (r + i) % 2) for r in range(4) for i in range(4)]
    frame = pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")
    refused(
        rl.read(frame), r"no rater has two ratings on any item, so an interaction cannot be told from chance"
    )


def test_what_does_not_go_together(small):
    refused(
        small,
        "does not go with method='laplace', which takes each student at one ability; use method='mml'",
        method="laplace",
    )
    refused(
        small,
        "does not go with link='log', whose probabilities have a corner; use link='cloglog'",
        link="log",
    )
    refused(small, "does not go with covariance='sandwich'; use covariance='observed'", covariance="sandwich")
    refused(small, "unknown facet in interactions 'topic'", interactions="rater:topic")
    refused(small, "does not go with trusted", trusted=[str(small.raters[0])])
    refused(with_some_known(small), "does not go with known")
    refused(small, "model 'hrm' takes no interactions", model="hrm")


def test_covariates_leave_raters_no_severities_of_their_own(small):
    covariates = {"rater": small.raters.to_list(), "years": list(range(small.n_raters))}
    refused(
        small, "what a rater adds on all items alike would be taken for interactions", covariates=covariates
    )
    fit = rl.fit(
        small, model="gmf", interactions="rater:item", covariates=covariates, prior="panel", halo="none"
    )
    assert fit.interactions.height > 0


def test_more_cells_than_are_estimated_together(small, monkeypatch):
    monkeypatch.setattr(rater_interactions, "INTERACTION_CELLS", 10)
    refused(small, "15 interactions are more than the 10 that are estimated together")


def test_ratings_that_will_do():
    """Two raters on two items, each item scored more than once."""
    ratings, _ = planted(0.5, students=30, raters=3, items=2)
    two = ratings.subset(ratings.rater < 2)
    fit = rl.fit(replace(two, score=two.score), "tfm", interactions="rater:item", halo="none")
    assert np.isfinite(fit.loglik)
    assert fit.interactions.height == 4
