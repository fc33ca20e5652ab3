"""Repeated answers: how consistent each rater is, what its scores consist of, and what asking again buys.

On the scale of the predictor the variance of an answer has three parts: ability, q^2 a^2; the rater's reading of the
question, tau^2, which all its answers share; and the draw, the variance of the link's own noise. The mean of m answers
has the first two and a share 1 / m of the third.

Answers follow F(q (a theta - eta) + tau u), with u ~ N(0, 1) shared by all answers to a question and q = sqrt(1 + c
tau^2), so that a and eta are those of a single answer (`models/terms/draws.py`). The predictor is normal with standard
deviation R = sqrt(q^2 a^2 + tau^2), and the majority of m answers passes with probability B_m(F), B_m(p) = P(Bin(m, p)
> m / 2). By Stein's identity its expected score rises with ability by

    E[dP / dtheta] = q a / R^2  E[S B_m(F(S - q eta))],      S ~ N(0, R^2)

on average; capability is that over 1 / sqrt(2 pi), which a rater without noise reaches. As m grows, B_m becomes a step.
"""

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy import special

from raterlens.base.arrays import NORMAL_95, Array, Mask
from raterlens.capability.curves import PassCurve
from raterlens.capability.index import undecided
from raterlens.capability.links import Link, get_link
from raterlens.estimation.facets_estimate import Covariance, FacetsEstimate
from raterlens.inference.covariance import in_full
from raterlens.models.terms.draws import DRAW, FLATTENING, Draws
from raterlens.ratings.coded import Codes, Ratings
from raterlens.ratings.groupings import questions

NOISE = {"logit": np.pi**2 / 3, "probit": 1.0, "cloglog": np.pi**2 / 6}
"""Variance of one answer given its predictor, by link; the cauchit has none."""
NUMBERS = (1, 3, 5, 11)
"""Answers per question that tables show, beside endlessly many."""
# More answers than this nobody asks for.
_MOST = 1_000
# Of the integral over S, in standard deviations; and steps within a unit of the predictor.
_REACH, _FINE = 9.0, 6


def majority_capability(
    slope: ArrayLike,
    severity: ArrayLike,
    spread: ArrayLike,
    n: float,
    link: Link | None = None,
    flattening: float = 0.346,
) -> Array:
    """Capability of the majority of n answers (odd, or infinite), against a rater without noise.

    Examples
    --------
    >>> [round(majority_capability(1.5, 0.5, 1.0, n).item(), 3) for n in (1, 3, np.inf)]
    [0.643, 0.734, 0.832]
    """
    a, eta, tau = np.broadcast_arrays(*(np.asarray(each, np.float64) for each in (slope, severity, spread)))
    stretch, link, found = np.sqrt(1 + flattening * tau**2), link or get_link("logit"), np.zeros(a.shape)
    for place, reach in np.ndenumerate(np.hypot(stretch * a, tau)):
        if reach == 0:
            continue
        own_slope, own_severity = stretch[place] * a[place], stretch[place] * eta[place]
        if np.isinf(n):
            middle = own_severity + undecided(PassCurve(link))
            found[place] = own_slope / reach * np.exp(-((middle / reach) ** 2) / 2)
            continue
        z = np.linspace(-_REACH, _REACH, 2 * int(np.ceil(_REACH * max(reach, 1.0) * _FINE)) + 1)
        passed = np.exp(link.log_pass(reach * z - own_severity))
        majority = special.betainc((n + 1) / 2, (n + 1) / 2, passed)
        found[place] = own_slope / reach * np.sum(np.exp(-0.5 * z**2) * z * majority) * (z[1] - z[0])
    return found


def mean_correlation(slope: Array, spread: Array, noise: float, n: float, flattening: float) -> Array:
    """Correlation of ability with the mean of n answers, on the scale of the predictor; `noise`: variance of one answer
    given its predictor."""
    signal = (1 + flattening * spread**2) * slope**2
    found = np.sign(slope) * np.sqrt(signal / np.maximum(signal + spread**2 + noise / n, 1e-300))
    return np.asarray(found)


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
    numbers = {**{f"{n}": float(n) for n in NUMBERS}, "all": np.inf}
    if (
        ratings.n_categories == 2
    ):  # the majority, as a multiple of a single answer, on the fit's own yardstick
        eta, tau = raters["eta"].to_numpy(), np.minimum(known, 1e3)
        majority = {name: majority_capability(slope, eta, tau, n, link, c) for name, n in numbers.items()}
        single, kappa = majority["1"], raters["kappa"].to_numpy()
        for name, several in majority.items():
            gain = np.divide(
                several, single, out=np.ones_like(single), where=(np.abs(single) > 1e-9) & (tau < 1e3)
            )
            columns[f"kappa_{name}"] = kappa * gain
    first = mean_correlation(slope, known, noise, 1, c)
    for name, n in numbers.items():
        several = mean_correlation(slope, known, noise, n, c)
        # A rater who cannot tell answers apart gains nothing by repeating.
        gain = np.divide(several, first, out=np.ones_like(first), where=~endless & (first != 0))
        columns[f"sharpness_{name}"] = np.minimum(raters["sharpness"].to_numpy() * gain, 1.0)
    columns["second_judge"] = _second_judge(parts)
    whole = asked.with_columns(pl.Series(name, values) for name, values in columns.items())
    whole = whole.filter(pl.Series(some)).with_columns(pl.col(pl.Float64).fill_nan(None))
    return whole.with_columns(pl.col("second_judge").cast(pl.Int64))


def _second_judge(parts: Array) -> Array:
    """(raters,): answers after which one of the panel's typical other rater tells more about ability than one more of
    the same rater; NaN where that is never so."""
    signal, reading, noise = parts
    told = signal / (reading + noise / np.arange(1, _MOST + 1)[:, None])
    found = np.full(len(signal), np.nan)
    for r in range(len(signal) if len(signal) > 1 else 0):
        enough = np.flatnonzero(np.diff(told[:, r]) < np.median(np.delete(told[0], r)))
        found[r] = enough[0] + 1 if len(enough) else np.nan
    return found


def _spreads(
    found: FacetsEstimate, covariance: Covariance | None, n_raters: int
) -> tuple[Array, Array, Array]:
    """tau with a 95 % interval; infinite for raters whose answers never differ."""
    tau, (low, high) = np.full(n_raters, np.inf), np.full((2, n_raters), np.nan)
    if DRAW not in found.model:
        return tau, low, high
    at = found.model.blocks[DRAW]
    term, x = found.model.term(DRAW, Draws), found.parameters[at]
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
