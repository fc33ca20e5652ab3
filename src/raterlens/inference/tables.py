"""Estimates as tables: one row per rater, item, student, facet level or threshold.

Of the reading effect the variance tau^2 is estimated, whose likelihood is regular even at 0; far from 0 that of tau is
nearer to a normal one. So the interval is of tau where 0 is beyond a one-sided interval of the variance; else it begins
at 0 and ends where that of the variance does. It is one-sided where the estimate is 0.

Maximum likelihood estimates of a spread are a little too small, as what the other parameters take up is not allowed
for. The estimate is left as it is, but the interval of a common spread is that of the adjusted profile likelihood (Cox
and Reid, 1987), which has -log|I| / 2 added, I being the information on everything else.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.arrays import Array
from raterlens.estimation.facets_estimate import FacetsEstimate
from raterlens.estimation.methods import on_scale, sharp_nodes
from raterlens.inference.covariance import Covariance, in_full
from raterlens.inference.intervals import RaterEstimates
from raterlens.inference.measurement import PASSES, RATER_COLUMNS
from raterlens.inference.panel_draws import NORMAL_95
from raterlens.likelihood.marginal import FacetsMarginal
from raterlens.likelihood.priors import PanelPrior
from raterlens.models.calibration import Calibration
from raterlens.models.covariates import INTERCEPT, Covariates
from raterlens.models.facets import redundancy
from raterlens.models.terms.difficulties import DIFFICULTY, facet_name
from raterlens.models.terms.group_means import GROUP_MEAN, GroupMeans
from raterlens.models.terms.halo import HALO, IMPRESSION, LARGEST_HALO, PIECE, Halo
from raterlens.models.terms.item_slopes import ITEM_SLOPE
from raterlens.models.terms.noise import OWN_NOISE, log_noise
from raterlens.models.terms.rater_interactions import ITEM, Interaction
from raterlens.models.terms.shape import POPULATION, SHAPE
from raterlens.models.terms.shared_bias import BIAS
from raterlens.models.terms.thresholds import THRESHOLD, Thresholds
from raterlens.ratings.coded import Facet, Ratings, level_table
from raterlens.ratings.groupings import piece_tallies

ANCHORED, SLOPE_AT_LIMIT = "anchored", "slope at limit"


def tabulate(
    ratings: Ratings,
    found: FacetsEstimate,
    raters: RaterEstimates,
    theta_se: Array,
    spread: Covariance | None,
    values: Array,
    covariates: Covariates | None = None,
) -> dict[str, pl.DataFrame]:
    """All tables of a facets fit; standard errors are NaN where there is no covariance.

    `values`: the scores as the file has them.
    """
    shown = {name: getattr(raters, name) for name in (*RATER_COLUMNS, *PASSES)}
    table = rater_table(ratings, shown, raters.slope, found.raters_at_limit, values)
    tables = {
        "raters": _anchored(table, found),
        "items": _item_table(ratings, found, spread),
        "students": level_table(
            ratings,
            ratings.students,
            "student",
            {"theta": found.moments.mean, "theta_se": theta_se},
        ),
    }
    if HALO in found.model or IMPRESSION in found.model:
        halos = halo_estimates(found, spread) if HALO in found.model else _impressions(found, spread)
        tables["raters"] = tables["raters"].with_columns(
            pl.Series(name, each) for name, each in halos.items()
        )
    if BIAS in found.model:
        tables["raters"] = tables["raters"].with_columns(
            pl.Series(name, each) for name, each in _biases(found, spread).items()
        )
        tables["students"] = tables["students"].with_columns(
            pl.Series(name, each) for name, each in misled(found).items()
        )
    if ratings.facets:
        tables["facets"] = pl.concat(
            [_facet_table(ratings, found, spread, facet) for facet in ratings.facets]
        )
    if found.model.interactions:
        tables["interactions"] = pl.concat(
            [_interaction_table(ratings, found, spread, term, values) for term in found.model.interactions]
        )
    if found.model.thresholds is not None:
        tables["thresholds"] = _threshold_table(ratings, found, spread)
    tables |= _student_tables(ratings, found, spread)
    if covariates is not None:
        tables["covariates"] = _covariate_table(found, spread, covariates)
    return tables


def estimates(found: FacetsEstimate, spread: Covariance | None, name: str) -> tuple[Array, Array]:
    """Effects of a term, and their standard errors: NaN where there is no covariance, or a parameter ran to its
    limit."""
    at, effects = found.model.blocks[name], found.model.effect(name, found.parameters)
    if spread is None:
        return effects, np.full(len(effects), np.nan)
    through = found.model.effect_jacobian(found.parameters, name)[:, at]
    variance = (through @ (through @ spread.matrix[at, at]).T).diagonal()
    known = ~np.asarray(abs(through) @ found.at_limit[at], dtype=bool)
    return effects, np.where(known, np.sqrt(np.maximum(variance, 0.0)), np.nan)


def in_marks(tables: dict[str, pl.DataFrame], known: Calibration) -> dict[str, pl.DataFrame]:
    """Tables of a fit of marks with severities and difficulties in marks, and with each rater's noise."""
    units = ("eta", "delta", "effect", "severity", "spread", "low", "high")
    unit, logarithm = known.unit, pl.col("term") == OWN_NOISE
    found = {
        name: table.with_columns(
            pl.col(column) * (unit if name != "spreads" else pl.when(logarithm).then(1.0).otherwise(unit))
            for column in table.columns
            if column.removesuffix("_se") in units and name in _IN_UNITS
        )
        for name, table in tables.items()
    }
    noise = known.unit * np.exp(log_noise(known.effects))
    error = np.full_like(noise, np.nan)
    if known.curve_covariance is not None:
        error = noise * np.sqrt(np.maximum(known.curve_covariance[:, 2, 2], 0.0))
    found["raters"] = found["raters"].with_columns(pl.Series("noise", noise), pl.Series("noise_se", error))
    return found


