"""Studies: replications, each a pure function of its seed, run in parallel so that an interrupted run can be resumed.

Every finished replication is a file of its own, put in place whole. Its rows depend only on the seed, the number of
the replication and the data, and rows are collected in the order of the numbers: an interrupted study and an
uninterrupted one write the same bytes, whatever the number of workers.
"""

import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from raterlens.base.atomic_files import atomic_write
from raterlens.base.errors import choose
from raterlens.base.picture import Picture
from raterlens.base.processes import OnDone, Parts, run_missing_parts
from raterlens.base.text import number
from raterlens.fitting.fit import Fit
from raterlens.simulation.simulate import Truth
from raterlens.studies import PLACES, STUDIES
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
    draw: Callable[[Results], Picture]
    check_data: Callable[[Path | None], None] | None = None
    """For a study of a given file: raises, saying how to get it, if the file is missing or not the right one."""


def get_study(name: str) -> Study:
    """Return the study of that name; raise an error that lists them if there is none."""
    study = resolve_name(f"raterlens.studies.{PLACES[choose('study', name, STUDIES)]}")
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
    """Return all rows of the study, computing those that `folder` does not have yet.

    The work is done by `workers` processes, or by the workers of a Dask `client`, which must find `data` under the same
    path.
    """
    replications = study.replications if replications is None else replications
    place = Folder(folder, study.name)
    place.parts.open(asdict(Settings.of(study, seed, data)))
    shared, missing = (study.replicate, seed, data), place.missing(replications)
    work = (_replicate, shared, replications, missing, place.parts.keep)
    run_missing_parts(*work, workers=workers, client=client, on_done=on_done)
    return place.gather(replications)


def _replicate(shared: tuple[Callable[[Task], pl.DataFrame], int, Path | None], number: int) -> pl.DataFrame:
    replicate, seed, data = shared
    rows = replicate(Task(seed, number, data))
    return rows.select(pl.lit(number, pl.Int32).alias("replication"), pl.all())


# ------------------------------------------------------------------ estimates against the truth, and pages about them

_COLUMNS = {
    "kappa": ("raters", "rater"),
    "rho": ("raters", "rater"),
    "eta": ("raters", "rater"),
    "slope": ("raters", "rater"),
    "theta": ("students", "student"),
    "delta": ("items", "item"),
}


def compare(fit: Fit, truth: Truth, parameters: Sequence[str], **labels: Any) -> pl.DataFrame:
    """Rows `parameter, level, truth, estimate` of a fit, after the labels of the condition."""
    frames = []
    for name in parameters:
        if name == "sigma":
            frames.append(rows(name, ["all"], [truth.sigma], [fit.sigma]))
            continue
        table, label = _COLUMNS[name]
        found = fit.table(table)
        right = {"theta": truth.ability, "delta": truth.difficulty, "eta": truth.severity}
        expected = right[name] if name in right else getattr(truth, name)
        estimate = found["rho"] * fit.sigma if name == "slope" else found[name]
        frames.append(rows(name, found[label].cast(pl.String), expected, estimate))
    return label_rows(pl.concat(frames), **labels)


def rows(
    parameter: str, level: Sequence[str] | pl.Series, truth: ArrayLike, estimate: ArrayLike, **labels: Any
) -> pl.DataFrame:
    """Rows `parameter, level, truth, estimate`, after the labels of the condition."""
    found = pl.DataFrame(
        {
            "parameter": pl.repeat(parameter, len(level), eager=True, dtype=pl.String),
            "level": level,
            "truth": np.asarray(truth, float),
            "estimate": np.asarray(estimate, float),
        }
    )
    return label_rows(found, **labels)


def label_rows(frame: pl.DataFrame, **labels: Any) -> pl.DataFrame:
    return frame.select(*(pl.lit(value).alias(name) for name, value in labels.items()), pl.all())


def accuracy(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Bias and RMSE of every group, each with its Monte-Carlo standard error.

    Replications are independent, levels (raters, say) within one are not, so errors are averaged within a replication
    first.
    """
    error = pl.col("estimate") - pl.col("truth")
    once = (
        rows.group_by(*by, "replication")
        .agg(pl.col("truth").mean(), error.mean().alias("error"), (error**2).mean().alias("square"))
        .sort(*by, "replication")
    )
    root = pl.col("square").mean().sqrt()
    n = pl.len().sqrt()
    return (
        once.group_by(*by, maintain_order=True)
        .agg(
            pl.len().alias("replications"),
            pl.col("truth").mean(),
            pl.col("error").mean().alias("bias"),
            (pl.col("error").std() / n).alias("bias_se"),
            root.alias("rmse"),
            # sd(e²) / (2 RMSE sqrt(n)), by the delta method.
            pl.when(root > 0).then(pl.col("square").std() / (2 * root * n)).otherwise(0.0).alias("rmse_se"),
        )
        .with_columns(pl.col("bias_se", "rmse_se").fill_null(float("nan")))
    )


def replications(found: pl.DataFrame) -> int:
    """How many replications a table of `accuracy` is based on."""
    return int(max(found["replications"].to_list()))


def with_error(value: float, error: float, digits: int = 3) -> str:
    """0.831 ± 0.002"""
    return f"{number(value, digits)} ± {number(error, digits)}"


def statistic(row: Mapping[str, Any], name: str, digits: int = 3) -> str:
    """A `bias` or `rmse` of `accuracy`, with its Monte-Carlo standard error."""
    return with_error(row[name], row[f"{name}_se"], digits)


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A markdown table: the first column aligned left, the others right."""
    align = ["---", *["---:"] * (len(heading) - 1)]
    lines = [heading, align, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page(*parts: str) -> str:
    """Paragraphs, headings and tables, separated by empty lines."""
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def page_of(name: str, found: pl.DataFrame, heading: str, *parts: str) -> str:
    """A page about a study's `accuracy`, with the command that writes it."""
    command = f"`raterlens study {name} --replications {replications(found)} --out DIR` wrote this page."
    return page(heading, command, *parts)
