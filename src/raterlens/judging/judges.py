"""Judges and systems under the truth.

Of judges: expected accuracy, sensitivity, specificity and capability J, with intervals and a guard; how many
independent ones they are worth, and whom to keep.

Of systems: the share of good answers (`rl.pass_rate`). Judges who err inflate low shares and deflate high ones, and may
err differently on one system. Here the truth of every answer is uncertain and drawn, with an intercept per system in
its regression on the verdicts (`truth.py`): what the known answers of a system say about it weighs as much as it
should, whatever judges do there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse, special, stats
from scipy.sparse import csgraph

from raterlens.base.arrays import NORMAL_95, Array, Indices, Mask
from raterlens.base.errors import InputError
from raterlens.base.notebook import Point, intervals, lines, shown, table
from raterlens.base.text import Message, Option, counted, interval, listed, number
from raterlens.inference.rater_comparison import each_pair
from raterlens.judging.truth import FEWEST_KNOWN, Answers, Truth, Verdicts, estimate_truth, read_verdicts
from raterlens.ratings.coded import Backend, Ratings, to_backend

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
    """Right on the known answers, beside what was expected of each judge out of fold."""

    n: Array
    right: Array
    expected: Array
    """Shares; NaN for judges without known answers."""
    z: Array
    flagged: Mask
    """Who is beyond `GUARD`, and not only by the normal approximation, which few answers make too bold."""


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Counts of every judge, over the answers that it judged, under a truth: (judges,) or (judges, draws)."""

    n: Array
    passes: Array
    good: Array
    good_passed: Array

    @classmethod
    def under(cls, verdicts: Verdicts, truth: Array) -> "Counts":
        shape = (-1,) + (1,) * (truth.ndim - 1)
        n, passes = (each.sum(axis=0).reshape(shape) for each in (verdicts.judged, verdicts.passes))
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
    signs = sparse.csc_array(2 * verdicts.passes[rows] - verdicts.judged[rows])
    n = np.asarray(verdicts.judged[rows].sum(axis=0), dtype=np.float64)
    fails = n - np.asarray(verdicts.passes[rows].sum(axis=0))
    right, expected = fails + signs.T @ answers, fails + signs.T @ p
    variance = signs.power(2).T @ (p * (1 - p))
    with np.errstate(invalid="ignore", divide="ignore"):
        z = (right - expected) / np.sqrt(variance)
        flagged = np.abs(z) > GUARD
        for judge in np.flatnonzero(flagged):
            own = slice(*signs.indptr[judge : judge + 2])
            chances = (1 + signs.data[own] * (2 * p[signs.indices[own]] - 1)) / 2
            flagged[judge] = _tail(chances, right[judge]) < stats.norm.sf(GUARD)
        return Guard(n, right / n, expected / n, z, flagged)


def _tail(chances: Array, hits: float) -> float:
    """The smaller of the probabilities of as few hits and of as many, given the chance of each."""
    found = np.ones(1)
    for chance in chances:
        found = np.convolve(found, [1 - chance, chance])
    few, many = int(np.floor(hits + 1e-9)), int(np.ceil(hits - 1e-9))
    return float(min(found[: few + 1].sum(), found[many:].sum()))


def measures_over_cuts(truths: Sequence[Truth]) -> tuple[dict[str, Any], dict[str, Measure]]:
    """Columns of a table of judges, and their measures: means over cuts, as are the ends of the intervals, which is
    exact where cuts err together and wide where they do not."""
    found, guards = [measure_judges(truth) for truth in truths], [guard(truth) for truth in truths]

    def mean(name: str, part: str) -> Array:
        return np.asarray(np.mean([getattr(each[name], part) for each in found], axis=0))

    measures = {name: Measure(*(mean(name, part) for part in ("value", "low", "high"))) for name in MEASURES}
    columns: dict[str, Any] = {"n": truths[0].verdicts.answers_per_judge.astype(np.int64)}
    for name, each in measures.items():
        columns |= each.columns(name)
    z = np.stack([each.z for each in guards])
    worst = np.argmax(np.nan_to_num(np.abs(z)), axis=0)
    columns |= {
        "n_known": guards[0].n.astype(np.int64),
        "right": np.mean([each.right for each in guards], axis=0),
        "expected": np.mean([each.expected for each in guards], axis=0),
        "guard_z": z[worst, np.arange(len(worst))],
        "flagged": np.any([each.flagged for each in guards], axis=0),
    }
    return columns, measures


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
        if self.n < 2:
            return []
        found = "Judges share too few known answers to tell how many independent ones they are worth."
        if np.isfinite(self.given_truth):
            worth = f"{self.given_truth:.1f} independent ones ({self.low:.1f} to {self.high:.1f})"
            found = f"The {self.n:,} judges are worth {worth}."
            if self.p < 0.01:
                chance = "p < 0.001" if self.p < 0.001 else f"p = {self.p:.3f}"
                found += f" They make the same errors more often than chance explains ({chance})."
        copies = (
            f"{listed(group, 7)} nearly always err together: they count as one." for group in self.near_copies
        )
        return [found, *copies]


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