_IN_UNITS = ("raters", "items", "facets", "interactions", "spreads")


def _item_table(ratings: Ratings, found: FacetsEstimate, spread: Covariance | None) -> pl.DataFrame:
    delta, se = estimates(found, spread, DIFFICULTY)
    table = level_table(ratings, ratings.items, "item", {"delta": delta, "delta_se": se})
    if ITEM_SLOPE in found.model:
        logarithm, se = estimates(found, spread, ITEM_SLOPE)
        slope = np.exp(logarithm)
        table = table.with_columns(pl.Series("slope", slope), pl.Series("slope_se", slope * se))
    flags = _item_flags(found)
    return table.with_columns(pl.Series("flag", flags, dtype=pl.String)) if (flags != "").any() else table


def _biases(found: FacetsEstimate, spread: Covariance | None) -> dict[str, Array]:
    """How much each rater follows what raters share; exactly 0 for those who are trusted."""
    bias, se = estimates(found, spread, BIAS)
    reach = NORMAL_95 * se
    return {"bias": bias, "bias_se": se, "bias_low": bias - reach, "bias_high": bias + reach}


def _student_tables(
    ratings: Ratings, found: FacetsEstimate, spread: Covariance | None
) -> dict[str, pl.DataFrame]:
    """Tables of students in general, and of their pieces of work, if the model has them."""
    tables: dict[str, pl.DataFrame] = {}
    if PIECE in found.model:
        tables["pieces"] = _piece_table(ratings, found)
        tables["piece effect"] = _piece_effect(found, spread)
    if GROUP_MEAN in found.model and ratings.group is not None:
        mean, se = estimates(found, spread, GROUP_MEAN)
        tables["groups"] = pl.DataFrame(
            {
                "group": ratings.group.labels.cast(pl.String),
                "n": found.model.term(GROUP_MEAN, GroupMeans).n_students.astype(np.int64),
                "mean": mean,
                "mean_se": se,
            }
        )
    if SHAPE in found.model:
        (c3, c4), (c3_se, c4_se) = estimates(found, spread, SHAPE)
        tables[SHAPE] = pl.DataFrame({"c3": c3, "c3_se": c3_se, "c4": c4, "c4_se": c4_se})
    if POPULATION in found.model:
        (mean, log_sd), (mean_se, log_se) = estimates(found, spread, POPULATION)
        sd = np.exp(log_sd)
        columns = {"mean": mean, "mean_se": mean_se, "sd": sd, "sd_se": sd * log_se}
        tables[POPULATION] = pl.DataFrame(columns)
    return tables


