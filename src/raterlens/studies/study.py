"""Studies: replications, each a pure function of its seed, run in parallel so that an interrupted run can be resumed.

Every finished replication is a file of its own, put in place whole. Its rows depend only on the seed, the number of
the replication and the data, and rows are collected in the order of the numbers: an interrupted study and an
uninterrupted one write the same bytes, whatever the number of workers.
"""

import hashlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from raterlens.base.atomic_files import atomic_write
from raterlens.base.errors import choose
from raterlens.base.processes import OnDone, Parts, Workers, run_missing_parts
from raterlens.studies.catalogue import STUDIES, module_of
from raterlens.version import __version__

if TYPE_CHECKING:
    from distributed import Client

SEED = 2025
"""The default seed of every study."""


@dataclass(frozen=True, slots=True)
class Task:
    """One replication: all that its rows may depend on."""

    seed: int
    index: int
    data: Path | None = None

    @property
    def entropy(self) -> list[int]:
        """For `simulate(seed=...)`: replications have independent streams."""
        return [self.seed, self.index]


@dataclass(frozen=True, slots=True)
class Results:
    """A study's answer: tables and plot data by name, and the page that explains them."""

    markdown: str
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Study:
    """A study of any kind. Its functions are module-level, so that other processes can call them."""

    name: str
    title: str
    replications: int
    replicate: Callable[[Task], pl.DataFrame]
    summarise: Callable[[pl.DataFrame], Results]
    draw: Callable[[Results], Any]
    """The figure, an Altair chart."""
    check_data: Callable[[Path | None], None] | None = None
    """For a study of a given file: raises where the file is missing or not the right one, and says how to get it."""


def get_study(name: str) -> Study:
    """The study of that name; an error that lists them where there is none."""
    study = import_module(module_of(choose("study", name, STUDIES))).STUDY
    assert isinstance(study, Study)
    return study


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings that the rows depend on. A folder is resumed only with the same settings."""

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
        atomic_write(
            self.rows, lambda draft: rows.write_parquet(draft, compression_level=9, statistics=False)
        )
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
    shared, missing = (study.replicate, seed, data), place.missing(replications)
    who = Workers(workers, client)
    run_missing_parts(_replicate, shared, replications, missing, place.parts.keep, who, on_done)
    return place.gather(replications)


def _replicate(shared: tuple[Callable[[Task], pl.DataFrame], int, Path | None], number: int) -> pl.DataFrame:
    replicate, seed, data = shared
    rows = replicate(Task(seed, number, data))
    return rows.select(pl.lit(number, pl.Int32).alias("replication"), pl.all())
