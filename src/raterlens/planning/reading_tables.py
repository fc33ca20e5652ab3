"""Tables of one reading (a rater marks all items of a student) at each ability, for every rater of a panel."""

from dataclasses import dataclass

import numpy as np

from raterlens.base.arrays import Array
from raterlens.likelihood.nodes import Nodes
from raterlens.planning.assumed_panel import AssumedPanel


@dataclass(frozen=True, slots=True, eq=False)
class ReadingTables:
    """Q ability nodes; S + 1 sums that a reading can have; shared parameters are difficulties, then thresholds."""

    nodes: Nodes
    log_chance: Array
    """(raters, S + 1, Q): of each sum of scores"""
    log_partition: Array
    """(raters, Q): log P(sum) = sum a t - this, but for what does not depend on t"""
    score: Array
    """(raters, Q): expected sum of scores"""
    variance: Array
    """(raters, Q): of the sum of scores"""
    shared: Array
    """(raters, shared, Q): what the shared parameters' scores lose at each ability"""
    complete: Array
    """(raters, 2 + shared, 2 + shared): information of a reading were ability known, averaged over abilities, in slope,
    severity and the shared parameters"""


def reading_tables(panel: AssumedPanel, nodes: Nodes) -> ReadingTables:
    """Tables of every rater of the panel."""
    t, weight = nodes.points, np.exp(nodes.log_weights)
    partition, chance, at_least = _scores(panel, t)
    score = at_least.sum(axis=2)
    shared = score
    if panel.thresholds is not None:
        own = at_least.reshape(panel.n_raters, -1, len(t))
        beyond = own if len(panel.thresholds) > 1 else at_least.sum(axis=1)
        shared = np.concatenate([score, beyond], axis=1)
    return ReadingTables(
        nodes,
        _log_chance_of_sums(chance),
        partition.sum(axis=1),
        score.sum(axis=1),
        _variance(at_least),
        shared,
        _complete(panel, at_least, t, weight),
    )


def sum_variance(panel: AssumedPanel, t: Array) -> Array:
    """(raters, abilities): of the sum of scores."""
    return _variance(_scores(panel, t)[2])


def _scores(panel: AssumedPanel, t: Array) -> tuple[Array, Array, Array]:
    """Log partition (raters, items, Q), the chance of each category, and that of each step or more."""
    base = panel.slope[:, None] * t - panel.severity[:, None]
    logits = base[:, None] - panel.difficulty[:, None]  # (raters, items, Q)
    tau = np.zeros((1, 1)) if panel.thresholds is None else panel.thresholds
    tau = np.broadcast_to(tau, (panel.n_items, panel.steps))
    steps = np.cumsum(logits[:, :, None] - tau[..., None], axis=2)
    steps = np.concatenate([np.zeros_like(steps[:, :, :1]), steps], axis=2)
    partition = np.logaddexp.reduce(steps, axis=2)
    chance = np.exp(steps - partition[:, :, None])
    return partition, chance, np.cumsum(chance[:, :, ::-1], axis=2)[:, :, ::-1][:, :, 1:]


def _variance(at_least: Array) -> Array:
    """E y^2 = sum_j (2 j - 1) P(y >= j)"""
    squared = np.einsum("j,rijq->riq", 2 * np.arange(at_least.shape[2]) + 1.0, at_least)
    return np.asarray((squared - at_least.sum(axis=2) ** 2).sum(axis=1))


def _log_chance_of_sums(chance: Array) -> Array:
    total = chance[:, 0]
    for item in range(1, chance.shape[1]):
        wider = np.zeros((len(total), total.shape[1] + chance.shape[2] - 1, total.shape[2]))
        for score in range(chance.shape[2]):
            wider[:, score : score + total.shape[1]] += total * chance[:, item, score][:, None]
        total = wider
    return np.asarray(np.log(np.maximum(total, 1e-300)))


def _complete(panel: AssumedPanel, at_least: Array, t: Array, weight: Array) -> Array:
    """Scores of each item's steps x are B x, B = t (slope), -1 (severity and its difficulty), -e_j (thresholds).

    The steps' covariance is Cov(1[y >= j], 1[y >= k]) = P(y >= max(j, k)) - P(y >= j) P(y >= k).
    """
    steps, items = panel.steps, panel.n_items
    larger = np.maximum.outer(np.arange(steps), np.arange(steps))

    def moment_of(power: int) -> Array:
        """(raters, items, steps, steps): the covariance times a power of ability, averaged over abilities."""
        weighted = at_least * (weight * t**power)
        return np.asarray(weighted.sum(axis=-1)[..., larger] - weighted @ at_least.swapaxes(-1, -2))

    size = 2 + panel.n_shared
    found = np.zeros((panel.n_raters, size, size))
    constant, linear = np.zeros((items, size, steps)), np.zeros((items, size, steps))
    linear[:, 0] = 1.0
    constant[:, 1] = -1.0
    for item in range(items):
        constant[item, 2 + item] = -1.0
        if panel.thresholds is not None:
            first = 2 + items + (item * steps if len(panel.thresholds) > 1 else 0)
            constant[item, first : first + steps] = -np.eye(steps)
    powers = [moment_of(power) for power in (0, 1, 2)]
    for left, right, moment in (
        (constant, constant, 0),
        (constant, linear, 1),
        (linear, constant, 1),
        (linear, linear, 2),
    ):
        found += np.einsum("ipj,rijk,isk->rps", left, powers[moment], right, optimize=True)
    return found