def _piece_table(ratings: Ratings, found: FacetsEstimate) -> pl.DataFrame:
    """student, piece, n, mean_score, quality, quality_se: what each piece is worth, on the scale of ability."""
    assert ratings.piece is not None
    student, label, tally = piece_tallies(ratings)
    nodes = sharp_nodes(found.problem, found.parameters, found.moments)
    quality = found.problem.moments(found.parameters, nodes, pieces=True)
    quality = on_scale(found.model, found.parameters, quality)
    return pl.DataFrame(
        {
            "student": ratings.students.gather(student),
            "piece": ratings.piece.labels.gather(label),
            "n": tally.n,
            "mean_score": tally.mean * ratings.score_step,
            "quality": quality.mean,
            "quality_se": quality.sd,
        }
    )


def _piece_effect(found: FacetsEstimate, spread: Covariance | None) -> pl.DataFrame:
    """omega with its error and interval, and how far one piece speaks for its student."""
    omega = _spread_around_ability(found, PIECE, spread)
    return pl.DataFrame({**omega, "speaks": 1 / np.sqrt(1 + omega["spread"] ** 2)})


def _impressions(found: FacetsEstimate, spread: Covariance | None) -> dict[str, Array]:
    """Columns of the table of raters, the same for each: the spread of impressions, in units of ability."""
    each = _spread_around_ability(found, IMPRESSION, spread).values()
    names = ("halo", "halo_se", "halo_low", "halo_high")
    return {name: np.full(found.model.n_raters, value) for name, value in zip(names, each, strict=True)}


def _spread_around_ability(found: FacetsEstimate, name: str, spread: Covariance | None) -> dict[str, float]:
    """omega with its error and interval."""
    place = found.model.blocks[name].start
    error = np.nan if spread is None else np.sqrt(max(spread.matrix.diagonal()[place], 0.0))
    omega = _spread_of(found.parameters[place : place + 1], np.array([error]))
    return {
        name: float(each[0]) for name, each in zip(("spread", "spread_se", "low", "high"), omega, strict=True)
    }


def rater_table(
    ratings: Ratings, estimates: dict[str, Array], slope: Array, at_limit: NDArray[np.bool_], values: Array
) -> pl.DataFrame:
    """A row per rater, with a flag of the estimates in a word or two, empty if there is none."""
    table = level_table(ratings, ratings.raters, "rater", estimates)
    mean, pass_fail = table["mean_score"].to_numpy(), len(values) == 2
    flags = np.full(len(slope), "", dtype=object)
    flags[slope == 0] = "slope at 0"
    flags[at_limit] = SLOPE_AT_LIMIT
    flags[mean == values[0]] = "all fail" if pass_fail else "all lowest"
    flags[mean == values[-1]] = "all pass" if pass_fail else "all highest"
    return table.with_columns(pl.Series("flag", list(flags), dtype=pl.String))


def _anchored(table: pl.DataFrame, found: FacetsEstimate) -> pl.DataFrame:
    held = pl.Series(_anchored_raters(found))
    return table.with_columns(flag=pl.when(held).then(pl.lit(ANCHORED)).otherwise("flag"))


def _anchored_raters(found: FacetsEstimate) -> NDArray[np.bool_]:
    """Raters whose slope and severity are both held."""
    blocks, held = found.model.blocks, found.held
    if not held.any():
        return np.zeros(found.model.n_raters, dtype=bool)
    slope, severity = held[blocks["slope"]], held[blocks["severity"]]
    return np.broadcast_to(slope if len(slope) == len(severity) else slope.any(), severity.shape) & severity


def _item_flags(found: FacetsEstimate) -> NDArray[np.object_]:
    """Flag of an item's estimates; empty if there is none."""
    blocks = found.model.blocks
    flags = np.full(found.model.n_items, "", dtype=object)
    flags[found.held[blocks["difficulty"]]] = ANCHORED
    flags[found.at_limit[blocks["difficulty"]]] = "difficulty at limit"
    if ITEM_SLOPE in found.model:
        flags[found.at_limit[blocks["item_slope"]]] = SLOPE_AT_LIMIT
    return flags


def _facet_table(
    ratings: Ratings, found: FacetsEstimate, spread: Covariance | None, facet: Facet
) -> pl.DataFrame:
    effect, se = estimates(found, spread, facet_name(facet.name))
    labels = facet.labels.cast(pl.String).alias("level")
    table = level_table(ratings, labels, facet_name(facet.name), {"effect": effect, "effect_se": se})
    return table.select(pl.lit(facet.name).alias("facet"), pl.all())


