"""Functions of a predictor on average over normal predictors, for many raters at once (`c/normal_averages.c`).

The same averages as in `capability/integrals.py` and `capability/integrals.py`, their readable twins.
"""

import numpy as np

from raterlens.base.arrays import Array
from raterlens.base.threads import in_threads, spans
from raterlens.kernels.exponential import padded
from raterlens.kernels.library import Doubles, Integer, Real, kernel, refuse_unless, same

_normal_averages = kernel(
    "normal_averages", *[Integer] * 3, *[Doubles] * 2, Real, Real, Integer, Doubles, Integer, Doubles, Doubles
)
# Every node in reach is visited, beyond the tables too: there are about 2 slope^2 / step of them.
_STEEPEST = 1e4
# Places that are worth a thread of their own.
_LEAST = 200


def normal_averages(tables: Array, nodes: Array, slope: Array, severity: Array) -> Array:
    """(values, places): E[g(slope t - severity)] over standard normal t.

    Parameters
    ----------
    tables
        (values, nodes): functions g of the predictor, which keep their values beyond the first and the last node.
    nodes
        Equally spaced predictors, at most as far apart as the smallest slope.
    """
    tables, slope, severity = (Doubles.of(part) for part in (tables, slope, severity))
    step = float(nodes[1] - nodes[0])
    refuse_unless(same(len(slope), len(severity)) and tables.shape[1] == len(nodes), "places or nodes")
    known = bool(np.all((slope >= step) & (slope <= _STEEPEST)) and not np.isnan(severity).any())
    refuse_unless(known, "slopes or severities")
    out = np.empty((len(tables), len(slope)))

    def part(span: tuple[int, int]) -> None:
        scratch = np.empty(padded(len(nodes)))
        on = float(nodes[0]), step, len(nodes), tables, len(tables)
        _normal_averages(*span, len(slope), slope, severity, *on, scratch, out)

    in_threads(part, spans(len(slope), _LEAST))
    return out
