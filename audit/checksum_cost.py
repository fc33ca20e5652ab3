"""Cost of checking a file: `python -m audit.checksum_cost` opens packed ones with and without, taking turns.

Then parquet files by polars and by pyarrow (pages of 20,000 rows): checking their pages, and reading them.
"""

import argparse
import io
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import polars as pl
import pyarrow.parquet

from raterlens.ratings.coded import Ratings
from raterlens.ratings.packed import Packed, StoredRatings, open_packed, write_ratings
from raterlens.reading.formats.parquet import check_pages


def packed(path: Path, n_ratings: int) -> None:
    """Ten ratings per student, 300 raters, five items."""
    random, students = np.random.default_rng(0), n_ratings // 10
    rater, item = (random.integers(0, size, n_ratings).astype(np.int32) for size in (300, 5))
    score = random.integers(0, 2, n_ratings).astype(np.int16)
    student = np.repeat(np.arange(students, dtype=np.int32), 10)
    names, raters, items = (pl.Series(range(size)) for size in (students, 300, 5))
    write_ratings(Ratings(student, rater, item, score, names, raters, items), path, cut=None)


def seconds(path: Path, checked: bool) -> float:
    """To read the file into memory."""
    with patch.object(Packed, "_check", Packed._check if checked else lambda *_: None):
        begun = time.perf_counter()
        StoredRatings(open_packed(path)).in_memory()
        return time.perf_counter() - begun


def pages(path: Path, n_ratings: int) -> None:
    """Processor time of checking the pages, and of reading the columns, the best of five each."""
    random = np.random.default_rng(0)
    codes = {
        "student": random.integers(0, n_ratings // 10, n_ratings),
        "rater": random.integers(0, 300, n_ratings),
    }
    frame = pl.DataFrame(
        codes | {"item": random.integers(0, 5, n_ratings), "score": random.integers(0, 2, n_ratings)}
    )
    writers: dict[str, Callable[[Path], object]] = {
        "polars": frame.write_parquet,
        "pyarrow": lambda to: pyarrow.parquet.write_table(frame.to_arrow(), to),
    }
    for name, write in writers.items():
        write(path)
        least = []
        both: tuple[Callable[[], object], ...] = (
            lambda: check_pages(io.BytesIO(path.read_bytes())),
            lambda: pl.scan_parquet(path).collect(),
        )
        for work in both:
            times = []
            for _ in range(5):
                begun = time.process_time()
                work()
                times.append(time.process_time() - begun)
            least.append(min(times))
        print(f"a parquet file by {name}: {least[0]:.3f} s to check its pages, {least[1]:.2f} s to read it")


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
    with TemporaryDirectory() as folder:
        pages(Path(folder) / "x.parquet", given.ratings)


if __name__ == "__main__":
    main()