def _interaction_table(
    ratings: Ratings, found: FacetsEstimate, spread: Covariance | None, term: Interaction, values: Array
) -> pl.DataFrame:
    """A row for every rater and level that occur together: how much more severe the rater is there."""
    labels = {ITEM: ratings.items, **{facet.name: facet.labels for facet in ratings.facets}}[term.facet]
    severity, se = estimates(found, spread, term.name)
    given = found.model.contexts.given
    cells = term.cells(found.model.contexts)
    n, total = (np.bincount(cells, each) for each in (given.sum(axis=1), given @ values))
    return pl.DataFrame(
        {
            "rater": ratings.raters.gather(term.rater),
            "facet": [term.facet] * term.size,
            "level": labels.cast(pl.String).gather(term.level),
            "n": n.astype(np.int64),
            "mean_score": total / n,
            "severity": severity,
            "severity_se": se,
        }
    )


def _threshold_table(ratings: Ratings, found: FacetsEstimate, spread: Covariance | None) -> pl.DataFrame:
    scale, step = np.nonzero(found.model.term(THRESHOLD, Thresholds).exists)
    threshold, se = estimates(found, spread, THRESHOLD)
    labels = ratings.items.cast(pl.String) if scale.any() else pl.Series(["all"])
    return pl.DataFrame(
        {"item": labels.gather(scale), "step": step + 1, "threshold": threshold, "threshold_se": se}
    )


def _covariate_table(
    found: FacetsEstimate, spread: Covariance | None, covariates: Covariates
) -> pl.DataFrame:
    """Coefficients in the user's units: of severity and, where raters differ in it, of log-discrimination; where
    raters are a sample, of what is usual of such raters in severity and in the slope."""
    columns: dict[str, object] = {"term": [INTERCEPT, *covariates.names]}
    back, blocks = covariates.to_units, found.model.blocks
    if found.problem.prior is not None:
        return pl.DataFrame(columns | _usual_raters(found, found.problem.prior, spread, back))
    for name, block in (("severity", blocks["severity"]), ("log_discrimination", blocks["slope"])):
        if block.stop - block.start != len(back):
            continue
        columns[name] = back @ found.parameters[block]
        spare = np.full(len(back), np.nan)
        columns[f"{name}_se"] = (
            spare if spread is None else np.sqrt(np.diag(back @ spread.matrix[block, block] @ back.T))
        )
    return pl.DataFrame(columns)


def _usual_raters(
    found: FacetsEstimate, prior: PanelPrior, spread: Covariance | None, back: Array
) -> dict[str, Array]:
    """Regression of severities and slopes on covariates: its error is that of the estimates, and the raters' own."""
    columns: dict[str, Array] = {}
    of_slopes, of_severities = prior.coefficients(found.parameters)
    parts = [("severity", of_severities, prior.severities, prior.severity_means, prior.severity_spread)]
    if prior.slopes is not None and of_slopes is not None:
        own_spread = prior.slope_deviation(found.parameters)
        parts.append(("slope", of_slopes, prior.slopes, prior.slope_means, own_spread))
    for name, coefficients, block, design, own in parts:
        fit = back @ np.linalg.pinv(design)
        columns[name] = back @ coefficients
        columns[f"{name}_se"] = np.full(len(back), np.nan)
        if spread is not None:
            whole = in_full(spread.matrix[block, block]) + own**2 * np.eye(len(design))
            columns[f"{name}_se"] = np.sqrt(np.diag(fit @ whole @ fit.T))
    return columns


def misled(found: FacetsEstimate) -> dict[str, Array]:
    """Each student's place on the dimension that raters share, and how much that raises the mean score, as a share of
    the highest, that the raters who are not trusted would give it, all of them."""
    problem, nodes = found.problem, found.nodes
    model, x = problem.model.single, found.parameters
    loading = model.design("loading")
    shared = problem.shared_moments(x, nodes)
    others = np.flatnonzero(np.diff(loading.indptr))
    predictor, bias = model.predictor(x), (loading @ x)[others]
    response, total = problem.response.single, np.zeros(len(shared.mean))
    for context, b in zip(others, bias, strict=True):
        row, reach = np.full(len(total), context), predictor.slope[context] * found.moments.mean
        total += response.mean_of(predictor, row, reach + b * shared.mean)
        total -= response.mean_of(predictor, row, reach)
    total /= max(1, len(others)) * (response.n_categories - 1)
    return {"shared": shared.mean, "shared_se": shared.sd, "misled": total}


