"""Panels in which some raters follow something besides the truth, with some known answers."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy import special

import raterlens as rl
from raterlens import Ratings
from raterlens.likelihood.marginal import marginal
from raterlens.likelihood.priors import Ridge, pseudo_ratings
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from raterlens.models.term import Effect
from raterlens.models.terms.shared_bias import BIAS, SharedBias


@dataclass(frozen=True)
class Panel:
    table: pl.DataFrame
    slope: np.ndarray
    bias: np.ndarray
    zeta: np.ndarray

    @property
    def ratings(self) -> Ratings:
        return rl.read(self.table, known="gold")


def panel(
    students: int = 200,
    raters: int = 8,
    known: int = 50,
    bias: float = 2.0,
    share: float = 0.5,
    seed: int = 0,
) -> Panel:
    random = np.random.default_rng(seed)
    theta, zeta = random.standard_normal((2, students))
    slope, severity = random.uniform(1.0, 2.0, raters), 0.5 * random.standard_normal(raters)
    follows = np.where(np.arange(raters) < share * raters, bias, 0.0)
    s = np.outer(theta, slope) + np.outer(zeta, follows) - severity
    score = (random.random(s.shape) < special.expit(s)).astype(int)
    gold = [int(each > 0) if place < known else None for place, each in enumerate(theta)]
    table = pl.DataFrame(
        {
            "student": np.repeat(np.arange(students), raters),
            "rater": np.tile([f"r{place:02}" for place in range(raters)], students),
            "score": score.ravel(),
            "gold": [each for each in gold for _ in range(raters)],
        }
    )
    return Panel(table, slope, follows, zeta)


def problem_on(ratings: Ratings, link, scale: str = "rating scale", model: str = "gmf"):
    """A shared dimension on ratings with known answers, one rater trusted, and parameters somewhere."""
    known, response = build(ratings, Options(MODELS[model], link, scale, known_slope=6.0))
    free = np.ones(ratings.n_raters, dtype=bool)
    free[1] = False
    shared = known.plus(SharedBias(Effect.of_some(free)))
    pseudo = pseudo_ratings(shared, response.n_categories)
    ridge = Ridge(shared, 0.7, own_slopes=model == "gmf")
    problem = replace(marginal(ratings, shared, response, pseudo), ridge=ridge)
    x = np.random.default_rng(5).normal(scale=0.4, size=shared.blocks.size)
    x[shared.blocks["slope"]] = 0.5 + np.abs(x[shared.blocks["slope"]])
    x[shared.blocks[BIAS]] += 0.5
    if shared.thresholds is not None and shared.thresholds.graded:
        for name in ("threshold", "known"):
            x[shared.blocks[name]] = 0.2 + np.abs(x[shared.blocks[name]])
    return problem, x
