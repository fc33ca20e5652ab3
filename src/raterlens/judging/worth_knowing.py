"""Which answers are worth looking up first, by what they would tell about the raters?

Ratings tell about raters only as far as the students' abilities are known: the information in a student's ratings is
that with ability known less the posterior covariance of the scores s = d log p(ratings | ability). A known answer k
splits that covariance, and takes off what is between answers, on average over what the answer may be:

    gain = sum_k P(k) (E[s | k] - E[s]) (E[s | k] - E[s])' = W W',     V' = V - V W (1 + W' V W)^-1 W' V

with V the covariance of the estimates. Answers are ranked by how much the summed variance of the raters' sharpness
falls, each after those before it. The choice looks at nothing but ratings that the model sees, so that
it biases no estimate.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy import special

from raterlens.base.arrays import Array, Indices
from raterlens.base.errors import OptionError
from raterlens.estimation.methods import sharp_nodes
from raterlens.estimation.scoring import Placed, place
from raterlens.inference.covariance import in_full
from raterlens.inference.measurement import measured_fit
from raterlens.inference.resampling import check_same
from raterlens.likelihood.latent import WRONG
from raterlens.likelihood.nodes import Nodes
from raterlens.models.build import COVARYING
from raterlens.models.calibration import Calibration
from raterlens.models.responses import Predictor
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.inference.result import Result

# Candidates for each answer asked for whose worth is computed again after every choice.
_KEPT = 20
# Students at a time.
_BLOCK = 2_000


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Answers that are not known yet."""

    student: Indices
    item: Indices
    chance: Array
    """(candidates, categories): of each answer."""
    gains: Array
    """(candidates, effects, categories): W."""

    def of(self, rows: Indices) -> "_Candidates":
        return _Candidates(self.student[rows], self.item[rows], self.chance[rows], self.gains[rows])


def worth_knowing(fit: "Result", ratings: Ratings, n: int) -> pl.DataFrame:
    """The `n` unknown answers to look up first: `Fit.worth_knowing`."""
    calibration = fit.calibrated("nothing tells what an answer would tell")
    if calibration.covariance is None or "halo" in calibration.effects:
        raise OptionError(
            "the worth of an answer follows from standard errors, of a fit without halo",
            "fit with standard_errors=True and halo='none'",
            option="standard_errors",
        )
    check_same(fit, ratings)
    spread, by = in_full(calibration.covariance), _sharpness_by(fit, calibration)
    kept = _most(place(calibration, ratings), calibration, fit.config.known_slope, spread, by, _KEPT * n)
    total, rows = float(np.trace(by @ spread @ by.T)), []
    for _ in range(min(n, len(kept.student))):
        worth = _worth(kept.gains, spread, by)
        best = int(np.argmax(worth))
        rows.append((kept.student[best], kept.item[best], worth[best] / total, kept.chance[best]))
        spread = _after(spread, kept.gains[best])
        kept = kept.of(np.delete(np.arange(len(worth)), best))
    scores = np.asarray(calibration.scores, float)
    return pl.DataFrame(
        {
            "student": ratings.students.gather([row[0] for row in rows]),
            "item": ratings.items.gather([row[1] for row in rows]),
            "worth": [float(row[2]) for row in rows],
            "expected": [float(row[3] @ scores) for row in rows],
        }
    )


def _sharpness_by(fit: "Result", calibration: Calibration) -> Array:
    """(raters, effects): derivatives of sharpness."""
    on = measured_fit(fit, fit.yardstick)
    by_slope, by_severity, _, by_halo = on.index.sharpness_gradient(on.on.a, on.on.eta, on.on.halos)
    n, effects = len(on.on.a), calibration.effects
    size = sum(len(effects[name]) for name in COVARYING if name in effects)
    found, every = np.zeros((n, size)), np.arange(n)
    found[every, every], found[every, n + every] = by_slope, by_severity
    if "bias" in effects:
        found[every, 2 * n + every] = by_halo * 2 * effects["bias"]
    return found


def _most(
    placed: Placed, calibration: Calibration, slope: float, spread: Array, by: Array, n: int
) -> _Candidates:
    """The most promising candidates, of blocks of students."""
    best: _Candidates | None = None
    for found in _blocks(placed, calibration, slope, len(spread)):
        both = found
        if best is not None:
            parts = (np.concatenate([a, b]) for a, b in zip(_parts(best), _parts(found), strict=True))
            both = _Candidates(*parts)
        worth = _worth(both.gains, spread, by)
        best = both.of(np.argsort(-worth, kind="stable")[:n])
    assert best is not None
    return best


