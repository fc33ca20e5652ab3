"""How likely each total score of a reading is: all scores that one rater gives a student's items.

Totals build up item by item (Lord and Wingersky, 1984): with p_k the probability of score k on the next item,

    P(total = x) <- sum over k of P(total = x - k) p_k.

Where scores of a reading share more than ability (halo), this holds given the impression u, and is averaged over u.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from raterlens.base.arrays import Array
from raterlens.capability.population import READINGS
from raterlens.diagnostics.expected_scores import RaterEffects, category_probabilities, predictor_at
from raterlens.models.calibration import Calibration

# Numbers in the table of one block of raters: 64 MB.
_BLOCK = 2**23


def reading_totals(
    known: Calibration,
    raters: RaterEffects,
    items: Sequence[int],
    theta: Array,
    further: Sequence[float] | None = None,
) -> Array:
    """(raters, totals, abilities): probabilities of the totals, counted from the lowest that there can be.

    `further` has what further facets add to the difficulty of each item.
    """
    n = len(raters.slope)
    u, weights = READINGS if np.any(raters.halo) else (np.zeros(1), np.ones(1))
    highest = len(items) * (known.scores[-1] - known.scores[0])
    size = max(1, _BLOCK // (len(u) * (highest + 1) * len(theta)))
    found = np.empty((n, highest + 1, len(theta)))
    for first in range(0, n, size):
        some = raters.of(np.arange(first, min(first + size, n)))
        shift = np.multiply.outer(np.sqrt(some.halo), u)[..., None]
        one = RaterEffects(some.slope[:, None, None], some.severity[:, None, None], some.halo[:, None, None])
        parts = []
        for place, item in enumerate(items):
            s = predictor_at(known, one, int(item), theta) + shift - (further[place] if further else 0.0)
            flat = s.reshape(-1, len(theta))
            parts.append(_by_score(known, category_probabilities(known, int(item), flat, np.zeros((1, 1)))))
        whole = convolved(parts).reshape(len(some.slope), len(u), -1, len(theta))
        found[first : first + size] = np.einsum("ruxq,u->rxq", whole, weights)
    return found


def convolved(parts: Iterable[Array]) -> Array:
    """(..., totals, abilities): of independent parts together, each (..., totals, abilities)."""
    total: Array | None = None
    for part in parts:
        if total is None:
            total = part
            continue
        longer = np.zeros((*total.shape[:-2], total.shape[-2] + part.shape[-2] - 1, total.shape[-1]))
        for score in range(part.shape[-2]):
            longer[..., score : score + total.shape[-2], :] += total * part[..., score, None, :]
        total = longer
    assert total is not None
    return total


def _by_score(known: Calibration, p: Array) -> Array:
    """From probabilities of the scores that occur to those of every score from the lowest to the highest."""
    lowest, *_, highest = known.scores
    if p.shape[1] == highest - lowest + 1:
        return p
    found = np.zeros((len(p), highest - lowest + 1, p.shape[2]))
    found[:, np.array(known.scores) - lowest] = p
    return found
