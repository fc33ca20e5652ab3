"""An engine for data of middling size: readable, until it has gone over so many numbers that compiled code pays.

How much work a fit is shows only on the way: how fine its grid must be, how many evaluations it takes, how many
parameters a student's ratings depend on. Whoever rents until the rent has reached the price, and then buys, never pays
more than twice the least.
"""

import sys
from collections.abc import Iterator

from scipy import sparse

from raterlens.engine.numpy_engine import NumpyEngine
from raterlens.engine.protocol import CellScores, Engine, Expected, Matrix, Moments, Nodes, Tables
from raterlens.kernels.break_even import compiling_pays
from raterlens.types import Array

# Numbers that readable code goes over for each entry of a student's scores at a node.
_PER_ENTRY = 2


# Numbers in a pass below which it takes compiled code longer to hand them to its threads than to go over them.
_LEAST_PASS = 50_000

# Once loaded, for these ratings or for others, it need not be paid for again.
_COMPILED = "raterlens.engine.compiled_engine"


class GrowingEngine:
    """Evaluates tables by readable code, and by compiled code once there has been so much to do."""

    def __init__(self, counts: sparse.csr_array, sums: sparse.csr_array | None = None) -> None:
        self._counts, self._sums = counts, sums
        self._engine: Engine = NumpyEngine(counts, sums)
        self._work, self._compiled = 0.0, False

    @property
    def n_students(self) -> int:
        return self._engine.n_students

    def evaluate(self, tables: Tables, nodes: Nodes) -> Expected:
        return self._after(self._pass(nodes)).evaluate(tables, nodes)

    def moments(self, tables: Tables, nodes: Nodes) -> Moments:
        return self._after(self._pass(nodes)).moments(tables, nodes)

    def posteriors(self, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
        return self._after(self._pass(nodes)).posteriors(tables, nodes)

    def score_covariance(self, tables: Tables, nodes: Nodes, scores: CellScores) -> Matrix:
        rows = len(scores.parameter) / max(1, len(scores.steepest))
        return self._after(_PER_ENTRY * rows * self._pass(nodes)).score_covariance(tables, nodes, scores)

    def _pass(self, nodes: Nodes) -> float:
        """Numbers to go over once."""
        return float(self._counts.nnz * len(nodes.points))

    def _after(self, numbers: float) -> Engine:
        """The engine for so much more work."""
        self._work += numbers if numbers >= _LEAST_PASS else 0.0
        if not self._compiled and compiling_pays(self._work, loaded=_COMPILED in sys.modules):
            from raterlens.engine.compiled_engine import CompiledEngine  # loads the compiler

            self._engine, self._compiled = CompiledEngine(self._counts, self._sums, arrange=True), True
        return self._engine
