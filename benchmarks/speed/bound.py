"""How near an evaluation of the compiled engine comes to what its arithmetic alone would take.

`python -m benchmarks.speed.bound`. The count is derived in docs/performance.md; the machine's rate is that of one such
operation on numbers in its nearest cache, measured in the same run.
"""

import ctypes
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from raterlens.kernels.library import Doubles, Integer

STUDENTS, RATERS, CELLS, NODES = 50_000, 1_000, 2, 64
_REPEATS = 60
_REPEATED = """
void repeated(double *restrict rows, const double *restrict others, long size, long times) {
    for (long n = 0; n < times; n++) {
        for (long q = 0; q < size; q++)
            rows[q] += 0.5 * others[q];
        __asm__ volatile("" ::: "memory");  /* or several rounds would become one */
    }
}
"""


def operations() -> int:
    """Vector operations on one number each: CELLS products and as many sums of counts; power, weight, sum and mean."""
    return STUDENTS * NODES * (2 * CELLS + 4)


def rate() -> float:
    """Multiply-adds per second on one core, on rows as long as a posterior."""
    rows, others, times = np.zeros((8, NODES)), np.ones((8, NODES)), 20_000
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "rate.c", Path(folder) / "rate.so"
        source.write_text(_REPEATED)
        flags = ["-O3", "-march=native", "-shared", "-fPIC"]
        subprocess.run(["cc", *flags, "-o", str(library), str(source)], check=True)
        repeated = ctypes.CDLL(str(library)).repeated
    known = *map(Doubles.from_param, (rows, others)), Integer(rows.size), Integer(times)
    return times * rows.size / _shortest(lambda: repeated(*known))


def evaluation() -> float:
    """CPU seconds of one evaluation on one core."""
    from scipy import sparse

    from raterlens.likelihood.engines.compiled import CompiledEngine
    from raterlens.likelihood.engines.contract import Tables
    from raterlens.likelihood.nodes import Nodes

    random = np.random.default_rng(0)
    first = np.arange(0, CELLS * STUDENTS + 1, CELLS)
    rater = random.integers(RATERS, size=CELLS * STUDENTS)
    counts, sums = (
        sparse.csr_array((values, rater, first), shape=(STUDENTS, RATERS))
        for values in (np.ones(len(rater)), random.integers(11, size=len(rater)).astype(float))
    )
    nodes = Nodes.equally_spaced(-6, 6, 12 / (NODES - 2))
    reach = random.uniform(0.5, 2, RATERS)
    tables = Tables(-10 * np.log1p(np.exp(np.multiply.outer(reach, nodes.points))), reach)
    engine = CompiledEngine(counts, sums, threads=1, arrange=True)
    engine.evaluate(tables, nodes)
    return _shortest(lambda: engine.evaluate(tables, nodes))


def bound() -> dict[str, Any]:
    least, taken = operations() / rate(), evaluation()
    return {
        "design": f"{STUDENTS:,} students, {CELLS} essays each, {RATERS:,} raters, {NODES} nodes, one core",
        "operations": operations(),
        "least": least,
        "taken": taken,
        "ratio": taken / least,
    }


def _shortest(work: Any) -> float:
    used = []
    for _ in range(_REPEATS):
        start = time.process_time()
        work()
        used.append(time.process_time() - start)
    return min(used)


if __name__ == "__main__":
    found = bound()
    print(
        f"{found['design']}: {found['taken'] * 1e3:.2f} ms, {found['ratio']:.2f} times the arithmetic alone"
    )
