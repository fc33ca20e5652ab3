"""Judges under the truth: expected accuracy, sensitivity, specificity and capability J, with intervals and a guard."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse, stats

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.judging.truth import Truth, Verdicts

DRAWS = 200
PSEUDO_VERDICTS = 2.0
"""Verdicts at the panel's mean that are added to everybody's: who has three is not right on 100 %."""
GUARD = 3.3
"""How many standard errors right on known may be from expected: 1 judge in 1,000 by chance."""
NORMAL = float(stats.norm.ppf(0.975))


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """A number per judge, with its 95 % interval."""

    value: Array
    low: Array
    high: Array


@dataclass(frozen=True, slots=True, eq=False)
class JudgeMeasures:
    """What is expected of every judge on answers like these."""

    accuracy: Measure
    sensitivity: Measure
    specificity: Measure
    capability: Measure
    """J = sensitivity + specificity - 1: 0 for a coin, 1 for the perfect judge, negative where it tells against."""


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """Right on the known answers, beside what was expected of them out of fold."""

    n: Array
    right: Array
    expected: Array
    """Shares, not-a-number for who judged no known answer."""
    z: Array

    @property
    def flagged(self) -> Mask:
        with np.errstate(invalid="ignore"):
            return np.abs(self.z) > GUARD


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Of every judge, over the answers that it judged, under a truth: (judges,) or (judges, draws)."""

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


def measure_judges(truth: Truth, draws: int = DRAWS) -> JudgeMeasures:
    """Every judge's expected numbers. Intervals are for answers like these, not only for these: besides the uncertain
    truth, they allow for which answers a judge happened to see."""
    verdicts = truth.verdicts
    plug_in = Counts.under(verdicts, truth.probability)
    accuracy, sensitivity, specificity = plug_in.shares()
    parts = [Counts.under(verdicts, drawn).shares() for drawn in truth.draws(draws)]
    acc, sens, spec = (np.concatenate([part[place] for part in parts], axis=1) for place in range(3))
    more = PSEUDO_VERDICTS + 1
    bad = plug_in.n - plug_in.good
    sens_chance = sensitivity * (1 - sensitivity) / (plug_in.good + more)
    spec_chance = specificity * (1 - specificity) / (np.maximum(bad, 0) + more)
    acc_chance = accuracy * (1 - accuracy) / (plug_in.n + more)
    return JudgeMeasures(
        share_measure(accuracy, acc.var(axis=1) + acc_chance),
        share_measure(sensitivity, sens.var(axis=1) + sens_chance),
        share_measure(specificity, spec.var(axis=1) + spec_chance),
        _j_measure(sensitivity + specificity - 1, (sens + spec).var(axis=1) + sens_chance + spec_chance),
    )


def share_measure(share: Array, variance: Array) -> Measure:
    """A 95 % interval that stays inside 0 and 1: normal on the logit scale."""
    inside = np.clip(share, 1e-9, 1 - 1e-9)
    centre = np.log(inside / (1 - inside))
    half = NORMAL * np.sqrt(variance) / (inside * (1 - inside))
    return Measure(share, 1 / (1 + np.exp(half - centre)), 1 / (1 + np.exp(-half - centre)))


def _j_measure(j: Array, variance: Array) -> Measure:
    """The same inside -1 and 1, on Fisher's scale."""
    inside = np.clip(j, -1 + 1e-9, 1 - 1e-9)
    half = NORMAL * np.sqrt(variance) / (1 - inside**2)
    return Measure(j, np.tanh(np.arctanh(inside) - half), np.tanh(np.arctanh(inside) + half))


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
    """How many independent judges the panel is worth."""

    given_truth: float
    """Judges as good as these whose errors are independent, in information about the truth."""
    kish: float
    """Judges over one plus their mean error correlation times the others."""


