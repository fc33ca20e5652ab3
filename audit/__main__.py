"""`make fuzz SECONDS=60`: try Raterlens on cases made by chance, and print every failure, minimised, as a command.

`python -m audit --case SUBJECT CASE` tries one case again. Cases run in a process of their own: one that ends it, or
takes more than 20 seconds of its time, is a failure like any other. Such a case is made smaller by leaving out parts of
it, for five minutes at most.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

from audit.subject import Case
from audit.subjects import SUBJECTS
from audit.worker import UNDER_WAY, try_case
from raterlens.base.text import counted

WORKER = (sys.executable, "-m", "audit.worker")
ENDLESS = 1 << 60
LONGEST = 20.0
"""Seconds of processor time that a case may take."""
IDLE = 120.0
"""Seconds of the clock without any of the processor's, after which a case hangs."""
START = 5
"""Further ones to start with, where it is tried by itself."""
PATIENCE = 300.0
"""Seconds of the clock that it may take to make a case smaller."""
TELL = 60.0
"""Seconds between two lines that say how far it is."""
SLOW = "more than"
"""How the reason begins where a case takes too long: each such case is told."""
SAME = 60
"""Characters in which two failures agree that are one."""
IN_MEMORY = Path("/dev/shm")
PLACE = str(IN_MEMORY) if IN_MEMORY.is_dir() else gettempdir()
"""Where files of cases go: a disk would take more time than the cases."""
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "RUST_BACKTRACE": "0",
    "TMPDIR": PLACE,
}


@dataclass
class Findings:
    """Outcomes of the cases so far."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in SUBJECTS})
    failures: dict[tuple[str, str], str] = field(default_factory=dict)
    """Each kind once: a fault that many cases meet is one."""

    @property
    def tried(self) -> int:
        return sum(counts.total() for counts in self.counts.values())

    def summary(self) -> str:
        return f"{self.tried:,} cases, {counted(len(self.failures), 'kind')} of failure"

    def take(self, told: dict[str, Any]) -> None:
        """Take in a worker's report of a turn."""
        self.counts[told["subject"]].update(told["counts"])
        if told["failed"]:
            self.fail(told["subject"], *told["failed"])

    def fail(self, subject: str, case: Case, why: str) -> None:
        self.counts[subject]["failed"] += 1
        kind = (subject, json.dumps(case) if why.startswith(SLOW) else why[:SAME])
        if kind not in self.failures:
            self.failures[kind] = f"{command(subject, case)}\n    {why}"
            print(f"FAILED {self.failures[kind]}", flush=True)


def command(subject: str, case: Case) -> str:
    """The command that tries a case again."""
    quoted = json.dumps(case).replace("'", "\\u0027")
    return f"python -m audit --case {subject!r} '{quoted}'"


def fuzz(seconds: float, seed: int, subjects: list[str] | None = None, turns: int = ENDLESS) -> Findings:
    """Try cases until the time is up, or every subject has had this many turns."""
    found, end, chosen = Findings(), time.monotonic() + seconds, subjects or list(SUBJECTS)
    while (left := end - time.monotonic()) > 0:
        with TemporaryDirectory(dir=PLACE) as folder:
            words = ["--seconds", str(left), "--turns", str(turns), "--seed", str(seed), "--folder", folder]
            whole = _session(found, [*words, "--subjects", *chosen], Path(folder))
        if whole and turns < ENDLESS:
            break
        seed += 1_000_000
    return found


def _session(found: Findings, words: list[str], folder: Path) -> bool:
    """One worker, from its start to its end; whether it came there by itself."""
    with (folder / "said").open("wb") as said, (folder / "errors").open("wb") as errors:
        worker = subprocess.Popen(
            [*WORKER, *words],
            stdout=said,
            stderr=errors,
            env=os.environ | ENVIRONMENT,
        )
        hung = _watch(worker, folder, found)
    if hung or worker.returncode != 0:
        last = (folder / "errors").read_text(errors="replace").strip().splitlines()[-1:]
        why = hung or f"the process ended with {worker.returncode}: {''.join(last)}"
        subject, case = _under_way(folder)
        if subject not in found.counts:
            raise SystemExit(f"the worker did not start: {why}")
        found.fail(subject, _smaller(subject, case), why)
        return False
    return True


