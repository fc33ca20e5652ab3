"""The steps that every family of models goes through, and what passes between them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from raterlens.base.cluster import check_client
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.capability.yardstick import Yardstick
from raterlens.estimation.optimiser import OnProgress, Optimiser
from raterlens.models.calibration import Calibration

if TYPE_CHECKING:
    from distributed import Client

    from raterlens.config import FitConfig
    from raterlens.ratings.coded import Ratings


class Earlier(Protocol):
    """A fit of ratings, to begin another from."""

    @property
    def config(self) -> "FitConfig": ...
    @property
    def model(self) -> str: ...
    @property
    def calibration(self) -> Calibration | None: ...
    @property
    def loglik(self) -> float: ...
    @property
    def n_parameters(self) -> int: ...


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """How a fit is carried out: nothing here changes what it finds, so none of it is kept with the fit."""

    progress: OnProgress | None = None
    checkpoint: Path | str | None = None
    resume: bool = False
    client: "Client | None" = None
    start: Earlier | None = None
    """An earlier fit to begin from."""
    dense_parameters: int = 5_000
    """Up to that many, covariances are computed in full, which takes 200 MB and seconds; beyond, by raters' blocks."""
    on_stage: Callable[[str], None] | None = None
    """Told what comes next: "fitting", "standard errors", "testing assumptions"."""

    keep_checkpoint: bool = False
    """Leave the checkpoint to the caller, who removes it once the results are written."""

    def enter(self, stage: str) -> None:
        if self.on_stage is not None:
            self.on_stage(stage)

    def check(self, config: "FitConfig", *, by_parts: bool) -> None:
        """Refuse what the fit cannot do.

        `by_parts`: the fit goes over parts of the students, as clusters and checkpoints need.
        """
        for option, wanted, remedy in (
            ("start", hasattr(self.start, "calibration"), "give a fit, from rl.fit or rl.load"),
            ("progress", callable(self.progress), "give a function of one argument"),
            ("checkpoint", isinstance(self.checkpoint, str | Path), "give the path of a file"),
        ):
            value = getattr(self, option)
            if value is not None and not wanted:
                raise OptionError(Message(Option(option, value)), remedy)
        if self.checkpoint is None and self.resume:
            raise OptionError(
                "resume is given without a checkpoint to go on from",
                Message("name it with ", Option("checkpoint")),
                option="resume",
            )
        if self.client is not None:
            check_client(self.client)
        for what, option, given in (
            ("a cluster", "client", self.client is not None),
            ("a checkpoint", "checkpoint", self.checkpoint is not None),
        ):
            if given and not by_parts:
                raise OptionError(
                    f"{what} goes with method 'mml' of the facets models, not with model {config.model!r} by "
                    f"{config.method!r}",
                    "leave it out",
                    option=option,
                )


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Tables and warnings of a family of models."""

    link: str
    loglik: float
    sigma: float
    sigma_se: float
    alpha: float
    n_parameters: int
    optimiser: Optimiser
    warnings: tuple[str, ...]
    tables: Mapping[str, pl.DataFrame]
    yardstick: Yardstick
    calibration: Calibration | None = None


class Task(Protocol):
    """A request that has passed every check, ready to be carried out."""

    @staticmethod
    def of(ratings: "Ratings", config: "FitConfig", run: Run) -> "Task":
        """Refuse what can be refused before any work."""

    @property
    def needs_covariance(self) -> bool:
        """Whether the estimates themselves follow from it."""

    def estimate(self) -> Any: ...

    def covariance(self, estimate: Any) -> Any | None:
        """Covariance of the parameters; None if it is not offered at this size."""

    def found(self, estimate: Any, covariance: Any | None) -> Found: ...
