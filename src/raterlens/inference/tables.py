"""Estimates as tables: one row per rater, item, student, facet level or threshold.

Of the reading effect the variance tau^2 is estimated, whose likelihood is regular even at 0; far from 0 that of tau is
nearer to a normal one. So the interval is of tau where 0 is beyond a one-sided interval of the variance; else it begins
at 0 and ends where that of the variance does. It is one-sided where the estimate is 0.

Maximum likelihood estimates of a spread are a little too small, as what the other parameters take up is not allowed
for. The estimate is left as it is, but the interval of a common spread is that of the adjusted profile likelihood (Cox
and Reid, 1987), which has -log|I| / 2 added, I being the information on everything else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import NORMAL_95, Array, Mask
from raterlens.config.limits import THETA_ERROR_RATINGS
from raterlens.estimation.facets_estimate import Covariance, FacetsEstimate
from raterlens.estimation.methods import on_scale, sharp_nodes
from raterlens.inference.covariance import Inverse, covariance, in_full
from raterlens.inference.intervals import RaterEstimates
from raterlens.inference.measurement import PASSES, RATER_COLUMNS
from raterlens.inference.slope_limits import Reach
from raterlens.inference.spreads import spread_table
from raterlens.kernels.library import compiled_code_pays
from raterlens.likelihood.engines.contract import Matrix, about_means
from raterlens.likelihood.marginal import FacetsMarginal
from raterlens.likelihood.nodes import Moments
from raterlens.models.covariates import INTERCEPT, Covariates
from raterlens.models.facets import FacetsModel, redundancy
from raterlens.models.responses import Response
from raterlens.models.term import ANCHORED, SLOPE_AT_LIMIT
from raterlens.ratings.coded import Ratings, level_table


def tabulate(
    every: "Estimates", raters: RaterEstimates, theta_se: Array, covariates: Covariates | None = None
) -> dict[str, pl.DataFrame]:
    """All tables of a facets fit, with what each term of its model adds; standard errors are NaN where there is no
    covariance."""
    ratings, found = every.ratings, every.found
    shown = {name: getattr(raters, name) for name in (*RATER_COLUMNS, *PASSES)}
    table = rater_table(ratings, shown, raters.slope, found.raters_at_limit, every.values)
    slope, severity = (found.held[found.model.blocks[name]] for name in ("slope", "severity"))
    if severity.any():  # anchored are those whose slope and severity are both held
        both = severity & (slope if len(slope) == len(severity) else slope.any())
        table = table.with_columns(flag=pl.when(pl.Series(both)).then(pl.lit(ANCHORED)).otherwise("flag"))
    of_students = {"theta": found.moments.mean, "theta_se": theta_se}
    tables = {
        "raters": table,
        "items": level_table(ratings, ratings.items, "item", {}),
        "students": level_table(ratings, ratings.students, "student", of_students),
    }
    for term in found.model.terms:
        for name, own in term.tables(every).items():
            if name in ("raters", "items", "students"):
                tables[name] = tables[name].hstack(own)
            else:
                tables[name] = pl.concat([tables[name], own]) if name in tables else own
    if (flags := _item_flags(found)).any():
        tables["items"] = tables["items"].with_columns(pl.Series("flag", list(flags), dtype=pl.String))
    if covariates is not None:
        tables["covariates"] = _covariate_table(found, every.covariance, covariates)
    if found.spreads:
        tables["spreads"] = spread_table(found)
    return tables if every.unit == 1 else _in_marks(tables, found, every.unit)


_IN_UNITS = {
    "raters": ("eta",),
    "items": ("delta",),
    "facets": ("effect",),
    "interactions": ("severity",),
    "spreads": ("spread", "low", "high"),
}
"""Columns that count as severities do."""


def _in_marks(
    tables: Mapping[str, pl.DataFrame], found: FacetsEstimate, unit: float
) -> dict[str, pl.DataFrame]:
    """Tables with severities, difficulties and their spreads in marks."""
    units = [1.0 if term.unitless else unit for term in found.model.drawn]
    return {
        name: table.with_columns(
            pl.col(column) * (unit if name != "spreads" else pl.Series(units))
            for column in table.columns
            if column.removesuffix("_se") in _IN_UNITS.get(name, ())
        )
        for name, table in tables.items()
    }


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """A fit, as terms make columns and tables of it."""

    ratings: Ratings
    found: FacetsEstimate
    covariance: Covariance | None
    values: Array
    unit: float

    @property
    def model(self) -> FacetsModel:
        return self.found.model.single

    @property
    def response(self) -> Response:
        return self.found.problem.response.single

    @property
    def parameters(self) -> Array:
        return self.found.parameters

    @property
    def ability(self) -> Array:
        return self.found.moments.mean

    def of(self, term: str) -> tuple[Array, Array]:
        model, x = self.found.model, self.found.parameters
        through = model.effect_jacobian(x, term)
        ran = np.asarray(abs(through) @ self.found.at_limit, dtype=bool)
        return model.effect(term, x), np.where(ran, np.nan, self.errors(through))

    def at_limit(self, term: str) -> Mask:
        return self.found.at_limit[self.found.model.blocks[term]]

    def errors(self, through: sparse.csr_array) -> Array:
        return _errors_of(through, self.covariance)

    def spreads(self, term: str) -> tuple[Array, Array, Array, Array]:
        return spreads_of(self.found, self.covariance, term)

    def pieces(self) -> Moments:
        problem, x = self.found.problem, self.parameters
        quality = problem.moments(x, sharp_nodes(problem, x, self.found.moments), pieces=True)
        return on_scale(self.found.model, x, quality)

    def second(self) -> Moments:
        return self.found.problem.shared_moments(self.parameters, self.found.nodes)


def _errors_of(through: sparse.csr_array, known: Covariance | None) -> Array:
    """(rows,): standard errors of linear functions of the parameters."""
    if known is None:
        return np.full(through.shape[0], np.nan)
    some = np.unique(through.indices)  # of large panels the rest would take memory
    through, matrix = through[:, some], known.matrix[some][:, some]
    return np.asarray(np.sqrt(np.maximum((through @ (through @ matrix).T).diagonal(), 0.0)))


_FLAT = 1e-6
"""A slope that is 0 but for rounding."""


def rater_table(
    ratings: Ratings, estimates: dict[str, Array], slope: Array, at_limit: NDArray[np.bool_], values: Array
) -> pl.DataFrame:
    """A row per rater, with a flag of the estimates in a word or two, empty if there is none."""
    table = level_table(ratings, ratings.raters, "rater", estimates)
    mean, pass_fail = table["mean_score"].to_numpy(), len(values) == 2
    flags = np.full(len(slope), "", dtype=object)
    flags[np.abs(slope) < _FLAT] = "slope at 0"
    flags[at_limit] = SLOPE_AT_LIMIT
    flags[mean == values[0]] = "all fail" if pass_fail else "all lowest"
    flags[mean == values[-1]] = "all pass" if pass_fail else "all highest"
    return table.with_columns(pl.Series("flag", list(flags), dtype=pl.String))


def _item_flags(found: FacetsEstimate) -> NDArray[np.object_]:
    """Flag of an item's estimates; empty if there is none."""
    blocks = found.model.blocks
    flags = np.full(found.model.n_items, "", dtype=object)
    flags[found.held[blocks["difficulty"]]] = ANCHORED
    for term in found.model.terms:
        if term.at_limit_flag:
            flags[found.at_limit[blocks[term.name]]] = term.at_limit_flag
    return flags


