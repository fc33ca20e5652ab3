"""`python -m audit.every_write`: each command with its k-th change to a file failing, for every k; then killed there.

As the subject `interrupted runs`, but all places in turn, with and without earlier results; then each command is
killed, terminated or interrupted at moments drawn by chance, and has files that cannot grow beyond sizes so drawn.
"""

import random
import sys
from collections import Counter
from itertools import count, product
from pathlib import Path
from tempfile import TemporaryDirectory

from audit.interrupted_runs import RUNS, check

BY_CHANCE = 20
"""Number of random cases of each kind, per command."""
FAULTS = 5
"""After this many, a command is not tried further."""
HARMLESS = 2
"""So many changes in a row may fail without harm, such as making a folder that is there, before there are no more."""
LARGEST = {"moment": 300, "terminate": 300, "interrupt": 300, "limit": 20_000}
"""Milliseconds of processor time, and bytes: with more, most commands are done."""


def outcome(run: str, fault: str, at: int, earlier: bool) -> str:
    with TemporaryDirectory() as folder:
        try:
            return check({"run": run, "fault": [fault, at], "earlier": earlier}, Path(folder))
        except AssertionError as error:
            print(f"FAILED {run}, {fault} {at}, {earlier=}: {error}", flush=True)
            return "wrong"


def interrupted(run: str) -> Counter[str]:
    """Every place, then moments and sizes by chance."""
    found: Counter[str] = Counter()
    for fault, earlier in product(("fail", "kill"), (False, True)):
        tried = harmless = 0
        for place in count(1):
            came = outcome(run, fault, place, earlier)
            found[came] += came != "done"
            harmless = harmless + 1 if came == "done" else 0
            tried += came != "done"
            if harmless > HARMLESS or found["wrong"] > FAULTS:  # there are no such changes, or all is wrong
                break
        print(f"{run}: {tried} places to {fault}, {earlier=}", flush=True)
    drawn = random.Random(run)
    for fault, largest in LARGEST.items():
        for _ in range(BY_CHANCE):
            found[outcome(run, fault, drawn.randint(5, largest), drawn.random() < 0.5)] += 1
    return found


def main() -> int:
    total: Counter[str] = Counter()
    for run in sys.argv[1:] or RUNS:
        found = interrupted(run)
        print(f"{run}: {dict(found)}", flush=True)
        total += found
    print(f"{dict(total)}; wrong: something was lost, or other than without the fault")
    return int(total["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
