"""Choose what to find out next: which rater should mark which script, and which answers are worth looking up first.

Rater r reads student n, about whom so far the posterior pi is known. The reading's sum of scores T has the predictive
probability p_T = sum pi c_r(T | t), and so the expected information J = sum_T g_T g_T' / p_T, g_T the derivative of
p_T: directly by the reader's slope and severity, and by those of earlier readers through pi. With V the covariance of
slopes and severities, and kappa's derivatives C,

    V' = V - V (1 + J V)^-1 J V,    gain = sum_k [C (V - V') C']_kk / (2 se_k)

is how much the sum of kappa's standard errors falls. Marks are chosen one after the other, the best first. Items are
taken for known. A choice by what is known already leaves the likelihood as it is: estimates and standard errors need no
correction.

Ratings tell about raters only as far as the students' abilities are known: the information in a student's ratings is
that with ability known less the posterior covariance of the scores s = d log p(ratings | ability). A known answer k
splits that covariance, and takes off what is between answers, on average over what the answer may be:

    gain = sum_k P(k) (E[s | k] - E[s]) (E[s | k] - E[s])' = W W',     V' = V - V W (1 + W' V W)^-1 W' V

with V the covariance of the estimates. Answers are ranked by how much the summed variance of the raters' sharpness
falls, each after those before it. The choice looks at nothing but ratings that the model sees, so that
it biases no estimate.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.base.errors import OptionError
from raterlens.base.text import counted, number
from raterlens.config.option_fields import check_whole
from raterlens.estimation.methods import sharp_nodes
from raterlens.estimation.scoring import Placed, place, with_scores
from raterlens.inference.covariance import in_full
from raterlens.inference.measurement import measured_fit
from raterlens.inference.resampling import check_same
from raterlens.likelihood.latent import WRONG
from raterlens.likelihood.nodes import Nodes
from raterlens.models.build import COVARYING
from raterlens.models.calibration import Calibration
from raterlens.models.responses import Predictor
from raterlens.planning.assignment import People, forbidden_pairs, raters_of
from raterlens.planning.assumed_panel import AssumedPanel, ReadingTables, estimated, reading_tables
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.inference.result import Result

# Students whose candidates are worked out at a time, so that the table of gains stays small; and of answers.
_BLOCK, _STUDENTS = 256, 2_000
# Answers for each one asked for whose worth is computed again after every choice.
_KEPT = 20
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
    panel = estimated(fit)
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
    whom, who, gain = (list(part) for part in zip(*chosen, strict=True)) if chosen else ([], [], [])
    columns = {"student": ratings.students.gather(whom), "rater": ratings.raters.gather(who)}
    table = pl.DataFrame({**columns, "gain": np.array(gain, float) / panel.n_raters})
    return NextMarks(table, float(search.at_first.mean()), float(search.errors().mean()))


def _capacity(given: Any, raters: People, budget: int) -> Array:
    n = len(raters.labels)
    if given is None:
        return np.full(n, float(budget))
    if isinstance(given, int) and not isinstance(given, bool):
        check_whole("capacity", given, 1)
        return np.full(n, float(given))
    people = raters_of(given)
    most = np.full(len(people.labels), budget) if people.loads is None else people.loads
    loads = dict(zip(people.labels, most, strict=True))
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

    def gradients(self, students: Indices, readers: Indices) -> tuple[Array, Array, Array, Array]:
        """For some students and readers: p (students, readers, sums), its derivative by own slope and severity, and by
        those of earlier readers (students, 2 raters, readers, sums)."""
        tables, n, m = self.tables, self.marked.shape[1], len(readers)
        t, posterior = tables.nodes.points, self.posterior[students]
        chance = np.exp(tables.log_chance[readers])  # (readers, sums, Q)
        n_sums = chance.shape[1]
        away = np.arange(n_sums)[:, None] - tables.score[readers][:, None]  # (readers, sums, Q)
        flat = chance.reshape(m * n_sums, -1).T
        p = (posterior @ flat).reshape(-1, m, n_sums)
        by_slope = (posterior @ (chance * away * t).reshape(m * n_sums, -1).T).reshape(p.shape)
        by_severity = -(posterior @ (chance * away).reshape(m * n_sums, -1).T).reshape(p.shape)
        seen, sums = self.marked[students], self.sums[students]
        scores = np.concatenate(
            [sums[..., None] * t - t * tables.score, np.broadcast_to(tables.score, (len(seen), n, len(t)))],
            axis=1,
        )
        scores = scores - np.einsum("npq,nq->np", scores, posterior)[..., None]
        scores *= np.concatenate([seen, seen], axis=1)[..., None] * posterior[:, None]
        through = (scores @ flat).reshape(-1, 2 * n, m, n_sums)
        return p, by_slope, by_severity, through


@dataclass(frozen=True, slots=True, eq=False)
class MarkState:
    """Knowledge of students from their marks so far."""

    panel: AssumedPanel
    marked: Mask
    """(students, raters)"""
    given: Array
    """(students, raters): marks"""
    residual: Array
    """(students, raters): their sum, less what is expected of the student"""
    mean: Array
    variance: Array
    """(students,) each: of abilities"""

    @staticmethod
    def of(panel: AssumedPanel, ratings: Ratings) -> "MarkState":
        assert panel.marks is not None
        shape = ratings.n_students, ratings.n_raters
        cell = ratings.student.astype(np.int64) * ratings.n_raters + ratings.rater
        above = panel.marks.values[ratings.score]
        above += panel.severity[ratings.rater] + panel.difficulty[ratings.item]
        size = ratings.n_students * ratings.n_raters
        given = np.bincount(cell, minlength=size).reshape(shape).astype(float)
        sums = np.bincount(cell, above, size).reshape(shape)
        u = panel.slope * panel.mark_precision
        variance = 1 / (1 + given @ (panel.slope * u))
        mean = variance * (sums @ u)
        residual = sums - given * panel.slope * mean[:, None]
        return MarkState(panel, given > 0, given, residual, mean, variance)

    def gradients(self, students: Indices, readers: Indices) -> tuple[Array, Array, Array, Array]:
        """For some students and readers: the mean mark of a reading is normal, and its information is that of two
        outcomes, of "probability" 1 each (students, readers, 2), whose derivatives are those of its mean and of its
        variance, standardised: by own slope and severity, and by those of earlier readers (students, 2 raters, readers,
        2)."""
        panel, m, v = self.panel, self.mean[students, None], self.variance[students, None]
        a, known = panel.slope, panel.mark_precision
        spread = a**2 * v + 1 / (known * panel.n_items)
        scale = np.stack([1 / np.sqrt(spread), 1 / (np.sqrt(2) * spread)], axis=-1)
        nothing = np.zeros_like(spread)
        by_slope = np.stack([m + nothing, 2 * a * v], axis=-1) * scale
        by_severity = np.stack([nothing - 1, nothing], axis=-1) * scale
        lever = v * self.given[students] * a * known
        of_mean = np.concatenate([v * known * self.residual[students] - lever * m, lever], axis=1)
        of_variance = np.concatenate([-2 * v * lever, np.zeros_like(lever)], axis=1)
        through = np.stack([of_mean[..., None] * a, of_variance[..., None] * a**2], axis=-1)
        found = np.ones_like(scale), by_slope, by_severity, through * scale[:, None]
        return tuple(each[..., readers, :] for each in found)  # type: ignore[return-value]


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
        p, by_slope, by_severity, through = self.state.gradients(students, np.arange(self.n))
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
        found = self.state.gradients(np.array([student]), np.array([rater]))
        p, by_slope, by_severity, through = (each[0, ..., 0, :] for each in found)
        at = np.flatnonzero(np.tile(self.state.marked[student], 2))
        local = np.append(at, [rater, self.n + rater])
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


# ------------------------------------------------------------------------------------ answers worth looking up


class _Candidates(NamedTuple):
    """Answers that are not known yet."""

    student: NDArray[Any]
    item: NDArray[Any]
    chance: NDArray[Any]
    """(candidates, categories): of each answer."""
    gains: NDArray[Any]
    """(candidates, effects, categories): W."""


def worth_knowing(fit: "Result", ratings: Ratings, n: int) -> pl.DataFrame:
    """The `n` unknown answers to look up first: `Fit.worth_knowing`."""
    calibration = fit.calibrated("nothing tells what an answer would tell")
    if calibration.covariance is None or "halo" in calibration.effects:
        what = "the worth of an answer follows from standard errors, of a fit without halo"
        raise OptionError(what, "fit with standard_errors=True and halo='none'", option="standard_errors")
    check_same(fit, ratings)
    spread, by = in_full(calibration.covariance), _sharpness_by(fit, calibration)
    kept = _most(place(calibration, ratings), calibration, fit.config.known_slope, spread, by, _KEPT * n)
    total, rows = float(np.trace(by @ spread @ by.T)), []
    for _ in range(min(n, len(kept.student))):
        worth = _worth(kept.gains, spread, by)
        best = int(np.argmax(worth))
        rows.append((kept.student[best], kept.item[best], worth[best] / total, kept.chance[best]))
        spread = _after(spread, kept.gains[best])
        kept = _Candidates(*(np.delete(part, best, axis=0) for part in kept))
    scores = np.asarray(calibration.scores, float)
    columns = {
        "student": ratings.students.gather([row[0] for row in rows]),
        "item": ratings.items.gather([row[1] for row in rows]),
        "worth": [float(row[2]) for row in rows],
        "expected": [float(row[3] @ scores) for row in rows],
    }
    return pl.DataFrame(columns)


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
    for found in _blocks(placed, calibration, slope):
        both = found if best is None else _Candidates(*map(np.concatenate, zip(best, found, strict=True)))
        first = np.argsort(-_worth(both.gains, spread, by), kind="stable")[:n]
        best = _Candidates(*(part[first] for part in both))
    assert best is not None
    return best


def _blocks(placed: Placed, calibration: Calibration, slope: float) -> Iterator[_Candidates]:
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
        for first in range(0, ratings.n_students, _STUDENTS):
            rows = np.flatnonzero(~taken[first : first + _STUDENTS]) + first
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
