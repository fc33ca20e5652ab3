"""Judges under the truth: expected accuracy, sensitivity, specificity and capability J, with intervals and a guard."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse, special, stats
from scipy.sparse import csgraph

from raterlens.base.arrays import NORMAL_95, Array, Indices, Mask
from raterlens.base.text import counted, listed
from raterlens.judging.truth import Truth, Verdicts

DRAWS = 200
PSEUDO_VERDICTS = 2.0
"""Verdicts at the panel's mean that are added to everybody's: three right verdicts are not an accuracy of 100 %."""
GUARD = 3.3
"""Standard errors that right on known may be from expected: by chance, 1 judge in 1,000 is further away."""
_GROUPS, _FEW_GROUPS, _MANY_JUDGES = 40, 10, 200
"""Numbers of groups of answers that are left out in turn: few if there are many pairs of judges."""
_ENOUGH_SHARED = 3
"""Known answers that two judges share, on average, below which nothing tells whether they err together."""
_NEAR_COPY, _ENOUGH_ERRORS = 0.9, 10
"""Correlation of errors from which on two judges count as one, and the errors on shared answers that it takes."""


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """A number per judge, with its 95 % interval."""

    value: Array
    low: Array
    high: Array

    def columns(self, name: str) -> dict[str, Array]:
        """Columns of a table."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """Right on the known answers, beside what was expected of them out of fold."""

    n: Array
    right: Array
    expected: Array
    """Shares; NaN for judges without known answers."""
    z: Array

    @property
    def flagged(self) -> Mask:
        with np.errstate(invalid="ignore"):
            return np.abs(self.z) > GUARD


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Counts of every judge, over the answers that it judged, under a truth: (judges,) or (judges, draws)."""

    n: Array
    passes: Array
    good: Array
    good_passed: Array

    @classmethod
    def under(cls, verdicts: Verdicts, truth: Array) -> "Counts":
        n, passes = verdicts.answers_per_judge, verdicts.passes_per_judge
        if truth.ndim == 2:
            n, passes = n[:, None], passes[:, None]
        return cls(n, passes, verdicts.judged.T @ truth, verdicts.passes.T @ truth)

    @property
    def right(self) -> Array:
        """Good work passed and bad work failed."""
        return np.asarray(self.n - self.good - self.passes + 2 * self.good_passed)

    def shares(self) -> tuple[Array, Array, Array]:
        """Accuracy, sensitivity and specificity, with pseudo-verdicts at the panel's mean."""
        bad = self.n - self.good
        bad_failed = bad - self.passes + self.good_passed
        return _pooled(self.right, self.n), _pooled(self.good_passed, self.good), _pooled(bad_failed, bad)


MEASURES = ("accuracy", "sensitivity", "specificity", "capability")


def measure_judges(truth: Truth, draws: int = DRAWS) -> dict[str, Measure]:
    """Every judge's expected `MEASURES` on answers like these; capability is J = sensitivity + specificity - 1: 0 for a
    coin, 1 for the perfect judge, negative if mostly wrong. Intervals are not only for these answers: besides the
    uncertain truth, they allow for which of them a judge happened to see."""
    counts = Counts.under(truth.verdicts, truth.probability)
    shares = np.stack(counts.shares())
    parts = [np.stack(Counts.under(truth.verdicts, drawn).shares()) for drawn in truth.draws(draws)]
    drawn = np.concatenate(parts, axis=2)
    n = np.stack([counts.n, counts.good, np.maximum(counts.n - counts.good, 0)])
    chance = shares * (1 - shares) / (n + PSEUDO_VERDICTS + 1)
    found = map(share_measure, shares, drawn.var(axis=2) + chance)
    # J lies between -1 and 1: twice a share, less 1.
    spread = (drawn[1] + drawn[2]).var(axis=1) + chance[1] + chance[2]
    half = share_measure((shares[1] + shares[2]) / 2, spread / 4)
    capability = Measure(2 * half.value - 1, 2 * half.low - 1, 2 * half.high - 1)
    return dict(zip(MEASURES, (*found, capability), strict=True))


