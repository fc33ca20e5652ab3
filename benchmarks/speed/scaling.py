"""How cost grows. docs/scale.md quotes the lines of JSON that these commands print:

`python -m benchmarks.speed.scaling slopes`: CPU time of an evaluation by students, raters, items and nodes.
`python -m benchmarks.speed.scaling per-rating FILE ...`: time per rating of whole fits, for small and large files.
`python -m benchmarks.speed.scaling large [FILE.parquet]`: fit in memory and out of core, against reading the file by
polars; 100,000,000 ratings unless told otherwise, also `make bench-large`.
`python -m benchmarks.speed.scaling workers FILE.rlpack [fits]`: one worker of a cluster against two, and one of two
killed.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from json import dumps, loads
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.say import least, say
from benchmarks.speed.cases import SIZES
from benchmarks.speed.draw import draw

BASE = {"students": 60_000, "raters": 500, "items": 10, "per_student": 2}
FACTORS = {
    "students": (1, 2, 4),
    "raters": (0.2, 0.5, 1, 2, 4),
    "items": (0.5, 1, 2),
    "per_student": (1, 2, 4),
}
NODES, GRIDS = 64, (32, 64, 128, 256)
ROUNDS = 15
REPEATS = 3
# ru_maxrss is in KiB on Linux and in bytes on macOS.
_GIB = 2**30 if sys.platform == "darwin" else 2**20


# ---------------------------------------------------------------------------------------------- slopes


def slopes() -> None:
    """One evaluation on one thread, along each dimension; a slope is that of logarithms, by least squares."""
    with tempfile.TemporaryDirectory() as folder:
        for name, factors in FACTORS.items():
            sizes = [BASE | {name: int(BASE[name] * factor)} for factor in factors]
            _slope(name, [(size[name], *_evaluation(Path(folder), size, NODES)) for size in sizes])
        _slope("nodes", [(nodes, *_evaluation(Path(folder), BASE, nodes)) for nodes in GRIDS])


def _slope(name: str, rows: list[tuple[int, float, float]]) -> None:
    for column, what in ((1, "students' part"), (2, "model's part")):
        x, y = np.log([row[0] for row in rows]), np.log([row[column] for row in rows])
        seconds = {str(row[0]): float(f"{row[column]:.3g}") for row in rows}
        say(by=name, of=what, cpu_seconds=seconds, slope=float(np.polyfit(x, y, 1)[0]))


def _evaluation(folder: Path, size: dict[str, int], n_nodes: int) -> tuple[float, float]:
    """CPU seconds over the students, and of the model's tables and gradient: the least of several."""
    from benchmarks.speed.likelihood import Likelihood
    from raterlens.base.threads import one_thread
    from raterlens.likelihood.engines.contract import Expected, Tables
    from raterlens.likelihood.nodes import Nodes
    from raterlens.reading.read import read

    path = folder / ("-".join(str(value) for value in size.values()) + ".parquet")
    if not path.exists():
        draw(path, **size)
    with one_thread():
        found = Likelihood.of(read(path), n_nodes)
    engine = found.problem.engine
    students, evaluate = list[float](), engine.evaluate

    def watched(tables: Tables, nodes: Nodes) -> Expected:
        start = process_time()
        expected = evaluate(tables, nodes)
        students.append(process_time() - start)
        return expected

    engine.evaluate = watched  # type: ignore[method-assign]
    model = [_cpu(found.evaluate) - students[-1] for _ in range(ROUNDS)]
    return min(students), min(model)


# ------------------------------------------------------------------------- whole fits, each in a process


def per_rating(paths: list[Path]) -> None:
    """An evaluation and a whole fit, by CPU time and on the clock: in memory of parquet files, out of core of packed
    ones, the least of several processes. Imports and compiled code are loaded before."""
    for name in ("evaluate", "fit"):
        # In turns, so that a busy spell of the machine falls on all of them.
        rounds = [[_apart(name, path) for path in paths] for _ in range(REPEATS)]
        found = [least(list(runs)) for runs in zip(*rounds, strict=True)]
        for what in sorted(key for key in found[0] if key.startswith(("cpu_of", "wall_of"))):
            spent = 1e9 * np.array([one[what] / one["ratings"] for one in found])
            sizes = {
                f"{one['ratings']:,}": float(f"{each:.4g}") for one, each in zip(found, spent, strict=True)
            }
            say(
                nanoseconds_a_rating=what,
                by_ratings=sizes,
                most_against_least=float(spent.max() / spent.min()),
            )
        for one in found:
            say(step=name, **one)