_ONE_SIDED = 1.644854
# Parameters and readings up to which the adjustment is made: it takes the information twice more, and matters less the
# more readings there are.
_MOST_PARAMETERS, _MOST_READINGS = 300, 5_000
# Of differences in the variance, in standard errors.
_STEP = 0.5


def halo_estimates(found: FacetsEstimate, spread: Covariance | None) -> dict[str, Array]:
    """Columns of the table of raters."""
    variance = found.model.halo_variances(found.parameters)
    if spread is None:
        tau = _spread_of(variance, np.full_like(variance, np.nan))
    else:
        through = found.model.effect_jacobian(found.parameters, HALO)
        error = np.sqrt(np.maximum((through @ (through @ in_full(spread.matrix)).T).diagonal(), 0.0))
        more, wider = _adjustment(found, spread)
        tau = _spread_of(variance, error, more, wider, _largest_from_zero(found, wider * error))
    return dict(zip(("halo", "halo_se", "halo_low", "halo_high"), tau, strict=True))


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
    high = np.minimum(np.where(far, adjusted + wide, np.sqrt(near)), LARGEST_HALO)
    return (
        tau,
        np.where(np.isfinite(error_of_tau), error_of_tau, np.nan),
        np.minimum(low, tau),
        np.maximum(high, tau),
    )


def _errors(tau: Array, error: Array) -> Array:
    """Errors of spreads, from those of the variances."""
    return np.divide(error, 2 * tau, out=np.full_like(tau, np.inf), where=tau > 0)


def _largest_from_zero(found: FacetsEstimate, error: Array) -> Array:
    """A variance estimated at 0 is as likely as a one-sided interval allows up to here: the log-likelihood falls as
    g v + v^2 / (2 error^2), and may fall by z^2 / 2."""
    falls = np.maximum(-found.value.gradient[found.model.blocks["halo"]], 0.0)
    g = np.broadcast_to(falls, error.shape)
    return np.asarray(_ONE_SIDED**2 / (np.sqrt(g**2 + (_ONE_SIDED / np.maximum(error, 1e-12)) ** 2) + g))


def _adjustment(found: FacetsEstimate, spread: Covariance) -> tuple[float, float]:
    """How much larger the common variance is by the adjusted profile likelihood, by one of Newton's steps, and how many
    times larger its standard error is there."""
    model, problem, x = found.model, found.problem, found.parameters
    place = model.blocks["halo"].start
    variance = float(in_full(spread.matrix)[place, place]) if model.term(HALO, Halo).size == 1 else 0.0
    kinds = problem.density.kinds
    few = model.blocks.size <= _MOST_PARAMETERS and kinds is not None and kinds.n_groups <= _MOST_READINGS
    few = few and not model.nested  # whose information comes from differences
    if not few or variance <= 0 or x[place] <= 0:
        return 0.0, 1.0
    step = min(_STEP * float(np.sqrt(variance)), float(x[place]) / 2)
    # Where everything else goes as the variance moves.
    along = np.asarray(in_full(spread.matrix)[:, place]) / variance
    below, here, above = (_told(found, problem, x + side * step * along) for side in (-1, 0, 1))
    if not all(np.isfinite([below, here, above]).ravel()):
        return 0.0, 1.0
    rise = -(above[0] - below[0]) / (4 * step)
    bend = -(above[0] - 2 * here[0] + below[0]) / (2 * step**2)
    more = float(np.clip(variance * rise / (1 - min(variance * bend, 0.0)), 0.0, np.sqrt(variance)))
    return more, float(np.exp(-more * (above[1] - below[1]) / (4 * step)))


def _told(found: FacetsEstimate, problem: FacetsMarginal, parameters: Array) -> tuple[float, float]:
    """Logarithms of the determinant of the information on all that is estimated but the reading effect, and of what is
    left of the information on the effect itself."""
    held = found.held | found.at_limit
    constraints = redundancy(found.model, found.parameters, held).constraints
    information = in_full(problem.information(parameters, found.nodes)) + constraints.T @ constraints
    others = held.copy()
    others[found.model.blocks["halo"]] = True
    whole, rest = (
        float(np.linalg.slogdet(information[np.ix_(free, free)])[1])
        for free in (np.flatnonzero(~held), np.flatnonzero(~others))
    )
    return rest, whole - rest
