"""Ratings for the latent class models, and parameters to look at their likelihood."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.true_category import NO_ABILITY, LatentClassMarginal
from raterlens.models.signal_detection import LatentClassModel

NODES = Nodes.equally_spaced(-6.0, 6.0, 0.25)
BOTH = pytest.mark.parametrize("rasch", [True, False])
# Central differences with h = 1e-5 of numbers near 1e3: rounding 1e-13 * 1e3 / h.
DIFFERENCE = 1e-4


def long(rows) -> rl.Ratings:
    """Ratings from (student, rater, item, score)."""
    frame = pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")
    return rl.read(frame, student="student", rater="rater", item="item", score="score")


def rows_of(ratings: rl.Ratings) -> list[tuple[int, int, int, int]]:
    columns = (ratings.student, ratings.rater, ratings.item, ratings.score)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def as_ratings(labels: np.ndarray) -> rl.Ratings:
    tasks, annotators = labels.shape
    frame = pl.DataFrame(
        {
            "student": np.repeat(np.arange(tasks), annotators),
            "rater": np.tile(np.arange(annotators), tasks),
            "score": labels.ravel(),
        }
    )
    return rl.read(frame, student="student", rater="rater", score="score")


def problem_on(ratings, rasch=True, link="logit") -> LatentClassMarginal:
    return LatentClassMarginal.of(
        ratings, LatentClassModel(ratings.n_raters, ratings.n_items, get_link(link), rasch)
    )


def somewhere(problem, seed=0):
    """Parameters with nothing special about them."""
    rng, blocks = np.random.default_rng(seed), problem.model.blocks
    x = rng.normal(0, 0.7, blocks.size)
    x[blocks["slope"]] = rng.uniform(0.5, 4, problem.model.n_raters)
    x[blocks["sigma"]] = 1.4
    return x


def nodes_of(problem):
    return NODES if problem.model.rasch else NO_ABILITY


def fitted(ratings: rl.Ratings, *, rasch: bool = True, **options: Any) -> Any:
    """A fit, with its columns by name."""
    fit = rl.fit(ratings, model="hrm" if rasch else "dawid-skene", **options)
    tables = (fit.table(name) for name in ("raters", "items", "students"))
    columns = {name: table[name].to_numpy() for table in tables for name in table.columns}
    names = ("loglik", "warnings", "sigma", "sigma_se", "alpha", "optimiser", "n_parameters")
    named = {name: getattr(fit, name) for name in names}
    return SimpleNamespace(**columns, **named, truth=fit.table("truth"))


def annotations() -> np.ndarray:
    """300 tasks labelled by 5 annotators."""
    rng = np.random.default_rng(7)
    sensitivity, specificity = np.array([0.9, 0.8, 0.7, 0.95, 0.6]), np.array([0.85, 0.9, 0.75, 0.7, 0.65])
    truth = rng.random(300) < 0.4
    return np.where(
        truth[:, None], rng.random((300, 5)) < sensitivity, rng.random((300, 5)) >= specificity
    ).astype(int)