def effective_judges(truth: Truth) -> EffectiveJudges:
    """`(sum a)^2 / ((sum b)^2 + R v)` over `mean(a_r^2 / (b_r^2 + v))`, with v = pi^2 / 3.

    a_r is half the distance in logits between good and bad work, b_r how far a judge follows what errors share (one
    factor of their correlations given the truth)."""
    verdicts = truth.verdicts
    _, sensitivity, specificity = Counts.under(verdicts, truth.probability).shares()
    a = (_logit(sensitivity) + _logit(specificity)) / 2
    correlation, shared = _error_correlations(truth, sensitivity, specificity)
    loading = _one_factor(correlation, shared)
    v, r = np.pi**2 / 3, len(a)
    b = loading * np.sqrt(v / (1 - loading**2))
    one = np.mean(a**2 / (b**2 + v))
    given = a.sum() ** 2 / (b.sum() ** 2 + r * v) / one if one > 0 else float(r)
    off = shared.sum()
    mean = float((correlation * shared).sum() / off) if off else 0.0
    return EffectiveJudges(float(np.clip(given, 0, r)), float(r / (1 + (r - 1) * max(mean, 0.0))))


def _error_correlations(truth: Truth, sensitivity: Array, specificity: Array) -> tuple[Array, Array]:
    """(judges, judges) correlation of errors given the truth, and on how many answers; diagonals are 0."""
    verdicts, p = truth.verdicts, truth.probability
    error = verdicts.passes.copy()
    row = np.repeat(np.arange(error.shape[0]), np.diff(error.indptr))
    expected_pass = p[row] * sensitivity[error.indices] + (1 - p[row]) * (1 - specificity[error.indices])
    spread = np.sqrt(expected_pass * (1 - expected_pass))
    error.data = (error.data - expected_pass) / np.maximum(spread, 1e-9)
    shared = np.asarray((verdicts.judged.T @ verdicts.judged).todense(), dtype=np.float64)
    products = np.asarray((error.T @ error).todense())
    scale = np.sqrt(np.maximum(np.diag(products) / np.maximum(np.diag(shared), 1), 1e-9))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(shared > 0, products / np.maximum(shared, 1), 0.0) / np.outer(scale, scale)
    np.fill_diagonal(shared, 0.0)
    np.fill_diagonal(found, 0.0)
    # latent correlation from one of pass and fail, shrunk where few answers are shared
    return np.sin(np.pi / 2 * np.clip(found, -1, 1)) * shared / (shared + 10), shared


def _one_factor(correlation: Array, shared: Array) -> Array:
    """Loadings of the one factor that explains the off-diagonal best, by alternating least squares."""
    if not (shared > 0).any():
        return np.zeros(len(correlation))
    start = np.linalg.eigh(correlation)[1][:, -1]
    found = np.abs(start) * np.sqrt(max(float(start @ correlation @ start), 0.0))
    for _ in range(50):
        fitted = (shared * correlation) @ found / np.maximum(shared @ found**2, 1e-9)
        found = np.clip((found + fitted) / 2, -0.95, 0.95)
    return np.asarray(found)


def _logit(p: Array) -> Array:
    return np.asarray(np.log(p / (1 - p)))


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
    evidence = np.asarray((2 * verdicts.passes[rows] - verdicts.judged[rows]).todense(), dtype=np.float64)
    answers = verdicts.known[rows].astype(np.float64)
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
    return Panel(tuple(chosen if 2 * preferred > splits else chosen[:1]), preferred, splits)


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


@dataclass(frozen=True, slots=True, eq=False)
class SystemRates:
    """Share of good answers per system, whatever judges do on one of them."""

    n: Array
    known: Array
    observed: Array
    """Share of passes among all verdicts."""
    rate: Measure
    covariance: Array
    """(systems, systems) of the rates."""
    rank_low: Array
    rank_high: Array