def _covariate_table(
    found: FacetsEstimate, spread: Covariance | None, covariates: Covariates
) -> pl.DataFrame:
    """Coefficients in the user's units: of severity and, where raters differ in it, of log-discrimination; where
    raters are a sample, of what is usual of such raters in severity and in the slope, whose error is that of the
    estimates, and the raters' own."""
    columns: dict[str, object] = {"term": [INTERCEPT, *covariates.names]}
    back, blocks, prior, x = covariates.to_units, found.model.blocks, found.problem.prior, found.parameters
    # Of each its coefficients, how they follow from parameters in their place, and how much these vary by themselves.
    if prior is None:
        named = ("severity", blocks["severity"]), ("log_discrimination", blocks["slope"])
        some = [(name, block) for name, block in named if block.stop - block.start == len(back)]
        parts = [(name, x[block], back, block, 0.0) for name, block in some]
    else:
        of_slopes, of_severities = prior.coefficients(x)
        through = back @ np.linalg.pinv(prior.severity_means)
        parts = [("severity", of_severities, through, prior.severities, prior.severity_spread)]
        if prior.slopes is not None and of_slopes is not None:
            through = back @ np.linalg.pinv(prior.slope_means)
            parts.append(("slope", of_slopes, through, prior.slopes, prior.slope_deviation(x)))
    for name, coefficients, through, block, own in parts:
        columns[name] = back @ coefficients
        columns[f"{name}_se"] = np.full(len(back), np.nan)
        if spread is not None:
            known = in_full(spread.matrix[block, block]) + own**2 * np.eye(block.stop - block.start)
            columns[f"{name}_se"] = np.sqrt(np.diag(through @ known @ through.T))
    return pl.DataFrame(columns)


