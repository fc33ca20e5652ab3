"""How probable each answer is to be good, from some known answers and everybody's verdicts.

A panel that is judged by what it agrees on vouches for itself. Here the known answers decide: they are regressed on the
verdicts, with partial pooling over judges.

    logit P(g_i = 1) = a + sum_f beta_f x_if + sum_s c_s [i of system s] + sum_r u_r v_ir / sqrt(n_i)
    a ~ N(0, 0.8^2), beta_f ~ N(1.4/3, 0.6^2), c_s ~ N(0, 1), u_r ~ N(0, t^2), t in 0, 0.5, 1.5, 4

with v = +1 for a pass and -1 for a fail, n_i verdicts on answer i, and three features, each scaled to rms 2: the vote;
the naive-Bayes log-odds with error rates from the known answers alone; and the same after EM over all answers (Dawid
and Skene). The last two are cross-fitted: a known answer never enters its own features. The values of t are weighted by
their log scores out of fold. Everything is linear in the verdicts, which are sparse.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import block_diag
from scipy.special import betaln, digamma, expit, log_expit, logit, softmax

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.inference.result import Result
from raterlens.ratings.coded import Ratings
from raterlens.reading.read import read

FEWEST_KNOWN = 15
"""Below it, chance in the known answers decides who looks good."""
FEWEST_OF_A_KIND = 3
"""Known good and known bad answers: error rates of both kinds are asked for."""
UNKNOWN = -1
FOLDS = 5
EM_STEPS = 12
POOLING = (0.0, 0.5, 1.5, 4.0)
"""Spreads of judges' own coefficients, t: none, and three that are weighted by how well they predict."""
STRENGTHS = 2.0 ** np.arange(9)
"""Pseudo-verdicts, 1 to 256, that a beta prior of judges' rates may be worth."""
_INTERCEPT_SD, _FEATURE_MEAN, _FEATURE_SD, _SYSTEM_SD, _RMS = 0.8, 1.4 / 3, 0.6, 1.0, 2.0
_SEED = 20170
_NEWTON_STEPS = 100
_CELLS = 10_000_000
"""Drawn truths that are held at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """Verdicts on answers, and what is known. Several verdicts of one judge on an answer count as one, their
    mean: asking again adds no evidence."""

    passes: sparse.csr_array
    """(answers, judges) share of a judge's verdicts on the answer that are passes, where there are any."""
    judged: sparse.csr_array
    """(answers, judges) 1 where the judge has a verdict."""
    known: NDArray[np.int8]
    """(answers,) 1 good, 0 bad, -1 unknown."""
    cluster: Indices
    """(answers,) answers that are linked, such as one pair in both orders: they share a fold."""

    @classmethod
    def of(
        cls,
        answer: NDArray[np.integer],
        judge: NDArray[np.integer],
        verdict: NDArray[np.integer] | Mask,
        known: NDArray[np.integer],
        cluster: Indices | None = None,
        n_judges: int | None = None,
    ) -> "Verdicts":
        """From one entry per verdict (1 pass, 0 fail), and what is known of every answer (-1: nothing)."""
        shape = len(known), int(judge.max()) + 1 if n_judges is None else n_judges
        # Zeros are kept as entries, so passes and counts have the same places.
        passes = sparse.csr_array((verdict.astype(np.float64), (answer, judge)), shape=shape)
        judged = sparse.csr_array((np.ones(len(verdict)), (answer, judge)), shape=shape)
        for matrix in (passes, judged):
            matrix.sum_duplicates()
        passes.data = passes.data / judged.data
        judged.data = np.ones_like(judged.data)
        linked = np.arange(len(known)) if cluster is None else np.asarray(cluster)
        return cls(passes, judged, np.asarray(known, dtype=np.int8), linked)

    @property
    def rows(self) -> Indices:
        """The known answers."""
        return np.flatnonzero(self.known >= 0)

    @property
    def answers_per_judge(self) -> Array:
        return np.asarray(self.judged.sum(axis=0), dtype=np.float64)

    def without(self, hidden: Indices) -> "Verdicts":
        """The same where these answers are not known."""
        known = self.known.copy()
        known[hidden] = UNKNOWN
        return replace(self, known=known)

    def by_system(self, system: Indices, size: int) -> "Verdicts":
        """Each judge as one judge per system: number r * `size` + s is judge r on system s."""
        answer, judge = self.judged.nonzero()
        place, n = judge * size + system[answer], self.judged.shape[1] * size
        return Verdicts.of(answer, place, self.passes.data, self.known, self.cluster, n)

    def folds(self) -> list[Indices]:
        """The known answers in parts of about the same size; linked answers stay together, and good and bad ones are
        dealt out evenly."""
        rows = self.rows
        clusters, first, member = np.unique(self.cluster[rows], return_index=True, return_inverse=True)
        shuffled = np.random.default_rng(_SEED).permutation(len(clusters))
        order = shuffled[np.argsort(self.known[rows][first][shuffled], kind="stable")]
        fold = np.empty(len(clusters), dtype=np.int64)
        fold[order] = np.arange(len(clusters)) % FOLDS
        parts = [rows[fold[member] == number] for number in range(FOLDS)]
        return [part for part in parts if len(part)]