def system_rates(truth: Truth, draws: int = DRAWS) -> SystemRates:
    """Pass rates from truths drawn under a model in which every system has an intercept of its own."""
    system, verdicts = truth.system, truth.verdicts
    assert system is not None
    size = int(system.max()) + 1
    n = np.bincount(system, minlength=size).astype(np.float64)
    member = _members(system, size)
    rate = member @ truth.probability / n
    drawn = np.concatenate([(member @ each) / n[:, None] for each in truth.draws(draws)], axis=1)
    shrunk = (rate * n + 1) / (n + 2)
    chance = shrunk * (1 - shrunk) / n
    covariance = np.cov(drawn).reshape(size, size) + np.diag(chance)
    measure = share_measure(np.clip(rate, 0.25 / n, 1 - 0.25 / n), np.diag(covariance))
    noise = np.random.default_rng(2).standard_normal(drawn.shape) * np.sqrt(chance)[:, None]
    ranks = stats.rankdata(-(rate[:, None] + drawn - drawn.mean(axis=1, keepdims=True) + noise), axis=0)
    low, high = np.quantile(ranks, [0.025, 0.975], axis=1)
    verdicts_per = member @ np.asarray(verdicts.judged.sum(axis=1))
    passes_per = member @ np.asarray(verdicts.passes.sum(axis=1))
    known = np.bincount(system[verdicts.rows], minlength=size).astype(np.float64)
    return SystemRates(
        n,
        known,
        passes_per / np.maximum(verdicts_per, 1),
        Measure(rate, measure.low, measure.high),
        covariance,
        np.floor(low),
        np.ceil(high),
    )


@dataclass(frozen=True, slots=True, eq=False)
class SliceAccuracy:
    """(judges, systems) accuracy on each system, and a test against the judge's other answers."""

    n: Array
    accuracy: Measure
    p: Array


def accuracy_by_system(truth: Truth, draws: int = DRAWS) -> SliceAccuracy:
    """Each judge on each system, under the truth with system intercepts."""
    system, verdicts = truth.system, truth.verdicts
    assert system is not None
    size = int(system.max()) + 1
    places = [np.flatnonzero(system == number) for number in range(size)]
    slices = [_rows_of(verdicts, place) for place in places]
    n = np.stack([part.answers_per_judge for part in slices], axis=1)
    plug_in = np.stack(
        [
            Counts.under(part, truth.probability[place]).right
            for part, place in zip(slices, places, strict=True)
        ],
        axis=1,
    )
    drawn = np.concatenate(
        [
            np.stack(
                [Counts.under(part, each[place]).right for part, place in zip(slices, places, strict=True)],
                axis=1,
            )
            for each in truth.draws(draws)
        ],
        axis=2,
    )
    mean = ((plug_in.sum(axis=1) + 0.5) / (n.sum(axis=1) + 1))[:, None]
    value = (plug_in + PSEUDO_VERDICTS * mean) / (n + PSEUDO_VERDICTS)
    spread = (drawn / np.maximum(n, 1)[:, :, None]).var(axis=2)
    chance = value * (1 - value) / (n + PSEUDO_VERDICTS + 1)
    rest = n.sum(axis=1, keepdims=True) - n
    inside = drawn / np.maximum(n, 1)[:, :, None]
    outside = (drawn.sum(axis=1, keepdims=True) - drawn) / np.maximum(rest, 1)[:, :, None]
    gap = plug_in / np.maximum(n, 1) - (plug_in.sum(axis=1, keepdims=True) - plug_in) / np.maximum(rest, 1)
    variance = (inside - outside).var(axis=2) + mean * (1 - mean) * (
        1 / np.maximum(n, 1) + 1 / np.maximum(rest, 1)
    )
    p = 2 * stats.norm.sf(np.abs(gap) / np.sqrt(variance))
    p[(n == 0) | (rest == 0)] = np.nan
    return SliceAccuracy(n, share_measure(value, spread + chance), p)


def _members(system: Indices, size: int) -> sparse.csr_array:
    return sparse.csr_array(
        (np.ones(len(system)), (system, np.arange(len(system)))), shape=(size, len(system))
    )


def _rows_of(verdicts: Verdicts, rows: Indices) -> Verdicts:
    return Verdicts(
        verdicts.passes[rows], verdicts.judged[rows], verdicts.known[rows], verdicts.cluster[rows]
    )
