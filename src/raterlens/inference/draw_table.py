"""Repeated answers: how consistent each rater is, what its scores consist of, and what asking again buys.

On the scale of the predictor the variance of an answer has three parts: ability, q^2 a^2; the rater's reading of the
question, tau^2, which all its answers share; and the draw, the variance of the link's own noise. The mean of m answers
has the first two and a share 1 / m of the third.
"""

import numpy as np
import polars as pl

from raterlens.base.arrays import NORMAL_95, Array, Mask
from raterlens.capability.links import Link
from raterlens.capability.repeats import NUMBERS, majority_capability, mean_correlation
from raterlens.estimation.facets_estimate import Covariance, FacetsEstimate
from raterlens.inference.covariance import in_full
from raterlens.models.terms.draws import DRAW, FLATTENING, Draws
from raterlens.ratings.coded import Codes, Ratings
from raterlens.ratings.groupings import questions

NOISE = {"logit": np.pi**2 / 3, "probit": 1.0, "cloglog": np.pi**2 / 6}
"""Variance of one answer given its predictor, by link; the cauchit has none."""
# More answers than this nobody asks for.
_MOST = 1_000


def draw_table(
    ratings: Ratings, found: FacetsEstimate, spread: Covariance | None, link: Link, raters: pl.DataFrame
) -> pl.DataFrame | None:
    """One row per rater who was asked several times; None where nobody was. `raters`: the table of raters."""
    if ratings.draw is None:
        return None
    asked = _consistency(ratings)
    some = asked["questions"].to_numpy() > 0
    if not some.any():
        return None
    tau, low, high = _spreads(found, spread, ratings.n_raters)
    slope = found.model.effect("slope", found.parameters)
    c, noise = FLATTENING.get(link.name, 1.0), NOISE.get(link.name, np.nan)
    # Answers that never differ are all reading: the limit of a large spread, on the scale of a single answer.
    endless = np.isinf(tau)
    known = np.where(endless, 1e6, tau)
    parts = np.stack([(1 + c * known**2) * slope**2, known**2, np.where(endless, 0.0, noise)])
    shares = parts / parts.sum(axis=0)
    columns: dict[str, Array] = {
        "spread": np.where(endless, np.nan, tau),
        "spread_low": low,
        "spread_high": high,
        **dict(zip(("share_answer", "share_reading", "share_draw"), shares, strict=True)),
    }
    numbers = (*NUMBERS, np.inf)
    if ratings.n_categories == 2:
        columns |= _majorities(raters, slope, known, link, numbers)
    first = mean_correlation(slope, known, noise, 1, c)
    for n in numbers:
        several = mean_correlation(slope, known, noise, n, c)
        # A rater who cannot tell answers apart gains nothing by repeating.
        gain = np.divide(several, first, out=np.ones_like(first), where=~endless & (first != 0))
        columns[f"sharpness_{_name(n)}"] = np.minimum(raters["sharpness"].to_numpy() * gain, 1.0)
    columns["second_judge"] = _second_judge(parts)
    whole = asked.with_columns(pl.Series(name, values) for name, values in columns.items())
    whole = whole.filter(pl.Series(some)).with_columns(pl.col(pl.Float64).fill_nan(None))
    return whole.with_columns(pl.col("second_judge").cast(pl.Int64))


def _name(n: float) -> str:
    return "all" if np.isinf(n) else f"{n:g}"


def _majorities(
    raters: pl.DataFrame, slope: Array, tau: Array, link: Link, numbers: tuple[float, ...]
) -> dict[str, Array]:
    """kappa of the majority, as a multiple of that of a single answer, on the fit's own yardstick."""
    c, severity = FLATTENING.get(link.name, 1.0), raters["eta"].to_numpy()
    tau = np.minimum(tau, 1e3)
    single = majority_capability(slope, severity, tau, 1, link, c)
    return {
        f"kappa_{_name(n)}": raters["kappa"].to_numpy()
        * np.divide(
            majority_capability(slope, severity, tau, n, link, c),
            single,
            out=np.ones_like(single),
            where=(np.abs(single) > 1e-9) & (tau < 1e3),
        )
        for n in numbers
    }