_MOST_CANDIDATES, _LARGEST, _SPLITS = 40, 7, 20
"""Judges who are considered; of a panel, at most; and splits of the known answers."""


@dataclass(frozen=True, slots=True)
class Panel:
    """The judges worth keeping, the best first, and in how many of `splits` half-samples of the known answers a panel
    predicted the other half better than its first judge alone."""

    judges: tuple[int, ...]
    preferred: int
    splits: int


def judges_to_keep(truth: Truth) -> Panel:
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
    for _ in range(_SPLITS):
        train = rng.permutation(len(rows)) < len(rows) / 2
        chosen = _greedy(evidence[train], answers[train])
        best, panel = (evidence[:, these].sum(axis=1) for these in (chosen[:1], chosen))
        preferred += _held_out_loss(panel, answers, train) < _held_out_loss(best, answers, train)
    chosen = _greedy(evidence, answers)
    kept = places[chosen if 2 * preferred > _SPLITS else chosen[:1]]
    return Panel(tuple(kept.tolist()), preferred, _SPLITS)


def _greedy(evidence: Array, answers: Array) -> list[int]:
    chosen: list[int] = []
    best, total = np.inf, np.zeros(len(answers))
    for _ in range(min(_LARGEST, evidence.shape[1])):
        losses = np.array([_loss(total + each, answers) for each in evidence.T])
        losses[chosen] = np.inf
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
    fewest = int(np.ceil(np.log(level) / np.log1p(-error)))
    held = np.logical_and.accumulate(upper[fewest - 1 :] <= error).sum()
    return float(confidence[order][fewest + held - 2]) if held else 1.0 + 1e-9


# ----------------------------------------------------------------------------------- share of good answers per system

_NAMED = 5
_FEW_KNOWN = 5
"""Known answers of a system below which its rate rests on the others'."""


@dataclass(frozen=True, slots=True, eq=False)
class PassRates:
    """Shares of good answers per system, with what they rest on."""

    tables: Mapping[str, pl.DataFrame]
    """`systems`, `differences` and `slices`, as polars has them."""
    by: str
    n_known: int
    warnings: tuple[str, ...] = ()
    backend: Backend = "polars"

    @property
    def rates(self) -> Any:
        """A row per system, the best first: its name, n (answers), known (answers), observed (share of passes among
        all verdicts), rate (share of good answers) with its 95 % interval, and the ranks that it may have."""
        return to_backend(self.tables["systems"], self.backend)

    @property
    def differences(self) -> Any:
        """A row per pair of systems, the better first: difference of their rates with its 95 % interval, p and p_holm
        (adjusted for the number of pairs)."""
        return to_backend(self.tables["differences"], self.backend)

    @property
    def slices(self) -> Any:
        """A row per judge and system: n, accuracy with its interval, and p, of a test whether accuracy differs from
        that on other systems."""
        return to_backend(self.tables["slices"], self.backend)

    def words(self) -> list[str]:
        """Conclusions, one sentence each."""
        pairs = self.tables["differences"]
        if not pairs.height:
            return [*self.warnings]
        clear = [
            f"{row[self.by]} beats {row['other']} by {100 * row['difference']:.0f} points "
            f"({100 * row['low']:.0f} to {100 * row['high']:.0f})"
            for row in pairs.filter(pl.col("p_holm") < 0.05).iter_rows(named=True)
        ]
        more = [f"and {counted(len(clear) - _NAMED, 'more pair')}"] if len(clear) > _NAMED else []
        found = "; ".join([*clear[:_NAMED], *more]) or f"No two values of {self.by} clearly differ"
        return [f"{found}.", *self.warnings]

    def lines(self) -> list[str]:
        """The rate of each system, one line each."""
        found = []
        for row in self.tables["systems"].iter_rows(named=True):
            ranks = " to ".join(map(str, dict.fromkeys((row["rank_low"], row["rank_high"]))))
            found.append(
                f"{row[self.by]}: {number(row['rate'])} ({interval(row['low'], row['high'], ' to ')}), judges pass "
                f"{number(row['observed'])}; rank {ranks}; {counted(row['n'], 'answer')}, {row['known']:,} known"
            )
        return found

    def summary(self) -> str:
        """The rates in plain words."""
        return "\n".join([*self.lines(), "", *self.words()])

    def __repr__(self) -> str:
        return (
            f"<PassRates of {counted(self.tables['systems'].height, 'group')} by {self.by!r}: see summary()>"
        )

    def _repr_html_(self) -> str:
        points: list[Point] = [
            (str(name), *numbers)
            for name, *numbers in self.tables["systems"].select(self.by, "rate", "low", "high").iter_rows()
        ]
        columns = (self.by, "other", "difference", "low", "high", "p_holm")
        return shown(
            f"Share of good answers by {self.by}",
            intervals(points, (0.0, 1.0), "share of good answers"),
            table(columns, self.tables["differences"].select(columns).iter_rows()),
            lines(self.words()),
        )


