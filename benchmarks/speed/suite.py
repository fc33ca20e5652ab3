"""Raterlens and its peers on the same files: `python -m benchmarks.speed.suite`, or `make bench`.

Each program runs in its own fresh process: import, read a parquet file, fit, write the tables; `raterlens fit --out` is
the whole command, with tests, diagnosis and report. Programs take turns, so
that a busy spell hits all of them; the best repeat counts, and anything over three minutes runs once. The fit alone
is timed in another process, where it is the second fit and everything is loaded. Peers that are missing or
too slow are reported as such.
"""

import argparse
import json
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.speed.bound import bound
from benchmarks.speed.cases import COMMAND, DEFAULT_SIZES, IN_R, PEER, ROOT, SIZES, programs_for
from benchmarks.speed.measure import measure
from benchmarks.speed.page import console, write_page
from benchmarks.speed.programs import PROGRAMS

Result = dict[str, Any]
RESULTS = ROOT / "docs" / "performance.json"
MEASURES = ("process_wall", "process_cpu", "fit_wall", "fit_cpu", "memory")
# A fit of this many seconds takes the same time whether or not modules are already loaded.
_LONG = 60
# A program that takes this many seconds runs once: busy spells even out.
_ONCE = 180
# The peer that all are compared with may take this many seconds, whatever the limit: without it a table has no ratios.
_PATIENCE = 1200


def best(runs: list[Result]) -> Result:
    """The smallest of each measure; a program that failed once has failed."""
    failed = [run for run in runs if "failed" in run]
    if failed:
        return failed[0]
    return {**runs[0], **{name: min(run[name] for run in runs) for name in MEASURES if name in runs[0]}}


def compare(size_name: str, programs: tuple[str, ...], repeat: int, limit: float) -> Result:
    size = SIZES[size_name]
    data = size.file()
    runs: dict[str, list[Result]] = {program: [] for program in programs}
    for turn in range(repeat):
        for program in programs:
            if turn == 0 or runs[program][0].get("process_wall", _ONCE) < _ONCE:
                print(f"  {size_name}, {program}, run {turn + 1} of {repeat}", flush=True)
                patience = max(limit, _PATIENCE) if program == PEER else limit
                runs[program].append(_measured(program, data, patience))
    return {
        "size": str(size),
        "ratings": size.ratings,
        "programs": {program: best(found) for program, found in runs.items()},
    }


def _measured(program: str, data: Path, limit: float) -> Result:
    found = measure(program, data, limit)
    if program in (COMMAND, *IN_R) or found.get("fit_wall", _LONG) >= _LONG:
        return found
    again = measure(program, data, 2 * limit, twice=True)
    return (
        again if "failed" in again else {**found, **{name: again[name] for name in ("fit_wall", "fit_cpu")}}
    )


def machine() -> Result:
    details = Path("/proc/cpuinfo")
    lines = details.read_text().splitlines() if details.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    cpu = names[0] if names else platform.processor() or platform.machine()
    return {"system": platform.system(), "cpu": cpu, "cores": os.cpu_count(), "load": load}


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("raterlens", "mirt", "RaschPy", "crowd-kit", "numpy", "scipy", "polars"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    try:
        r = (
            'cat(R.version$major, R.version$minor, sep = "."); '
            'for (p in c("lme4", "glmmTMB", "TAM", "sirt", "mirt", "mfrmr", "fixest")) '
            'cat("", p, if (requireNamespace(p, quietly = TRUE)) format(packageVersion(p)) else "not installed")'
        )
        found["R"] = subprocess.run(
            ["Rscript", "-e", r], capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        found["R"] = "not installed"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.suite", description=__doc__)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=DEFAULT_SIZES, metavar="SIZE")
    parser.add_argument(
        "--programs",
        nargs="+",
        choices=(COMMAND, *PROGRAMS),
        metavar="PROGRAM",
        help="instead of the default ones",
    )
    parser.add_argument("--repeat", type=int, default=3, help="runs per program; the best counts")
    parser.add_argument("--limit", type=float, default=120, help="time limit per program, in seconds")
    parser.add_argument(
        "--results", type=Path, default=RESULTS, help="JSON file of results; other sizes in it are kept"
    )
    asked = parser.parse_args()

    kept = json.loads(asked.results.read_text()) if asked.results.exists() else {"cases": {}}
    for name in asked.sizes:
        programs = tuple(asked.programs or programs_for(SIZES[name]))
        found = compare(name, programs, asked.repeat, asked.limit)
        kept["cases"][name] = {**found, "machine": machine()}
        print(console(kept["cases"][name]), flush=True)
    kept |= {"bound": bound(), "versions": versions()}
    kept["cases"] = {name: kept["cases"][name] for name in SIZES if name in kept["cases"]}
    asked.results.write_text(json.dumps(kept, indent=1) + "\n")
    if asked.results == RESULTS:
        write_page(kept)
    print(f"wrote {os.path.relpath(asked.results)}")


if __name__ == "__main__":
    main()
