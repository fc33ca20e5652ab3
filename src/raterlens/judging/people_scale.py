"""Judges on the scale that people's agreement sets, without a say of their own in it.

Behind an ordered score lies a normal variable that is cut at thresholds of the rater's own. Two raters a and b who see
the quality of a piece of work with sharpness s_a and s_b, and err independently, have the latent correlation

    rho_ab = s_a s_b,      cov(y_a, y_b) = sum_kl g_ak g_bl int_0^rho phi(tau_ak, tau_bl; r) dr

with g the steps between scores and tau the thresholds, from each rater's shares of scores on the work that both rated
(for pass/fail, rho is the tetrachoric correlation). One factor of the people's correlations gives their sharpness; a
judge's is then a least-squares slope on it. So a judge who flips coins between the ends of the scale correlates with
nobody, one who uses two of five scores loses only what that costs, and judges cannot vouch for each other.

For pass/fail, t is a rater's threshold less the people's mean, on the same work, and `kappa = s exp(-t^2 / 2)`: the
capability against a rater without noise. Errors come from a jackknife over groups of students.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from raterlens.base.arrays import Array, Indices
from raterlens.ratings.coded import Ratings

GROUPS = 100
"""Number of groups of students for the jackknife: its standard errors are known to 7 %."""
FEWEST_SHARED = 20
"""Pieces of work that two raters must share to be compared."""
_PER_ITEM = 30
"""Scores per rater and item from which on each item has thresholds of its own."""
_ITEMS_APART = 4
"""Items that each item is paired with: all pairs of many items cost time and tell little more."""
_NORMAL = float(special.ndtri(0.975))
_STRONGEST = float(np.arcsin(0.99))
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


@dataclass(frozen=True, slots=True, eq=False)
class OnPeopleScale:
    """(raters, 1 + groups) each: the estimate, then without each group of students. People come first."""

    sharpness: Array
    severity: Array
    n_shared: Indices
    """(raters,) pieces of work shared with people; for a person, with other people."""
    pass_fail: bool

    @property
    def capability(self) -> Array:
        """Against a rater without noise, the people's mean severity being 0; sharpness for ordered scores."""
        return self.sharpness * np.exp(-(self.severity**2) / 2) if self.pass_fail else self.sharpness


def jackknife_error(replicates: Array) -> Array:
    """Standard error of (..., 1 + groups): the estimate, then without each group."""
    each = replicates[..., 1:]
    n = each.shape[-1]
    return np.asarray(np.sqrt((n - 1) * each.var(axis=-1)))


def jackknife_bias(replicates: Array) -> Array:
    """By how much the estimate is expected to exceed the truth."""
    each = replicates[..., 1:]
    return np.asarray((each.shape[-1] - 1) * (each.mean(axis=-1) - replicates[..., 0]))


def fisher_interval(replicates: Array) -> tuple[Array, Array]:
    """95 % interval of numbers between -1 and 1, symmetric on Fisher's scale."""
    inside = np.clip(replicates[..., 0], -0.999, 0.999)
    half = _NORMAL * jackknife_error(replicates) / (1 - inside**2)
    return np.tanh(np.arctanh(inside) - half), np.tanh(np.arctanh(inside) + half)


