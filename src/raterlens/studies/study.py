"""Studies: replications, each a pure function of its seed, run in parallel so that an interrupted run can be resumed.

Every finished replication is a file of its own, put in place whole. Its rows depend only on the seed, the number of
the replication and the data, and rows are collected in the order of the numbers: an interrupted study and an
uninterrupted one write the same bytes, whatever the number of workers.
"""

import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from raterlens.base.arrays import Array
from raterlens.base.atomic_files import atomic_write
from raterlens.base.errors import choose
from raterlens.base.layers import ROLES, Axis, Layer, Line, Marks, strokes
from raterlens.base.picture import Panel, Picture
from raterlens.base.processes import OnDone, Parts, run_missing_parts
from raterlens.base.style import SHAPES, Mark, mark
from raterlens.base.text import number
from raterlens.fitting.fit import Fit
from raterlens.pictures.files import write
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
class Folder:
    """Where a study keeps its rows: finished ones in one file, those of a running study in parts."""

    path: Path
    study: str

    @property
    def rows(self) -> Path:
        return self.path / f"{self.study}.parquet"

    @property
    def parts(self) -> Parts:
        return Parts(self.path / f"{self.study}.parts", self.path / f"{self.study}.json")

    def finished(self) -> int:
        """Replications in the file of finished rows."""
        if not self.rows.exists():
            return 0
        return int(pl.scan_parquet(self.rows).select(pl.col("replication").max()).collect().item()) + 1

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
    digest = None if data is None else hashlib.sha256(data.read_bytes()).hexdigest()
    # A folder is resumed only with the same settings: rows depend on them.
    place.parts.open({"study": study.name, "seed": seed, "data": digest, "version": __version__})
    missing = [i for i in range(place.finished(), replications) if not place.parts.part(i).exists()]
    work = (_replicate, (study.replicate, seed, data), replications, missing, place.parts.keep)
    run_missing_parts(*work, workers=workers, client=client, on_done=on_done)
    return place.gather(replications)


def _replicate(shared: tuple[Callable[[Task], pl.DataFrame], int, Path | None], number: int) -> pl.DataFrame:
    replicate, seed, data = shared
    rows = replicate(Task(seed, number, data))
    return rows.select(pl.lit(number, pl.Int32).alias("replication"), pl.all())


# ------------------------------------------------------------------ estimates against the truth, and pages about them

_COLUMNS = {
    "kappa": ("raters", "rater", "kappa"),
    "rho": ("raters", "rater", "rho"),
    "eta": ("raters", "rater", "severity"),
    "slope": ("raters", "rater", "slope"),
    "theta": ("students", "student", "ability"),
    "delta": ("items", "item", "difficulty"),
}
"""Where each parameter is: the table of a fit, its labels, and the name of the truth."""


def compare(fit: Fit, truth: Truth, parameters: Sequence[str], **labels: Any) -> pl.DataFrame:
    """Rows `parameter, level, truth, estimate` of a fit, after the labels of the condition."""
    frames = []
    for name in parameters:
        if name == "sigma":
            frames.append(rows(name, ["all"], [truth.sigma], [fit.sigma], **labels))
            continue
        table, level, true = _COLUMNS[name]
        found = fit.table(table)
        estimate = found["rho"] * fit.sigma if name == "slope" else found[name]
        frames.append(rows(name, found[level].cast(pl.String), getattr(truth, true), estimate, **labels))
    return pl.concat(frames)


def rows(
    parameter: str, level: Sequence[str] | pl.Series, truth: ArrayLike, estimate: ArrayLike, **labels: Any
) -> pl.DataFrame:
    """Rows `parameter, level, truth, estimate`, after the labels of the condition."""
    values = {"level": level, "truth": np.asarray(truth, float), "estimate": np.asarray(estimate, float)}
    return label_rows(pl.DataFrame(values), **labels, parameter=parameter)


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


# ----------------------------------------------------- figures: curves over a number, and points in named rows

WIDTH = 760
HEIGHT = (230.0, 210.0)
ROW = 22.0
"""Pixels per named row."""


def save(figures: Mapping[str, Picture], folder: Path) -> list[Path]:
    """Write every figure as NAME.svg and NAME.png."""
    files = [(name, picture, ending) for name, picture in figures.items() for ending in ("svg", "png")]
    return [write(picture, WIDTH, folder / f"{name}.{ending}") for name, picture, ending in files]


def from_zero(values: pl.Series, title: str) -> Axis:
    """An axis from 0 to a little beyond the largest value."""
    return Axis(0.0, 1.06 * float(values.to_numpy().max()), title, (6, 5), grid=True)


def around(values: pl.Series | Array, title: str) -> Axis:
    """An axis from a little below the smallest value to a little beyond the largest."""
    known = np.asarray(values, np.float64)
    low, high = float(np.nanmin(known)), float(np.nanmax(known))
    beyond = 0.05 * (high - low or 1.0)
    return Axis(low - beyond, high + beyond, title, (5, 5), grid=True)


def curves(
    rows: pl.DataFrame,
    columns: tuple[str, str, str],
    x: Axis,
    y: Axis,
    *,
    title: str = "",
    points: bool = False,
) -> Panel:
    """Lines of y over x, one per value of the third column in the order of the rows: by colour, dash and mark."""
    across, up, by = columns
    layers: list[Layer] = []
    names = [str(name) for name in rows[by].unique(maintain_order=True)]
    for look, (name, shape) in zip(strokes(names), kinds(names).items(), strict=True):
        own = rows.filter(pl.col(by).cast(pl.String) == name)
        layers.append(Line(own, across, up, look))
        if points:
            layers.append(Marks(own, across, up, shape._replace(words=""), 0.9, tooltip=""))
    return Panel(x, y, tuple(layers), title)


def kinds(names: Sequence[str]) -> dict[str, Mark]:
    """A mark for each name, by colour and shape, the first six by both."""
    n = len(ROLES)
    return {
        name: mark(SHAPES[(place + place // n) % n], ROLES[place % n], name)
        for place, name in enumerate(names)
    }


def rows_axis(order: Sequence[str]) -> Axis:
    """A row for each name, from the top."""
    labels = tuple((place + 0.5, name) for place, name in enumerate(order))
    return Axis(len(order), 0.0, labels=labels, names=True, grid=True)


def rows_height(order: Sequence[str]) -> tuple[float, float]:
    return max(60.0, ROW * len(order)), max(60.0, ROW * len(order))
