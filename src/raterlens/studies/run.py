"""Run a study's replications in parallel, so that an interrupted run can be resumed.

Every finished replication is a file of its own, put in place whole. Its rows depend only on the seed, the number of
the replication and the data, and rows are collected in the order of the numbers: an interrupted study and an
uninterrupted one write the same bytes, whatever the number of workers.
"""

import hashlib
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from raterlens.base.drafts import write_whole
from raterlens.base.records import dataclass
from raterlens.base.resumable import OnDone, Parts, Workers, work_through
from raterlens.studies.study import Study, Task, get_study
from raterlens.version import __version__

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True, slots=True)
class Settings:
    """What the rows depend on. A folder is resumed only with the same settings."""

    study: str
    seed: int
    data: str | None
    """A digest of the file's content."""
    version: str

    @staticmethod
    def of(study: Study, seed: int, data: Path | None) -> "Settings":
        digest = None if data is None else hashlib.sha256(data.read_bytes()).hexdigest()
        return Settings(study.name, seed, digest, __version__)


@dataclass(frozen=True, slots=True)
class Folder:
    """Where a study keeps its rows: finished ones in one file, those of a running study in parts."""

    path: Path
    study: str

    @property
    def rows(self) -> Path:
        return self.path / f"{self.study}.parquet"

    @property
    def settings(self) -> Path:
        return self.path / f"{self.study}.json"

    @property
    def parts(self) -> Parts:
        return Parts(self.path / f"{self.study}.parts", self.settings)

    def finished(self) -> int:
        """Replications in the file of finished rows."""
        if not self.rows.exists():
            return 0
        return int(pl.scan_parquet(self.rows).select(pl.col("replication").max()).collect().item()) + 1

    def missing(self, replications: int) -> list[int]:
        return [i for i in range(self.finished(), replications) if not self.parts.part(i).exists()]

    def gather(self, replications: int) -> pl.DataFrame:
        """Collect all rows in order in one file, and remove the parts."""
        finished = self.finished()
        frames = [pl.read_parquet(self.rows).filter(pl.col("replication") < replications)] if finished else []
        frames += [pl.read_parquet(self.parts.part(i)) for i in range(finished, replications)]
        rows = pl.concat(frames)
        write_whole(self.rows, lambda draft: rows.write_parquet(draft, compression_level=9, statistics=False))
        shutil.rmtree(self.parts.folder, ignore_errors=True)
        return rows


def run(
    study: Study,
    folder: Path,
    *,
    replications: int | None = None,
    seed: int,
    data: Path | None = None,
    workers: int | None = None,
    client: "Client | None" = None,
    on_done: OnDone | None = None,
) -> pl.DataFrame:
    """All rows of the study; those that `folder` does not have yet are computed.

    The work is done by `workers` processes, or by the workers of a Dask `client`, which must find `data` under the same
    path.
    """
    replications = study.replications if replications is None else replications
    place = Folder(folder, study.name)
    place.parts.open(asdict(Settings.of(study, seed, data)))
    shared, missing = (study.name, seed, data), place.missing(replications)
    who = Workers(workers, client)
    work_through(_replicate, shared, replications, missing, place.parts.keep, who, on_done)
    return place.gather(replications)


def _replicate(shared: tuple[str, int, Path | None], number: int) -> pl.DataFrame:
    name, seed, data = shared
    rows = get_study(name).replicate(Task(seed, number, data))
    return rows.select(pl.lit(number, pl.Int32).alias("replication"), pl.all())
