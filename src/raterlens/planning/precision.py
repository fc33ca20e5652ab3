"""From the expected information of a design to the standard errors that raters and students can expect."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import linalg

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.capability.yardstick import PERFECT, Reference, Yardstick
from raterlens.inference.covariance import covariance, in_full
from raterlens.inference.measurement import measured
from raterlens.models.calibration import Calibration
from raterlens.models.redundancy import Redundancy
from raterlens.planning.assumed_panel import AssumedPanel
from raterlens.planning.expected_information import DesignInformation, design_information


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
) -> Precision:
    """Precision from readings: codes of the student and rater of each. `definitive`: (students,), who has a
    definitive mark; `most`: see `design_information`."""
    n = panel.n_raters
    if definitive.any():
        panel = panel.with_definitive()
        seeded = np.flatnonzero(definitive)
        student, rater = np.append(student, seeded), np.append(rater, np.full(len(seeded), n))
    found = design_information(panel, student, rater, cut, most)
    spread, unknown = _covariance(panel, found, n)
    errors = _rater_errors(panel, spread, n, reference)
    errors[:, unknown] = np.inf
    for block in (0, panel.n_raters):
        # Abilities as if such raters were known: what their errors add cannot be told.
        spread[block + np.flatnonzero(unknown)] = spread[:, block + np.flatnonzero(unknown)] = 0.0
    ability, accuracy = _students(panel, found, spread, n)
    return Precision(errors[0], errors[1], errors[2], ability, accuracy)


def _covariance(panel: AssumedPanel, found: DesignInformation, n: int) -> tuple[Array, Mask]:
    """Covariance of slopes, severities, difficulties and thresholds; and the raters about whom next to nothing is
    known."""
    size, total = len(found.matrix), panel.n_raters
    through = np.eye(size)
    if panel.common_slope:
        through = linalg.block_diag(np.ones((n, 1)), np.eye(size - n))
    held = np.zeros(through.shape[1], bool)
    if total > n:
        held[(1 if panel.common_slope else n)] = True  # the slope of definitive marks is known
    constraints, directions = _redundant(panel)
    redundant = Redundancy(constraints @ through, directions @ np.linalg.pinv(through).T)
    inverse = covariance(through.T @ found.matrix @ through, redundant, held)
    weak = np.zeros(through.shape[1])
    weak[inverse.undetermined] = 1.0
    lost = through @ weak > 0
    return through @ in_full(inverse.matrix) @ through.T, lost[:n] | lost[total : total + n]


def _redundant(panel: AssumedPanel) -> tuple[Array, Array]:
    """Difficulties sum to 0, severity taking up their mean; so do thresholds, an item's own into its difficulty."""
    r, i = panel.n_raters, panel.n_items
    rows = []
    items = slice(2 * r, 2 * r + i)
    constraint, direction = np.zeros((2, 2 * r + panel.n_shared))
    constraint[items] = direction[items] = 1.0
    direction[r : 2 * r] = -1.0
    rows.append((constraint, direction))
    scales = 0 if panel.thresholds is None else len(panel.thresholds)
    for scale in range(scales):
        constraint, direction = np.zeros((2, 2 * r + panel.n_shared))
        steps = slice(2 * r + i + scale * panel.steps, 2 * r + i + (scale + 1) * panel.steps)
        constraint[steps] = direction[steps] = 1.0
        if scales == 1:
            direction[r : 2 * r] = -1.0
        else:
            direction[2 * r + scale] = -1.0
        rows.append((constraint, direction))
    constraints, directions = zip(*rows, strict=True)
    return np.array(constraints), np.array(directions)


def _rater_errors(panel: AssumedPanel, spread: Array, n: int, reference: Reference) -> Array:
    """(3, raters): of severity, sharpness and kappa, as a fit would report them."""
    total, items = panel.n_raters, panel.n_items
    kept = np.concatenate([np.arange(n), total + np.arange(n), 2 * total + np.arange(items)])
    effects = {"slope": panel.slope[:n], "severity": panel.severity[:n], "difficulty": panel.difficulty}
    if panel.thresholds is not None:
        effects["threshold"] = panel.thresholds
    calibration = Calibration(
        model="gmf",
        link="logit",
        scale="rating scale" if panel.thresholds is None or len(panel.thresholds) == 1 else "partial credit",
        scores=tuple(range(panel.steps + 1)),
        labels={
            "rater": pl.Series([str(code) for code in range(n)]),
            "item": pl.Series([str(code) for code in range(items)]),
        },
        effects=effects,
        covariance=spread[np.ix_(kept, kept)],
        falling=np.zeros(n),
    )
    where = measured(calibration, Yardstick(reference), np.zeros(1), np.ones(1))
    found = where.raters(with_intervals=False)
    return np.stack([found.eta_se, found.sharpness_se, found.kappa_se])


def _students(panel: AssumedPanel, found: DesignInformation, spread: Array, n: int) -> tuple[float, float]:
    """Standard error of ability and accuracy, over all students without a definitive mark."""
    variance = accuracy = students = 0.0
    for pattern in found.patterns:
        counted = pattern.times * (pattern.raters < n).all(axis=1)
        at = pattern.local(panel.n_raters, panel.n_shared)
        added = np.array(
            [np.vdot(moved, spread[np.ix_(k, k)]) for moved, k in zip(pattern.sensitivity, at, strict=True)]
        )
        variance += float(counted @ (pattern.ability_variance + np.maximum(added, 0.0)))
        accuracy += float(counted @ pattern.accuracy)
        students += float(counted.sum())
    return float(np.sqrt(variance / students)), float(accuracy / students)
