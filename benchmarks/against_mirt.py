"""The TFM on the same file, Raterlens against PyPI's mirt: `python -m benchmarks.against_mirt`.

Each program runs in its own fresh process: import, read a parquet file, fit, write three csv files. The two take
turns, so that a busy spell of the machine falls on both; the best of the repeats counts. This process stays small
(the data are drawn in another), since on Linux a child's peak memory starts from its parent's.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

HERE = Path(__file__).parent
PROGRAMS = ("raterlens", "mirt")
MEASURES = {
    "process_wall": "whole process, wall s",
    "process_cpu": "whole process, CPU s",
    "fit_wall": "fit, wall s",
    "fit_cpu": "fit, CPU s",
    "memory": "peak memory, MiB",
}


def run(program: str, data: Path) -> dict[str, Any]:
    """One fresh process, timed from outside."""
    with tempfile.TemporaryDirectory() as out:
        start = perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.worker", program, str(data), out],
            cwd=HERE.parent,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        wall = perf_counter() - start
    return {**json.loads(done.stdout.splitlines()[-1]), "process_wall": wall}


def drawn(size: argparse.Namespace) -> Path:
    """The file of ratings, drawn once for each size and seed."""
    numbers = [str(n) for n in (size.students, size.raters, size.items, size.per_student, size.seed)]
    path = HERE / "data" / f"tfm-{'-'.join(numbers)}.parquet"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "benchmarks.worker", "data", str(path), *numbers]
        subprocess.run(command, cwd=HERE.parent, check=True)
    return path


def best(runs: list[dict[str, Any]]) -> dict[str, Any]:
    return {**runs[0], **{name: min(run[name] for run in runs) for name in MEASURES}}


def machine() -> dict[str, Any]:
    cpu = platform.processor() or platform.machine()
    details = Path("/proc/cpuinfo")
    if details.exists():
        models = [
            line.partition(":")[2].strip()
            for line in details.read_text().splitlines()
            if "model name" in line
        ]
        cpu = models[0] if models else cpu
    return {"system": platform.system(), "cpu": cpu, "cores": os.cpu_count()}


def versions() -> dict[str, str]:
    packages = ("raterlens", "mirt", "numpy", "scipy", "polars")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def table(results: dict[str, dict[str, Any]], ratings: int) -> str:
    ours, theirs = (results[program] for program in PROGRAMS)
    lines = [f"{ratings:,} ratings, TFM", f"{'':24}{'raterlens':>12}{'mirt':>12}{'mirt / ours':>14}"]
    for name, title in MEASURES.items():
        lines.append(f"{title:24}{ours[name]:12.2f}{theirs[name]:12.2f}{theirs[name] / ours[name]:13.1f}x")
    lines.append(f"{'sigma':24}{ours['sigma']:12.5f}{theirs['sigma']:12.5f}")
    lines.append(f"{'log-likelihood':24}{ours['loglik']:12.2f}{theirs['loglik']:12.2f}")
    lines.append(f"{'':24}ours is {ours['loglik'] - theirs['loglik']:+.4f} from mirt's")
    lines.extend(f"{program} did not converge" for program in PROGRAMS if not results[program]["converged"])
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against_mirt", description=__doc__)
    parser.add_argument("--students", type=int, default=20_000)
    parser.add_argument("--raters", type=int, default=500)
    parser.add_argument("--items", type=int, default=10)
    parser.add_argument("--per-student", type=int, default=4, help="raters of each student")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3, help="runs of each program; the best counts")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="folder for the JSON report")
    size = parser.parse_args()
    ratings = size.students * size.items * size.per_student

    data = drawn(size)
    runs: dict[str, list[dict[str, Any]]] = {program: [] for program in PROGRAMS}
    for _ in range(size.repeat):
        for program in PROGRAMS:
            runs[program].append(run(program, data))
    results = {program: best(runs[program]) for program in PROGRAMS}
    print(table(results, ratings))

    size.out.mkdir(parents=True, exist_ok=True)
    report = size.out / f"against_mirt-{ratings}.json"
    design = {name: getattr(size, name) for name in ("students", "raters", "items", "per_student", "seed")}
    report.write_text(
        json.dumps(
            {
                "ratings": ratings,
                **design,
                "versions": versions(),
                "machine": machine(),
                "best": results,
                "runs": runs,
            },
            indent=2,
        )
    )
    print(f"every run, versions and machine: {os.path.relpath(report)}")


if __name__ == "__main__":
    main()
