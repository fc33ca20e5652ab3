"""The tests near a fault, the nearest first: `audit.mutants` runs this in a copy of the checkout that holds a fault.

A fault that makes tests run on is noticed by the time they take: of the processor, since the machine may be busy.
"""

import filecmp
import os
import resource
import sys
from pathlib import Path

TOO_LONG = 240
"""Seconds of processor time."""
NEAR = {
    "likelihood": ("tests/likelihood", "tests/estimation/test_several_starts.py"),
    "capability": ("tests/capability", "tests/diagnostics/test_findings.py"),
    "inference": ("tests/inference",),
}
LONG = (
    "with_any_number_of_workers",
    "a_replicate_is_the_fit_s_own_request",
    "test_fits_of_students_marked_once",
)
"""Tests that take seconds and are left out, as the nightly ones are: what they alone would notice counts as not
noticed."""


def faulty(here: Path, original: Path, room: str) -> list[str]:
    """The modules that differ."""
    folder = Path("src", "raterlens", room)
    return [
        path.stem
        for path in sorted((here / folder).rglob("*.py"))
        if not filecmp.cmp(path, original / path.relative_to(here), shallow=False)
    ]


def places(here: Path, original: Path, room: str) -> list[str]:
    """Paths for pytest: the test file of a module's name, then the others."""
    own = [f"tests/{room}/test_{name}.py" for name in faulty(here, original, room)]
    others = [
        str(path.relative_to(here))
        for place in NEAR[room]
        for path in (sorted((here / place).glob("test_*.py")) if (here / place).is_dir() else [here / place])
    ]
    found = [place for place in own if (here / place).exists()]
    return [*found, *(place for place in others if place not in found)]


def main() -> None:
    here, (original, room) = Path.cwd(), sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CPU, (TOO_LONG, TOO_LONG))
    words = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not nightly"]
    words += ["-k", f"not ({' or '.join(LONG)})"]
    os.execv(sys.executable, [sys.executable, *words, *places(here, Path(original), room)])


if __name__ == "__main__":
    main()