def large(path: Path) -> None:
    """From parquet to estimates and standard errors, in memory and out of core, against reading the file by polars and
    counting the ratings of each rater: our processes from start to end against the work of polars' alone, and against
    its process from start to end."""
    # The first touch of memory can take longer than what is put into it: of all processes, the best of several.
    reading, counting = (
        min((_apart(name, path) for _ in range(REPEATS)), key=lambda one: one["wall_without_start"])
        for name in ("read", "count")
    )
    say(step="polars reads the file and counts", **reading)
    say(step="polars counts one column of it", **counting)
    inside = min((_apart("memory", path) for _ in range(REPEATS)), key=lambda one: one["wall"])
    say(step="read and fit in memory", **inside)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        packed = Path(folder) / "packed.rlpack"
        packing = _apart("pack", path, packed)
        say(step="pack", **packing)
        fitting = _apart("fit", packed)
        say(step="fit out of core", **fitting)
    ways = {
        "in memory": (inside["wall_until_estimates"], inside["wall"]),
        "packed before": (fitting["wall_until_estimates"], fitting["wall"]),
        "pack and fit": (
            packing["wall"] + fitting["wall_until_estimates"],
            packing["wall"] + fitting["wall"],
        ),
    }
    for way, (estimates, everything) in ways.items():
        for what, peer in (("reading and counting", reading), ("counting one column", counting)):
            say(
                way=way,
                against=what,
                times_for_estimates=estimates / peer["wall_without_start"],
                times_with_standard_errors=everything / peer["wall_without_start"],
                times_of_the_whole_process=everything / peer["wall"],
            )


def _apart(*command: str | Path) -> dict[str, Any]:
    """One of the steps below in a fresh process, and what it took."""
    start, load = perf_counter(), os.getloadavg()[0]
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.speed.scaling", "step", *map(str, command)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed")
    return {
        **loads(said.splitlines()[-1]),
        "wall": perf_counter() - start,
        "cpu": usage.ru_utime + usage.ru_stime,
        "memory_gib": usage.ru_maxrss / _GIB,
        "load": load,
    }


def step(name: str, path: Path, to: Path | None) -> dict[str, Any]:
    if name in ("read", "count"):
        import polars as pl

        begun = perf_counter()
        rows = pl.read_parquet(path).lazy() if name == "read" else pl.scan_parquet(path)
        table = rows.group_by("rater").len().collect()
        return {"ratings": int(table["len"].sum()), "wall_without_start": perf_counter() - begun}
    import raterlens as rl
    from benchmarks.speed.likelihood import Likelihood, warm_up
    from raterlens.ratings.packed import SUFFIX, StoredRatings, open_packed

    if name == "pack":
        assert to is not None
        rl.pack(path, to)
        return {}
    begun = perf_counter()
    packed = path.suffix == SUFFIX
    ratings = StoredRatings(open_packed(path)) if packed else rl.read(path)
    sizes = {"ratings": ratings.n_ratings, "students": ratings.n_students, "raters": ratings.n_raters}
    if name != "memory":
        warm_up()
    if name == "evaluate":
        start = process_time()
        found = Likelihood.of(ratings, NODES)
        ready, rounds = process_time() - start, max(4, 20_000_000 // ratings.n_ratings)
        return {
            **sizes,
            "cpu_of_preparation": ready,
            "cpu_of_an_evaluation": min(_cpu(found.evaluate) for _ in range(rounds)),
        }
    at: list[tuple[float, float]] = []
    start, clock = process_time(), perf_counter()
    fit = rl.fit(ratings, model="gmf", progress=lambda _: at.append((process_time(), perf_counter())))
    whole, wall, done = process_time() - start, perf_counter() - clock, fit.optimiser
    return {
        **sizes,
        "cpu_of_estimates": at[-1][0] - start,
        "cpu_of_estimates_and_standard_errors": whole,
        "wall_of_estimates": at[-1][1] - clock,
        "wall_of_estimates_and_standard_errors": wall,
        "wall_until_estimates": at[-1][1] - begun,
        "evaluations": done.evaluations,
        "nodes": done.n_nodes,
        "loglik": fit.loglik,
    }


def _cpu(work: Callable[[], Any]) -> float:
    start = process_time()
    work()
    return process_time() - start


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["slopes"]:
            slopes()
        case ["per-rating", *files]:
            per_rating([Path(file) for file in files])
        case ["large", *file]:
            large(Path(file[0]) if file else SIZES["100m"].file())
        case ["workers", file, *fits]:
            from benchmarks.speed.on_workers import workers

            workers(Path(file), fits=fits == ["fits"])
        case ["step", name, file, *to]:
            print(dumps(step(name, Path(file), Path(to[0]) if to else None)))
        case _:
            raise SystemExit(__doc__)
