"""What a study is: a replication that is a pure function of its seed, a summary of all replications, and a figure."""

from collections.abc import Callable, Mapping
from dataclasses import field
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from raterlens.base.errors import choose
from raterlens.base.records import dataclass
from raterlens.studies.catalogue import STUDIES, module_of

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
