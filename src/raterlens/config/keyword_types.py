"""The options of `rl.fit` as users give them, for editors and type checkers."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from raterlens.config.read_config import Best, Columns, Duplicates


class FurtherOptions(TypedDict, total=False):
    """Options of `rl.fit` as users give them, for editors and type checkers; `FitConfig` has what they mean."""

    scale: str | None
    item_slopes: bool
    covariates: Any
    anchors: Any
    reference: str | float | None
    population: Any
    origin: str | float | None
    prior: str | None
    allow_reversed: bool
    halo: str | None
    repeats: str
    interactions: Any
    trusted: Any
    shared: bool | str
    known_slope: float
    ability: str | None
    assumptions: str | None
    starts: int
    seed: int
    standard_errors: bool
    covariance: str
    max_iterations: int


class ReadOptions(TypedDict, total=False):
    """Options of `rl.read` as users give them."""

    student: Columns
    rater: Columns
    item: Columns
    score: str
    items: Columns
    facets: Columns
    piece: str
    known: Any
    trusted_column: str
    draw: str
    group: str
    known_cut: float
    known_map: str | Mapping[str, float | None]
    cut: float
    bands: str | Sequence[float]
    map: str | Mapping[str, float | None]
    table: str
    wide: str
    markers: str
    pattern: str
    best: Best
    duplicates: Duplicates
    as_written: bool
    format: str
    encoding: str


class ColumnOptions(FurtherOptions, ReadOptions, total=False):
    """With those of `rl.read`, for a path or dataframe that is read first."""


class FitOptions(FurtherOptions, total=False):
    """All of them."""

    model: str
    method: str
    link: str | None
