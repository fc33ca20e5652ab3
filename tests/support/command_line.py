"""The program as its own process, and a small table for it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

Captured = pytest.CaptureFixture[str]

RUN = "from raterlens.app.cli.main import main; raise SystemExit(main())"


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a process of its own."""
    command = [sys.executable, "-W", "error", "-c", RUN, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, env=os.environ | environment, timeout=120, check=False
    )


def small_table() -> pl.DataFrame:
    """60 students, 4 raters of whom one is severe, 3 items; one row per rating."""
    rng = np.random.default_rng(7)
    student, rater, item = (
        a.ravel() for a in np.meshgrid(np.arange(60), np.arange(4), np.arange(3), indexing="ij")
    )
    ability, severity = rng.normal(0, 1.5, 60), np.array([0.0, 0.3, -0.5, 2.0])
    chance = 1 / (1 + np.exp(-ability[student] + severity[rater]))
    names = np.array(["Ann", "Bob", "Cid", "Dot"])
    table = {"student": student, "rater": names[rater], "item": item, "score": rng.binomial(1, chance)}
    return pl.DataFrame(table)
