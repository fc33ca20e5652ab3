"""Expected information of a design, and the standard errors that follow."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.random import default_rng
from numpy.typing import NDArray
from scipy import linalg, special

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.capability.yardstick import PERFECT, Reference, Yardstick
from raterlens.inference.covariance import covariance, in_full
from raterlens.inference.measurement import measured
from raterlens.likelihood.nodes import Nodes
from raterlens.models.calibration import Calibration
from raterlens.models.facets import Redundancy
from raterlens.models.marks import Marks
from raterlens.models.terms.noise import NOISE
from raterlens.models.terms.thresholds import RATER_THRESHOLD
from raterlens.planning.assumed_panel import AssumedPanel, ReadingTables, reading_tables, sum_variance

# ------------------------------------------------------------------------------------------ expected information


# Expected information of a design, without simulation.
#
# A student's marks tell of raters and items what is left once ability is averaged out. With s the score of the
# parameters were ability known,
#
#     I_n = Var(s) - E[Var(s | marks)]
#
# and by the logit link the posterior of ability depends on the marks through each reading's sum of scores T_r alone, in
# fact through W = sum a_r T_r. With few readings all sums are enumerated. With many, W given ability is all but normal,
# and so is T given W: quadrature over both. Students with the same raters are reckoned once.

MOST_OUTCOMES = 1_300
"""Combinations of sums that are enumerated per student."""
# Numbers in the largest table of a block of students.
_BLOCK = 4_000_000
# Of abilities: beyond, one in five million.
_REACH = 5.25
# Abilities at which readings are asked how much they tell at most; of slopes beyond 20, more.
_LOOKS, _MOST_LOOKS = 201, 2_001
_WIDEST_STEP = 0.15
# In the smallest standard deviation of a posterior: the trapezoidal rule is then exact to six digits.
_STEP = 1.2
_HERMITE = 5
# Outcomes below are left out.
_NEGLIGIBLE = 1e-12
_LOOKS_AT_MEANS = 601
"""Posterior means, of marks, that are looked at for how many decisions are right."""


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """Students with the same number of readings, distinct sets of raters only."""

    raters: NDArray[np.int64]
    """(patterns, readings)"""
    group: Indices
    """(patterns,): to which group these students belong; 0 where there are no groups"""
    times: Array
    """(patterns,): students with these raters"""
    ability_variance: Array
    """(patterns,): of the posterior, on average over marks"""
    sensitivity: Array
    """(patterns, local, local): mean product of what an estimated ability moves by with the parameters"""
    accuracy: Array
    """(patterns,): chance that the likelier side of the cut is the right one"""

    def local(self, panel: AssumedPanel) -> Indices:
        """(patterns, local): which parameters these are: slopes, severities, what all share, the raters' own
        thresholds, the group's mean."""
        shared = np.broadcast_to(panel.at("shared"), (len(self.raters), panel.n_shared))
        own = panel.at("own").reshape(panel.n_raters, -1)[self.raters].reshape(len(shared), -1)
        mean = panel.at("group")[self.group[:, None]] if len(panel.means) else shared[:, :0]
        return np.concatenate([self.raters, panel.n_raters + self.raters, shared, own, mean], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class DesignInformation:
    """Information in all parameters of a panel, and what is expected of students."""

    matrix: Array
    patterns: tuple[Pattern, ...]


def patterns_of(student: Indices, rater: Indices, group: Indices) -> Iterator[tuple[Indices, Indices, Array]]:
    """By number of readings: the distinct sets of raters, the group of the students, and how many students these
    are."""
    order = np.lexsort((rater, student))
    student, rater = student[order], rater[order].astype(np.int64)
    start = np.flatnonzero(np.append(True, np.diff(student) != 0))
    count = np.diff(start, append=len(student))
    for readings in np.unique(count):
        rows = start[count == readings, None] + np.arange(readings)
        sets = np.concatenate([group[student[rows[:, :1]]], rater[rows]], axis=1)
        distinct, times = np.unique(sets, axis=0, return_counts=True)
        yield distinct[:, 1:], distinct[:, 0], times.astype(float)


def design_information(
    panel: AssumedPanel,
    student: Indices,
    rater: Indices,
    cut: float = 0.0,
    most: int | None = None,
    group: Indices | None = None,
) -> DesignInformation:
    """Information of readings: codes of the student and the rater of each, and of the group of each student. With
    `most`, from that many of the distinct sets of raters of each size, which stand for all: good enough for averages
    over raters."""
    found, matrix = [], panel.known
    told = _told_by_scores if panel.marks is None else told_by_marks
    of_student = np.zeros(int(student.max()) + 1, np.int64) if group is None else group
    means = panel.means if len(panel.means) else np.zeros(1)
    for mean in np.unique(means):
        # Students of a mean ability are average ones of raters who are so much the more lenient.
        shifted = replace(panel, severity=panel.severity - mean * panel.slope)
        some = means[of_student[student]] == mean
        for raters, group_of, times in patterns_of(student[some], rater[some], of_student):
            if most is not None and len(raters) > most:
                kept = default_rng(len(raters)).permutation(len(raters))[:most]
                raters, group_of = raters[kept], group_of[kept]
                times = times[kept] * times.sum() / times[kept].sum()
            information, variance, moved, drift, accuracy = told(shifted, raters, cut - mean)
            if len(panel.means):
                information, moved = _with_means(panel.slope[raters], mean, information, moved, drift)
            pattern = Pattern(raters, group_of, times, variance, moved, accuracy)
            local = pattern.local(panel)
            np.add.at(matrix, (local[:, :, None], local[:, None, :]), times[:, None, None] * information)
            found.append(pattern)
    return DesignInformation(matrix, tuple(found))


def _told_by_scores(panel: AssumedPanel, raters: NDArray[np.int64], cut: float) -> tuple[Array, ...]:
    """Results of `_reckoned` for these sets of raters, in blocks."""
    tables = reading_tables(panel, _nodes(panel, raters, cut))
    (_, n_sums, q), readings = tables.log_chance.shape, raters.shape[1]
    enumerable = float(n_sums) ** readings <= MOST_OUTCOMES
    n_outcomes = n_sums**readings if enumerable else q * _HERMITE
    size, parts = max(1, _BLOCK // (n_outcomes * max(q, 2 * readings**2))), []
    for first in range(0, len(raters), size):
        rows = raters[first : first + size]
        outcomes = _enumerated(tables, rows) if enumerable else _quadrature(tables, panel.slope, rows)
        parts.append(_reckoned(tables, rows, outcomes, cut))
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def _with_means(
    slope: Array, mean: float, information: Array, moved: Array, drift: Array
) -> tuple[Array, Array]:
    """Information and sensitivity with the mean of the students' group as one parameter more: in S = a (m + t) - b it
    is worth - a of each severity, a slope is worth - m of it besides, and an ability moves with m as well."""
    size, local = drift.shape
    through = np.concatenate(
        [np.broadcast_to(np.eye(local), (size, local, local)), np.zeros((size, 1, local))], 1
    )
    readings = slope.shape[1]
    through[:, -1, readings : 2 * readings] = -slope
    through[:, np.arange(readings), readings + np.arange(readings)] = -mean
    found = [through @ matrix @ through.swapaxes(1, 2) for matrix in (information, moved)]
    along = (through @ drift[..., None])[..., 0]
    found[1][:, -1] += along
    found[1][:, :, -1] += along
    found[1][:, -1, -1] += 1.0
    return found[0], found[1]


def _nodes(panel: AssumedPanel, raters: NDArray[np.int64], cut: float) -> Nodes:
    """A lattice with the cut half-way between two nodes, as fine as the narrowest posterior needs."""
    looks = int(min(_LOOKS * max(1.0, np.abs(panel.slope).max() / 20), _MOST_LOOKS))
    told = panel.slope**2 * sum_variance(panel, np.linspace(-_REACH, _REACH, looks)).max(axis=1)
    most = told[raters].sum(axis=1).max()
    step = min(_WIDEST_STEP, _STEP / np.sqrt(1 + most))
    first = int(np.floor((-_REACH - cut) / step))
    points = cut + (first + 0.5 + np.arange(int(2 * _REACH / step) + 2)) * step
    return Nodes(points, -0.5 * points**2 - 0.5 * np.log(2 * np.pi) + np.log(step))


@dataclass(frozen=True, slots=True, eq=False)
class _Outcomes:
    """Possible marks of each student: B students, M outcomes."""

    chance: Array
    """(B, M)"""
    posterior: Array
    """(B, M, Q)"""
    sums: Array
    """(B or 1, M, readings): of each reading; their means where they vary within an outcome"""
    spread: Array | None
    """(B, M, readings, readings): their covariance then"""


def _enumerated(tables: ReadingTables, raters: NDArray[np.int64]) -> _Outcomes:
    n_sums, readings = tables.log_chance.shape[1], raters.shape[1]
    sums = np.indices((n_sums,) * readings).reshape(readings, -1)
    log_joint = tables.nodes.log_weights + sum(
        tables.log_chance[raters[:, j]][:, sums[j]] for j in range(readings)
    )
    joint = np.exp(log_joint)
    chance = joint.sum(axis=2)
    joint /= np.maximum(chance, 1e-300)[..., None]
    return _Outcomes(chance / chance.sum(axis=1, keepdims=True), joint, sums.T[None].astype(float), None)


def _quadrature(tables: ReadingTables, slope: Array, raters: NDArray[np.int64]) -> _Outcomes:
    """W is normal about its mean at each true ability; given W, sums follow it linearly."""
    t, prior = tables.nodes.points, np.exp(tables.nodes.log_weights)
    true = np.flatnonzero(prior > _NEGLIGIBLE)
    z, z_weight = np.polynomial.hermite_e.hermegauss(_HERMITE)
    a = slope[raters]  # (B, readings)
    mean, variance = (
        tables.score[raters][..., true],
        tables.variance[raters][..., true],
    )  # (B, readings, true)
    of_w = np.einsum("bj,bjq->bjq", a, variance)  # Cov(T_j, W)
    total = np.maximum(np.einsum("bj,bjq->bq", a, of_w), 1e-12)
    away = np.sqrt(total)[..., None] * z  # (B, true, z)
    w = np.einsum("bj,bjq->bq", a, mean)[..., None] + away
    partition = tables.log_partition[raters].sum(axis=1)
    log_joint = w[..., None] * t - partition[:, None, None] + tables.nodes.log_weights
    log_joint -= log_joint.max(axis=3, keepdims=True)
    joint = np.exp(log_joint)
    joint /= joint.sum(axis=3, keepdims=True)
    gain = of_w / total[:, None]
    sums = mean[..., None] + gain[..., None] * away[:, None]  # (B, readings, true, z)
    spread = np.einsum("bjq,jk->bqjk", variance, np.eye(raters.shape[1])) - np.einsum(
        "bjq,bkq->bqjk", of_w, gain
    )
    chance = (prior[true][:, None] * (z_weight / z_weight.sum())).ravel()
    size, outcomes = len(raters), len(chance)
    return _Outcomes(
        np.broadcast_to(chance / chance.sum(), (size, outcomes)),
        joint.reshape(size, outcomes, len(t)),
        sums.reshape(size, raters.shape[1], outcomes).transpose(0, 2, 1),
        np.repeat(spread, _HERMITE, axis=1),
    )


def _reckoned(
    tables: ReadingTables, raters: NDArray[np.int64], outcomes: _Outcomes, cut: float
) -> tuple[Array, Array, Array, Array, Array]:
    """Each student's information, variance of abilities, second and first moments of how their estimates move with
    the parameters, and accuracy."""
    t = tables.nodes.points
    readings, chance, posterior = raters.shape[1], outcomes.chance, outcomes.posterior
    score = tables.score[raters]  # (B, readings, Q)
    own = tables.own[raters].reshape(len(raters), -1, len(t))
    rest = np.concatenate([score, tables.shared[raters].sum(axis=1), own], axis=1)
    # A slope moves with T t less its expectation at each ability, T the reading's sum of scores.
    by_node = np.concatenate([-score * t, rest], axis=1)
    mean, square = posterior @ t, posterior @ t**2
    variance = square - mean**2
    averages = posterior @ by_node.transpose(0, 2, 1)
    along = (posterior * t) @ by_node.transpose(0, 2, 1) - mean[..., None] * averages
    averages[..., :readings] += outcomes.sums * mean[..., None]
    along[..., :readings] += outcomes.sums * variance[..., None]
    missing = _second_moments(outcomes, by_node, square, t)
    missing -= np.einsum("bm,bmp,bms->bps", chance, averages, averages, optimize=True)
    moved = np.einsum("bm,bmp,bms->bps", chance, along, along, optimize=True)
    if outcomes.spread is not None:
        for total, lever in ((missing, variance), (moved, variance**2)):
            total[:, :readings, :readings] += np.einsum(
                "bm,bmjk->bjk", chance * lever, outcomes.spread, optimize=True
            )
    above = posterior[..., t > cut].sum(axis=2)
    accuracy = np.sum(chance * np.maximum(above, 1 - above), axis=1)
    known = _known_ability(tables, raters)
    drift = np.einsum("bm,bmp->bp", chance, along)
    return known - missing, np.sum(chance * variance, axis=1), moved, drift, accuracy


def _second_moments(outcomes: _Outcomes, by_node: Array, square: Array, t: Array) -> Array:
    """(B, local, local): E[f f'] of f = T_j t + by_node(t) for slopes and by_node(t) else, but for the spread of T."""
    chance, posterior = outcomes.chance, outcomes.posterior
    sums = np.broadcast_to(outcomes.sums, (*chance.shape, outcomes.sums.shape[2]))
    density, n = np.einsum("bm,bmq->bq", chance, posterior), sums.shape[2]
    with_sums = (chance[..., None] * sums).transpose(0, 2, 1) @ posterior  # (B, readings, Q)
    found = np.einsum("bpq,bsq,bq->bps", by_node, by_node, density, optimize=True)
    across = np.einsum("bjq,bsq->bjs", with_sums * t, by_node)
    found[:, :n] += across
    found[:, :, :n] += across.transpose(0, 2, 1)
    found[:, :n, :n] += np.einsum("bm,bmj,bmk->bjk", chance * square, sums, sums, optimize=True)
    return np.asarray(found)


def _known_ability(tables: ReadingTables, raters: NDArray[np.int64]) -> Array:
    """(B, local, local): information were abilities known."""
    size, readings = raters.shape
    complete = tables.complete[raters]  # (B, readings, 2 + shared + own, 2 + shared + own)
    shared, own = tables.shared.shape[1], tables.own.shape[1]
    whole = 2 * readings + shared + readings * own
    found = np.zeros((size, whole, whole))
    rest = np.arange(2 * readings, 2 * readings + shared)
    for j in range(readings):
        own_j = 2 * readings + shared + j * own + np.arange(own)
        at = np.concatenate([[j, readings + j], rest, own_j])
        found[:, at[:, None], at] += complete[:, j]
    return found


def told_by_marks(panel: AssumedPanel, raters: NDArray[np.int64], cut: float) -> tuple[Array, ...]:
    """Results of `_reckoned` for marks, in closed form: (B, local, local) information in slopes, severities,
    difficulties and logarithms of noise; the variance of abilities; second and first moments of how their estimates
    move with these parameters; the chance that the likelier side of the cut is the right one.

    A student's marks are normal, with the covariance D + a a' of raters' slopes a and the variances of their noise D.
    With x'inv(D + a a')y = <x, y>, e and f the marks of two raters, the information in their slopes is
    <a, e><a, f> + <a, a><e, f>, and in what moves means <e, f>. With u = a / D, q = a'u and v = 1 / (1 + q), the
    posterior of ability has variance v and mean m = v u'(y + b + delta).
    """
    size, readings = raters.shape
    items, a = panel.n_items, panel.slope[raters]
    known = panel.mark_precision[raters]  # of each mark, were ability known
    u = a * known
    w = a * u
    q = items * w.sum(axis=1)
    v = 1 / (1 + q)
    own, n = np.eye(readings), readings
    slope, severity = slice(0, n), slice(n, 2 * n)
    item, noise = slice(2 * n, 2 * n + items), slice(2 * n + items, 3 * n + items)
    lever, each = v[:, None] * items * u, items * known[:, None] * own

    between = each - _times(lever, items * u)
    found = np.zeros((size, 3 * n + items, 3 * n + items))
    found[:, slope, slope] = _times(lever, lever) + (q * v)[:, None, None] * between
    found[:, slope, noise] = 2 * between * (v[:, None] * a)[:, None]
    found[:, noise, slope] = found[:, slope, noise].swapaxes(1, 2)
    shared = v[:, None] * w
    found[:, noise, noise] = 2 * items * (items * _times(shared, shared) + (1 - 2 * shared)[:, None] * own)
    found[:, severity, severity] = between
    total, all_known = u.sum(axis=1, keepdims=True), known.sum(axis=1)[:, None, None]
    found[:, severity, item] = (known - lever * total)[..., None]
    found[:, item, severity] = found[:, severity, item].swapaxes(1, 2)
    found[:, item, item] = all_known * np.eye(items) - (v * total[:, 0] ** 2)[:, None, None]

    # m moves by a sum of raters' residuals e = y + b + delta - a m, whose covariance is D - v a a', and by itself.
    of_residuals = np.zeros((size, n + 1, n + 1))
    of_residuals[:, :n, :n] = items * own / known[:, None] - items**2 * v[:, None, None] * _times(a, a)
    of_residuals[:, :n, n] = of_residuals[:, n, :n] = items * v[:, None] * a
    of_residuals[:, n, n] = v * q
    through = np.zeros((size, found.shape[1], n + 1))
    through[:, slope, :n], through[:, slope, n] = (v[:, None] * known)[:, None] * own, -lever
    through[:, noise, :n] = -2 * (v[:, None] * u)[:, None] * own
    drift = np.zeros(found.shape[:2])
    drift[:, severity], drift[:, item] = lever, v[:, None] * total
    moved = through @ of_residuals @ through.swapaxes(1, 2) + _times(drift, drift)

    z = np.linspace(-_REACH, _REACH, _LOOKS_AT_MEANS)
    density = np.exp(-(z**2) / 2)
    away = np.abs(np.sqrt(q * v)[:, None] * z - cut) / np.sqrt(v)[:, None]
    return found, v, moved, drift, special.ndtr(away) @ density / density.sum()


def _times(x: Array, y: Array) -> Array:
    return x[:, :, None] * y[:, None, :]


# ----------------------------------------------------------------------------------------------------- precision


@dataclass(frozen=True, slots=True, eq=False)
class Precision:
    """Expected standard errors: infinite where the design does not determine a number."""

    severity: Array
    sharpness: Array
    kappa: Array
    """Each (raters,)"""
    ability: float
    """Root mean square over students, raters' and items' errors included."""
    accuracy: float
    """Share of students who are put on the right side of the cut."""


def precision(
    panel: AssumedPanel,
    student: Indices,
    rater: Indices,
    definitive: Mask,
    *,
    cut: float = 0.0,
    reference: Reference = PERFECT,
    most: int | None = None,
    group: Indices | None = None,
) -> Precision:
    """Precision from readings: codes of the student and rater of each. `definitive`: (students,), who has a
    definitive mark; `group`: (students,), code of the group of each, whose mean ability is not known; `most`: see
    `design_information`."""
    n = panel.n_raters
    if group is not None and definitive.any():  # they are a group by themselves
        group = np.where(definitive, len(panel.means), group)
        panel = replace(panel, means=np.append(panel.means, 0.0))
    if definitive.any():
        panel = panel.with_definitive()
        seeded = np.flatnonzero(definitive)
        student, rater = np.append(student, seeded), np.append(rater, np.full(len(seeded), n))
    found = design_information(panel, student, rater, cut, most, group)
    students = np.zeros(0)
    if group is not None:
        students = np.bincount(group[~definitive], minlength=len(panel.means)).astype(float)
    spread, unknown = _covariance(panel, found, n, students)
    errors = _rater_errors(panel, spread, n, reference)
    errors[:, unknown] = np.inf
    if unknown.any():
        # Abilities as if such raters were known, and the groups they mark: what their errors add cannot be told.
        these = np.flatnonzero(unknown)
        nothing = np.concatenate([these, panel.n_raters + these, panel.at("group")])
        spread[nothing] = spread[:, nothing] = 0.0
    ability, accuracy = _students(panel, found, spread, n)
    return Precision(errors[0], errors[1], errors[2], ability, accuracy)


def _covariance(panel: AssumedPanel, found: DesignInformation, n: int, students: Array) -> tuple[Array, Mask]:
    """Covariance of all parameters; and the raters about whom next to nothing is known. `students`: of each group."""
    size, total = len(found.matrix), panel.n_raters
    through = np.eye(size)
    if panel.common_slope:
        through = linalg.block_diag(np.ones((n, 1)), np.eye(size - n))
    held = np.zeros(through.shape[1], bool)
    if total > n:
        held[(1 if panel.common_slope else n)] = True  # the slope of definitive marks is known
    constraints, directions = _redundant(panel, students)
    redundant = Redundancy(constraints @ through, directions @ np.linalg.pinv(through).T)
    inverse = covariance(through.T @ found.matrix @ through, redundant, held)
    weak = np.zeros(through.shape[1])
    weak[inverse.undetermined] = 1.0
    lost = through @ weak > 0
    return through @ in_full(inverse.matrix) @ through.T, lost[:n] | lost[total : total + n]


def _redundant(panel: AssumedPanel, students: Array) -> tuple[Array, Array]:
    """Difficulties sum to 0, severity taking up their mean; so do thresholds, an item's own into its difficulty, and
    the means of groups over all students."""
    r, i = panel.n_raters, panel.n_items
    rows = []

    def add(block: Indices, weights: Array | float, others: Indices, by: Array | float) -> None:
        """Parameters whose weighted sum is 0: all may rise by 1 where `others` change `by` so much."""
        constraint, direction = np.zeros((2, panel.size))
        constraint[block], direction[block] = weights, 1.0
        direction[others] = by
        rows.append((constraint, direction))

    severities, items = r + np.arange(r), 2 * r + np.arange(i)
    if len(panel.means):
        add(panel.at("group"), students / students.sum(), severities, panel.slope)
    add(items, 1.0, severities, -1.0)
    scales = 0 if panel.thresholds is None else len(panel.thresholds)
    for scale in range(scales):
        steps = 2 * r + i + scale * panel.steps + np.arange(panel.steps)
        add(steps, 1.0, severities if scales == 1 else items[scale : scale + 1], -1.0)
    constraints, directions = zip(*rows, strict=True)
    return np.array(constraints), np.array(directions)


def _rater_errors(panel: AssumedPanel, spread: Array, n: int, reference: Reference) -> Array:
    """(3, raters): of severity, sharpness and kappa, as a fit would report them."""
    total, items = panel.n_raters, panel.n_items
    kept = np.concatenate([np.arange(n), total + np.arange(n), 2 * total + np.arange(items)])
    effects = {"slope": panel.slope[:n], "severity": panel.severity[:n], "difficulty": panel.difficulty}
    marks = panel.marks or Marks.of(panel.steps + 1, 1.0)
    scale = "continuous" if panel.marks is not None else "rating scale"
    if panel.thresholds is not None and len(panel.thresholds) > 1:
        scale = "partial credit"
    if panel.thresholds is not None:
        effects["threshold"] = panel.thresholds
    curves = None
    if panel.own is not None:
        effects |= {RATER_THRESHOLD: panel.own[:n]} if panel.marks is None else {NOISE: panel.own[:n, 0]}
        contrasts = panel.at("own").reshape(total, -1)[:n]
        of_rater = np.concatenate([np.arange(n)[:, None], total + np.arange(n)[:, None], contrasts], axis=1)
        curves = spread[of_rater[:, :, None], of_rater[:, None]]
    calibration = Calibration(
        model="gmf",
        link="logit",
        scale=scale,
        scores=tuple(range(marks.n_categories)),
        score_step=marks.step,
        labels={
            name: pl.Series([str(code) for code in range(size)])
            for name, size in (("rater", n), ("item", items))
        },
        effects=effects,
        covariance=spread[np.ix_(kept, kept)],
        falling=np.zeros(n),
        curve_covariance=curves,
        between_variance=float(np.var(panel.means)) if len(panel.means) else 0.0,
    )
    where = measured(calibration, Yardstick(reference), np.zeros(1), np.ones(1))
    found = where.raters(with_intervals=False)
    return np.stack([calibration.unit * found.eta_se, found.sharpness_se, found.kappa_se])


def _students(panel: AssumedPanel, found: DesignInformation, spread: Array, n: int) -> tuple[float, float]:
    """Standard error of ability and accuracy, over all students without a definitive mark."""
    variance = accuracy = students = 0.0
    for pattern in found.patterns:
        counted = pattern.times * (pattern.raters < n).all(axis=1)
        at = pattern.local(panel)
        added = np.array(
            [np.vdot(moved, spread[np.ix_(k, k)]) for moved, k in zip(pattern.sensitivity, at, strict=True)]
        )
        variance += float(counted @ (pattern.ability_variance + np.maximum(added, 0.0)))
        accuracy += float(counted @ pattern.accuracy)
        students += float(counted.sum())
    return float(np.sqrt(variance / students)), float(accuracy / students)
