"""Connected parts of a graph: who hangs together with whom."""

import numpy as np

from raterlens.base.threads import BLOCK
from raterlens.base.types import Indices


def components(size: int, one: Indices, other: Indices) -> tuple[int, Indices]:
    """How many parts a graph of `size` nodes has, and the part of each node, numbered by their first nodes.

    Edge i joins `one[i]` and `other[i]`. Every part takes the smallest label that its edges bring, and whoever follows
    it goes to the end of the chain at once, so that few rounds are enough. SciPy's would take longer to load.

    Examples
    --------
    >>> components(5, np.array([0, 4]), np.array([2, 1]))
    (3, array([0, 1, 0, 2, 1]))
    """
    label = np.arange(size)
    # In stretches: once the first have joined nearly all, the others take next to no memory.
    for first in range(0, len(one), BLOCK):
        label = _joined(label, one[first : first + BLOCK], other[first : first + BLOCK])
    kept, part = np.unique(label, return_inverse=True)
    return len(kept), part


def _joined(label: Indices, one: Indices, other: Indices) -> Indices:
    """The labels, where more edges join parts."""
    while True:
        here, there = label[one], label[other]
        apart = here != there
        if not apart.any():
            return label
        one, other = one[apart], other[apart]
        np.minimum.at(label, np.maximum(here, there)[apart], np.minimum(here, there)[apart])
        while not np.array_equal(further := label[label], label):
            label = further