def read_verdicts(source: Any, known: Any, by: Any, columns: Mapping[str, Any]) -> Ratings:
    """The ratings themselves, or as `rl.read` reads them, with the column of systems among the facets."""
    if isinstance(source, Result):
        source = getattr(source, "ratings", None)  # a fit keeps those that it was fitted to
        if source is None:
            what = "this fit was loaded from a file, which does not contain the ratings"
            raise OptionError(what, "give the ratings instead of the fit", option="ratings")
    if isinstance(source, Ratings):
        if known is not None or columns:
            remedy = Message("give ", Option("known", known or "gold"), " to rl.read")
            raise OptionError("these ratings have been read already", remedy)
        return source
    given = dict(columns)
    if isinstance(by, str) and by != "item" and by not in (given.get("item"), given.get("facets")):
        more = given.get("facets") or []
        given["facets"] = [*([more] if isinstance(more, str) else more), by]
    return read(source, known=known, **given)


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Distinct answers, each a student and an item, with every verdict on them."""

    student: Indices
    item: Indices
    known: Indices
    """(answers,) the right score; -1 where unknown."""
    answer: Indices
    """(verdicts,) which answer."""
    judge: NDArray[np.integer]
    score: NDArray[np.integer]
    n_judges: int

    @property
    def rows(self) -> Indices:
        return np.flatnonzero(self.known >= 0)

    @classmethod
    def of(cls, ratings: Ratings) -> "Answers":
        key = ratings.student.astype(np.int64) * ratings.n_items + ratings.item
        keys, answer = np.unique(key, return_inverse=True)
        known = np.full(len(keys), UNKNOWN, dtype=np.int64)
        if ratings.known is not None:
            theirs = ratings.known.student.astype(np.int64) * ratings.n_items + ratings.known.item
            place = np.minimum(np.searchsorted(keys, theirs), len(keys) - 1)
            met = keys[place] == theirs
            known[place[met]] = ratings.known.answer[met]
        return cls(
            keys // ratings.n_items, keys % ratings.n_items, known, answer, ratings.rater, ratings.score,
            ratings.n_raters,
        )  # fmt: skip

    def questions(self, left_out: Indices) -> list[Verdicts]:
        """Pass or fail at every cut that known answers lie on both sides of, without the judges left out."""
        if (n := len(self.rows)) < FEWEST_KNOWN:
            what = f"{counted(n, 'known answer')} that judges have judged cannot tell who judges well"
            more = f"look up at least {FEWEST_KNOWN - n} more, better 30 to 60 in all ("
            raise InputError(what, Message(more, Option("known"), ")"), value=n)
        found, heard = [], ~np.isin(self.judge, left_out)
        for cut in range(1, int(max(self.score.max(), self.known.max())) + 1):
            known = np.where(self.known < 0, UNKNOWN, self.known >= cut)
            if min((known == 1).sum(), (known == 0).sum()) >= FEWEST_OF_A_KIND:
                passes = (self.score >= cut)[heard]
                given = self.answer[heard], self.judge[heard], passes, known, self.student, self.n_judges
                found.append(Verdicts.of(*given))
        if not found:
            most = int(np.bincount(self.known[self.rows]).max())
            what = (
                f"of {counted(n, 'known answer')} nearly all are alike ({most:,} of one kind), so one of a judge's two "
                "error rates is not known"
            )
            remedy = (
                f"look up answers until at least {FEWEST_OF_A_KIND} are good and {FEWEST_OF_A_KIND} are bad"
            )
            raise InputError(what, remedy, value=most, option="known")
        return found

    def systems(self, ratings: Ratings, by: str | Mapping[Any, Any]) -> tuple[Indices, pl.Series]:
        """(answers,) the system of each, and the systems' labels."""
        if isinstance(by, Mapping):
            return self._mapped(ratings, by)
        if by == "item":
            return self.item, ratings.items.cast(pl.String)
        facets = {facet.name: facet for facet in (*ratings.facets, *ratings.beside)}
        if by not in facets:
            there = f"; there are: {', '.join(['item', *facets])}"
            remedy = Message("read its column too, ", Option("facets", [str(by)]), there)
            raise OptionError(f"the ratings have no facet {shortened(by)}", remedy, value=by, option="by")
        codes = facets[by].codes.astype(np.int64)
        found = np.zeros(len(self.known), dtype=np.int64)
        found[self.answer] = codes
        if (differs := np.flatnonzero(found[self.answer] != codes)).size:
            student = str(ratings.students[int(ratings.student[differs[0]])])
            name_answers = (
                "an answer belongs to one system: let the student column name the answer, not the task"
            )
            raise InputError(
                f"student {shortened(student)} has more than one {by}", name_answers, option="by"
            )
        return found, facets[by].labels.cast(pl.String)

    def _mapped(self, ratings: Ratings, by: Mapping[Any, Any]) -> tuple[Indices, pl.Series]:
        named = {str(student): str(group) for student, group in by.items()}
        students = ratings.students.cast(pl.String)
        if missing := [student for student in students if student not in named]:
            what = f"{Option('by')} has no group for {counted(len(missing), 'student')}: {listed(missing, 3)}"
            raise OptionError(what, "give one for every student", value=missing[0], option="by")
        labels, codes = np.unique([named[student] for student in students], return_inverse=True)
        return codes[self.student], pl.Series(labels.tolist())


