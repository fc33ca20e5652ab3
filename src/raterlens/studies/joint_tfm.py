"""Joint maximum likelihood of the three-facets model: a logistic regression with an effect for every student.

This is the paper's first step (`glm()` in R). Its student effects, in logits and not shrunk towards a population, are
what the paper prints for the TFM. Only the comparison with its table uses it; `rl.fit` does not offer it.
"""

import numpy as np
from scipy import special

from raterlens.base.records import dataclass
from raterlens.base.types import Array
from raterlens.ratings.coded import Ratings

_STEPS = 50
_SETTLED = 1e-9


@dataclass(frozen=True, slots=True)
class Joint:
    """Effects in logits, each kind with mean 0."""

    ability: Array
    severity: Array
    difficulty: Array


def joint_tfm(ratings: Ratings) -> Joint:
    """Newton's method on all effects at once, for a complete design without extreme scores."""
    sizes = (ratings.n_students, ratings.n_raters, ratings.n_items)
    assert ratings.n_ratings == np.prod(sizes)
    score = np.empty(sizes)
    score[ratings.student, ratings.rater, ratings.item] = ratings.score
    effects = [np.zeros(size) for size in sizes]
    signs = (1.0, -1.0, -1.0)
    others = ((1, 2), (0, 2), (0, 1))
    for _ in range(_STEPS):
        ability, severity, difficulty = effects
        chance = special.expit(ability[:, None, None] - severity[:, None] - difficulty)
        weight = chance * (1 - chance)
        gradient = np.concatenate(
            [sign * (score - chance).sum(axis) for sign, axis in zip(signs, others, strict=True)]
        )
        by = [weight.sum(axis) for axis in others]
        crossed = {(0, 1): -weight.sum(2), (0, 2): -weight.sum(1), (1, 2): weight.sum(0)}
        information = np.block(
            [
                [np.diag(by[i]) if i == j else crossed[i, j] if i < j else crossed[j, i].T for j in range(3)]
                for i in range(3)
            ]
        )
        # Two shifts change no probability; the shortest step leaves them alone.
        step = np.linalg.lstsq(information, gradient)[0]
        parts = np.split(step, np.cumsum(sizes)[:-1])
        effects = [effect + part for effect, part in zip(effects, parts, strict=True)]
        if np.abs(step).max() < _SETTLED:
            break
    return Joint(*(effect - effect.mean() for effect in effects))
