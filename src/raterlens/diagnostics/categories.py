"""Use of the scores: by the panel as a whole, and by each rater beside one who uses the scale as the panel does.

Sums over ratings need, per context (rater, item, facets) and score, only how many ratings lie at which node of ability:
`w[c, k, q]`, the posteriors at node q of the students of all ratings in c with score k, summed. With `W[c, q]`, the sum
over scores, what is seen of score k is compared with what the model expects for the same work:

    mean measure    sum w S / sum w          beside    sum W P_k S / sum W P_k
    infit           sum w (k - mu)^2         over      sum W P_k (k - mu)^2
    outfit          sum w (k - mu)^2 / v     over      sum W P_k (k - mu)^2 / v

Both sides average over the same posteriors, so mean squares are 1 and measures agree under the model however few
ratings a student has.
"""

import numpy as np
import polars as pl
from scipy import sparse, special

from raterlens.base.arrays import Array
from raterlens.base.text import distinct
from raterlens.diagnostics.residuals import Expectation
from raterlens.models.calibration import Calibration
from raterlens.models.facets import IMPOSSIBLE
from raterlens.models.terms.rater_thresholds import RATER_THRESHOLD

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
    weight, prob, measure = _weights(model), _probabilities(model), _measures(model)
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

    n, n_expected = total(weight), total(expected)
    with np.errstate(invalid="ignore", divide="ignore"):
        columns = {
            "share": n / n.sum(axis=1, keepdims=True),
            "measure": total(weight * measure[:, None]) / n,
            "measure_expected": total(expected * measure[:, None]) / n_expected,
            "infit": np.where(n > 0, total(weight * away) / total(expected * away), np.nan),
            "outfit": np.where(
                n > 0, total(weight * away / variance) / total(expected * away / variance), np.nan
            ),
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
    ratings, names = model.ratings, score_names(known)
    weight, usual = _weights(model), _usual(model)
    seen = weight.sum(axis=1)[:, None]
    parts = (weight, seen * usual, seen * usual * (1 - usual))
    observed, shares, variance = (np.zeros((ratings.n_raters, len(names))) for _ in parts)
    for total, part in zip((observed, shares, variance), parts, strict=True):
        np.add.at(total, model.contexts.rater, part.sum(axis=2))
    n = np.rint(observed.sum(axis=1))
    some = np.flatnonzero(n)
    each = np.maximum(n, 1)[:, None]
    columns = {
        "observed": np.rint(observed) / each,
        "expected": shares / each,
        "se": np.sqrt(np.maximum(variance, 0.0)) / each,
    }
    labels = distinct(ratings.raters.cast(pl.String))
    return pl.DataFrame(
        {
            "rater": np.repeat(np.array(labels, object)[some], len(names)),
            "label": np.repeat(ratings.raters.cast(pl.String).to_numpy()[some], len(names)),
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


def _probabilities(model: Expectation) -> Array:
    return np.exp(model.response.log_prob(model.predictor, model.nodes.points))


def _usual(model: Expectation) -> Array:
    """The probability of each score if all raters had the panel's thresholds."""
    predictor, placed = model.predictor, model.bound
    if placed is not None and RATER_THRESHOLD in (bound := placed.problem.model.single).blocks:
        parameters = placed.parameters.copy()
        parameters[bound.blocks[RATER_THRESHOLD]] = 0.0
        predictor = bound.predictor(parameters).first(len(model.contexts))
    return np.asarray(np.exp(model.response.log_prob(predictor, model.nodes.points)))


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