@dataclass(frozen=True, slots=True, eq=False)
class _Regression:
    """The coefficients at one t: their mode, and a root of their covariance, so that draws are `mode + root z`."""

    mode: Array
    root: Array


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Known and estimated truth of every answer."""

    verdicts: Verdicts
    probability: Array
    """(answers,) that it is good; 0 or 1 where that is known."""
    out_of_fold: Array
    """(answers,) the same for known answers as if each were unknown; NaN elsewhere."""
    weights: Array
    """Weights of each t."""
    system: Indices | None
    features: Array
    """(answers, 3)"""
    _design: sparse.csr_array
    """(answers, coefficients)"""
    _regressions: tuple[_Regression, ...]
    """At each t."""

    def draws(self, n: int, seed: int = _SEED) -> Iterator[Array]:
        """Blocks of (answers, draws) truths, 0 or 1, drawn with t, the coefficients and the answers uncertain."""
        rng = np.random.default_rng(seed)
        known, rows = self.verdicts.known, self.verdicts.rows
        which = np.sort(rng.choice(len(POOLING), size=n, p=self.weights))
        size = max(1, min(n, _CELLS // max(len(known), 1)))
        for begin in range(0, n, size):
            drawn = [
                found.mode + found.root @ rng.standard_normal(found.root.shape[1])
                for found in (self._regressions[t] for t in which[begin : begin + size])
            ]
            log_odds = self._design @ np.stack(drawn, axis=1)
            truth = (rng.random(log_odds.shape) < expit(log_odds)).astype(np.float64)
            truth[rows] = known[rows, None]
            yield truth


def estimate_truth(verdicts: Verdicts, system: Indices | None = None, features: Array | None = None) -> Truth:
    """The posterior of the truth; `system` (answers,) gives every system an intercept of its own. `features`, where
    they have been computed before, save most of the time."""
    x = answer_features(verdicts) if features is None else features
    rows, n = verdicts.rows, len(verdicts.known)
    known, own = verdicts.known[rows].astype(np.float64), _scaled_signs(verdicts)
    # Known answers tell of judges' coefficients in these directions alone.
    _, singular, right = np.linalg.svd(own[rows].toarray(), full_matrices=False)
    directions = right[singular > 1e-9 * max(float(singular.max(initial=0.0)), 1e-300)].T
    of_system = sparse.csr_array((n, 0))
    if system is not None:
        of_system = sparse.csr_array((np.ones(n), (np.arange(n), system)))
    design = sparse.hstack([np.ones((n, 1)), x, of_system, own], format="csr")
    through = block_diag(np.eye(1 + x.shape[1] + of_system.shape[1]), directions)
    seen = design[rows] @ through
    priors = [_prior(t, of_system.shape[1], directions.shape[1]) for t in POOLING]
    held_out = np.empty((len(POOLING), len(rows)))
    for part in verdicts.folds():
        test = np.isin(rows, part)
        for place, prior in enumerate(priors):
            held_out[place, test] = seen[test] @ _regress(seen[~test], known[~test], prior).mode
    weights = softmax(log_expit(np.where(known == 1, 1.0, -1.0) * held_out).sum(axis=1))
    fits = [_regress(seen, known, prior) for prior in priors]
    regressions = tuple(_Regression(through @ found.mode, through @ found.root) for found in fits)
    probability = expit(design @ np.stack([found.mode for found in regressions], axis=1)) @ weights
    probability[rows] = known
    out_of_fold = np.full(n, np.nan)
    out_of_fold[rows] = weights @ expit(held_out)
    return Truth(verdicts, probability, out_of_fold, weights, system, x, design, regressions)


def answer_features(verdicts: Verdicts) -> Array:
    """(answers, 3) the vote, naive Bayes from the known answers, and the same after EM, each to root mean square 2;
    the last two of a known answer as if its fold were unknown."""
    n = np.asarray(verdicts.judged.sum(axis=1), dtype=np.float64)
    k = np.asarray(verdicts.passes.sum(axis=1), dtype=np.float64)
    found = np.column_stack([logit((k + 0.5) / (n + 1)), *_error_rate_log_odds(verdicts)])
    for part in verdicts.folds():
        found[part, 1:] = np.column_stack(
            [each[part] for each in _error_rate_log_odds(verdicts.without(part))]
        )
    scale = np.sqrt(np.mean(found**2, axis=0))
    return np.asarray(_RMS * found / np.where(scale > 0, scale, 1.0))


def _error_rate_log_odds(verdicts: Verdicts) -> tuple[Array, Array]:
    """Naive-Bayes log-odds of every answer: with judges' rates from the known answers, and after EM over all."""
    rows = verdicts.rows
    good = verdicts.known[rows].astype(np.float64)
    passes, judged = verdicts.passes, verdicts.judged
    known_only = _rates(passes[rows], judged[rows], good)
    naive = _bayes(passes, judged, known_only, float(logit((good.sum() + 1) / (len(good) + 2))))
    found = naive
    for _ in range(EM_STEPS):
        posterior = expit(found)
        posterior[rows] = good
        prior = float(logit((posterior.sum() + 1) / (len(posterior) + 2)))
        found = _bayes(passes, judged, _rates(passes, judged, posterior), prior)
    return naive, found