def pass_rate(source: Any, *, by: str | Mapping[Any, Any], known: Any = None, **columns: Any) -> PassRates:
    """Estimate the share of good answers per system (or other group), allowing for judges' errors.

    Parameters
    ----------
    source
        A fit, ratings (`rl.read(..., known=)`), or what `rl.read` takes: a path or a dataframe. Pass or fail only.
    by
        A facet or column, such as the system that wrote an answer; `"item"`; or a mapping from students to groups.
    known
        The column of known answers, or a table of them: at least 15, a random sample of each system's. `rl.judge` has
        the judges beside these rates.
    columns
        Further options of `rl.read`, such as `cut=4`.

    Returns
    -------
    PassRates
        `rates`, `differences` between systems, `slices` (judges' accuracy per system), `summary()`.

    Examples
    --------
    >>> import raterlens as rl
    >>> drawn = rl.simulate(model="dawid-skene", students=400, raters=4, items=2, seed=1)
    >>> work = drawn.ratings.table().group_by("student", "item", maintain_order=True)
    >>> truth = work.agg(gold=(pl.col("score").mean() > 0.5).cast(int))
    >>> verdicts = drawn.ratings.table().join(truth.head(100), on=["student", "item"], how="left")
    >>> rl.pass_rate(verdicts, by="item", known="gold").rates.columns
    ['item', 'n', 'known', 'observed', 'rate', 'low', 'high', 'rank_low', 'rank_high']
    """
    ratings = read_verdicts(source, known, by, columns)
    if ratings.known is None:
        otherwise = (
            "); raters who err independently give shares without any: rl.fit(ratings, model='dawid-skene'), with the "
            "system as item, has them as prevalence"
        )
        remedy = Message(f"look up at least {FEWEST_KNOWN} answers (", Option("known"), otherwise)
        raise InputError("no answer is known, and judges who agree may all be wrong", remedy)
    if ratings.n_categories > 2:
        highest = ratings.n_categories - 1
        what = f"scores go from 0 to {highest * ratings.score_step:g}, but an answer is either good or not"
        remedy = Message("give the lowest passing score, for example ", Option("cut", highest))
        raise InputError(what, remedy, value=highest)
    answers = Answers.of(ratings)
    verdicts = answers.questions(np.zeros(0, dtype=np.int64))[0]
    group = answers.systems(ratings, by)
    name = by if isinstance(by, str) else "group"
    return rates_by_system(ratings, verdicts, group, name, None)


def rates_by_system(
    ratings: Ratings, verdicts: Verdicts, group: tuple[Indices, pl.Series], by: str, features: Array | None
) -> PassRates:
    """Rates, differences and slices of one question; `features` where they have been computed already."""
    system, labels = group
    truth = estimate_truth(verdicts, system, features)
    systems, covariance = system_rates(truth, labels, by)
    tables = {
        "systems": systems.sort("rate", descending=True),
        "differences": _differences(systems, covariance, by),
        "slices": slices(truth, ratings.raters.cast(pl.String), labels, by),
    }
    few = tables["systems"].filter(pl.col("known") < _FEW_KNOWN)
    warnings = tuple(
        f"{row[by]} has {counted(row['known'], 'known answer')}: its rate rests on how judges do on other answers."
        for row in few.head(_NAMED).iter_rows(named=True)
    )
    return PassRates(tables, by, len(verdicts.rows), warnings, ratings.backend)


