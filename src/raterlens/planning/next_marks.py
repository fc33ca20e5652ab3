"""Choose which rater should mark which script next, while marking runs, from the ratings so far.

Rater r reads student n, about whom so far the posterior pi is known. The reading's sum of scores T has the predictive
probability p_T = sum pi c_r(T | t), and so the expected information J = sum_T g_T g_T' / p_T, g_T the derivative of
p_T: directly by the reader's slope and severity, and by those of earlier readers through pi. With V the covariance of
slopes and severities, and kappa's derivatives C,

    V' = V - V (1 + J V)^-1 J V,    gain = sum_k [C (V - V') C']_kk / (2 se_k)

is how much the sum of kappa's standard errors falls. Marks are chosen one after the other, the best first. Items are
taken for known. A choice by what is known already leaves the likelihood as it is: estimates and standard errors need no
correction.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.base.errors import OptionError
from raterlens.base.text import counted, number
from raterlens.config.option_fields import check_whole
from raterlens.estimation.scoring import with_scores
from raterlens.inference.covariance import in_full
from raterlens.inference.measurement import measured_fit
from raterlens.inference.resampling import check_same
from raterlens.likelihood.nodes import Nodes
from raterlens.planning.assignment import People, forbidden_pairs, raters_of
from raterlens.planning.assumed_panel import AssumedPanel, ReadingTables, estimated, reading_tables
from raterlens.planning.normal_marks import MarkState
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.inference.result import Result

# Students whose candidates are worked out at a time, so that the table of gains stays small.
_BLOCK = 256
_REACH, _STEP = 5.25, 0.15


@dataclass(frozen=True, slots=True, eq=False)
class NextMarks:
    """Readings to have done next, the most useful first."""

    table: pl.DataFrame
    """student, rater, gain: how much the mean standard error of kappa is expected to fall"""
    kappa_se: float
    """Mean standard error of kappa now"""
    expected: float
    """The same after these readings"""

    def summary(self) -> str:
        """In words."""
        return (
            f"{counted(self.table.height, 'reading')}: the mean standard error of kappa is expected to fall from "
            f"{number(self.kappa_se, 4)} to {number(self.expected, 4)}."
        )


def next_marks(
    fit: "Result",
    ratings: Ratings,
    budget: int = 20,
    *,
    capacity: int | Mapping[str, float] | str | None = None,
    forbidden: Any = None,
    floor: int = 0,
) -> NextMarks:
    """Choose which rater should mark which student next, to know kappa best.

    Parameters
    ----------
    fit
        Of the ratings so far (`gmf` or `tfm`, logit link), with standard errors.
    ratings
        Those that were fitted.
    budget
        How many readings. Each student gets at most one of them: afterwards, fit again.
    capacity
        The most readings that each rater can still do: one number, or by label (others do none), or the path of a
        table with the columns `rater` and `load`.
    forbidden
        Who may not mark whom: pairs (student, rater), or a dataframe or the path of a table with these columns.
    floor
        Students with fewer readings than this come first.

    Returns
    -------
    NextMarks
        `table`, `kappa_se`, `expected`, `summary()`.

    Examples
    --------
    >>> import raterlens as rl
    >>> ratings = rl.simulate(students=100, raters=6, items=2, raters_per_student=2, seed=1).ratings
    >>> found = rl.next_marks(rl.fit(ratings, model="gmf", halo="none"), ratings, budget=10, capacity=3)
    >>> found.table.height, found.expected < found.kappa_se
    (10, True)
    """
    check_whole("budget", budget, 1)
    check_whole("floor", floor, 0)
    known = fit.calibration
    if known is None or known.covariance is None:
        what = "what to mark next follows from standard errors, which this fit does not have"
        raise OptionError(what, "fit 'gmf' or 'tfm' with standard errors", option="fit")
    panel, _ = estimated(fit, None)
    check_same(fit, ratings)
    people = People(ratings.raters.cast(pl.String))
    students = People(ratings.students.cast(pl.String))
    left = _capacity(capacity, people, budget)
    kind: type[_State] | type[MarkState] = _State if panel.marks is None else MarkState
    state = kind.of(panel, with_scores(ratings, known.scores))
    allowed = ~state.marked
    pairs = forbidden_pairs(forbidden, students, people)
    allowed[pairs[:, 0], pairs[:, 1]] = False
    search = _Search(fit, panel, state)
    chosen: list[tuple[int, int, float]] = []
    for some in (state.marked.sum(axis=1) < floor, np.ones(len(allowed), bool)):
        taken = search.greedy(allowed & some[:, None], left, budget - len(chosen))
        for student, _, _ in taken:
            allowed[student] = False
        chosen += taken
    return NextMarks(
        pl.DataFrame(
            {
                "student": ratings.students.gather([student for student, _, _ in chosen]),
                "rater": ratings.raters.gather([rater for _, rater, _ in chosen]),
                "gain": np.array([gain for _, _, gain in chosen], float) / panel.n_raters,
            }
        ),
        float(search.at_first.mean()),
        float(search.errors().mean()),
    )


def _capacity(given: Any, raters: People, budget: int) -> Array:
    n = len(raters.labels)
    if given is None:
        return np.full(n, float(budget))
    if isinstance(given, int) and not isinstance(given, bool):
        check_whole("capacity", given, 1)
        return np.full(n, float(given))
    people = raters_of(given, None)
    loads = dict(
        zip(people.labels, np.full(n, budget) if people.loads is None else people.loads, strict=False)
    )
    return np.array([float(loads.get(label, 0.0)) for label in raters.labels])


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """Knowledge of students from the ratings so far."""

    tables: ReadingTables
    marked: Mask
    """(students, raters)"""
    sums: Array
    """(students, raters): of scores, where marked"""
    posterior: Array
    """(students, Q)"""

    @staticmethod
    def of(panel: AssumedPanel, ratings: Ratings) -> "_State":
        points = np.arange(-_REACH, _REACH + _STEP, _STEP)
        nodes = Nodes(points, -0.5 * points**2 - 0.5 * np.log(2 * np.pi) + np.log(_STEP))
        tables = reading_tables(panel, nodes)
        shape = ratings.n_students, ratings.n_raters
        cell = ratings.student.astype(np.int64) * ratings.n_raters + ratings.rater
        times = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape) / panel.n_items
        sums = np.bincount(cell, ratings.score, shape[0] * shape[1]).reshape(shape).astype(float)
        # A reading of some of the items counts by its share of them.
        log = nodes.log_weights + np.outer(sums @ panel.slope, points) - times @ tables.log_partition
        posterior = np.exp(log - log.max(axis=1, keepdims=True))
        return _State(tables, times > 0, sums, posterior / posterior.sum(axis=1, keepdims=True))

    def gradients(self, students: Indices) -> tuple[Array, Array, Array, Array]:
        """For some students and every reader: p (students, raters, sums), its derivative by own slope and severity,
        and by those of earlier readers (students, 2 raters, raters, sums)."""
        tables, n = self.tables, self.marked.shape[1]
        t, posterior = tables.nodes.points, self.posterior[students]
        chance = np.exp(tables.log_chance)  # (raters, sums, Q)
        n_sums = chance.shape[1]
        away = np.arange(n_sums)[:, None] - tables.score[:, None]  # (raters, sums, Q)
        flat = chance.reshape(n * n_sums, -1).T
        p = (posterior @ flat).reshape(-1, n, n_sums)
        by_slope = (posterior @ (chance * away * t).reshape(n * n_sums, -1).T).reshape(p.shape)
        by_severity = -(posterior @ (chance * away).reshape(n * n_sums, -1).T).reshape(p.shape)
        seen, sums = self.marked[students], self.sums[students]
        scores = np.concatenate(
            [sums[..., None] * t - t * tables.score, np.broadcast_to(tables.score, (len(seen), n, len(t)))],
            axis=1,
        )
        scores = scores - np.einsum("npq,nq->np", scores, posterior)[..., None]
        scores *= np.concatenate([seen, seen], axis=1)[..., None] * posterior[:, None]
        through = (scores @ flat).reshape(-1, 2 * n, n, n_sums)
        return p, by_slope, by_severity, through

    def gradients_of(self, student: int, rater: int) -> tuple[Array, Array, Array, Array]:
        """The same for one reading: p (sums,), by own slope and severity, and (2 raters, sums)."""
        tables = self.tables
        t, posterior = tables.nodes.points, self.posterior[student]
        chance = np.exp(tables.log_chance[rater]) * posterior
        away = np.arange(len(chance))[:, None] - tables.score[rater]
        scores = np.concatenate([self.sums[student][:, None] * t - t * tables.score, tables.score])
        scores = scores - (scores @ posterior)[:, None]
        return chance.sum(axis=1), (chance * away) @ t, -(chance * away).sum(axis=1), scores @ chance.T


class _Search:
    """The covariance of slopes and severities as marks are added."""

    def __init__(self, fit: "Result", panel: AssumedPanel, state: _State | MarkState) -> None:
        assert fit.calibration is not None
        assert fit.calibration.covariance is not None
        self.n, self.state = panel.n_raters, state
        self.covariance = in_full(fit.calibration.covariance)[: 2 * self.n, : 2 * self.n].copy()
        self.slopes = _kappa_slopes(fit)
        self.at_first = self.errors()

    def errors(self) -> Array:
        """(raters,): standard errors of kappa."""
        return np.asarray(np.sqrt(np.einsum("kp,ps,ks->k", self.slopes, self.covariance, self.slopes)))

    def _levers(self) -> Array:
        """(raters, parameters): C V / sqrt(2 se)"""
        scale = np.sqrt(2 * np.maximum(self.errors(), 1e-9))
        return np.asarray(self.slopes @ self.covariance / scale[:, None])

    def bounds(self, students: Indices) -> Array:
        """(students, raters): gains to first order, which no exact gain exceeds."""
        p, by_slope, by_severity, through = self.state.gradients(students)
        levers, n = self._levers(), self.n
        moved = np.einsum("kp,nprs->nkrs", levers, through, optimize=True)
        moved += levers[:, :n][None, :, :, None] * by_slope[:, None]
        moved += levers[:, n:][None, :, :, None] * by_severity[:, None]
        return np.asarray(np.einsum("nkrs,nrs->nr", moved**2, 1 / np.maximum(p, 1e-12), optimize=True))

    def greedy(self, allowed: Mask, left: Array, budget: int) -> list[tuple[int, int, float]]:
        """The best readings, one per student at most; `left` is used up."""
        rows = np.flatnonzero(allowed.any(axis=1))
        if not len(rows) or budget < 1:
            return []
        heap: list[tuple[float, int, int]] = []
        for first in range(0, len(rows), _BLOCK):
            some = rows[first : first + _BLOCK]
            bound = self.bounds(some)
            heap += [
                (-float(bound[i, r]), int(some[i]), int(r))
                for i, r in zip(*np.nonzero(allowed[some]), strict=True)
            ]
        heapify(heap)
        chosen: list[tuple[int, int, float]] = []
        taken: set[int] = set()
        while heap and len(chosen) < budget:
            _, student, rater = heappop(heap)
            if student in taken or left[rater] < 1:
                continue
            gain, fallen = self._exact(student, rater)
            if heap and gain < -heap[0][0]:
                heappush(heap, (-gain, student, rater))
                continue
            self.covariance -= fallen
            left[rater] -= 1
            taken.add(student)
            chosen.append((student, rater, gain))
        return chosen

    def _exact(self, student: int, rater: int) -> tuple[float, Array]:
        """The gain of a reading, and what the covariance falls by."""
        p, by_slope, by_severity, through = self.state.gradients_of(student, rater)
        at = np.flatnonzero(np.tile(self.state.marked[student], 2))
        own = [rater, self.n + rater]
        local = np.concatenate([at, own])
        gradient = np.concatenate([through[at], by_slope[None], by_severity[None]])
        information = (gradient / np.maximum(p, 1e-12)) @ gradient.T
        across = self.covariance[:, local]
        inner = np.linalg.solve(np.eye(len(local)) + information @ across[local], information)
        fallen = across @ inner @ across.T
        less = np.einsum("kp,ps,ks->k", self.slopes, fallen, self.slopes)
        return float(np.sum(less / (2 * np.maximum(self.errors(), 1e-9)))), fallen


def _kappa_slopes(fit: "Result") -> Array:
    """(raters, slopes and severities): derivatives of kappa as the fit reports it."""
    found = measured_fit(fit, fit.yardstick)
    on, n = found.on, len(found.panel.slope)
    by_slope, by_severity, by_sigma = found.index.gradient(on.a, on.eta, on.sigmas, on.halos)[:3]
    slopes = np.zeros((n, 2 * n))
    every = np.arange(n)
    slopes[every, every] = by_slope
    slopes[every, n + every] = by_severity
    slopes[:, n:] -= np.outer(by_severity, found.origin.weights)
    slopes[:, :n] += np.outer(by_sigma, found.sigma.weights * np.sign(found.panel.slope))
    return slopes
