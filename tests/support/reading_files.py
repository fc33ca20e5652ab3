"""The same ratings as a file of every kind."""

import gzip
import json
import lzma
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import openpyxl
import pandas as pd
import polars as pl
import pyreadstat
import rdata
import zstandard

Write = Callable[[pl.DataFrame, Path], Path]


def _workbook(frame: pl.DataFrame, folder: Path) -> Path:
    book = openpyxl.Workbook()
    for row in [frame.columns, *frame.rows()]:
        book.active.append(row)
    book.save(folder / "ratings.xlsx")
    return folder / "ratings.xlsx"


def _sqlite(frame: pl.DataFrame, folder: Path) -> Path:
    with closing(sqlite3.connect(folder / "ratings.db")) as database:
        database.execute(f"CREATE TABLE essays ({', '.join(frame.columns)})")
        database.executemany(f"INSERT INTO essays VALUES ({','.join('?' * frame.width)})", frame.rows())
        database.commit()
    return folder / "ratings.db"


def _duckdb(frame: pl.DataFrame, folder: Path) -> Path:
    frame.write_parquet(folder / "for_duckdb.parquet")
    with duckdb.connect(str(folder / "ratings.duckdb")) as database:
        database.execute(f"CREATE TABLE essays AS FROM '{folder}/for_duckdb.parquet'")
    return folder / "ratings.duckdb"


def _spss(frame: pl.DataFrame, folder: Path) -> Path:
    pyreadstat.write_sav(frame.to_pandas(), folder / "ratings.sav")
    return folder / "ratings.sav"


def _stata(frame: pl.DataFrame, folder: Path) -> Path:
    pyreadstat.write_dta(frame.to_pandas(), folder / "ratings.dta")
    return folder / "ratings.dta"


def _for_r(frame: pl.DataFrame) -> pd.DataFrame:
    text = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    return frame.to_pandas().astype(dict.fromkeys(text, pd.StringDtype("python")))


def _rds(frame: pl.DataFrame, folder: Path) -> Path:
    rdata.write_rds(folder / "ratings.rds", _for_r(frame))
    return folder / "ratings.rds"


def _rda(frame: pl.DataFrame, folder: Path) -> Path:
    rdata.write_rda(folder / "ratings.RData", {"essays": _for_r(frame)})
    return folder / "ratings.RData"


def _hive(frame: pl.DataFrame, folder: Path) -> Path:
    """Two years of ratings, in the order in which they were."""
    for year, half in (("2024", frame.head(len(frame) // 2)), ("2025", frame.tail(-(len(frame) // 2)))):
        part = folder / "years" / f"year={year}"
        part.mkdir(parents=True)
        half.write_parquet(part / "part-0.parquet")
    return folder / "years"


def _flat(frame: pl.DataFrame, folder: Path) -> Path:
    (folder / "parts").mkdir()
    for place, part in enumerate(frame.iter_slices(-(-len(frame) // 3))):
        part.write_parquet(folder / "parts" / f"part-{place}.parquet")
    return folder / "parts"


def _as(name: str, content: Callable[[pl.DataFrame], bytes]) -> Write:
    def write(frame: pl.DataFrame, folder: Path) -> Path:
        (folder / name).write_bytes(content(frame))
        return folder / name

    return write


def _csv(frame: pl.DataFrame) -> bytes:
    return frame.write_csv().encode()


FILES: dict[str, Write] = {
    "csv": _as("ratings.csv", _csv),
    "csv.gz": _as("ratings.csv.gz", lambda frame: gzip.compress(_csv(frame))),
    "csv.xz": _as("ratings.csv.xz", lambda frame: lzma.compress(_csv(frame))),
    "csv.zst": _as("ratings.csv.zst", lambda frame: zstandard.compress(_csv(frame))),
    "jsonl": _as("ratings.jsonl", lambda frame: frame.write_ndjson().encode()),
    "json": _as("ratings.json", lambda frame: json.dumps(frame.to_dicts()).encode()),
    "xlsx": _workbook,
    "sav": _spss,
    "dta": _stata,
    "rds": _rds,
    "rda": _rda,
    "sqlite": _sqlite,
    "duckdb": _duckdb,
    "parquet folder": _flat,
    "partitioned parquet": _hive,
}