def share_measure(share: Array, variance: Array) -> Measure:
    """A 95 % interval that stays inside 0 and 1, and is narrow near them: that of the beta distribution with this mean
    and variance."""
    inside = np.clip(share, 1e-9, 1 - 1e-9)
    size = np.maximum(inside * (1 - inside) / np.maximum(variance, 1e-12) - 1, 1e-3)
    low, high = (special.betaincinv(size * inside, size * (1 - inside), end) for end in (0.025, 0.975))
    return Measure(share, np.minimum(low, share), np.maximum(high, share))


def _pooled(k: Array, n: Array) -> Array:
    mean = (k.sum(axis=0) + 0.5) / (n.sum(axis=0) + 1)
    return np.asarray((k + PSEUDO_VERDICTS * mean) / (n + PSEUDO_VERDICTS))


def guard(truth: Truth) -> Guard:
    """Compare every judge's hits on known answers with those expected where each answer's fold is unknown."""
    verdicts, rows = truth.verdicts, truth.verdicts.rows
    p, answers = truth.out_of_fold[rows], verdicts.known[rows].astype(np.float64)
    signs = 2 * verdicts.passes[rows] - verdicts.judged[rows]
    n = np.asarray(verdicts.judged[rows].sum(axis=0), dtype=np.float64)
    fails = n - np.asarray(verdicts.passes[rows].sum(axis=0))
    right, expected = fails + signs.T @ answers, fails + signs.T @ p
    variance = signs.power(2).T @ (p * (1 - p))
    with np.errstate(invalid="ignore", divide="ignore"):
        z = (right - expected) / np.sqrt(variance)
        return Guard(n, right / n, expected / n, z)


@dataclass(frozen=True, slots=True)
class EffectiveJudges:
    """How many independent judges the panel is worth, with 95 % intervals by leaving out groups of answers."""

    n: int
    given_truth: float
    """Judges as good as these whose errors are independent, in information about the truth; NaN, as the ends, where
    judges share too few known answers."""
    low: float
    high: float
    kish: float
    """Judges over one plus their mean error correlation times the others."""
    kish_low: float
    kish_high: float
    p: float
    """Probability of errors as alike on the known answers as these, if judges erred independently; NaN where no two
    judges share any."""
    near_copies: tuple[tuple[str, ...], ...] = ()
    """Groups of judges whose errors are nearly the same: each counts as one."""

    def words(self) -> list[str]:
        """Conclusions, one sentence each."""
        copies = [
            f"{listed(group, 7)} nearly always err together: they count as one." for group in self.near_copies
        ]
        if self.n < 2:
            return []
        if not np.isfinite(self.given_truth):
            few = "Judges share too few known answers to tell how many independent ones they are worth."
            return [few, *copies]
        chance = "p < 0.001" if self.p < 0.001 else f"p = {self.p:.3f}"
        together = f" Their errors go together beyond chance ({chance})." if self.p < 0.01 else ""
        worth = f"{self.given_truth:.1f} independent ones ({self.low:.1f} to {self.high:.1f})"
        return [f"{counted(self.n, 'judge')} are worth {worth}.{together}", *copies]


def effective_judges(truth: Truth, labels: Sequence[str]) -> EffectiveJudges:
    """`R a'a / a'Ca`: the information about the truth in votes weighted by a_r, over that of R independent judges.

    a_r is half the distance in logits between good and bad work, and C the correlation of errors on the known answers,
    each about the judge's own rate on answers of that kind. For judges who are equally good it is Kish's
    `R / (1 + (R - 1) rho)`."""
    verdicts = truth.verdicts
    _, sensitivity, specificity = Counts.under(verdicts, truth.probability).shares()
    here = np.flatnonzero(verdicts.answers_per_judge)
    a = ((special.logit(sensitivity) + special.logit(specificity)) / 2)[here]
    errors = _errors_on_known(verdicts)[:, here]
    n_groups = min(errors.shape[0], _GROUPS if len(here) <= _MANY_JUDGES else _FEW_GROUPS)
    group = np.random.default_rng(3).permutation(errors.shape[0]) % n_groups
    parts = [_products(errors[group == each]) for each in range(n_groups)]
    total = np.sum(parts, axis=0)
    share = _share_of_variance(a, total)
    again = np.array([_share_of_variance(a, total - part) for part in parts])
    half = NORMAL_95 * np.sqrt((n_groups - 1) * again.var(axis=0))
    value, low, high = (1 / np.clip(each, 1 / len(here), 1.0) for each in (share, share + half, share - half))
    if np.triu(total[2], 1).sum() < _ENOUGH_SHARED * len(here) * (len(here) - 1) / 2:
        value, low, high = np.full((3, 2), np.nan)
    return EffectiveJudges(
        len(here),
        float(value[0]), float(low[0]), float(high[0]),
        float(value[1]), float(low[1]), float(high[1]),
        _independence(errors),
        tuple(tuple(labels[place] for place in each) for each in _near_copies(truth, sensitivity, specificity)),
    )  # fmt: skip


