"""Do the tests notice faults put in on purpose? `make mutants SAMPLE=50` draws this many per room and runs its tests.

Cosmic Ray makes the faults, in a copy of the checkout: another operator, another number, a condition turned round.
"""

import argparse
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from audit.near_tests import NEAR

HERE = Path(__file__).parents[1]
COPIED = ("src", "tests", "benchmarks", "pyproject.toml")
NEVER = 7200.0
"""Seconds: the tests give up by themselves (audit.near_tests)."""
FAULTS = (
    *("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "Div_FloorDiv", "FloorDiv_Div", "Mod_Mul", "Pow_Mul"),
    *("ReplaceComparisonOperator", "ReplaceUnaryOperator", "AddNot", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("NumberReplacer", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceContinueWithBreak"),
    *("ReplaceBreakWithContinue", "ZeroIterationForLoop"),
)
"""Likely slips; nobody types shifts and bits instead of sums."""
NO_CODE = re.compile(r"@|[A-Z_][A-Z_0-9, ]* = [(\d]")
"""No fault to find: `@dataclass(slots=True)`, and literal constants, which divide work or set an accuracy."""

SET_ASIDE = {
    "np.zeros(1) if tables.linear is None": "a stand-in that no kernel reads",
    "else sparse.csr_array((counts.shape[0], 1))": "a stand-in of which no column is read",
    "part_edges(offsets, min(max(_PART": "how work is shared out: any shares give the same sums",
    "answered = every.rater == ratings.n_raters": "no rater has a higher number",
    "np.sqrt(1e3 * information.max())": "how firmly redundant directions are held: the covariance is the same",
    "kind = np.uint16 if blocks**2 <= 2**16": "the order in which students are gone over",
    "n_unique() > _WORTH * len(key)": "whether merging is worth its time: the sums are the same",
    "if size <= self._dense:": "a full matrix or a sparse one: the same sums",
    "if size**2 <= _FULL else sparse.csr_array((size, size))": "the same",
    "if now == self._placed_on or any(": "whether parts are looked for where they are already",
    "usual / prior.severity_spread)) < _REFIT": "how often a fit is made again where it hardly moves",
    "(_ONE_SIDED / np.maximum(wider * error, 1e-12))": "only where an error is exactly 0",
    "yardstick.weights * np.sign(panel.slope), origin.weights": "a sign is its own inverse",
    "np.where(total <= target, 0.0, needed)": "where enough is known, none is needed either way",
    "np.maximum(halo + sign * by_halo, 0.0) for sign in (1, -1)": "both ends of a difference change places",
    "len(some) - int(some[::-1].argmax())": "cells at the end that hold nobody",
    "(below - below[0]) / (below[-1] - below[0])": "a sum that begins next to 0",
    "max(axis=0) <= _CLOSE": "equality of an error with its bound",
    "sizes = _WIDE_SIZES if wide else _SIZES": "which table is tried first: a check at its edges decides",
    "first, last = (counts.indices[at] // block": "the order in which students are gone over",
    "block = max(_BLOCK, cells**2 // rows)": "the same",
    "np.broadcast_to(x, rectangle).reshape(len(places.a), -1)": "any negative number stands for what is left",
    "normal = lattice(on.joint.shape[1])": "the matrices are square",
    "for place, known in self._known:": "what is kept is what would be found again",
}
"""Lines where a fault changes nothing that anybody could see, and why."""


def config(room: str) -> str:
    """Tests near the fault first: the first one that fails ends the run."""
    tests = f"{sys.executable} {HERE / 'audit' / 'near_tests.py'} {HERE} {room}"
    return f"""[cosmic-ray]
module-path = "src/raterlens/{room}"
timeout = {NEVER}
excluded-modules = []
test-command = {json.dumps(tests)}
[cosmic-ray.distributor]
name = "local"
"""


def can_be_seen(line: str) -> bool:
    """Whether a fault in this line could change a result."""
    return not NO_CODE.match(line) and not any(text in line for text in SET_ASIDE)


def draw(session: Path, sample: int, seed: int) -> None:
    """Leave so many of the faults, drawn by chance."""
    with closing(sqlite3.connect(session)) as work:
        found = work.execute(
            "SELECT job_id, module_path, operator_name, occurrence, start_pos_row FROM mutation_specs ORDER BY 2, 3, 4"
        ).fetchall()
        fitting = [
            job
            for job, module, operator, _, line in found
            if any(word in operator for word in FAULTS)
            and can_be_seen((session.parent / module).read_text().splitlines()[line - 1])
        ]
        kept = set(random.Random(seed).sample(fitting, min(sample, len(fitting))))
        for job, *_ in found:
            if job not in kept:
                work.execute("DELETE FROM mutation_specs WHERE job_id = ?", (job,))
                work.execute("DELETE FROM work_items WHERE job_id = ?", (job,))
        work.commit()


def results(session: Path) -> list[tuple[str, str, str]]:
    """Outcome, place and change of each fault."""
    with closing(sqlite3.connect(session)) as work:
        return work.execute(
            "SELECT test_outcome, module_path || ':' || start_pos_row || ' ' || operator_name, diff"
            " FROM work_results JOIN mutation_specs USING (job_id) ORDER BY 2"
        ).fetchall()


def run(cosmic_ray: Path, room: str, sample: int, seed: int, folder: Path) -> Counter[str]:
    """Put faults into one room; print those that no test noticed."""
    for part in COPIED:
        source = HERE / part
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / part)
    (folder / "config.toml").write_text(config(room))
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "OPENBLAS_NUM_THREADS": "1"}

    def ask(*words: str) -> None:
        subprocess.run([cosmic_ray, *words], cwd=folder, env=environment, check=True)

    ask("init", "config.toml", "session.sqlite")
    draw(folder / "session.sqlite", sample, seed)
    ask("baseline", "config.toml")
    ask("exec", "config.toml", "session.sqlite")
    counts: Counter[str] = Counter()
    for outcome, place, change in results(folder / "session.sqlite"):
        kind = outcome.lower().rpartition(".")[2]
        counts[kind] += 1
        if kind == "survived":
            print(f"\nnot noticed: {place}\n{change}")
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cosmic_ray", type=Path)
    parser.add_argument("--sample", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", nargs="+", default=NEAR)
    given = parser.parse_args()
    for room in given.rooms:
        with TemporaryDirectory() as folder:
            counts = run(given.cosmic_ray.resolve(), room, given.sample, given.seed, Path(folder))
        total = counts.total()
        noticed = total - counts["survived"]
        print(f"{room}: {noticed} of {total} faults noticed ({noticed / max(total, 1):.0%})")


if __name__ == "__main__":
    main()