def _rates(
    passes: sparse.csr_array, judged: sparse.csr_array, good: Array
) -> tuple[Array, Array, Array, Array]:
    """Expected logs of (pass, fail) given good work and given bad work, per judge, under beta priors across judges."""
    n_good, n_all = judged.T @ good, np.asarray(judged.sum(axis=0))
    k_good, k_all = passes.T @ good, np.asarray(passes.sum(axis=0))
    return (*_expected_logs(k_good, n_good), *_expected_logs(k_all - k_good, n_all - n_good))


def _expected_logs(k: Array, n: Array) -> tuple[Array, Array]:
    n = np.maximum(n, 0.0)
    k = np.clip(k, 0.0, n)
    mean = (k.sum() + 0.5) / (n.sum() + 1)
    a, b = STRENGTHS[:, None] * mean, STRENGTHS[:, None] * (1 - mean)
    fits = (betaln(a + k, b + n - k) - betaln(a, b)).sum(axis=1)
    strength = STRENGTHS[np.argmax(fits)]
    a, b = strength * mean + k, strength * (1 - mean) + n - k
    return digamma(a) - digamma(a + b), digamma(b) - digamma(a + b)


def _bayes(
    passes: sparse.csr_array, judged: sparse.csr_array, rates: tuple[Array, Array, Array, Array], prior: float
) -> Array:
    pass_good, fail_good, pass_bad, fail_bad = rates
    for_pass, for_fail = pass_good - pass_bad, fail_good - fail_bad
    return np.asarray(prior + passes @ (for_pass - for_fail) + judged @ for_fail)