def _errors_on_known(verdicts: Verdicts) -> sparse.csr_array:
    """(known answers, judges): verdicts less the judge's mean on known answers of that kind."""
    rows, kinds = verdicts.rows, verdicts.known[verdicts.rows]
    found = verdicts.passes[rows].copy()
    kind = np.repeat(kinds, np.diff(found.indptr))
    for each in (0, 1):
        own = kind == each
        judge = found.indices[own]
        n, passes = (np.bincount(judge, weights, found.shape[1]) for weights in (None, found.data[own]))
        found.data[own] -= (passes / np.maximum(n, 1))[judge]
    return found


def _products(errors: sparse.csr_array) -> Array:
    """(3, judges, judges): sums of products of errors, of squares of the first where both judged, and answers."""
    judged = errors.copy()
    judged.data = np.ones_like(judged.data)
    squares = errors.power(2)
    return np.stack(
        [(one.T @ other).toarray() for one, other in ((errors, errors), (squares, judged), (judged, judged))]
    )


def _share_of_variance(a: Array, sums: Array) -> Array:
    """One over the effective number, given the truth and Kish's; pairs that share no known answer on which both may err
    count as the others do."""
    spread = np.sqrt(sums[1] * sums[1].T)
    told = (spread > 1e-9) & ~np.eye(len(a), dtype=bool)
    correlation = np.where(told, sums[0] / np.where(told, spread, 1.0), 0.0)
    weight = np.where(told, sums[2], 0.0)
    mean = float((correlation * weight).sum() / weight.sum()) if told.any() else 0.0
    correlation[~told] = mean
    np.fill_diagonal(correlation, 1.0)
    r, information = len(a), max(float(a @ a), 1e-12)
    return np.array([float(a @ correlation @ a) / (r * information), (1 + (r - 1) * mean) / r])


def _independence(errors: sparse.csr_array) -> float:
    """One-sided p: the sum over pairs of judges of the product of their errors, answer by answer."""
    total = (np.asarray(errors.sum(axis=1)) ** 2 - np.asarray(errors.power(2).sum(axis=1))) / 2
    spread = float(np.sqrt((total**2).sum()))
    return float(stats.norm.sf(total.sum() / spread)) if spread > 0 else float("nan")


def _near_copies(truth: Truth, sensitivity: Array, specificity: Array) -> list[Indices]:
    """Groups of judges whose errors, on all answers under the truth, are nearly the same."""
    passes, p = truth.verdicts.passes, truth.probability
    row = np.repeat(np.arange(passes.shape[0]), np.diff(passes.indptr))
    products = np.zeros((passes.shape[1], passes.shape[1]))
    for chance, rate in ((1 - p, 1 - specificity), (p, sensitivity)):
        each = passes.copy()
        each.data = np.sqrt(chance[row]) * (each.data - rate[each.indices])
        products += (each.T @ each).toarray()
    shared = (truth.verdicts.judged.T @ truth.verdicts.judged).toarray()
    mean = products / np.maximum(shared, 1.0)
    scale = np.sqrt(np.maximum(np.diag(mean), 1e-9))
    errors = shared * np.minimum(scale[:, None], scale) ** 2
    close = (mean > _NEAR_COPY * np.outer(scale, scale)) & (errors >= _ENOUGH_ERRORS)
    group = csgraph.connected_components(close)[1]
    return [np.flatnonzero(group == each) for each in np.flatnonzero(np.bincount(group) > 1)]


_MOST_CANDIDATES = 40


