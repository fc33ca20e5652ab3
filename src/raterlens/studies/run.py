"""Run a study's replications in parallel, so that an interrupted run can be resumed.

Every finished replication is a file of its own, put in place whole. Its rows depend only on the seed, the number of
the replication and the data, and rows are collected in the order of the numbers: an interrupted study and an
uninterrupted one write the same bytes, whatever the number of workers.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from raterlens.errors import OptionError
from raterlens.parallel.processes import side_by_side
from raterlens.studies.study import Study, Task, get_study

if TYPE_CHECKING:
    from distributed import Client

OnDone = Callable[[int, int], None]
"""Called with the number of finished replications and of all replications."""


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
        return Settings(study.name, seed, digest, version("raterlens"))


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
    def parts(self) -> Path:
        return self.path / f"{self.study}.parts"

    def part(self, index: int) -> Path:
        return self.parts / f"{index:06d}.parquet"

    def open(self, settings: Settings) -> None:
        """Create the folder, or raise if it holds a study with other settings."""
        if self.settings.exists():
            found = json.loads(self.settings.read_text(encoding="utf-8"))
            for name, wanted in asdict(settings).items():
                if found.get(name) != wanted:
                    raise OptionError(
                        f"'{self.path}' has a {self.study} with {name} {found.get(name)!r}, not {wanted!r}",
                        f"give another folder or the same {name}, or remove '{self.settings.name}' and its files",
                        value=wanted,
                        option=name,
                    )
        self.parts.mkdir(parents=True, exist_ok=True)
        replace_text(self.settings, json.dumps(asdict(settings), indent=2) + "\n")

    def finished(self) -> int:
        """Replications in the file of finished rows."""
        if not self.rows.exists():
            return 0
        return int(pl.scan_parquet(self.rows).select(pl.col("replication").max()).collect().item()) + 1

    def missing(self, replications: int) -> list[int]:
        return [i for i in range(self.finished(), replications) if not self.part(i).exists()]

    def gather(self, replications: int) -> pl.DataFrame:
        """Collect all rows in order in one file, and remove the parts."""
        finished = self.finished()
        frames = [pl.read_parquet(self.rows).filter(pl.col("replication") < replications)] if finished else []
        frames += [pl.read_parquet(self.part(i)) for i in range(finished, replications)]
        rows = pl.concat(frames)
        draft = self.rows.with_suffix(".draft")
        rows.write_parquet(draft, compression_level=9, statistics=False)
        os.replace(draft, self.rows)
        shutil.rmtree(self.parts, ignore_errors=True)
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
    place.open(Settings.of(study, seed, data))
    tasks = [Task(seed, index, data) for index in place.missing(replications)]
    done = replications - len(tasks)
    if on_done is not None:
        on_done(done, replications)
    with closing(side_by_side(_replicate, study.name, tasks, workers=workers, client=client)) as ready:
        for task, rows in ready:
            draft = place.part(task.index).with_suffix(".draft")
            rows.select(pl.lit(task.index, pl.Int32).alias("replication"), pl.all()).write_parquet(draft)
            os.replace(draft, place.part(task.index))
            done += 1
            if on_done is not None:
                on_done(done, replications)
    return place.gather(replications)


def replace_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    draft = path.with_name(path.name + ".draft")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)


def _replicate(name: str, task: Task) -> pl.DataFrame:
    return get_study(name).replicate(task)
