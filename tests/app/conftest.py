"""A small table of ratings for the commands."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest


@pytest.fixture(scope="session")
def ratings() -> pl.DataFrame:
    """60 students, 4 raters of whom one is severe, 3 items; one row a rating."""
    rng = np.random.default_rng(7)
    student, rater, item = (
        a.ravel() for a in np.meshgrid(np.arange(60), np.arange(4), np.arange(3), indexing="ij")
    )
    ability, severity = rng.normal(0, 1.5, 60), np.array([0.0, 0.3, -0.5, 2.0])
    chance = 1 / (1 + np.exp(-ability[student] + severity[rater]))
    names = np.array(["Ann", "Bob", "Cid", "Dot"])
    table = {"student": student, "rater": names[rater], "item": item, "score": rng.binomial(1, chance)}
    return pl.DataFrame(table)


@pytest.fixture
def table(ratings: pl.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    ratings.write_csv(path)
    return path