# Roots of variances ------------------------------------------------------------------------------------------------

_ONE_SIDED = 1.644854
LARGEST_SPREAD = 10.0
"""No limit of an interval is larger."""
# Parameters and readings up to which the adjustment is made: it takes the information twice more, and matters less the
# more readings there are.
_MOST_PARAMETERS, _MOST_READINGS = 300, 5_000
# Of differences in the variance, in standard errors.
_STEP = 0.5


def spreads_of(
    found: FacetsEstimate, known: Covariance | None, name: str
) -> tuple[Array, Array, Array, Array]:
    """Roots of the variances that a term is about, with their standard errors and 95 % limits."""
    model, x = found.model, found.parameters
    variance, through = model.effect(name, x), model.effect_jacobian(x, name)
    error = _errors_of(through, known)
    if known is None or model.nested:  # whose information comes from differences
        return _spread_of(variance, error)
    if (held := (variance <= 0) & (error <= 0)).any():
        # At 0 while spreads of raters were looked at.
        information = found.problem.information(model.off_zero(x), found.nodes)
        off_zero = covariance(information, redundancy(model, x, found.held), found.held)
        error = np.where(held, _errors_of(through, off_zero), error)
    more, wider = _adjustment(found, known, name)
    # A variance estimated at 0 is as likely as a one-sided interval allows up to where the log-likelihood, which falls
    # as g v + v^2 / (2 error^2), has fallen by z^2 / 2.
    g = np.broadcast_to(np.maximum(-found.value.gradient[model.blocks[name]], 0.0), error.shape)
    steep = np.sqrt(g**2 + (_ONE_SIDED / np.maximum(wider * error, 1e-12)) ** 2)
    return _spread_of(variance, error, more, wider, _ONE_SIDED**2 / (steep + g))


def _spread_of(
    variance: Array, error: Array, more: float = 0.0, wider: float = 1.0, from_zero: Array | None = None
) -> tuple[Array, Array, Array, Array]:
    """Spreads with their errors and intervals, from estimates of variances and their errors.

    Parameters
    ----------
    more, wider
        How much larger the variances are, and how many times their errors, where they are adjusted.
    from_zero
        How large variances that are estimated at 0 may be.
    """
    tau, adjusted, error_of_tau = (
        np.sqrt(variance),
        np.sqrt(variance + more),
        _errors(np.sqrt(variance), error),
    )
    error = wider * error
    wide = NORMAL_95 * _errors(adjusted, error)
    far = (wide <= adjusted) & (variance >= _ONE_SIDED * error)
    near = adjusted**2 + NORMAL_95 * error
    if from_zero is not None:
        near = np.where(tau > 0, near, from_zero)
    low = np.where(far, adjusted - wide, np.where(np.isfinite(error), 0.0, np.nan))
    high = np.minimum(np.where(far, adjusted + wide, np.sqrt(near)), LARGEST_SPREAD)
    return (
        tau,
        np.where(np.isfinite(error_of_tau), error_of_tau, np.nan),
        np.minimum(low, tau),
        np.maximum(high, tau),
    )


def _errors(tau: Array, error: Array) -> Array:
    """Errors of spreads, from those of the variances."""
    return np.divide(error, 2 * tau, out=np.full_like(tau, np.inf), where=tau > 0)


def _adjustment(found: FacetsEstimate, spread: Covariance, name: str) -> tuple[float, float]:
    """How much larger the common variance is by the adjusted profile likelihood, by one of Newton's steps, and how many
    times larger its standard error is there."""
    model, problem, x = found.model, found.problem, found.parameters
    place = model.blocks[name].start
    variance = float(in_full(spread.matrix)[place, place]) if model.blocks.sizes[name] == 1 else 0.0
    kinds = problem.density.kinds
    few = model.blocks.size <= _MOST_PARAMETERS and kinds is not None and kinds.n_groups <= _MOST_READINGS
    if not few or variance <= 0 or x[place] <= 0:
        return 0.0, 1.0
    step = min(_STEP * float(np.sqrt(variance)), float(x[place]) / 2)
    # Where everything else goes as the variance moves.
    along = np.asarray(in_full(spread.matrix)[:, place]) / variance
    below, here, above = (_told(found, problem, x + side * step * along, name) for side in (-1, 0, 1))
    if not all(np.isfinite([below, here, above]).ravel()):
        return 0.0, 1.0
    rise = -(above[0] - below[0]) / (4 * step)
    bend = -(above[0] - 2 * here[0] + below[0]) / (2 * step**2)
    more = float(np.clip(variance * rise / (1 - min(variance * bend, 0.0)), 0.0, np.sqrt(variance)))
    return more, float(np.exp(-more * (above[1] - below[1]) / (4 * step)))


