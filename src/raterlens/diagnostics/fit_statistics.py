"""How well the model describes raters, items, students and scores: infit, outfit, correlations, unexpected ratings, use
of each score, separation and reliability.

    infit = sum E[(y - mu)^2] / sum E[v],      outfit = mean of E[(y - mu)^2 / v]

with E over each student's posterior, as PyPI's mirt 1.2.0 defines them for marginal estimation. Both are 1 on average
under the model. Above 1: noisier than the model expects; below 1: more predictable.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse, special

from raterlens.base.arrays import Array
from raterlens.base.text import distinct
from raterlens.diagnostics.rater_effects import rater_moment
from raterlens.diagnostics.residuals import Expectation, Residuals
from raterlens.estimation.scoring import places_of
from raterlens.inference.expected_scores import rater_scores
from raterlens.models.calibration import Calibration
from raterlens.models.facets import IMPOSSIBLE
from raterlens.models.terms.thresholds import RATER_THRESHOLD

# ------------------------------------------------------------------------------------------------ fit statistics


UNEXPECTED = 0.05
"""A score that had at most this probability is unexpected."""
MOST_LISTED = 1_000
_MEAN_SQUARES = ("infit", "infit_z", "outfit", "outfit_z")


def sums_of_contexts(found: Residuals) -> dict[str, Array]:
    """Sums for raters' and items' statistics over the ratings of each context: one pass for both.

    x: ability according to the other raters; y: score; m: score that they foresee.
    """
    x, m = found.rest[found.pairs.of_rating], found.foreseen
    y = found.ratings.score.astype(np.float64)
    infit, outfit = found.squared - found.variance, found.standardised - 1
    parts = {"squared": found.squared, "variance": found.variance, "standardised": found.standardised}
    parts |= {"infit": infit, "outfit": outfit, "infit_squared": infit**2, "outfit_squared": outfit**2}
    parts |= {"x": x, "y": y, "m": m, "xx": x * x, "yy": y * y, "mm": m * m, "xy": x * y, "xm": x * m}
    parts |= {"noise": found.foreseen_variance, "n": np.ones(len(y))}
    size = len(found.model.contexts)
    return {name: np.bincount(found.context, part, size).astype(np.float64) for name, part in parts.items()}


def rater_fit(found: Residuals, sums: dict[str, Array] | None = None) -> pl.DataFrame:
    """A row per rater: mean squares with standardised values, and correlation with the other raters' view."""
    ratings, pairs = found.ratings, found.pairs
    infit = rater_moment(found, pairs.sums(found.squared - found.variance)).z
    outfit = rater_moment(found, pairs.sums(found.standardised - 1)).z
    of = _of_levels(sums or sums_of_contexts(found), found.model.contexts.rater, ratings.n_raters)
    table = pl.DataFrame({"rater": ratings.raters, **_statistics(of, infit, outfit)})
    # Two error rates per rater fit mean squares of 1 exactly, whatever the rater does: they say nothing.
    return table.with_columns(
        pl.lit(float("nan")).alias(name) for name in _MEAN_SQUARES * found.model.categories
    )


def item_fit(found: Residuals, sums: dict[str, Array]) -> pl.DataFrame:
    """A row per item, with the columns of `rater_fit`."""
    of = _of_levels(sums, found.model.contexts.item, found.ratings.n_items)
    z = (of[name] / np.sqrt(np.maximum(of[f"{name}_squared"], 1e-300)) for name in ("infit", "outfit"))
    return pl.DataFrame({"item": found.ratings.items, **_statistics(of, *z)})


def student_fit(found: Residuals) -> pl.DataFrame:
    """A row per student. A student's ratings are too few for a standard deviation of their own, so standardised values
    follow from the model's fourth moments by the cube root of Wilson and Hilferty, as in FACETS and Winsteps."""
    ratings = found.ratings

    def total(values: Array | None = None) -> Array:
        return np.bincount(ratings.student, values, ratings.n_students).astype(np.float64)

    n, variance = total(), total(found.variance)
    columns = {"student": ratings.students, "n": n.astype(np.int64)}
    for name, mean_square, spread in (
        ("infit", total(found.squared) / variance, total(found.variance**2 * found.fourth) / variance**2),
        ("outfit", total(found.standardised) / n, total(found.fourth) / n**2),
    ):
        # Beyond that the cube root is no longer near normal, and would call single surprises certain.
        q = np.sqrt(np.clip(spread, 1e-12, 2.0))
        columns |= {name: mean_square, f"{name}_z": (np.cbrt(mean_square) - 1) * 3 / q + q / 3}
    return pl.DataFrame(columns)


