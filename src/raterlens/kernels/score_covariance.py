"""Covariances of the students' scores over their posteriors, node by node.

The same sum as the expansion in `engine/score_expansion.py`, its readable twin: here a student's few parameters and the
few nodes that carry the posterior's mass are so cheap to visit that no expansion is needed.
"""

import numpy as np

from raterlens.kernels.compiling import compiled
from raterlens.kernels.exponential import LANE
from raterlens.types import Array

# Nodes that carry less than this of a posterior are passed over.
_NEGLIGIBLE = 1e-12
# A wide posterior is gone over by every second node, or every fourth.
_STRIDES = (1, 2, 4)


def grids(table: Array, points: Array) -> tuple[tuple[Array, Array], ...]:
    """The table and the nodes at every stride, padded so that a posterior at the very end fills whole vectors."""
    return tuple(
        (np.pad(table[:, ::stride], [(0, 0), (0, LANE)]), np.pad(points[::stride], (0, LANE)))
        for stride in _STRIDES
    )


@compiled("contract", "reassoc", "nsz", "nnan")
def add_covariances(  # type: ignore[no-untyped-def]
    posterior, weight, cells, rows, sums, slopes, grids, nodes, pattern, n_parameters, start, stop, total
):
    """Add the covariances of the students from `start` to `stop` to the upper triangle in `total`.

    `total` is a full matrix, row by row, or has the entries of `pattern`. `nodes`: their points and step, and how far
    apart nodes may be, in posterior standard deviations.
    """
    indptr, indices, times = cells
    first, parameter, steepest = rows
    sums_indptr, sums_indices, sums_data = sums
    slopes_indptr, slopes_indices, slopes_data = slopes
    every_point, step, furthest = nodes
    full = len(pattern[1]) == 0
    place = np.empty(n_parameters, dtype=np.int64)
    for i in range(n_parameters):
        place[i] = -1
    width = -(-posterior.shape[1] // LANE) * LANE
    root = np.empty(width)
    most = 0
    for n in range(start, stop):
        own = 0
        for at in range(indptr[n], indptr[n + 1]):
            own += first[indices[at] + 1] - first[indices[at]]
        most = max(most, own)
    most = min(most, n_parameters)
    touched, score = np.empty(most, dtype=np.int64), np.empty((most, width))
    means = np.empty(most)
    for n in range(start, stop):
        centre, square, steep = 0.0, 0.0, 0.0
        for q in range(posterior.shape[1]):
            centre += posterior[n, q] * every_point[q]
        for q in range(posterior.shape[1]):
            square += posterior[n, q] * (every_point[q] - centre) ** 2
        for at in range(indptr[n], indptr[n + 1]):
            steep = max(steep, steepest[indices[at]])
        reach = min(furthest * np.sqrt(square), 1 / steep) / step
        which = 0
        while which + 1 < len(_STRIDES) and reach >= _STRIDES[which + 1]:
            which += 1
        table, points = grids[which]
        stride = _STRIDES[which]

        # The nodes that carry the posterior, and so many after them that they fill the processor's vectors.
        low, high = 0, -(-posterior.shape[1] // stride)
        while posterior[n, low * stride] < _NEGLIGIBLE:
            low += 1
        while posterior[n, (high - 1) * stride] < _NEGLIGIBLE:
            high -= 1
        inside = high - low
        size = -(-inside // LANE) * LANE
        whole = 0.0
        for q in range(inside):
            whole += posterior[n, (low + q) * stride]
        for q in range(inside):
            root[q] = np.sqrt(posterior[n, (low + q) * stride] / whole)
        for q in range(inside, size):
            root[q] = 0.0

        count = 0
        for at in range(indptr[n], indptr[n + 1]):
            often = times[at]
            for e in range(first[indices[at]], first[indices[at] + 1]):
                i = place[parameter[e]]
                if i < 0:
                    place[parameter[e]], touched[count] = count, parameter[e]
                    for q in range(size):
                        score[count, q] = often * table[e, low + q]
                    count += 1
                else:
                    for q in range(size):
                        score[i, q] += often * table[e, low + q]
        for at in range(sums_indptr[n], sums_indptr[n + 1]):
            for e in range(slopes_indptr[sums_indices[at]], slopes_indptr[sums_indices[at] + 1]):
                i = place[slopes_indices[e]]
                by = sums_data[at] * slopes_data[e]
                for q in range(size):
                    score[i, q] += by * points[low + q]

        for i in range(count):
            mean = 0.0
            for q in range(size):
                score[i, q] *= root[q]
                mean += score[i, q] * root[q]
            means[i] = mean
            for j in range(i + 1):
                both = -mean * means[j]
                for q in range(size):
                    both += score[i, q] * score[j, q]
                both *= weight[n]
                row, column = min(touched[i], touched[j]), max(touched[i], touched[j])
                if full:
                    total[row * n_parameters + column] += both
                else:
                    total[_found(pattern, row, column)] += both
        for i in range(count):
            place[touched[i]] = -1


@compiled()
def _found(pattern, row, column):  # type: ignore[no-untyped-def]
    """Where the entry stands among those of a sparse matrix."""
    indptr, indices = pattern
    low, high = indptr[row], indptr[row + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low