@dataclass(frozen=True, slots=True)
class Panel:
    """The judges worth keeping, the best first, and in how many of `splits` half-samples of the known answers a panel
    predicted the other half better than its first judge alone."""

    judges: tuple[int, ...]
    preferred: int
    splits: int


def judges_to_keep(truth: Truth, most: int = 7, splits: int = 20) -> Panel:
    """Greedy by log loss on known answers: a judge joins while that pays, and a panel is kept only where held-out known
    answers prefer it in most splits."""
    verdicts, rows = truth.verdicts, truth.verdicts.rows
    answers = verdicts.known[rows].astype(np.float64)
    evidence = np.asarray((2 * verdicts.passes[rows] - verdicts.judged[rows]).todense(), dtype=np.float64)
    # Who is more often wrong than right votes for the opposite; of the others, the most promising take part.
    agree = evidence.T @ (2 * answers - 1)
    places = np.sort(
        np.argsort(-agree, kind="stable")[: min(_MOST_CANDIDATES, max(int((agree > 0).sum()), 1))]
    )
    evidence = evidence[:, places]
    rng = np.random.default_rng(1)
    preferred = 0
    for _ in range(splits):
        train = rng.permutation(len(rows)) < len(rows) / 2
        chosen = _greedy(evidence[train], answers[train], most)
        if len(chosen) > 1:
            losses = [
                _held_out_loss(evidence[:, chosen[:size]].sum(axis=1), answers, train)
                for size in (1, len(chosen))
            ]
            preferred += losses[1] < losses[0]
    chosen = _greedy(evidence, answers, most)
    kept = places[chosen if 2 * preferred > splits else chosen[:1]]
    return Panel(tuple(kept.tolist()), preferred, splits)


def _greedy(evidence: Array, answers: Array, most: int) -> list[int]:
    chosen: list[int] = []
    best, total = np.inf, np.zeros(len(answers))
    for _ in range(min(most, evidence.shape[1])):
        losses = np.array(
            [
                np.inf if place in chosen else _loss(total + evidence[:, place], answers)
                for place in range(evidence.shape[1])
            ]
        )
        place = int(np.argmin(losses))
        if losses[place] >= best - 1e-3 * len(answers):
            break
        best, total = float(losses[place]), total + evidence[:, place]
        chosen.append(place)
    return chosen


def _loss(x: Array, y: Array) -> float:
    """Leave-one-out log loss of the share of good answers at each value of the vote."""
    _, place = np.unique(x, return_inverse=True)
    n, good = np.bincount(place)[place], np.bincount(place, y)[place]
    p = (good - y + 0.5) / n
    return float(-np.log(np.where(y == 1, p, 1 - p)).sum())


def _held_out_loss(x: Array, y: Array, train: Mask) -> float:
    """Log loss on the others of the share of good answers at each value of the vote."""
    _, place = np.unique(x, return_inverse=True)
    size = int(place.max()) + 1
    n, good = np.bincount(place[train], minlength=size), np.bincount(place[train], y[train], size)
    p = ((good + 0.5) / (n + 1))[place[~train]]
    return float(-np.log(np.where(y[~train] == 1, p, 1 - p)).sum())


def certain_enough(truth: Truth, error: float = 0.1, level: float = 0.05) -> float:
    """How confident a label must be so that at most `error` of the labels as confident are wrong, with probability
    1 - `level`; above 1 where the known answers cannot say so.

    Known answers are taken from the most confident on, in a sequence that does not depend on their truth, until the
    upper Clopper-Pearson limit of their errors exceeds `error`. They must be a random sample of all answers."""
    rows = truth.verdicts.rows
    p = truth.out_of_fold[rows]
    confidence = np.maximum(p, 1 - p)
    order = np.argsort(-confidence, kind="stable")
    wrong = ((p >= 0.5) != (truth.verdicts.known[rows] == 1))[order]
    n, errors = np.arange(1, len(rows) + 1), np.cumsum(wrong)
    upper = stats.beta.ppf(1 - level, errors + 1, np.maximum(n - errors, 1e-9))
    begin = int(np.ceil(np.log(level) / np.log1p(-error)))
    threshold = 1.0 + 1e-9
    for size in range(begin, len(rows) + 1):
        if upper[size - 1] > error:
            break
        threshold = float(confidence[order][size - 1])
    return threshold
