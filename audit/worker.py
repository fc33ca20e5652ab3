"""One process of the audit: cases of all subjects in turn, each written down before it is tried.

What happens here may end the process (a library in C that stumbles over a file): `audit.__main__` then finds the case
that was under way.
"""

import argparse
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TextIO

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from audit.subject import Case, Subject
from audit.subjects import SUBJECTS

UNDER_WAY = "case.json"


def try_case(subject: Subject, case: Case, folder: Path) -> str:
    """Try a case and return its outcome."""
    place = Path(mkdtemp(dir=folder))
    try:
        return subject.check(case, place)
    finally:
        rmtree(place, ignore_errors=True)


def turn(
    subject: Subject, number: int, folder: Path, counts: Counter[str]
) -> tuple[Case, BaseException] | None:
    """A batch of cases; the smallest that fails, and why."""
    last: list[Case] = []

    @seed(number)
    @settings(
        max_examples=subject.batch,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
    )
    @given(case=subject.cases())
    def batch(case: Case) -> None:
        last[:] = [case]
        (folder / UNDER_WAY).write_text(json.dumps([subject.name, case]))
        counts[try_case(subject, case, folder)] += 1

    run: Callable[[], None] = batch
    try:
        run()
    except Exception as error:
        return last[0], error
    return None


def work(seconds: float, turns: int, first: int, folder: Path, names: list[str], report: TextIO) -> None:
    """Until the time is up or every subject has had its turns; a line of JSON per turn says what was found."""
    end, number = time.monotonic() + seconds, first
    chosen = [subject for subject in SUBJECTS.values() if subject.name in names]
    spent = dict.fromkeys((subject.name for subject in chosen), 0.0)
    left = dict.fromkeys(spent, turns)
    while time.monotonic() < end and chosen:
        subject = min(chosen, key=lambda one: (spent[one.name] / one.share, random.random()))
        begun, counts = time.monotonic(), Counter[str]()
        failed = turn(subject, number, folder, counts)
        spent[subject.name] += time.monotonic() - begun
        left[subject.name] -= 1
        chosen = [subject for subject in chosen if left[subject.name] > 0]
        number += 1
        found = {"subject": subject.name, "counts": counts, "failed": _told(failed)}
        print(json.dumps(found), file=report, flush=True)


def _told(failed: tuple[Case, BaseException] | None) -> list[object] | None:
    if failed is None:
        return None
    case, error = failed
    return [case, f"{type(error).__name__}: {error}"[:1000]]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--turns", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--subjects", nargs="+", default=list(SUBJECTS))
    asked = parser.parse_args()
    # What cases print does not come between.
    report_to = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    work(asked.seconds, asked.turns, asked.seed, asked.folder, asked.subjects, report_to)