def _parts(candidates: _Candidates) -> tuple[Array | Indices, ...]:
    return candidates.student, candidates.item, candidates.chance, candidates.gains


def _blocks(placed: Placed, calibration: Calibration, slope: float, size: int) -> Iterator[_Candidates]:
    problem, ratings, x = placed.problem, placed.ratings, placed.parameters
    nodes = problem.own_nodes(x)
    if nodes is None:
        nodes = sharp_nodes(problem, x, placed.abilities())
    through = problem.model.effect_jacobian(x, *COVARYING).T
    known, answers = ratings.known, _answers(placed, calibration, slope, nodes)
    for item, table in enumerate(answers):
        taken = np.zeros(ratings.n_students, dtype=bool)
        if known is not None:
            taken[known.student[known.item == item]] = True
        chance, scores = _expected(placed, nodes, table)
        middle = np.einsum("nk,knp->np", chance, np.stack(scores))
        for first in range(0, ratings.n_students, _BLOCK):
            rows = np.flatnonzero(~taken[first : first + _BLOCK]) + first
            if not len(rows):
                continue
            gains = [
                np.sqrt(chance[rows, k])[:, None] * ((scores[k][rows] - middle[rows]) @ through)
                for k in range(len(table))
            ]
            yield _Candidates(rows, np.full(len(rows), item), chance[rows], np.stack(gains, axis=-1))


def _answers(placed: Placed, calibration: Calibration, slope: float, nodes: Nodes) -> list[Array]:
    """For each item the probability of each answer (categories, nodes): by its own thresholds where some are known,
    else by those that divide students as its scores do. Beside a shared bias, some answers may be wrong."""
    wrong = WRONG if calibration.second_ability else 0.0
    response, found = placed.problem.response.single, []
    own = calibration.effects.get("known")
    scores = placed.ratings
    for item in range(scores.n_items):
        label = str(scores.items[item])
        place_of = list(calibration.labels["item"].cast(pl.String)).index(label)
        thresholds = None if own is None else own[place_of]
        if thresholds is None or np.isnan(thresholds).any():
            given = np.bincount(scores.score[scores.item == item], minlength=response.n_categories)
            above = 1 - (np.cumsum(given)[:-1] + 0.5) / (given.sum() + 1)
            thresholds = -slope * special.ndtri(np.clip(above, 0.01, 0.99))
        steps = thresholds if np.allclose(response.lever, 1.0) else np.cumsum(thresholds)
        at = Predictor(np.array([slope]), -steps[None])
        right = np.exp(response.log_prob(at, nodes.points)[0])
        found.append((1 - wrong) * right + wrong / response.n_categories)
    return found


def _expected(placed: Placed, nodes: Nodes, answers: Array) -> tuple[Array, list[Array]]:
    """(students, categories) the chance of each answer, and for each (students, parameters) E[s | answer]."""
    problem, x = placed.problem, placed.parameters
    chance = np.empty((placed.ratings.n_students, len(answers)))
    for rows, posterior, _ in problem.engine.posteriors(problem.tables(x, nodes), nodes):
        chance[rows] = posterior @ answers.T
    chance = np.maximum(chance, 1e-12)

    def given(answer: Array) -> Array:
        def weighted(posterior: Array) -> Array:
            joint = posterior * answer
            return np.asarray(joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300))

        return np.asarray(problem.student_scores(x, nodes, weighted).toarray())

    return chance, [given(answer) for answer in answers]


def _worth(gains: Array, spread: Array, by: Array) -> Array:
    """(candidates,): how much the summed variance of what `by` is the derivative of falls."""
    moved = np.einsum("ij,cjk->cik", spread, gains, optimize=True)
    inner = np.eye(gains.shape[2]) + np.einsum("cik,cil->ckl", gains, moved, optimize=True)
    seen = np.einsum("ri,cik->crk", by, moved, optimize=True)
    return np.asarray(np.einsum("crk,ckl,crl->c", seen, np.linalg.inv(inner), seen, optimize=True))


def _after(spread: Array, gain: Array) -> Array:
    """The covariance once the answer is known."""
    moved = spread @ gain
    return np.asarray(spread - moved @ np.linalg.solve(np.eye(gain.shape[1]) + gain.T @ moved, moved.T))
