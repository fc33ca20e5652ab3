"""How cost grows: CPU time of an evaluation by students, raters, items and nodes; a fit by workers, one of them killed.

`python -m benchmarks.scaling slopes` draws its own ratings; `python -m benchmarks.scaling workers FILE.rlpack` fits
packed ratings on a cluster of processes of this machine. Both print lines of JSON; docs/scale.md quotes them.
"""

import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.draw import draw

BASE = {"students": 100_000, "raters": 500, "items": 10, "per_student": 2}
FACTORS = {
    "students": (0.25, 0.5, 1, 2, 4),
    "raters": (0.2, 1, 4, 10),
    "items": (0.3, 1, 3),
    "per_student": (1, 2, 4),
}
NODES = (16, 32, 64, 128, 256)


def slopes() -> None:
    """One evaluation on one thread, along each dimension; the slope is that of logarithms, by least squares."""
    with tempfile.TemporaryDirectory() as folder:
        for name, factors in FACTORS.items():
            rows = []
            for factor in factors:
                size = BASE | {name: int(BASE[name] * factor)}
                rows.append((size[name], _evaluation(Path(folder), size, 64)))
            _say(name, rows)
        _say("nodes", [(nodes, _evaluation(Path(folder), BASE, nodes)) for nodes in NODES])


def _say(name: str, rows: list[tuple[int, float]]) -> None:
    x, y = np.log(np.array(rows)).T
    slope = float(np.polyfit(x, y, 1)[0])
    seconds = {str(size): round(value, 4) for size, value in rows}
    print(
        json.dumps({"by": name, "cpu_seconds_an_evaluation": seconds, "slope": round(slope, 2)}), flush=True
    )


def _evaluation(folder: Path, size: dict[str, int], n_nodes: int) -> float:
    """CPU seconds, the least of several."""
    from raterlens.engine.compress import essays
    from raterlens.engine.fused import FusedEngine
    from raterlens.engine.seam import Nodes, Tables
    from raterlens.models.parameters import Contexts
    from raterlens.reading import read

    path = folder / "-".join(str(value) for value in size.values())
    path = path.with_suffix(".parquet")
    if not path.exists():
        draw(path, **size)
    ratings = read(path)
    contexts = Contexts.of(ratings)
    found = essays(ratings, contexts, contexts.rater, 2)
    engine = FusedEngine(found.counts, found.sums, threads=1)
    nodes = Nodes.equally_spaced(-6, 6, 12 / (n_nodes - 2))
    log_partition = -found.sets.members @ np.log1p(np.exp(np.outer(np.ones(len(contexts)), nodes.points)))
    tables = Tables(log_partition, np.ones(ratings.n_raters))
    times = []
    for _ in range(5):
        before = process_time()
        engine.evaluate(tables, nodes)
        times.append(process_time() - before)
    return min(times[1:])


def workers(path: Path) -> None:
    """One worker against two, and two of which one is killed in the middle."""
    import raterlens as rl
    from raterlens.stored.file import open_packed
    from raterlens.stored.ratings import StoredRatings

    ratings = StoredRatings(open_packed(path))
    plan: list[tuple[str, int, int | None]] = [
        ("one worker", 1, None),
        ("two workers", 2, None),
        ("one of two killed", 2, 15),
    ]
    for name, count, kill_at in plan:
        with _cluster(count) as client:
            start = perf_counter()
            steps: list[float] = []

            def on_progress(progress: Any, steps: list[float] = steps, kill_at: int | None = kill_at) -> None:
                steps.append(perf_counter())
                if len(steps) == kill_at:
                    process = client.run(os.getpid)
                    os.kill(process[min(process)], signal.SIGKILL)

            fit = rl.fit(ratings, client=client, standard_errors=False, progress=on_progress)
            whole = perf_counter() - start
            found = {
                "run": name,
                "ratings": ratings.n_ratings,
                "seconds": round(whole, 1),
                "seconds_until_the_first_step": round(steps[0] - start, 1),
                "seconds_of_steps": round(steps[-1] - steps[0], 1),
                "evaluations": fit.optimiser.evaluations,
                "load_average": os.getloadavg()[0],
                "loglik": fit.loglik,
                "kappa_sum": float(fit.table("raters")["kappa"].sum()),
            }
            print(json.dumps(found), flush=True)


def _cluster(n_workers: int) -> Any:
    from distributed import Client, LocalCluster

    return Client(
        LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None)
    )


if __name__ == "__main__":
    slopes() if sys.argv[1] == "slopes" else workers(Path(sys.argv[2]))
