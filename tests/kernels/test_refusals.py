"""Arguments that would lead a kernel out of its arrays are refused: each wrapper is called as it should be, then with
one thing wrong at a time."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from raterlens.kernels import (
    capability_sums,
    residual_sweep,
    response_tables,
    student_groups,
)
from raterlens.kernels.library import SparseRows, begin_within, inside
from raterlens.kernels.posterior_pass import (
    STENCIL,
    Between,
    Found,
    OnNodes,
    Rows,
    Students,
    expected_truths,
    go_over,
)
from raterlens.kernels.reading_effect import Products, Rule, SetsOfItems
from raterlens.kernels.score_covariance import Covariances, Scores, quadratic_forms

Call = tuple[Callable[..., Any], dict[str, Any]]


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def longs(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape)


def sweep(ratings, tables, points, priors, found, span, by_rater):
    residual_sweep.Sweep(ratings, tables, points, priors, found).over(span, by_rater)


def csr(indptr, indices, data):
    matrix = sparse.csr_array((2, 3))
    matrix.indptr, matrix.indices, matrix.data = indptr, indices, data
    SparseRows.of(matrix)


def rows(logs, points, log_weights):
    Rows.of(logs, OnNodes.of(points, log_weights, 1.0))


def readings(sets, probabilities, rule, points, counts):
    Products.of(sets, probabilities, rule).summed(points, counts)


def covariances(scores, posteriors, first, span, total):
    Covariances(scores).add(posteriors, first, (span, total))


def graded_sums(slope, intercepts, apart, **known):
    response_tables.graded_sums((slope, intercepts, apart), **known)


def graded_bends(slope, intercepts, apart, **known):
    response_tables.graded_bends((slope, intercepts, apart), **known)


def summed_scores(scores, weights, first, span):
    Covariances(scores).summed(weights, first, span)


def row_keys(of_column, keys, **known):
    matrix = sparse.csr_array((2, 3))
    matrix.indptr, matrix.indices, matrix.data = (known[name] for name in ("indptr", "indices", "data"))
    student_groups.add_row_keys(matrix, of_column, keys)


def between(parts, weights, width):
    nodes = np.linspace(-2, 2, width)
    rows = Rows.of(-ones(3, width), OnNodes.of(nodes, -ones(width), nodes[1] - nodes[0]), bent=True)
    go_over((0, 2), STUDENTS, rows, Found(), Between(parts, weights, 1.0))


MATRIX = SparseRows.of(sparse.csr_array(np.array([[0.0, 2, 1], [1, 0, 0]])))
ESSAYS = response_tables.Essays.of(sparse.csr_array(np.array([[0.0, 2, 1], [1, 0, 0]])))
SUMS = SparseRows.of(sparse.csr_array(np.array([[1.0], [1.0]])))
POINTS = np.linspace(-2, 2, 5)
STUDENTS = Students(MATRIX, SUMS, ones(1), ones(2))
ROWS = Rows.of(-ones(3, 5), OnNodes.of(POINTS, np.log(ones(5) / 5), 1.0))
FOUND = Found(ones(3, 16), ones(1), ones(2), ones(2), 0, ones(2, 5), ones(2))
SETS = SetsOfItems(
    longs(0, 1, 2), longs(0, 1), (longs(0, 2, 3), longs(0, 1, 2)), (longs(0, 1, 2), longs(1, 0), longs(3, 1))
)
RULE = Rule.of(longs(-1, 1) * 1.0, ones(2) / 2, ones(2), 4)
GROUPED = residual_sweep.Grouped(
    longs(0, 1, 3), longs(0, 2, 3, 4), longs(3, 0, 1, 2), ints(0, 1, 0, 1), np.array([0, 1, 2, 0], np.int16)
)
TABLES = residual_sweep.Tables(
    *(ones(*shape) for shape in [(6, 5), (2, 3, 5), (6, 5), (2, 5), (2, 5), (2, 5)])
)
SWEPT = residual_sweep.Found(ones(10, 4), ones(4, 3), ones(2, 2))
RATED = student_groups.Rated(
    ints(0, 0, 1), ints(0, 1, 1), ints(0, 1, 0), np.array([1, 0, 1], np.int16), n_students=2, n_items=2
)
KEYS = np.arange(4, dtype=np.uint64)
SCORES = Scores(
    counts=MATRIX, sums=SUMS, weight=ones(2), first=longs(0, 2, 4, 6), parameter=longs(0, 1, 0, 1, 0, 1),
    row=None, factor=None, steepest=ones(3), slopes=(longs(0, 1), longs(1), ones(1)), table=ones(6, 5),
    points=POINTS, step=1.0, furthest=0.5, pattern=None, n_parameters=2,
)  # fmt: skip
APART = SparseRows.of(sparse.csr_array(np.eye(2)))

CALLS: dict[str, Call] = {
    "essay logs": (ESSAYS.logs, {"slope": ones(3), "intercept": ones(3), "points": POINTS}),
    "essay passes": (
        ESSAYS.passes,
        {"slope": ones(3), "intercept": ones(3), "points": POINTS, "of_kinds": ones(2, 5)},
    ),
    "mixtures": (
        capability_sums.mean_tail_and_density,
        {"slope": ones(3), "distance": ones(3), "variances": ones(2), "weights": ones(2)},
    ),
    "normal averages": (
        capability_sums.normal_averages,
        {"tables": ones(3, 2, 5), "nodes": POINTS, "slope": ones(3, 4), "severity": ones(3, 4)},
    ),
    "graded": (
        response_tables.graded_log_prob,
        {"slope": ones(3), "intercepts": ones(3, 2), "apart": ones(3, 1), "points": POINTS, "far": 30.0},
    ),
    "ratios": (
        response_tables.graded_ratios,
        {"slope": ones(3), "intercepts": ones(3, 2), "apart": ones(3, 1), "points": POINTS, "far": 30.0},
    ),
    "adjacent": (
        response_tables.adjacent,
        {"slope": ones(3), "intercepts": ones(3, 2), "points": POINTS, "probabilities": True},
    ),
    "adjacent sums": (
        response_tables.adjacent_sums,
        {"slope": ones(3), "intercepts": ones(3, 2), "points": POINTS, "counts": ones(3, 5)},
    ),
    "graded sums": (graded_sums, {
        "slope": ones(3), "intercepts": ones(3, 2), "apart": ones(3, 1), "points": POINTS, "far": 30.0,
        "counts": ones(3, 3, 5),
    }),
    "graded bends": (graded_bends, {
        "slope": ones(3), "intercepts": ones(3, 2), "apart": ones(3, 1), "points": POINTS, "far": 30.0,
        "counts": ones(3, 3, 5),
    }),
    "sparse rows": (csr, {"indptr": longs(0, 1, 2), "indices": ints(2, 0), "data": ones(2)}),
    "true categories": (expected_truths, {
        "units": (longs(0, 0, 1), longs(0, 1, 0), longs(0, 1, 1)), "log_given": -ones(2, 2),
        "prevalence": ones(2, 2, 5) / 2, "log_weights": np.log(ones(5) / 5),
    }),
    "rows": (rows, {"logs": -ones(3, 5), "points": POINTS, "log_weights": -ones(5)}),
    "posteriors": (go_over, {"span": (0, 2), "students": STUDENTS, "rows": ROWS, "found": FOUND}),
    "averaged": (residual_sweep.averaged, {
        "weights": ones(2, 5), "weight": longs(0, 1, 1), "table": ones(3, 5), "row": ints(2, 0, 1),
    }),
    "agreeing": (residual_sweep.agreeing, {
        "weights": ones(2, 5), "weight": longs(0, 1, 1), "prob": ones(3, 2, 5), "one": ints(2, 0, 1),
        "two": ints(0, 1, 2),
    }),
    "sweep": (sweep, {
        "ratings": GROUPED, "tables": TABLES, "points": POINTS, "priors": (ones(1, 5), ones(0, 5)), "found": SWEPT,
        "span": (0, 2), "by_rater": longs(2, 0, 1),
    }),
    "readings": (readings, {
        "sets": SETS, "probabilities": ones(3, 3, 5) / 3, "rule": RULE, "points": POINTS, "counts": ones(2, 5),
    }),
    "paired raters": (student_groups.paired_raters, {
        "student": ints(0, 0, 1), "rater": ints(0, 1, 1), "n_students": 2, "n_raters": 2,
    }),
    "groups": (
        student_groups.student_groups, {"rated": RATED, "n_groups": 2, "group_of": ints(0, 1, 1, 0), "key_of": KEYS}
    ),
    "groups of raters": (
        student_groups.student_groups, {"rated": RATED, "n_groups": 2, "group_of": None, "key_of": KEYS}
    ),
    "row keys": (row_keys, {
        "indptr": longs(0, 1, 2), "indices": ints(2, 0), "data": ones(2), "of_column": KEYS[:3],
        "keys": KEYS[:2].copy(),
    }),
    "between": (between, {"parts": 2, "weights": ones(2 * STENCIL - 1, STENCIL) / STENCIL, "width": 30}),
    "quadratic forms": (quadratic_forms, {"rows": sparse.csr_array(ones(2, 3)), "matrix": ones(3, 3)}),
    "covariances": (covariances, {
        "scores": SCORES, "posteriors": ones(2, 5) / 5, "first": 0, "span": (0, 2), "total": np.zeros(4),
    }),
    "summed scores": (summed_scores, {
        "scores": SCORES, "weights": ones(2, 5) / 5, "first": 0, "span": (0, 2),
    }),
}  # fmt: skip

WRONG: list[tuple[str, str, Any]] = [
    ("essay logs", "slope", ones(2)),
    ("essay logs", "intercept", ones(2)),
    ("essay passes", "slope", ones(2)),
    ("essay passes", "intercept", ones(2)),
    ("essay passes", "of_kinds", ones(2, 4)),
    ("essay passes", "of_kinds", ones(3, 5)),
    ("normal averages", "tables", ones(3, 2, 4)),
    ("normal averages", "tables", ones(2, 2, 5)),
    ("normal averages", "slope", ones(2, 4)),
    ("normal averages", "slope", np.full((3, 4), 0.9)),
    ("normal averages", "slope", np.full((3, 4), np.nan)),
    ("normal averages", "slope", np.full((3, 4), 1e9)),
    ("normal averages", "severity", np.full((3, 4), np.nan)),
    ("mixtures", "distance", ones(2)),
    ("mixtures", "weights", ones(1)),
    ("graded", "slope", ones(2)),
    ("graded", "apart", ones(3, 0)),
    ("ratios", "apart", ones(2, 1)),
    ("ratios", "intercepts", ones(3, 0)),
    ("adjacent sums", "slope", ones(2)),
    ("adjacent sums", "counts", ones(3, 4)),
    ("adjacent sums", "counts", ones(2, 5)),
    ("graded sums", "apart", ones(3, 2)),
    ("graded sums", "counts", ones(3, 2, 5)),
    ("graded sums", "counts", ones(3, 3, 4)),
    ("graded bends", "apart", ones(3, 2)),
    ("graded bends", "counts", ones(3, 2, 5)),
    ("graded bends", "counts", ones(3, 3, 4)),
    ("adjacent", "slope", ones(2)),
    ("adjacent", "intercepts", ones(3, 0)),
    ("sparse rows", "indptr", longs(0, 1, 3)),
    ("sparse rows", "indptr", longs(0, 2)),
    ("sparse rows", "indices", ints(3, 0)),
    ("sparse rows", "data", ones(1)),
    ("true categories", "units", (longs(0, 0, 1), longs(0, 2, 0), longs(0, 1, 1))),
    ("true categories", "units", (longs(0, 0, 1), longs(0, 1, 0), longs(0, 1, 2))),
    ("true categories", "units", (longs(0, 0, 1), longs(0, 1, 0), longs(0, 1))),
    ("true categories", "log_weights", -ones(4)),
    ("true categories", "log_given", -ones(2, 1)),
    ("rows", "log_weights", -ones(4)),
    ("rows", "points", POINTS[1:]),
    ("posteriors", "span", (0, 3)),
    ("posteriors", "span", (-1, 2)),
    ("posteriors", "students", replace(STUDENTS, linear=ones(0))),
    ("posteriors", "students", replace(STUDENTS, weight=ones(1))),
    ("posteriors", "students", replace(STUDENTS, sums=MATRIX)),
    ("posteriors", "rows", Rows.of(-ones(2, 5), OnNodes.of(POINTS, -ones(5), 1.0))),
    ("posteriors", "found", replace(FOUND, expected=ones(3, 5))),
    ("posteriors", "found", replace(FOUND, weighted=ones(0))),
    ("posteriors", "found", replace(FOUND, mean=ones(1))),
    ("posteriors", "found", replace(FOUND, sd=ones(1))),
    ("posteriors", "found", replace(FOUND, first=1)),
    ("posteriors", "found", replace(FOUND, posterior=ones(1, 5))),
    ("posteriors", "found", replace(FOUND, posterior=ones(2, 17))),
    ("posteriors", "found", replace(FOUND, loglik=ones(1))),
    ("quadratic forms", "matrix", ones(3, 2)),
    ("quadratic forms", "matrix", ones(2, 2)),
    ("averaged", "weight", longs(0, 2, 1)),
    ("averaged", "row", ints(0, 3, 1)),
    ("averaged", "row", ints(0, 1)),
    ("averaged", "table", ones(3, 4)),
    ("agreeing", "weight", longs(0, 2, 1)),
    ("agreeing", "one", ints(0, 3, 1)),
    ("agreeing", "two", ints(0, -1, 1)),
    ("agreeing", "two", ints(0, 1)),
    ("sweep", "span", (0, 3)),
    ("sweep", "span", (-1, 2)),
    ("sweep", "by_rater", longs(3, 0, 1)),
    ("sweep", "by_rater", longs(0, 1)),
    ("sweep", "priors", (ones(3, 5), ones(0, 5))),
    ("sweep", "priors", (ones(1, 5), ones(3, 5))),
    ("sweep", "priors", (ones(1, 4), ones(0, 5))),
    ("sweep", "points", POINTS[1:]),
    ("sweep", "tables", TABLES._replace(log_prob=ones(5, 5))),
    ("sweep", "tables", TABLES._replace(kurtosis=ones(1, 5))),
    ("sweep", "found", SWEPT._replace(of_rating=ones(9, 4))),
    ("sweep", "found", SWEPT._replace(of_pair=ones(4, 2))),
    ("sweep", "found", SWEPT._replace(of_judged=ones(2, 1))),
    ("sweep", "ratings", GROUPED._replace(context=ints(0, 2, 0, 1))),
    ("sweep", "ratings", GROUPED._replace(given=np.array([0, 3, 2, 0], np.int16))),
    ("sweep", "ratings", GROUPED._replace(order=longs(3, 0, 1, 4))),
    ("sweep", "ratings", GROUPED._replace(first_rating=longs(0, 2, 3, 5))),
    ("sweep", "ratings", GROUPED._replace(first_pair=longs(0, 1, 4))),
    ("readings", "sets", replace(SETS, rater=longs(0, 2))),
    ("readings", "sets", replace(SETS, members=(longs(0, 2, 3), longs(0, 1, 3)))),
    ("readings", "sets", replace(SETS, members=(longs(0, 2, 4), longs(0, 1, 2)))),
    ("readings", "sets", replace(SETS, kinds=(longs(0, 1, 2), longs(1, 2), longs(3, 1)))),
    ("readings", "sets", replace(SETS, kinds=(longs(0, 1, 2), longs(1, 0), longs(5, 1)))),
    ("readings", "sets", replace(SETS, first_of_rater=longs(0, 1, 3))),
    ("readings", "rule", replace(RULE, weights=ones(1))),
    ("readings", "rule", replace(RULE, factor=ones(1, 2))),
    ("readings", "counts", ones(1, 5)),
    ("readings", "points", POINTS[1:]),
    ("readings", "probabilities", ones(3, 1, 5)),
    ("groups", "rated", replace(RATED, student=ints(0, 0, 2))),
    ("groups", "rated", replace(RATED, rater=ints(0, 1, 2))),
    ("groups", "rated", replace(RATED, item=ints(0, 1, 2))),
    ("groups", "rated", replace(RATED, score=np.zeros(2, np.int16))),
    ("groups", "group_of", ints(0, 1, 2, 0)),
    ("groups", "group_of", ints(0, 1, 1)),
    ("groups of raters", "n_groups", 1),
    ("row keys", "indices", ints(3, 0)),
    ("row keys", "indptr", longs(0, 1, 3)),
    ("row keys", "keys", KEYS[:1].copy()),
    ("between", "width", STENCIL - 1),
    ("between", "parts", 3),
    ("summed scores", "span", (0, 3)),
    ("summed scores", "first", 1),
    ("summed scores", "weights", ones(2, 4)),
    ("summed scores", "scores", replace(SCORES, parameter=longs(*[0] * 6))),
    ("covariances", "span", (0, 3)),
    ("covariances", "first", 1),
    ("covariances", "posteriors", ones(2, 4)),
    ("covariances", "posteriors", ones(1, 5)),
    ("covariances", "total", np.zeros(3)),
    ("covariances", "scores", replace(SCORES, parameter=longs(0, 1, 0, 1, 0, 2))),
    ("covariances", "scores", replace(SCORES, first=longs(0, 2, 4, 7))),
    ("covariances", "scores", replace(SCORES, steepest=ones(2))),
    ("covariances", "scores", replace(SCORES, weight=ones(1))),
    ("covariances", "scores", replace(SCORES, slopes=(longs(0, 1), longs(2), ones(1)))),
    ("covariances", "scores", replace(SCORES, slopes=(longs(0), longs(1), ones(1)))),
    ("covariances", "scores", replace(SCORES, table=ones(5, 5))),
    ("covariances", "scores", replace(SCORES, table=ones(6, 4))),
    ("covariances", "scores", replace(SCORES, pattern=MATRIX)),
    ("covariances", "scores", replace(SCORES, row=longs(0, 1, 2, 3, 4, 6))),
    ("covariances", "scores", replace(SCORES, row=longs(0, 1, 2, 3, 4))),
    ("covariances", "scores", replace(SCORES, factor=ones(5))),
    # A sum moves a parameter that none of the student's cells depends on.
    ("covariances", "scores", replace(SCORES, parameter=longs(*[0] * 6))),
]


@pytest.mark.parametrize("name", CALLS)
def test_what_fits_is_taken(name):
    call, given = CALLS[name]
    call(**given)


@pytest.mark.parametrize(("name", "argument", "wrong"), WRONG)
def test_what_does_not_fit_is_refused(name, argument, wrong):
    call, given = CALLS[name]
    with pytest.raises(ValueError, match="a kernel would leave its arrays"):
        call(**given | {argument: wrong})


def test_covariances_without_a_place_in_the_pattern_are_refused():
    call, given = CALLS["covariances"]
    with pytest.raises(ValueError, match="none of a student's cells"):
        call(**given | {"scores": replace(SCORES, pattern=APART), "total": np.zeros(2)})


def test_codes_and_runs():
    assert inside(longs(), 0)
    assert inside(longs(0, 2), 3)
    assert not inside(longs(0, 3), 3)
    assert not inside(ints(-1), 3)
    assert begin_within(longs(0, 0, 2), 2)
    assert not begin_within(longs(0, 3, 2), 4)