def _second_judge(parts: Array) -> Array:
    """(raters,): answers after which one of the panel's typical other rater tells more about ability than one more of
    the same rater; NaN where that is never so."""
    signal, reading, noise = parts
    n = np.arange(1, _MOST + 1)[:, None]
    told = signal / (reading + noise / n)
    found = np.full(len(signal), np.nan)
    for r in range(len(signal)):
        others = np.delete(told[0], r)
        if not len(others):
            continue
        enough = np.flatnonzero(np.diff(told[:, r]) < np.median(others))
        found[r] = enough[0] + 1 if len(enough) else np.nan
    return found


def _spreads(
    found: FacetsEstimate, covariance: Covariance | None, n_raters: int
) -> tuple[Array, Array, Array]:
    """tau with a 95 % interval; infinite for raters whose answers never differ."""
    tau, low, high = np.full((3, n_raters), np.inf)
    if DRAW not in found.model:
        return tau, np.full(n_raters, np.nan), np.full(n_raters, np.nan)
    at = found.model.blocks[DRAW]
    term, x = found.model.term(DRAW, Draws), found.parameters[at]
    low[:], high[:] = np.nan, np.nan
    some: Mask = term.some
    tau[some] = term.spread(x)
    if covariance is not None:
        reach = NORMAL_95 * np.sqrt(np.maximum(in_full(covariance.matrix).diagonal()[at], 0.0))
        reach = np.where(found.at_limit[at], np.nan, reach)
        most = term.bounds(allow_reversed=False)[1]
        low[some] = term.spread(np.maximum(x - reach, 0.0))
        high[some] = term.spread(np.minimum(x + reach, most))
    return tau, low, high


def _consistency(ratings: Ratings) -> pl.DataFrame:
    """rater, questions asked more than once, answers per such question, and the share of pairs of answers to a question
    that agree, with a 95 % interval that takes students for a sample."""
    asked, k = questions(ratings), ratings.n_categories
    given = np.bincount(asked.of * k + ratings.score, minlength=len(asked.first) * k).reshape(-1, k)
    n = given.sum(axis=1)
    pairs, agree = n * (n - 1) / 2, (given * (given - 1) / 2).sum(axis=1)
    rater, student = ratings.rater[asked.first], ratings.student[asked.first]
    rows = []
    for r, label in enumerate(ratings.raters.cast(pl.String)):
        own = np.flatnonzero((rater == r) & (n > 1))
        low = high = share = np.nan
        if len(own):
            share = agree[own].sum() / pairs[own].sum()
            low, high = _interval(student[own], agree[own], pairs[own])
        rows.append((label, len(own), n[own].mean() if len(own) else np.nan, share, low, high))
    names = ("rater", "questions", "answers", "consistency", "consistency_low", "consistency_high")
    return pl.DataFrame(rows, schema=list(names), orient="row")


def _interval(student: Codes, agrees: Array, of: Array) -> tuple[float, float]:
    _, which = np.unique(student, return_inverse=True)
    agree, pairs = np.bincount(which, agrees), np.bincount(which, of)
    share = agree.sum() / pairs.sum()
    if share == 1:  # as often as students agree by chance with probability 0.025
        return float(0.025 ** (1 / len(pairs))), 1.0
    off = agree - share * pairs
    error = np.sqrt((off**2).sum() * len(pairs) / max(len(pairs) - 1, 1)) / pairs.sum()
    logit, reach = np.log(share / (1 - share)) if share > 0 else -np.inf, NORMAL_95 * error
    reach = reach / (share * (1 - share)) if 0 < share < 1 else 0.0
    low, high = 1 / (1 + np.exp(-(logit - reach))), 1 / (1 + np.exp(-(logit + reach)))
    return float(low), float(high)