def _told(
    found: FacetsEstimate, problem: FacetsMarginal, parameters: Array, name: str
) -> tuple[float, float]:
    """Logarithms of the determinant of the information on all that is estimated but the reading effect, and of what is
    left of the information on the effect itself."""
    held = found.held | found.at_limit
    information, redundant = (
        problem.information(parameters, found.nodes),
        redundancy(found.model, found.parameters, held),
    )
    others = held.copy()
    others[found.model.blocks[name]] = True
    whole, rest = (2 * Inverse.of(information, redundant, still).half_determinant for still in (held, others))
    return rest, whole - rest


# Errors of abilities ------------------------------------------------------------------------------------------------
#
# Standard errors of abilities that know that raters and items are estimated, too.
#
# A student's posterior is taken at the estimates. They have errors of their own, which move its mean: by
#
#     d E[θ] / d x = Cov(θ, d log p(ratings | θ) / d x)
#
# over the posterior, so that with V the covariance of the estimates x the variance of an ability is that of its
# posterior plus (d E / d x) V (d E / d x)'. With five raters of sixty students, the posterior alone leaves out a third
# of it.
#
# Slopes that ran to a limit have no variance in V. How far they could be from it is known by profile likelihood, and
# with it what means and variances of abilities are there.

_BLOCK = 4_096
# How far a slope is from the limit that it ran to, on average and in standard errors: E|z|.
_USUALLY = np.sqrt(2 / np.pi)


def ability_errors(
    found: FacetsEstimate, ratings: Ratings, spread: Covariance | None, reach: Reach | None = None
) -> Array:
    """(students,)"""
    posterior = found.moments.sd
    if spread is None or ratings.n_ratings > THETA_ERROR_RATINGS:
        return posterior
    added = _quadratic(_gradient(found), spread.matrix)
    if reach is not None:
        for there, fall in zip(reach.unheld, reach.falls, strict=True):
            moved = on_scale(found.model, there, found.problem.moments(there, found.nodes))
            added += ((moved.mean - found.moments.mean) / fall) ** 2
            added += _USUALLY / fall * (moved.sd**2 - posterior**2)
    total = posterior**2 + np.maximum(added, 0.0)
    # Whoever knows nothing of a student but the population is off by no more.
    mean, sd = found.model.population(found.parameters)
    most = np.maximum(posterior**2, sd**2 + (found.moments.mean - mean) ** 2)
    return np.asarray(np.sqrt(np.minimum(total, most)))


def _quadratic(rows: sparse.csr_array, matrix: Matrix) -> Array:
    """(rows,): `row @ matrix @ row` of each."""
    if isinstance(matrix, np.ndarray) and compiled_code_pays(rows.nnz * len(matrix)):
        from raterlens.kernels.score_covariance import quadratic_forms  # may be missing

        return quadratic_forms(rows, matrix)
    found = np.empty(rows.shape[0])
    for first in range(0, len(found), _BLOCK):
        some = rows[first : first + _BLOCK]
        found[first : first + _BLOCK] = some.multiply(some @ matrix).sum(axis=1)
    return found


def _gradient(found: FacetsEstimate) -> sparse.csr_array:
    """(students, parameters): of the posterior means."""
    x, nodes = found.model.off_zero(found.parameters), found.nodes
    gradient = found.problem.student_scores(x, nodes, partial(about_means, points=nodes.points))
    if not found.model.enters("mean"):
        return gradient
    # θ = mean + sd z, with the mean and log sd among the parameters.
    mean, sd = found.model.population(found.parameters)
    by_mean, by_log_sd = (found.model.design(name)[:1] for name in ("mean", "log_sd"))
    off = sparse.csr_array((found.moments.mean - mean)[:, None])
    return sparse.csr_array(sd * gradient + np.ones_like(off.toarray()) @ by_mean + off @ by_log_sd)