def _scaled_signs(verdicts: Verdicts) -> sparse.csr_array:
    """(answers, judges) v_ir / sqrt(n_i)."""
    n = np.asarray(verdicts.judged.sum(axis=1), dtype=np.float64)
    signs = verdicts.judged.copy()
    signs.data = 2 * verdicts.passes.data - 1
    return sparse.csr_array(sparse.diags_array(1 / np.sqrt(np.maximum(n, 1.0))) @ signs)


def _prior(t: float, n_systems: int, n_own: int) -> tuple[Array, Array]:
    """Means and precisions of the coefficients; infinite where a coefficient is 0."""
    sizes = [1, 3, n_systems, n_own]
    own = np.inf if t == 0 else t**-2
    precision = np.repeat([_INTERCEPT_SD**-2, _FEATURE_SD**-2, _SYSTEM_SD**-2, own], sizes)
    return np.repeat([0.0, _FEATURE_MEAN, 0.0, 0.0], sizes), precision


def _regress(x: Array, y: Array, prior: tuple[Array, Array]) -> _Regression:
    """Posterior mode by Newton's method with step halving, and the curvature there."""
    mean, precision = prior
    free = np.isfinite(precision)
    x, centre, precision = x[:, free], mean[free], precision[free]
    signs = np.where(y == 1, 1.0, -1.0)

    def objective(b: Array) -> float:
        return float(log_expit(signs * (x @ b)).sum() - 0.5 * (precision * (b - centre) ** 2).sum())

    mode = centre.copy()
    value = objective(mode)
    for _ in range(_NEWTON_STEPS):
        p = expit(x @ mode)
        gradient = x.T @ (y - p) - precision * (mode - centre)
        information = (x * (p * (1 - p))[:, None]).T @ x + np.diag(precision)
        step = np.linalg.solve(information, gradient)
        if gradient @ step < 1e-12:
            break
        while (trial := objective(mode + step)) < value and np.abs(step).max() > 1e-12:
            step = step / 2
        mode, value = mode + step, trial
    p = expit(x @ mode)
    information = (x * (p * (1 - p))[:, None]).T @ x + np.diag(precision)
    # information = L L', so inverse(L)' z has its inverse as covariance
    inverse = np.linalg.inv(np.linalg.cholesky(information)).T
    full = np.zeros((len(mean), len(mean)))
    full[np.ix_(free, free)] = inverse
    whole = np.zeros(len(mean))
    whole[free] = mode
    return _Regression(whole, full)