def system_rates(truth: Truth, labels: pl.Series, by: str) -> tuple[pl.DataFrame, Array]:
    """A row per system, and the covariance of the rates: from truths drawn under a model in which every system has an
    intercept of its own."""
    system, verdicts, size = truth.system, truth.verdicts, len(labels)
    assert system is not None
    n = np.bincount(system, minlength=size).astype(np.float64)
    place = (system, np.arange(len(system)))
    member = sparse.csr_array((np.ones(len(system)), place), shape=(size, len(system)))
    rate = member @ truth.probability / n
    drawn = np.concatenate([(member @ each) / n[:, None] for each in truth.draws(DRAWS)], axis=1)
    shrunk = (rate * n + 1) / (n + 2)
    chance = shrunk * (1 - shrunk) / n
    covariance = np.cov(drawn).reshape(size, size) + np.diag(chance)
    measure = share_measure(np.clip(rate, 0.25 / n, 1 - 0.25 / n), np.diag(covariance))
    noise = np.random.default_rng(2).standard_normal(drawn.shape) * np.sqrt(chance)[:, None]
    ranks = stats.rankdata(-(rate[:, None] + drawn - drawn.mean(axis=1, keepdims=True) + noise), axis=0)
    lowest, highest = np.quantile(ranks, [0.025, 0.975], axis=1)
    passes, given = (member @ np.asarray(each.sum(axis=1)) for each in (verdicts.passes, verdicts.judged))
    columns = {
        by: labels,
        "n": n.astype(np.int64),
        "known": np.bincount(system[verdicts.rows], minlength=size).astype(np.int64),
        "observed": passes / np.maximum(given, 1),
        "rate": rate,
        "low": measure.low,
        "high": measure.high,
        "rank_low": np.floor(lowest).astype(np.int64),
        "rank_high": np.ceil(highest).astype(np.int64),
    }
    return pl.DataFrame(columns), covariance


def _differences(systems: pl.DataFrame, covariance: Array, by: str) -> pl.DataFrame:
    one, other, tests = each_pair(systems["rate"].to_numpy(), covariance)
    half = NORMAL_95 * tests.se
    columns = {
        by: systems[by].gather(one),
        "other": systems[by].gather(other),
        "difference": tests.difference,
        "low": tests.difference - half,
        "high": tests.difference + half,
        "p": tests.p,
        "p_holm": tests.holm,
    }
    return pl.DataFrame(columns).sort("p")


def slices(truth: Truth, judges: pl.Series, labels: pl.Series, by: str) -> pl.DataFrame:
    """A row per judge and system: its accuracy there, under the truth with system intercepts, and p of a test against
    that on the judge's other answers."""
    size = len(labels)
    assert truth.system is not None
    apart = truth.verdicts.by_system(truth.system, size)
    counts = Counts.under(apart, truth.probability)
    n, right = (each.reshape(-1, size) for each in (counts.n, counts.right))
    drawn = np.concatenate([Counts.under(apart, each).right for each in truth.draws(DRAWS)], axis=1)
    drawn = drawn.reshape(-1, size, drawn.shape[1])
    rest = n.sum(axis=1, keepdims=True) - n
    here, there = np.maximum(n, 1), np.maximum(rest, 1)
    inside = drawn / here[:, :, None]
    outside = (drawn.sum(axis=1, keepdims=True) - drawn) / there[:, :, None]
    mean = ((right.sum(axis=1) + 0.5) / (n.sum(axis=1) + 1))[:, None]
    value = (right + PSEUDO_VERDICTS * mean) / (n + PSEUDO_VERDICTS)
    chance = value * (1 - value) / (n + PSEUDO_VERDICTS + 1)
    accuracy = share_measure(value, inside.var(axis=2) + chance)
    gap = right / here - (right.sum(axis=1, keepdims=True) - right) / there
    variance = (inside - outside).var(axis=2) + mean * (1 - mean) * (1 / here + 1 / there)
    p = 2 * stats.norm.sf(np.abs(gap) / np.sqrt(variance))
    who, where = (part.ravel() for part in np.indices(n.shape))
    columns = {
        "judge": judges.gather(who),
        by: labels.gather(where),
        "n": n.ravel().astype(np.int64),
        **{name: column.ravel() for name, column in accuracy.columns("accuracy").items()},
        "p": pl.Series(np.where(rest > 0, p, np.nan).ravel()).fill_nan(None),
    }
    return pl.DataFrame(columns).filter(pl.col("n") > 0)
