"""What checking a packed file costs: `python -m audit.checksum_cost` opens one with and without, taking turns."""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import polars as pl

from raterlens.ratings.packed_file import Packed, open_packed
from raterlens.ratings.packed_writer import Chunk, Labels, write_chunks
from raterlens.ratings.stored import StoredRatings


def packed(path: Path, n_ratings: int) -> None:
    """Ten ratings per student, 300 raters, five items."""
    random, students = np.random.default_rng(0), n_ratings // 10
    codes = [random.integers(0, size, n_ratings).astype(np.int32) for size in (300, 5)]
    score = random.integers(0, 2, n_ratings).astype(np.int16)
    chunk = Chunk(np.repeat(np.arange(students, dtype=np.int32), 10), score, codes)
    names, raters, items = (pl.Series(range(size)) for size in (students, 300, 5))
    labels = Labels(names, raters, items, {}, (), "polars", None)
    write_chunks([chunk], labels, np.full(students, 10), 2, path)


def seconds(path: Path, checked: bool) -> float:
    """To read the file into memory."""
    with patch.object(Packed, "_check", Packed._check if checked else lambda *_: None):
        begun = time.perf_counter()
        StoredRatings(open_packed(path)).in_memory()
        return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ratings", type=int, default=20_000_000)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.rlpack"
        packed(path, given.ratings)
        runs = [(seconds(path, True), seconds(path, False)) for _ in range(7)]
        size = path.stat().st_size / 2**20
    with_them, without = (min(times) for times in zip(*runs, strict=True))
    print(
        f"{given.ratings:,} ratings, {size:,.0f} MiB: {with_them:.2f} s with checksums, {without:.2f} s without "
        f"(x {with_them / without:.2f})"
    )


if __name__ == "__main__":
    main()