def _watch(worker: "subprocess.Popen[bytes]", folder: Path, found: Findings) -> str:
    """Take down what the worker says; end it where a case takes too long or hangs, and say which."""
    case, since, read, last, moved = "", 0.0, 0, 0.0, time.monotonic()
    ended, told = False, time.monotonic()
    while not ended:
        if time.monotonic() - told > TELL:
            told = time.monotonic()
            print(found.summary(), flush=True)
        ended = worker.poll() is not None
        for line in (folder / "said").read_text()[read:].splitlines(keepends=True):
            if line.endswith("\n"):
                read += len(line)
                found.take(json.loads(line))
        time.sleep(0 if ended else 0.2)
        now, used = (
            (folder / UNDER_WAY).read_text() if (folder / UNDER_WAY).exists() else "",
            _used(worker.pid),
        )
        if used != last:
            last, moved = used, time.monotonic()
        if now != case:
            case, since = now, used
        elif case and (used - since > LONGEST or time.monotonic() - moved > IDLE):
            worker.kill()
            worker.wait()
            return f"{SLOW} {LONGEST:g} s" if used - since > LONGEST else f"nothing for {IDLE:g} s"
    return ""


def _used(pid: int) -> float:
    """Processor time of a process and of its children at work, in seconds.

    Not of those that have ended: a child of many cases would count for the one in which it ends.
    """
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        own = sum(_ticks(pid)[:2]) / os.sysconf("SC_CLK_TCK")
        ended = sum(sum(_ticks(int(child))[2:]) for child in children) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0
    return own + ended + sum(_used(int(child)) for child in children)


def _ticks(pid: int) -> list[int]:
    """CPU ticks of a process, in its own code and in the system's; then of the children that it waited for."""
    return [int(part) for part in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]]


def _under_way(folder: Path) -> tuple[str, Case]:
    try:
        subject, case = json.loads((folder / UNDER_WAY).read_text())
    except (OSError, ValueError):
        return "", None
    return subject, case


def _smaller(subject: str, case: Case) -> Case:
    """Leave out what a failing case does without, larger parts first: Hypothesis cannot, as its process ended too."""
    end = time.monotonic() + PATIENCE
    for key in [key for key in case if isinstance(case[key], list)] if isinstance(case, dict) else ():
        size = max(1, len(case[key]) // 2)
        while size and time.monotonic() < end:
            for first in reversed(range(0, len(case[key]), size)):
                fewer = case | {key: case[key][:first] + case[key][first + size :]}
                if time.monotonic() < end and not _passes(subject, fewer):
                    case = fewer
            size //= 2
    return case


def _passes(subject: str, case: Case) -> bool:
    """Whether a case, tried by itself, neither fails nor takes too long."""
    words = [sys.executable, "-m", "audit", "--case", subject, json.dumps(case)]
    longest = int(LONGEST) + START

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (longest, longest))

    done = subprocess.run(
        words, capture_output=True, env=os.environ | ENVIRONMENT, preexec_fn=limited, check=False
    )
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--subjects", nargs="+", default=list(SUBJECTS), choices=list(SUBJECTS))
    parser.add_argument("--case", nargs=2, metavar=("SUBJECT", "CASE"))
    given = parser.parse_args()
    if given.case:
        subject, case = given.case
        with TemporaryDirectory() as folder:
            print(try_case(SUBJECTS[subject], json.loads(case), Path(folder)))
        return 0
    print(f"seed {given.seed}", flush=True)
    found = fuzz(given.seconds, given.seed, given.subjects)
    for name in given.subjects:
        counts = found.counts[name]
        outcomes = ", ".join(f"{n:,} {what}" for what, n in counts.most_common())
        print(f"{name}: {counts.total():,} cases ({outcomes})")
    print(found.summary())
    return int(bool(found.failures))


if __name__ == "__main__":
    sys.exit(main())
