"""Raters who meet in pairs: the rule, against the rank of what ratings can show."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from scipy import special

import raterlens as rl
from raterlens.ratings.design import only_products, pairing_warnings

_T = np.linspace(-8, 8, 401)
_WEIGHTS = np.exp(-(_T**2) / 2) / np.exp(-(_T**2) / 2).sum()


def in_pairs(edges, *, more=()):
    """Two students of every pair, who pass and fail; and further (student, rater) pairs."""
    rows = [
        (f"s{k}{y}", f"r{r}", (y + side) % 2)
        for k, edge in enumerate(edges)
        for y in (0, 1)
        for side, r in enumerate(edge)
    ]
    rows += [(student, f"r{rater}", 1) for student, rater in more]
    return rl.read(pl.DataFrame(rows, schema=["student", "rater", "score"], orient="row"))


def ring(n):
    return [*pairwise(range(n)), (n - 1, 0)]


def least_shown(edges, n):
    """The smallest singular value of pass rates and joint pass rates of the pairs, by slopes and severities."""
    random = np.random.default_rng(0)
    x = np.concatenate([1.5 * np.exp(0.3 * random.standard_normal(n)), 0.7 * random.standard_normal(n)])

    def shown(x):
        p = special.ndtr(x[:n, None] * _T - x[n:, None])
        return np.concatenate([p @ _WEIGHTS, [(p[i] * p[j]) @ _WEIGHTS for i, j in edges]])

    rows = np.array([shown(x + 1e-4 * unit) - shown(x - 1e-4 * unit) for unit in np.eye(2 * n)]) / 2e-4
    values = np.linalg.svd(rows, compute_uv=False)
    return float(values[2 * n - 1]) if len(values) == 2 * n and len(edges) >= n else 0.0


@pytest.mark.parametrize(
    ("edges", "n"),
    [
        *((ring(n), n) for n in (3, 4, 5, 6)),
        ([(0, 1)], 2),
        ([(0, 1), (1, 2), (2, 3)], 4),
        ([(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)], 5),
        ([*ring(4), (0, 2)], 4),
    ],
)
def test_it_is_told_where_the_rank_says_so(edges, n):
    untold = only_products(in_pairs(edges))
    assert untold.all() or not untold.any()
    assert untold.all() == (least_shown(edges, n) < 1e-6)


def test_a_third_rating_of_one_student_settles_its_group_alone():
    apart = [*ring(4), (4, 5)]
    assert only_products(in_pairs(apart)).all()
    assert only_products(in_pairs(apart, more=[("s00", 2)])).tolist() == [False] * 4 + [True] * 2


def test_the_warning_has_the_raters_and_the_fix():
    (text,) = pairing_warnings(in_pairs(ring(4)))
    assert "4 raters" in text
    assert "third" in text
    assert pairing_warnings(in_pairs(ring(3))) == ()
