"""One program in a fresh process, measured from outside: wall and CPU time, peak memory, a time limit."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.speed.cases import COMMAND

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# ru_maxrss is in KiB on Linux and in bytes on macOS.
_MIB = 2**20 if sys.platform == "darwin" else 2**10
MEMORY = 16 * 2**30
"""Bytes of address space that a program may use."""


def measure(
    program: str, data: Path, limit: float, source: Path | None = None, *, twice: bool = False
) -> dict[str, Any]:
    """Run `program` on `data`; `source` is a folder whose `raterlens` is used instead of the installed one.

    The process reads, fits and writes its results, and says in a last line of JSON what came out; the command is run as
    people run it, and its fit.json read when it has ended. What went wrong is in "failed": not installed, out of time,
    or the end of its messages.
    """
    environment = {**os.environ, **({} if source is None else {"PYTHONPATH": str(source)})}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # people's modules are compiled once, not at each start
    command = [sys.executable, "-m", "benchmarks.speed.programs", program, str(data)]
    with tempfile.TemporaryDirectory() as out, tempfile.TemporaryFile() as said:
        results = Path(out) / "results"
        whole = [str(Path(sys.executable).with_name("raterlens")), "fit", str(data), "--model", "gmf"]
        whole += ["--out", str(results)]
        start = time.perf_counter()
        process = subprocess.Popen(
            whole if program == COMMAND else [*command, out, *["twice"] * twice],
            cwd=ROOT,
            env=environment,
            stdout=said,
            stderr=said,
            start_new_session=True,
            preexec_fn=_limited,
        )
        try:
            status, usage = _waited(process, limit)
        except TimeoutError:
            return {"failed": f"timed out after {limit:g} s"}
        wall = time.perf_counter() - start
        said.seek(0)
        lines = said.read().decode(errors="replace").strip().splitlines()
        if status != 0:
            return {"failed": (lines or ["it said nothing"])[-1][:200]}
        found = json.loads((results / "fit.json").read_text() if program == COMMAND else lines[-1])
    return {
        **({name: found[name] for name in ("loglik", "converged")} if program == COMMAND else found),
        "process_wall": wall,
        "process_cpu": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss / _MIB,
    }


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _waited(process: "subprocess.Popen[bytes]", limit: float) -> tuple[int, Any]:
    """The process's end and what it used; where it takes too long, it and its children are ended."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        found, status, usage = os.wait4(process.pid, os.WNOHANG)
        if found:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage
        time.sleep(0.01)
    os.killpg(process.pid, 9)
    process.wait()
    raise TimeoutError
