"""Nodes of two abilities: to an engine just more nodes."""

from dataclasses import dataclass, replace

import numpy as np

from raterlens.base.types import Array
from raterlens.engine.protocol import MOST_NODES, Nodes


@dataclass(frozen=True, slots=True)
class ProductNodes(Nodes):
    """The nodes (t, z) of two grids, without those in the corners, where no posterior has mass; z in runs."""

    z: Array
    steps: tuple[float, float]
    """Of t and of z."""

    @staticmethod
    def of(steps: tuple[float, float], reach: float) -> "ProductNodes":
        """Out to `reach` from the middle; steps are widened rather than have too many nodes."""
        area = np.pi * reach**2
        widen = max(1.0, float(np.sqrt(area / (steps[0] * steps[1] * MOST_NODES))))
        first, second = (Nodes.equally_spaced(-reach, reach, widen * step) for step in steps)
        z, t = (part.ravel() for part in np.meshgrid(second.points, first.points, indexing="ij"))
        inside = t**2 + z**2 <= reach**2
        weights = np.add.outer(second.log_weights, first.log_weights).ravel()
        return ProductNodes(t[inside], weights[inside], z[inside], (first.step, second.step))

    @property
    def reach(self) -> float:
        return float(np.sqrt(np.max(self.points**2 + self.z**2)))

    def turned(self) -> "ProductNodes":
        """With the other ability in the first place: an engine's moments are then of that one."""
        return replace(self, points=self.z, z=self.points, steps=self.steps[::-1])

    def finer(self) -> "ProductNodes":
        """Half the steps, and wider: what a grid is checked against."""
        return ProductNodes.of((self.steps[0] / 2, self.steps[1] / 2), self.reach + 0.5)