def measure_on_people_scale(ratings: Ratings, people: Sequence[int], judges: Sequence[int]) -> OnPeopleScale:
    """Measure people against each other, and judges (codes of raters) against the people."""
    raters = [*people, *judges]
    table = _Scores.of(ratings, raters)
    n_people = len(people)
    rho = np.zeros((len(raters), n_people, table.n_groups + 1))
    apart, shared = np.zeros_like(rho), np.zeros((len(raters), n_people))
    for one in range(len(raters)):
        for other in range(min(one, n_people)):
            shared[one, other], rho[one, other], apart[one, other] = table.compare(one, other)
            if one < n_people:
                shared[other, one], rho[other, one] = shared[one, other], rho[one, other]
                apart[other, one] = -apart[one, other]
    own = slice(0, n_people)
    sharpness = np.zeros((len(raters), table.n_groups + 1))
    sharpness[own] = _one_factor(rho[own], shared[own])
    severity = np.zeros_like(sharpness)
    severity[own] = _levels(apart[own], shared[own])
    w = shared[n_people:, :, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        sharpness[n_people:] = (w * rho[n_people:] * sharpness[own]).sum(axis=1) / (
            w * sharpness[own] ** 2
        ).sum(axis=1)
        severity[n_people:] = (w * (apart[n_people:] + severity[own])).sum(axis=1) / w.sum(axis=1)
    np.clip(sharpness, -1.0, 1.0, out=sharpness)
    return OnPeopleScale(sharpness, severity, shared.sum(axis=1).astype(np.int64), ratings.n_categories == 2)


@dataclass(frozen=True, slots=True, eq=False)
class _Scores:
    """Scores by rater and item: units of work in order, each with its score."""

    units: list[list[Indices]]
    scores: list[list[Array]]
    group: Indices
    """(units,) of the jackknife"""
    n_groups: int

    @classmethod
    def of(cls, ratings: Ratings, raters: Sequence[int]) -> "_Scores":
        n_groups = min(GROUPS, ratings.n_students)
        group = np.random.default_rng(20250212).permutation(ratings.n_students) % n_groups
        piece = ratings.student.astype(np.int64) * ratings.n_items + ratings.item
        by_item = ratings.n_ratings >= _PER_ITEM * ratings.n_items * len(raters)
        n_items = ratings.n_items if by_item else 1
        units: list[list[Indices]] = []
        scores: list[list[Array]] = []
        for rater in raters:
            rows = np.flatnonzero(ratings.rater == rater)
            own, place = np.unique(piece[rows], return_inverse=True)
            # several draws on one piece of work are one score, their mean
            mean = np.bincount(place, ratings.score[rows]) / np.bincount(place)
            item = own % ratings.n_items if by_item else np.zeros(len(own), dtype=np.int64)
            unit = own // ratings.n_items if by_item else own
            units.append([unit[item == each] for each in range(n_items)])
            scores.append([mean[item == each] for each in range(n_items)])
        whose = group if by_item else np.repeat(group, ratings.n_items)
        return cls(units, scores, whose, n_groups)

    def compare(self, one: int, other: int) -> tuple[float, Array, Array]:
        """How many units two raters share, their latent correlation, and how much higher the thresholds of the first
        are: (1 + groups,) each, means over items. Scores on different items of a student are correlated, too."""
        n_items = len(self.units[one])
        rho, apart = np.zeros((2, self.n_groups + 1))
        total, same = 0, 0
        for item in range(n_items):
            for further in range(min(n_items, _ITEMS_APART)):
                match = (item + further) % n_items
                both, left, right = np.intersect1d(
                    self.units[one][item], self.units[other][match], assume_unique=True, return_indices=True
                )
                if (n := len(both)) < FEWEST_SHARED:
                    continue
                a, b = self.scores[one][item][left], self.scores[other][match][right]
                pair = _pair(a, b, self.group[both], self.n_groups)
                rho, total = rho + n * pair[0], total + n
                if item == match:
                    apart, same = apart + n * pair[1], same + n
        return float(same), rho / max(total, 1), apart / max(same, 1)


def _pair(a: Array, b: Array, group: Indices, n_groups: int) -> tuple[Array, Array]:
    """(1 + groups,): latent correlation, and difference of the mean thresholds."""

    def without_each(values: Array) -> Array:
        by_group = np.bincount(group, values, n_groups)
        return np.concatenate([[values.sum()], values.sum() - by_group])

    n = np.maximum(without_each(np.ones(len(a))), 1.0)
    (step_a, tau_a), (step_b, tau_b) = (_thresholds(scores, n, without_each) for scores in (a, b))
    apart = np.asarray(tau_a.mean(axis=0) - tau_b.mean(axis=0))
    if not (len(step_a) and len(step_b)):
        return np.zeros(n_groups + 1), apart
    covariance = without_each(a * b) / n - without_each(a) * without_each(b) / n**2
    return latent_correlation(covariance, (step_a, tau_a), (step_b, tau_b)), apart


def _thresholds(scores: Array, n: Array, without_each: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Steps between scores, and (steps, 1 + groups) thresholds; half a rating keeps them finite. Whoever gives only one
    score has no steps, and a threshold beyond everybody's."""
    levels = np.unique(scores)
    if len(levels) == 1:
        beyond = special.ndtri(0.5 / (n + 1))
        return np.zeros(0), np.asarray(beyond if levels[0] > 0 else -beyond)[None]
    below = np.array([without_each((scores <= level).astype(np.float64)) for level in levels[:-1]])
    return np.diff(levels), np.asarray(special.ndtri((below + 0.5) / (n + 1)))


def latent_correlation(covariance: Array, one: tuple[Array, Array], other: tuple[Array, Array]) -> Array:
    """The correlation behind ordered scores that gives their covariance, by Newton's method in arcsin(rho).

    `one` and `other` have the steps between scores (k,) and the thresholds (k, replicates). Replicates after the first
    start from it, so that few steps do."""
    (g, h), (f, k) = one, other
    first = _newton(covariance[:1], (g, h[:, :1]), (f, k[:, :1]), np.zeros(1), 30)
    start = np.full(len(covariance), first[0])
    return np.asarray(np.sin(_newton(covariance, one, other, start, 3)))


def _newton(
    covariance: Array, one: tuple[Array, Array], other: tuple[Array, Array], angle: Array, steps: int
) -> Array:
    (g, h), (f, k) = one, other
    weights = (g[:, None] * f)[:, :, None] / (2 * np.pi)
    squares = (h[:, None] ** 2 + k[None] ** 2) / 2
    products = h[:, None] * k[None]

    def height(at: Array) -> Array:
        return np.asarray(
            (weights * np.exp((products * np.sin(at) - squares) / np.cos(at) ** 2)).sum(axis=(0, 1))
        )

    for _ in range(steps):
        area = sum(w * height(angle * (x + 1) / 2) for x, w in zip(_NODES, _WEIGHTS, strict=True)) * angle / 2
        step = np.clip((covariance - area) / np.maximum(height(angle), 1e-12), -0.5, 0.5)
        angle = np.clip(angle + step, -_STRONGEST, _STRONGEST)
        if np.max(np.abs(step)) < 1e-9:
            break
    return np.asarray(angle)


def _one_factor(rho: Array, shared: Array) -> Array:
    """(people, replicates) sharpness: rho_pq = s_p s_q by weighted least squares. One person is the scale."""
    n = len(rho)
    if n == 1:
        return np.ones((1, rho.shape[2]))
    w = shared[:, :, None]
    mean = (w * rho).sum(axis=(0, 1)) / max(float(shared.sum()), 1.0)
    found = np.repeat(np.sqrt(np.maximum(mean, 1e-4))[None], n, axis=0)
    if n == 2:
        return found
    for _ in range(200):
        fitted = (w * rho * found).sum(axis=1) / np.maximum((w * found**2).sum(axis=1), 1e-9)
        moved = np.clip((found + fitted) / 2, 0.0, 1.0)
        if np.max(np.abs(moved - found)) < 1e-9:
            break
        found = moved
    return np.asarray(found)


def _levels(apart: Array, shared: Array) -> Array:
    """(people, replicates) severities with mean 0 whose differences fit those of pairs, weighted by shared work."""
    laplacian = np.diag(shared.sum(axis=1)) - shared
    return np.asarray(
        np.einsum("pq,qrg->pg", np.linalg.pinv(laplacian), shared[:, :, None] * apart, optimize=True)
    )