def unexpected(found: Residuals) -> pl.DataFrame:
    """Ratings whose score had a probability of at most 5 % according to the student's other raters, the least probable
    first: at most 1,000; of marks on a fine scale, a mark as far out on either side had it. In a panel without fault a
    few of every hundred ratings are among them."""
    ratings = found.ratings
    p = found.probability
    candidates = np.flatnonzero(p <= UNEXPECTED)
    if len(candidates) > MOST_LISTED:
        candidates = candidates[np.argpartition(p[candidates], MOST_LISTED)[:MOST_LISTED]]
    rows = candidates[np.argsort(p[candidates], kind="stable")]
    score, expected = ratings.score[rows], found.foreseen[rows]
    return pl.DataFrame(
        {
            "row": rows,
            "student": ratings.students.gather(ratings.student[rows]),
            "rater": ratings.raters.gather(ratings.rater[rows]),
            "item": ratings.items.gather(ratings.item[rows]),
            "score": score,
            "expected": expected,
            "probability": p[rows],
            "z": (score - expected) / np.sqrt(np.maximum(found.foreseen_variance[rows], 1e-12)),
        }
    )


def curves(found: Residuals, groups: int = 6) -> pl.DataFrame:
    """Observed and expected mean scores of every rater along ability: students in groups of equal size by what the
    *other* raters say of them. Where the observed curve leaves the expected one by more than two standard errors, the
    rater sees ability differently there."""
    ratings, pairs, n = found.ratings, found.pairs, found.ratings.n_raters
    # Rounded, so that students with the same ratings stay in the same group.
    known = np.round(found.rest, 9)
    edges = np.quantile(known, np.linspace(0, 1, groups + 1)[1:-1])
    cell = pairs.rater * groups + np.searchsorted(edges, known)
    parts = [pairs.sums(values) for values in (ratings.score, found.foreseen, found.foreseen_variance)]
    totals = [np.bincount(cell, part, n * groups) for part in (*parts, pairs.size, pairs.size * known)]
    kept = np.flatnonzero(totals[3])
    observed, expected, spread, count, ability = (total[kept].astype(np.float64) for total in totals)
    return pl.DataFrame(
        {
            "rater": ratings.raters.gather(kept // groups),
            "group": kept % groups + 1,
            "n": count.astype(np.int64),
            "ability": ability / count,
            "observed": observed / count,
            "expected": expected / count,
            "difference": (observed - expected) / count,
            "se": np.sqrt(spread) / count,
        }
    )


def _of_levels(sums: dict[str, Array], level: NDArray[np.int64], n: int) -> dict[str, Array]:
    """Sums over contexts to sums over the levels that they have."""
    return {name: np.bincount(level, values, n).astype(np.float64) for name, values in sums.items()}


def _statistics(of: dict[str, Array], infit_z: Array, outfit_z: Array) -> dict[str, Array]:
    """Mean squares, and correlations of scores with abilities according to the other raters: as seen, and as the
    model expects it."""
    n = of["n"]
    xx, yy, mm, xy, xm = (of[a + b] - of[a] * of[b] / n for a, b in ("xx", "yy", "mm", "xy", "xm"))
    with np.errstate(invalid="ignore", divide="ignore"):
        # Students with one rater only have nobody to agree with: no spread in x.
        xx = np.where(xx > 1e-9 * n, xx, np.nan)
        yy = np.where(yy > 1e-9 * n, yy, np.nan)
        return {
            "n": n.astype(np.int64),
            "infit": of["squared"] / of["variance"],
            "infit_z": infit_z,
            "outfit": of["standardised"] / n,
            "outfit_z": outfit_z,
            "correlation": xy / np.sqrt(xx * yy),
            "correlation_expected": xm / np.sqrt(xx * (np.maximum(mm, 0.0) + of["noise"])),
        }


# --------------------------------------------------------------------------------------------------- reliability


_COLUMNS = ("true_sd", "mean_error", "separation", "strata", "reliability", "chi_square", "p")


def reliability(
    students: pl.DataFrame, raters: pl.DataFrame, items: pl.DataFrame, *, drawn: bool = False
) -> pl.DataFrame:
    """A row each for students, raters and items: separation G = true spread / error, strata (4 G + 1) / 3,
    reliability G² / (1 + G²), and the chi-square of the hypothesis that all are the same.

    A high reliability of *raters* means that they differ reliably in severity: a board wants it low. Students'
    abilities, and severities that are `drawn` to each other by a prior, are posterior means, which vary less than what
    they estimate, so their reliability is the variance of the means over its sum with the mean posterior variance; they
    have no chi-square.
    """
    rows: list[tuple[object, ...]] = []
    parts = (("students", students, "theta"), ("raters", raters, "eta"), ("items", items, "delta"))
    for name, table, measure in parts:
        value, error = (table[c].cast(pl.Float64).to_numpy() for c in (measure, f"{measure}_se"))
        chi = p = float("nan")
        if name == "students" or (name == "raters" and drawn):
            true, noise = float(np.var(value)), float(np.mean(error**2))
        else:
            known = np.isfinite(value) & np.isfinite(error) & (error > 0)
            value, error = value[known], error[known]
            if len(value) < 2:
                rows.append((name, len(value), *[np.nan] * len(_COLUMNS)))
                continue
            noise, weight = float(np.mean(error**2)), 1 / error**2
            true = max(float(np.var(value, ddof=1)) - noise, 0.0)
            chi = float(weight @ (value - weight @ value / weight.sum()) ** 2)
            p = float(special.chdtrc(len(value) - 1, chi))
        g = float(np.sqrt(true / noise)) if noise > 0 else np.nan
        spreads = float(np.sqrt(true)), float(np.sqrt(noise))
        rows.append((name, len(value), *spreads, g, (4 * g + 1) / 3, true / (true + noise), chi, p))
    schema = {"of": pl.String, "n": pl.Int64, **dict.fromkeys(_COLUMNS, pl.Float64)}
    return pl.DataFrame(rows, schema=schema, orient="row")


# ------------------------------------------------------------------------------------------------- fair averages


_STEP = 1e-3
"""In severity, for its effect on scores"""


def with_fair(table: pl.DataFrame, average: Array, error: Array) -> pl.DataFrame:
    """The table with mean scores if all were rated alike, and standard errors: NaN where there are none."""
    return table.with_columns(
        pl.Series("fair_average", average), pl.Series("fair_average_se", error).cast(pl.Float64)
    )


def fair_raters(known: Calibration, raters: pl.DataFrame, labels: pl.Series) -> tuple[Array, Array]:
    """The mean score that each rater would give an average student over all items, as the file counts: what severity
    amounts to in scores; and its standard error. `raters` is the fit's table."""
    own = places_of(labels, raters["rater"], "raters")

    def scores(harsher: float) -> Array:
        effects = {**known.effects, "severity": known.effects["severity"] + harsher}
        return rater_scores(replace(known, effects=effects))[own]

    return _with_error(scores, raters["eta_se"].cast(pl.Float64).to_numpy()[own] / known.unit)


def fair_items(known: Calibration, items: pl.DataFrame, labels: pl.Series) -> tuple[Array, Array]:
    """The mean score that the average rater would give an average student on each item, as the file counts, and its
    standard error. `items` is the fit's table."""
    mean = np.array([known.population[0]])
    place = places_of(labels, items["item"], "items")
    rows = known.average().rows(np.zeros(len(place), np.int64), place.astype(np.int64))

    def scores(harder: float) -> Array:
        return np.asarray(rows.chances(mean, harder)[:, :, 0] @ known.values)

    return _with_error(scores, items["delta_se"].cast(pl.Float64).to_numpy()[place] / known.unit)


def _with_error(scores: Callable[[float], Array], error: Array) -> tuple[Array, Array]:
    found = scores(0.0)
    return found, np.abs(found - scores(_STEP)) / _STEP * error


def fair_shares(found: Residuals, raters: pl.DataFrame) -> tuple[Array, tuple[Array, Array]]:
    """Latent classes: the share of passes that each rater would give if they rated all work, and the share of each
    student's work that deserves to pass, with its standard error."""
    ratings, deserved = found.ratings, found.ability.mean
    place = places_of(ratings.raters, raters["rater"], "raters")
    sensitivity, specificity = (raters[name].to_numpy()[place] for name in ("sensitivity", "specificity"))
    overall = float(deserved.mean())
    student = np.empty(len(deserved), np.int64)
    student[found.model.judged] = ratings.student
    count, share, doubt = (
        np.bincount(student, values, ratings.n_students) for values in (None, deserved, found.ability.sd**2)
    )
    passes = overall * sensitivity + (1 - overall) * (1 - specificity)
    return passes, (share / count, np.sqrt(doubt) / count)


# ------------------------------------------------------------------------------------------------ use of scores


# Use of the scores: by the panel as a whole, and by each rater beside one who uses the scale as the panel does.
#
# Sums over ratings need, per context (rater, item, facets) and score, only how many ratings lie at which node of
# ability: `w[c, k, q]`, the posteriors at node q of the students of all ratings in c with score k, summed. With
# `W[c, q]`, the sum over scores, what is seen of score k is compared with what the model expects for the same work:
#
#     mean measure    sum w S / sum w          beside    sum W P_k S / sum W P_k
#     infit           sum w (k - mu)^2         over      sum W P_k (k - mu)^2
#     outfit          sum w (k - mu)^2 / v     over      sum W P_k (k - mu)^2 / v
#
# Both sides average over the same posteriors, so mean squares are 1 and measures agree under the model however few
# ratings a student has.

EVERY_ITEM = "all"
"""In place of an item where all have the same thresholds."""


def score_names(known: Calibration) -> list[str]:
    """The scores as the file has them, lowest first."""
    return [f"{value:g}" for value in known.values]


def category_statistics(known: Calibration, model: Expectation, thresholds: pl.DataFrame) -> pl.DataFrame:
    """A row per score, and item where items have thresholds of their own: item, score, n, share, measure (mean of the
    predictor where the score was given) and measure_expected, infit, outfit, threshold (from the score below) and
    threshold_se. Measures of adjacent scores should rise; of a score that nobody gave they are NaN.

    `thresholds` is the fit's table.
    """
    weight, measure = _weights(model), _measures(model)
    prob = np.exp(model.response.log_prob(model.predictor, model.nodes.points))
    scores = np.arange(model.response.n_categories)
    mean = np.einsum("ckq,k->cq", prob, scores)
    away = (scores[:, None] - mean[:, None]) ** 2
    variance = np.maximum(np.einsum("ckq,ckq->cq", prob, away), 1e-12)[:, None]
    expected = weight.sum(axis=1)[:, None] * prob
    own = len(known.effects["threshold"]) > 1
    items = model.ratings.items.cast(pl.String).to_list() if own else [EVERY_ITEM]
    group = model.contexts.item if own else np.zeros(len(weight), np.int64)

    def total(values: Array) -> Array:
        """(items, scores)"""
        found = np.zeros((len(items), len(scores)))
        np.add.at(found, group, values.sum(axis=2))
        return found

    n = total(weight)
    with np.errstate(invalid="ignore", divide="ignore"):
        infit = total(weight * away) / total(expected * away)
        outfit = total(weight * away / variance) / total(expected * away / variance)
        columns = {
            "share": n / n.sum(axis=1, keepdims=True),
            "measure": total(weight * measure[:, None]) / n,
            "measure_expected": total(expected * measure[:, None]) / total(expected),
            "infit": np.where(n > 0, infit, np.nan),
            "outfit": np.where(n > 0, outfit, np.nan),
        }
    table = pl.DataFrame(
        {
            "item": np.repeat(np.array(items, object), len(scores)),
            "step": np.tile(scores, len(items)),
            "score": score_names(known) * len(items),
            "n": np.rint(n).astype(np.int64).ravel(),
            **{name: values.ravel() for name, values in columns.items()},
        },
        schema_overrides={"item": pl.String, "step": pl.Int64},
    )
    steps = thresholds.select(pl.col("item").cast(pl.String), "step", "threshold", "threshold_se")
    return table.join(steps, on=["item", "step"], how="left", maintain_order="left").drop("step")


def category_shares(known: Calibration, model: Expectation) -> pl.DataFrame:
    """One row per rater and score: rater, label (as in the ratings), category, place (of the score), n (ratings of the
    rater), observed and expected shares, se (of the observed share, given abilities).

    Expected is what a rater with this severity and discrimination, who uses the scale as the panel does, would give for
    this work: a rater who keeps to the middle has more observed than expected there.
    """
    ratings, names, predictor = model.ratings, score_names(known), model.predictor
    if model.bound is not None and RATER_THRESHOLD in (panel := model.bound.problem.model.single).blocks:
        parameters = model.bound.parameters.copy()
        parameters[panel.blocks[RATER_THRESHOLD]] = 0.0
        predictor = panel.predictor(parameters).first(len(model.contexts))
    usual = np.exp(model.response.log_prob(predictor, model.nodes.points))
    weight = _weights(model)
    seen = weight.sum(axis=1)[:, None]
    parts = (weight, seen * usual, seen * usual * (1 - usual))
    observed, shares, variance = (np.zeros((ratings.n_raters, len(names))) for _ in parts)
    for total, part in zip((observed, shares, variance), parts, strict=True):
        np.add.at(total, model.contexts.rater, part.sum(axis=2))
    n = np.rint(observed.sum(axis=1))
    some, each = np.flatnonzero(n), np.maximum(n, 1)[:, None]
    columns = {
        "observed": np.rint(observed) / each,
        "expected": shares / each,
        "se": np.sqrt(np.maximum(variance, 0.0)) / each,
    }
    labels = ratings.raters.cast(pl.String)
    return pl.DataFrame(
        {
            "rater": np.repeat(np.array(distinct(labels), object)[some], len(names)),
            "label": np.repeat(labels.to_numpy()[some], len(names)),
            "category": names * len(some),
            "place": list(range(len(names))) * len(some),
            "n": np.repeat(n[some].astype(np.int64), len(names)),
            **{name: values[some].ravel() for name, values in columns.items()},
        },
        schema_overrides={"rater": pl.String, "label": pl.String},
    )


def _weights(model: Expectation) -> Array:
    """(contexts, scores, nodes): ratings at each node of ability."""
    ratings, context = model.ratings, model.contexts.places(model.ratings)
    log_prob = model.response.log_prob(model.predictor, model.nodes.points)
    n_contexts, k, size = log_prob.shape
    cell = context.astype(np.int64) * k + ratings.score
    given = sparse.csr_array(
        (np.ones(ratings.n_ratings), (model.judged, cell)), shape=(model.n_judged, n_contexts * k)
    )
    posterior = special.softmax(model.prior + given @ log_prob.reshape(-1, size), axis=1)
    return np.asarray(given.T @ posterior).reshape(n_contexts, k, size)


def _measures(model: Expectation) -> Array:
    """(contexts, nodes): the predictor. Thresholds add up to 0, so the mean over the steps has none of them; steps to
    scores that an item does not have are left out."""
    lever = model.response.single.lever
    intercepts = model.predictor.intercepts[:, : len(lever)]
    there = intercepts > IMPOSSIBLE
    summed = lever[-1] > 1  # adjacent categories: the intercept of a score is the sum of its steps
    steps = np.diff(intercepts, prepend=0.0) if summed else intercepts
    base = np.where(there, steps, 0.0).sum(axis=1) / there.sum(axis=1)
    return np.asarray(np.multiply.outer(model.predictor.slope, model.nodes.points) + base[:, None])
