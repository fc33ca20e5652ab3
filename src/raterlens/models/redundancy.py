"""Directions in which parameters can move without changing any probability, and the centring that removes them.

Severity trades against difficulty, facets and shared thresholds; an item's difficulty against its own thresholds;
slopes against item slopes. Each is a pair of rows: a direction, and a constraint that centring holds at zero.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from raterlens.base.arrays import Array
from raterlens.models.facets import FacetsModel
from raterlens.models.terms.item_slopes import ITEM_SLOPE


@dataclass(frozen=True, slots=True)
class Redundancy:
    """Each (redundancies, parameters)."""

    constraints: Array
    directions: Array

    def __len__(self) -> int:
        return len(self.constraints)


def redundancy(model: FacetsModel, parameters: Array, held: NDArray[np.bool_] | None = None) -> Redundancy:
    """The redundant directions at `parameters` that move no parameter which is held fixed."""
    rows = list(model.redundancies(parameters))
    if held is not None:
        still = [row for row in rows if not row[1][held].any()]
        rows = still + _together([row for row in rows if row[1][held].any()], held)
    empty = np.zeros((0, model.blocks.size))
    return (
        Redundancy(*(np.array(part) for part in zip(*rows, strict=True)))
        if rows
        else Redundancy(empty, empty)
    )


def _together(rows: list[tuple[Array, Array]], held: NDArray[np.bool_]) -> list[tuple[Array, Array]]:
    """Directions that move held parameters singly but not in combination: with severities held, difficulties still
    trade against thresholds. What comes last (thresholds, then facets) is centred, what comes first keeps the place."""
    if len(rows) < 2:
        return []
    constraints, directions = (np.array(part) for part in zip(*rows, strict=True))
    combined = linalg.null_space(directions[:, held].T).T
    centred: list[int] = []
    for place in reversed(range(len(rows))):
        if len(centred) < len(combined) and np.linalg.matrix_rank(combined[:, [*centred, place]]) > len(
            centred
        ):
            centred.append(place)
    combined = np.linalg.solve(combined[:, centred], combined)
    return [(constraints[place], row @ directions) for place, row in zip(centred, combined, strict=True)]


def centre(model: FacetsModel, parameters: Array, held: NDArray[np.bool_] | None = None) -> Array:
    """The same model with difficulties, facets, thresholds and log item slopes that average zero."""
    centred = parameters.copy()
    slopes = ("slope", "item_slope")
    if ITEM_SLOPE in model and (held is None or not any(held[model.blocks[name]].any() for name in slopes)):
        # Exactly: the direction is only tangent to a product of slopes.
        mean = centred[model.blocks["item_slope"]].mean()
        centred[model.blocks["item_slope"]] -= mean
        slope = model.blocks["slope"]
        centred[slope] = model.slope.invert(model.slope(centred[slope]) * np.exp(mean))
    found = redundancy(model, centred, held)
    excess = np.linalg.solve(found.constraints @ found.directions.T, found.constraints @ centred)
    return centred - found.directions.T @ excess
