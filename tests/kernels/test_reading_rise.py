"""Compiled rises of the likelihood equal the readable ones."""

import numpy as np

from raterlens.inference.projected_scores import Readings, rises_by_loop
from raterlens.kernels.reading_effect import rises


def test_it_equals_the_readable_sum():
    random, nodes, cells, students = np.random.default_rng(1), 13, 40, 700
    number = random.integers(0, 4, students)  # of readings; some students have none
    of_student = np.concatenate([[0], np.cumsum(number)])
    first = np.concatenate([[0], np.cumsum(random.integers(1, 6, of_student[-1]))])
    readings = Readings(np.arange(first[-1]), first, of_student)
    cell = random.integers(0, cells, first[-1]).astype(np.int32)
    one, two = random.standard_normal((2, cells, nodes))
    posterior = random.dirichlet(np.ones(nodes), students)
    for rows in (slice(0, students), slice(100, 650)):
        found = rises((of_student[rows.start : rows.stop + 1], first), cell, one, two, posterior[rows])
        expected = rises_by_loop(readings, rows, cell, one, two, posterior[rows])
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
