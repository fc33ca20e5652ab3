"""The likelihoods of all models, written out once more for `independent_optimum`, with gradients and bounds.

Facets models: a table of log-probabilities per (rater, item), score and ability node; latent classes: a mixture per
student-item and node. Raters and items who only pass or only fail get half a rating of the other kind, as in a fit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from benchmarks.truth.small_designs import Codes, SmallDesign

Array = NDArray[np.float64]
LARGEST_SLOPE, LARGEST_EFFECT, SMALLEST_COMMON, SMALLEST_GAP = 10.0, 30.0, 0.01, 1e-4
LARGEST_CLASS_SLOPE, LARGEST_SIGMA, LARGEST_DIFFICULTY = 16.0, 20.0, 14.0


@dataclass(frozen=True, eq=False)
class Grid:
    points: Array
    log_weights: Array

    @staticmethod
    def of(furthest: float, step: float) -> "Grid":
        n = round(furthest / step)
        points = step * np.arange(-n, n + 1)
        return Grid(np.asarray(points, np.float64), -(points**2) / 2 - special.logsumexp(-(points**2) / 2))


FINE, ROUGH = Grid.of(7.5, 0.05), Grid.of(6.0, 0.25)
ALONE = Grid(np.zeros(1), np.zeros(1))
# Half ratings are spread over these abilities, by definition.
SPREAD = Grid.of(6.0, 0.4)


class Likelihood(Protocol):
    @property
    def bounds(self) -> tuple[Array, Array]: ...

    def value(self, x: Array, grid: Grid) -> tuple[float, float, Array]:
        """Log-likelihood, what half ratings add, and the gradient of the sum."""

    def start(self, random: np.random.Generator) -> Array: ...

    def discriminating(self, x: Array) -> int:
        """How many raters tell students apart."""


class Facets:
    """`tfm`, `gmf` and `probit`, on pass/fail or on ordered scores; parameters are slopes, severities, difficulties and
    thresholds, the latter as steps."""

    def __init__(self, of: SmallDesign, model: str, scale: str) -> None:
        self.model, self.k = model, of.highest + 1
        self.graded = scale == "graded" or model == "probit"
        pairs, context = np.unique(of.rater * (of.item.max() + 1) + of.item, return_inverse=True)
        self.rater, self.item = np.divmod(pairs, of.item.max() + 1)
        n_raters, n_items = int(of.rater.max()) + 1, int(of.item.max()) + 1
        self.counts = np.zeros((int(of.student.max()) + 1, len(pairs), self.k))
        np.add.at(self.counts, (of.student, context, of.score), 1.0)
        own = scale == "partial credit" and self.k > 2
        self.top = np.full(n_items, of.highest)
        if own:
            self.top = np.array([max(of.score[of.item == i].max(), 1) for i in range(n_items)])
        self.scale = self.item if own else 0 * self.item
        steps = 0 if self.k == 2 else (n_items if own else 1) * (self.k - 1)
        self.sizes = [1 if model == "tfm" else n_raters, n_raters, n_items, steps]
        self.lever = np.ones(self.k - 1) if self.graded else np.arange(1.0, self.k)
        self.half = self._half_ratings(own)

    def _half_ratings(self, own: bool) -> Array:
        """(contexts, scores)"""
        seen, top = self.counts.sum(axis=0), self.top[self.item]
        every, given, total = np.arange(len(top)), seen.sum(axis=1), seen @ np.arange(self.k)
        half = np.zeros_like(seen)
        for level in (self.rater, self.item):
            for code in np.unique(level):
                mine = level == code
                share = np.where(mine, 0.5 * given / given[mine].sum(), 0.0)
                if total[mine].sum() == 0:
                    half[every, top] += share
                if (total == given * top)[mine].all():
                    half[:, 0] += share
        for code in np.unique(self.item) if own else ():
            mine = self.item == code
            for never in np.flatnonzero(seen[mine].sum(axis=0)[: self.top[code] + 1] == 0):
                half[mine, never] += 0.5 * given[mine] / given[mine].sum()
        return np.asarray(half)

    @property
    def bounds(self) -> tuple[Array, Array]:
        high = np.full(sum(self.sizes), LARGEST_EFFECT)
        low = -high
        low[: self.sizes[0]] = SMALLEST_COMMON if self.model == "tfm" else 0.0
        high[: self.sizes[0]] = LARGEST_SLOPE
        if self.graded and self.k > 2:
            low[sum(self.sizes[:3]) + 1 :] = SMALLEST_GAP
        return low, high

    def start(self, random: np.random.Generator) -> Array:
        x = 0.7 * random.standard_normal(sum(self.sizes))
        n = self.sizes[0]
        x[:n] = 1.2 * np.exp(0.8 * random.standard_normal(n)) * (random.random(n) < 0.8)
        if self.graded and self.k > 2:
            x[sum(self.sizes[:3]) + 1 :] = np.exp(0.5 * random.standard_normal(self.k - 2))
        return x

    def discriminating(self, x: Array) -> int:
        return 2 if self.model == "tfm" else int(np.count_nonzero(x[: self.sizes[0]] > 0.05))

    def value(self, x: Array, grid: Grid) -> tuple[float, float, Array]:
        slope, severity, difficulty, steps = np.split(x, np.cumsum(self.sizes)[:-1])
        a = np.broadcast_to(slope, severity.shape)[self.rater]
        weight = a if self.model == "probit" else 1.0
        reach = np.cumsum(steps.reshape(-1, self.k - 1), axis=1)[self.scale] if self.k > 2 else 0.0
        e = (-severity[self.rater] - weight * difficulty[self.item])[:, None] * self.lever - reach
        logs, rises = self._scores(a, e, grid)
        each = self.counts.reshape(len(self.counts), -1) @ logs.reshape(-1, len(grid.points))
        each += grid.log_weights
        found = special.logsumexp(each, axis=1)
        expected = np.tensordot(self.counts, np.exp(each - found[:, None]), axes=(0, 0))
        d = rises(expected)
        by_slope, by_e = self.lever @ d @ grid.points, d.sum(axis=2)
        added = 0.0
        if self.half.any():
            logs, rises = self._scores(a, e, SPREAD)
            spread = self.half[:, :, None] * np.exp(SPREAD.log_weights)
            added = float((spread * np.where(spread > 0, logs, 0.0)).sum())
            d = rises(spread)
            by_slope, by_e = by_slope + self.lever @ d @ SPREAD.points, by_e + d.sum(axis=2)
        by_base = by_e @ self.lever
        if self.model == "probit":
            by_slope = by_slope - by_base * difficulty[self.item]
        own = np.bincount(self.rater, by_slope, self.sizes[1])
        thresholds = np.zeros((max(self.sizes[3] // (self.k - 1), 1), self.k - 1))
        np.add.at(thresholds, self.scale, -np.cumsum(by_e[:, ::-1], axis=1)[:, ::-1])
        gradient = np.concatenate(
            [
                [own.sum()] if self.model == "tfm" else own,
                -np.bincount(self.rater, by_base, self.sizes[1]),
                -np.bincount(self.item, by_base * weight, self.sizes[2]),
                thresholds.ravel()[: self.sizes[3]],
            ]
        )
        return float(found.sum()), added, gradient

    def _scores(self, a: Array, e: Array, grid: Grid) -> tuple[Array, Callable[[Array], Array]]:
        """(contexts, scores, nodes): log-probabilities; and from expected counts of these to derivatives in the
        intercepts, (contexts, scores - 1, nodes)."""
        s = self.lever[:, None] * (a[:, None] * grid.points)[:, None] + e[..., None]
        if not self.graded:
            s = np.concatenate([np.zeros_like(s[:, :1]), s], axis=1)
            s[np.arange(self.k) > self.top[self.item][:, None]] = -1e9
            logs = special.log_softmax(s, axis=1)
            p = np.exp(logs)
            return logs, lambda n: np.asarray((n - n.sum(axis=1, keepdims=True) * p)[:, 1:])
        logs, density = self._cumulative(s)

        def rises(n: Array) -> Array:
            above, below = np.exp(density - logs[:, 1:]), np.exp(density - logs[:, :-1])
            return np.asarray(n[:, 1:] * above - n[:, :-1] * below)

        return logs, rises

    def _cumulative(self, s: Array) -> tuple[Array, Array]:
        """Log-probabilities of P(y >= k) = F(s_k), and the logarithms of the densities f(s_k)."""
        probit = self.model == "probit"
        log_f = special.log_ndtr if probit else special.log_expit
        passes, fails = log_f(s), log_f(-s)
        density = -(s**2) / 2 - np.log(2 * np.pi) / 2 if probit else passes + fails
        logs = np.empty((s.shape[0], self.k, s.shape[2]))
        logs[:, 0], logs[:, -1] = fails[:, 0], passes[:, -1]
        for k in range(1, self.k - 1):  # F(u) - F(l) = F(u) (1 - F(l)) (1 - exp(l - u)) of the logistic curve
            apart = np.log(-np.expm1(s[:, k] - s[:, k - 1]))
            logs[:, k] = passes[:, k - 1] + fails[:, k] + apart
        return logs, density


class Classes:
    """`hrm` and `dawid-skene`: parameters are biases, slopes, difficulties and, with ability, sigma."""

    def __init__(self, of: SmallDesign, *, ability: bool) -> None:
        self.ability = ability
        self.n_raters, self.n_items = int(of.rater.max()) + 1, int(of.item.max()) + 1
        pieces, unit = np.unique(of.student * self.n_items + of.item, return_inverse=True)
        self.student, self.item = np.divmod(pieces, self.n_items)
        self.given = np.zeros((len(pieces), self.n_raters, 2))
        np.add.at(self.given, (unit, of.rater, of.score), 1.0)
        self.half_answers = self._half(of.rater, of.score, self.n_raters)
        self.half_truths = self._half(of.item, of.score, self.n_items)

    @staticmethod
    def _half(level: Codes, score: Codes, n: int) -> Array:
        """(levels, scores)"""
        mean = np.bincount(level, score, n) / np.bincount(level, minlength=n)
        return 0.5 * np.stack([mean == 1, mean == 0], axis=1)

    @property
    def bounds(self) -> tuple[Array, Array]:
        r, most = self.n_raters, LARGEST_DIFFICULTY + (4 * LARGEST_SIGMA if self.ability else 0)
        high = np.repeat(
            [np.inf, LARGEST_CLASS_SLOPE, most, LARGEST_SIGMA], [r, r, self.n_items, int(self.ability)]
        )
        low = np.repeat([-np.inf, 0.0, -most, 0.0], [r, r, self.n_items, int(self.ability)])
        return low, high

    def start(self, random: np.random.Generator) -> Array:
        r = self.n_raters
        x = 0.8 * random.standard_normal(2 * r + self.n_items + self.ability)
        x[r : 2 * r] = random.uniform(0, 5, r)
        if self.ability:
            x[-1] = random.uniform(0.2, 3)
        return x

    def discriminating(self, x: Array) -> int:
        return 2

    def value(self, x: Array, grid: Grid) -> tuple[float, float, Array]:
        if not self.ability:
            grid = ALONE
        r = self.n_raters
        bias, slope, difficulty, sigma = np.split(x, [r, 2 * r, 2 * r + self.n_items])
        line = bias[:, None] + slope[:, None] * np.array([0.5, -0.5])  # rater, truth: a fail below it
        logs = np.stack([special.log_expit(line), special.log_expit(-line)], axis=1)  # rater, score, truth
        ahead = sigma.sum() * grid.points - difficulty[:, None]
        truth = np.stack([special.log_expit(-ahead), special.log_expit(ahead)])  # truth, item, node
        each = np.einsum("urs,rst->tu", self.given, logs)[:, :, None] + truth[:, self.item]
        mixed = np.logaddexp(each[0], each[1])
        students = np.zeros((int(self.student.max()) + 1, len(grid.points)))
        np.add.at(students, self.student, mixed)
        if self.ability:
            students += grid.log_weights
            found = special.logsumexp(students, axis=1)
            posterior = np.exp(students - found[:, None])[self.student]
        else:
            found, posterior = students[:, 0], np.ones_like(mixed)
        truths = np.exp(each - mixed) * posterior  # truth, unit, node
        answers = np.einsum("urs,tu->rst", self.given, truths.sum(axis=2))
        weights = np.exp(grid.log_weights)
        extra = np.repeat(self.half_answers[:, :, None] / 2, 2, axis=2)
        added = float((extra * logs).sum() + np.einsum("is,siq,q->", self.half_truths, truth, weights))
        answers += extra
        by_line = answers[:, 0] * special.expit(-line) - answers[:, 1] * special.expit(line)
        ones = np.zeros((self.n_items, len(grid.points)))
        zeros = ones.copy()
        np.add.at(zeros, self.item, truths[0])
        np.add.at(ones, self.item, truths[1])
        zeros, ones = (n + self.half_truths[:, s, None] * weights for s, n in enumerate((zeros, ones)))
        by_ahead = ones * special.expit(-ahead) - zeros * special.expit(ahead)
        gradient = [by_line.sum(axis=1), (by_line[:, 0] - by_line[:, 1]) / 2, -by_ahead.sum(axis=1)]
        if self.ability:
            gradient.append(np.array([by_ahead.sum(axis=0) @ grid.points]))
        return float(found.sum()), added, np.concatenate(gradient)
