"""A calibrated panel on a yardstick: what `fit.raters` shows, and what `fit.capability` restates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.calibration import Calibration
from raterlens.errors import OptionError
from raterlens.inference.index import Index
from raterlens.inference.kappa import (
    Measured,
    Panel,
    RaterEstimates,
    curve_estimates,
    measure,
    rater_estimates,
)
from raterlens.inference.yardstick import (
    MAX,
    NOISELESS,
    Yardstick,
    severity_of_origin,
    slope_of_yardstick,
    students_of,
)

Array = NDArray[np.float64]

RATER_COLUMNS = ("rho", "rho_se", "eta", "eta_se", "kappa", "kappa_se", "kappa_low", "kappa_high")


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """Raters, where they stand on the yardstick, and the index that follows."""

    panel: Panel
    on: Measured
    index: Index

    def raters(self) -> RaterEstimates:
        return rater_estimates(self.panel, self.on, self.index)

    def curves(self, raters: pl.Series, abilities: float | Sequence[float]) -> pl.DataFrame:
        """kappa(theta): a row for every rater and ability."""
        theta = np.atleast_1d(np.asarray(abilities, np.float64))
        if theta.ndim != 1 or not np.isfinite(theta).all():
            raise OptionError(f"theta={abilities!r}; give an ability or a list of abilities, all finite")
        found = curve_estimates(self.on, self.index, theta)
        return pl.DataFrame(
            {
                "rater": raters.gather(np.repeat(np.arange(len(raters)), len(theta))),
                "theta": np.tile(theta, len(raters)),
                "kappa": found.kappa.ravel(),
                "kappa_low": found.low.ravel(),
                "kappa_high": found.high.ravel(),
            }
        )


def measured(
    calibration: Calibration, yardstick: Yardstick, ability: Array, error: Array, item: str | None = None
) -> Measurement:
    """Put a panel on a yardstick; abilities and their errors for the population `estimated`."""
    panel, raters = calibration.panel(item), calibration.labels["rater"]
    students = students_of(yardstick.population, ability, error)
    on = measure(
        panel,
        slope_of_yardstick(yardstick.reference, raters, panel.slope),
        severity_of_origin(yardstick.origin, len(raters)),
        is_most=yardstick.reference == MAX,
    )
    return Measurement(panel, on, Index(calibration.curve(item), students, yardstick.reference == NOISELESS))
