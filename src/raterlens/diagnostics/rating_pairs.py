"""Every two ratings of the same work, and every two raters with work in common."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from raterlens.base.arrays import Array, Indices
from raterlens.diagnostics.grouping import Groups, grouped, large, order_of
from raterlens.ratings.coded import Ratings

MOST_PAIRS = 5_000_000
"""Pairs of ratings of the same work, beyond which they are not looked at one by one."""
_Z = float(special.ndtri(0.975))


@dataclass(frozen=True, slots=True, eq=False)
class PairedRatings:
    """Every two ratings of the same student and item."""

    first: Indices
    second: Indices
    student: Indices
    """Whose work it is, in order"""
    expected: Array
    """Probability, at the fit, that the two are the same; empty where none was worked out"""

    def __len__(self) -> int:
        return len(self.first)


def paired_ratings(ratings: Ratings, units: Groups) -> PairedRatings | None:
    """All pairs, those of the same work together, students in order; None where there are more than 5 million.

    `units`: the ratings of the same student and item.
    """
    size, order = units.size, units.order
    if np.sum(size * (size - 1) / 2) > MOST_PAIRS:
        return None
    if large(ratings.n_ratings):
        from raterlens.kernels.counting_sort import pairs  # may be missing

        first, second = pairs(order, units.first)
        return PairedRatings(first, second, ratings.student[first].astype(np.int64), np.empty(0))
    found = []
    for lag in range(1, int(size.max())):
        long = np.flatnonzero(size > lag)
        # The places in a unit that have another rating `lag` places on.
        count = size[long] - lag
        start = np.repeat(units.first[long] - np.cumsum(count) + count, count) + np.arange(count.sum())
        found.append(np.stack([order[start], order[start + lag]]))
    if not found:
        nobody = np.empty(0, np.int64)
        return PairedRatings(nobody, nobody, nobody, np.empty(0))
    first, second = np.concatenate(found, axis=1)
    if len(found) > 1:
        together = order_of(units.of_row[first], len(units))
        first, second = first[together], second[together]
    return PairedRatings(first, second, ratings.student[first].astype(np.int64), np.empty(0))


def rater_pairs(ratings: Ratings, paired: PairedRatings | None) -> pl.DataFrame:
    """Every two raters with common work: rater, other, n, agreement and Cohen's kappa with 95 % intervals.

    With ordered scores also kappa with quadratic weights (`weighted_kappa`); with pairs that a fit has foreseen, also
    the agreement that the model expects (`agreement_expected`). An empty table where there are too many pairs.
    """
    k = ratings.n_categories
    one, two, table, expected = _meetings(ratings, paired)
    n = table.sum(axis=(1, 2))
    share = table / n[:, None, None]
    same = np.trace(table, axis1=1, axis2=2)
    columns: dict[str, object] = {
        "rater": ratings.raters.gather(one),
        "other": ratings.raters.gather(two),
        "n": n,
        "agreement": same / n,
    }
    columns["agreement_low"], columns["agreement_high"] = _wilson(same, n)
    if expected is not None:
        columns["agreement_expected"] = expected / n
    columns |= _with_interval("kappa", *cohen(share, n, np.eye(k)))
    if k > 2:
        score = np.arange(k, dtype=float)
        quadratic = 1 - ((score[:, None] - score) / (k - 1)) ** 2
        columns |= _with_interval("weighted_kappa", *cohen(share, n, quadratic))
    return pl.DataFrame(columns)


def _meetings(
    ratings: Ratings, paired: PairedRatings | None
) -> tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.int64], Array | None]:
    """Every two raters with common work: who, a table of their scores, and how often they were expected to agree."""
    k, n_raters, nobody = ratings.n_categories, ratings.n_raters, np.empty(0, np.int64)
    first, second = (nobody, nobody) if paired is None else (paired.first, paired.second)
    foreseen = paired.expected if paired is not None and len(paired.expected) == len(paired) else None
    if large(len(first)):
        from raterlens.kernels.rater_meetings import meetings  # may be missing

        return meetings((first, second), foreseen, (ratings.rater, ratings.score), (n_raters, k))
    apart = np.flatnonzero(ratings.rater[first] != ratings.rater[second])
    one, two = first[apart], second[apart]
    swap = ratings.rater[one] > ratings.rater[two]
    one, two = np.where(swap, two, one), np.where(swap, one, two)
    met = grouped(ratings.rater[one], n_raters, ratings.rater[two], n_raters)
    cell = (met.of_row * k + ratings.score[one]) * k + ratings.score[two]
    table = np.bincount(cell, minlength=len(met) * k * k).astype(np.int64).reshape(len(met), k, k)
    expected = None if foreseen is None else np.bincount(met.of_row, foreseen[apart], len(met)).astype(float)
    example = met.example
    return ratings.rater[one[example]], ratings.rater[two[example]], table, expected


def cohen(p: Array, n: NDArray[np.int64], weights: Array) -> tuple[Array, Array]:
    """Weighted kappa of tables of shares and its standard error (Fleiss, Cohen and Everitt 1969)."""
    row, column = p.sum(axis=2), p.sum(axis=1)
    seen = np.einsum("tij,ij->t", p, weights)
    chance = np.einsum("ti,ij,tj->t", row, weights, column)
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = np.where(chance < 1, (seen - chance) / (1 - chance), np.nan)
        rest = (1 - kappa)[:, None, None]
        of_margins = (column @ weights.T)[:, :, None] + (row @ weights)[:, None, :]
        spread = np.sum(p * (weights - of_margins * rest) ** 2, axis=(1, 2))
        variance = (spread - (kappa - chance * (1 - kappa)) ** 2) / (n * (1 - chance) ** 2)
    return kappa, np.sqrt(np.maximum(variance, 0.0))


def _with_interval(name: str, value: Array, se: Array) -> dict[str, Array]:
    low, high = np.maximum(value - _Z * se, -1.0), np.minimum(value + _Z * se, 1.0)
    return {name: value, f"{name}_se": se, f"{name}_low": low, f"{name}_high": high}


def _wilson(hits: NDArray[np.int64], n: NDArray[np.int64]) -> tuple[Array, Array]:
    """Wilson's interval of a share: sensible also where all or none agree."""
    share, z2 = hits / n, _Z**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z * np.sqrt(share * (1 - share) / n + z2 / (4 * n**2)) / (1 + z2 / n)
    return np.asarray(centre - half), np.asarray(centre + half)
