"""Benchmark cases: sizes of data, and the programs that run on each."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@dataclass(frozen=True, slots=True)
class Size:
    """A table of ratings drawn from the GMF."""

    name: str
    students: int
    raters: int
    items: int
    per_student: int
    """Raters of each student."""

    @property
    def ratings(self) -> int:
        return self.students * self.items * self.per_student

    def __str__(self) -> str:
        return (
            f"{self.ratings:,} ratings: {self.students:,} students, {self.raters:,} raters, {self.items} items, "
            f"{self.per_student} raters per student"
        )

    def file(self) -> Path:
        """The ratings as parquet, drawn once, in another process to keep this one small."""
        numbers = [str(n) for n in (self.students, self.raters, self.items, self.per_student)]
        path = HERE / "data" / f"{'-'.join(numbers)}.parquet"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            command = [sys.executable, "-m", "benchmarks.speed.draw", str(path), *numbers]
            subprocess.run(command, cwd=ROOT, check=True)
        return path


SIZES = {
    size.name: size
    for size in (
        Size("7k", 350, 16, 5, 4),
        Size("80k", 2_000, 100, 10, 4),
        Size("complete", 2_000, 20, 10, 20),
        Size("800k", 20_000, 500, 10, 4),
        Size("1m", 50_000, 1_000, 10, 2),
        Size("2m", 100_000, 1_000, 10, 2),
        Size("4m", 200_000, 1_000, 10, 2),
        Size("10m", 500_000, 1_000, 10, 2),
        Size("5000-raters", 50_000, 5_000, 3, 2),
        Size("11000-raters", 500_000, 11_000, 10, 2),
        Size("100m", 5_000_000, 2_000, 10, 2),
    )
}
DEFAULT_SIZES = ("7k", "80k", "800k", "4m")

COMMAND = "raterlens fit --out"
OURS = (
    COMMAND,
    "raterlens tfm",
    "raterlens tfm, no standard errors",
    "raterlens gmf",
    "raterlens gmf, no standard errors",
)
PEER = "mirt tfm"
PEERS = (PEER, "RaschPy tfm")
FIXEST = "fixest joint"
SLOW = ("mirt of R tfm", "lme4 tfm")
IN_R = (FIXEST, "TAM tfm", "sirt tfm", "mfrmr tfm", "glmmTMB tfm", "lme4 nAGQ=0 tfm", *SLOW)
LATENT = ("raterlens hrm", "raterlens dawid-skene", "crowd-kit dawid-skene")


def programs_for(size: Size) -> tuple[str, ...]:
    """Programs that run on it by default; peers that never finish are left out."""
    if size.ratings <= 10_000:
        return (*OURS, *PEERS, *LATENT, *IN_R)
    if size.ratings <= 400_000:
        return (*OURS, *PEERS, *LATENT, *(program for program in IN_R if program not in SLOW))
    return (*OURS, PEER, FIXEST) if size.ratings <= 4_000_000 else OURS
