"""What a study is: a replication that is a pure function of its seed, and a summary of all of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import polars as pl

from raterlens.errors import choose
from raterlens.studies.catalogue import MODULES, STUDIES

SEED = 2025
"""Of every study, where none is given."""


@dataclass(frozen=True, slots=True)
class Task:
    """One replication: all that its rows may depend on."""

    seed: int
    index: int
    data: Path | None = None

    @property
    def entropy(self) -> list[int]:
        """For `simulate(seed=...)`: different replications have independent streams."""
        return [self.seed, self.index]


@dataclass(frozen=True, slots=True)
class Results:
    """A study's answer: plot data and tables by name, and the page that explains them."""

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
    check_data: Callable[[Path | None], None] | None = None
    """For a study of a given file: raises, saying how to get it, where the file is not there or not the right one."""


def get_study(name: str) -> Study:
    """The study of that name; an error that lists them where there is none."""
    module = MODULES.get(choose("study", name, STUDIES), name)
    study = import_module(f"raterlens.studies.{module}").STUDY
    assert isinstance(study, Study)
    return study
