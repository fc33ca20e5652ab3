"""Cost of understanding a file next to reading it: python -m benchmarks.speed.proposal_cost [ROWS].

The same table read twice, in turns: with nothing said, so that columns, scores and layout are found out, and with
everything said and `as_written`, so that nothing is. The ratio of the two is what proposals cost.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from raterlens.config import ReadConfig
from raterlens.reading.read import read_ratings

TURNS = 5
SAID = ReadConfig(
    student="student", rater="rater", item="item", score="score", as_written=True, encoding="utf-8"
)


def table(rows: int) -> pl.DataFrame:
    """One row per rating: text labels, a column of dates and one of remarks."""
    random = np.random.default_rng(1)
    student = np.sort(random.integers(0, rows // 10, rows))
    remarks = pl.Series(["well done", None, "see me"])
    numbers = pl.DataFrame(
        {
            "date": random.integers(1, 28, rows),
            "student": student,
            "rater": random.integers(0, 1_000, rows),
            "item": random.integers(0, 5, rows),
            "score": random.integers(0, 5, rows),
            "remark": remarks.gather(pl.Series(random.integers(0, 3, rows))),
        }
    )
    return numbers.with_columns(
        pl.format("2026-06-{}", "date").alias("date"),
        *(pl.format(f"{name[0].upper()}{{}}", name).alias(name) for name in ("student", "rater", "item")),
    )


def layouts(rows: int, folder: Path) -> dict[str, tuple[Path, ReadConfig, ReadConfig]]:
    """Files of as many rows, each with what is said in either turn."""
    frame = table(rows)
    words = pl.col("score").replace_strict({0: "poor", 1: "fair", 2: "good", 3: "very good", 4: "excellent"})
    worth = "poor=0,fair=1,good=2,very good=3,excellent=4"
    frame.write_csv(folder / "usual names.csv")
    frame.rename({"student": "Prüfling", "rater": "wer", "score": "quality"}).write_csv(
        folder / "other names.csv"
    )
    frame.with_columns(words).write_csv(folder / "words.csv")
    frame.write_parquet(folder / "usual names.parquet")
    other = SAID.changed(student="Prüfling", rater="wer", score="quality")
    return {
        "usual names, csv": (folder / "usual names.csv", ReadConfig(), SAID),
        "rater named, csv": (folder / "other names.csv", ReadConfig(rater="wer"), other),
        "scores in words, csv": (folder / "words.csv", ReadConfig(), SAID.changed(map=worth)),
        "usual names, parquet": (folder / "usual names.parquet", ReadConfig(), SAID),
    }


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main(rows: int = 2_000_000) -> None:
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    print(f"{rows:,} rows; CPU seconds, best of {TURNS} turns")
    with TemporaryDirectory() as folder:
        for name, (path, asked, said) in layouts(rows, Path(folder)).items():
            found, plain = [], []
            for _ in range(TURNS):
                plain.append(seconds(lambda path=path, said=said: read_ratings(path, said)))  # type: ignore[misc]
                found.append(seconds(lambda path=path, asked=asked: read_ratings(path, asked)))  # type: ignore[misc]
            before, after = min(plain), min(found)
            cost = 100 * (after / before - 1)
            print(f"{name:22} said {before:5.2f}  found out {after:5.2f}  proposals {cost:+5.1f} %")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
