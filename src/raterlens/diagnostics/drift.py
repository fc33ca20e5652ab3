"""Each rater period by period: severity, discrimination and kappa-bar, on the scale of the whole."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.config import FitOptions
    from raterlens.fitting.fit import Fit

_SURE = 1.96


@dataclass(frozen=True, slots=True, eq=False)
class Periods:
    """A fit, its ratings, and the period of each of them."""

    fit: "Fit"
    ratings: Ratings
    period: NDArray[np.int32]
    names: pl.Series

    def fitted(self, only: Sequence[str] | None = None) -> pl.DataFrame:
        """A row for every rater and period: n, rho, eta and kappa with standard errors and 95 % intervals.

        The ratings are fitted again with each rater's periods as raters of their own, items (and facets and
        thresholds) held at the fit's estimates, so that all numbers are on its scale; error rates of latent class
        models need none. Where `only` names raters, the others are held at the fit's estimates, too: thousands of
        raters in periods would take minutes.
        """
        fit, ratings, n = self.fit, self.ratings, len(self.names)
        names = ratings.raters.cast(pl.String)
        followed = np.ones(len(names), bool) if only is None else names.is_in(list(only)).to_numpy()
        periods = np.where(followed[ratings.rater], self.period, 0)
        kept, place = np.unique(ratings.rater.astype(np.int64) * n + periods, return_inverse=True)
        rater, period = ratings.raters.gather(kept // n), self.names.gather(kept % n)
        rows = followed[kept // n]
        labels = pl.Series(
            "rater",
            [f"{r} in {p}" if own else str(r) for r, p, own in zip(rater, period, rows, strict=True)],
        )
        periods_as_raters = replace(ratings, rater=place.astype(np.int32), raters=labels)
        table = fit.refit(periods_as_raters, **self._held()).table("raters")
        return (
            pl.DataFrame({"rater": rater, "period": period})
            .hstack(table.select("n", *_with_interval("rho"), *_with_interval("eta"), "^kappa.*$"))
            .with_columns(pl.col("rho_low").clip(lower_bound=0.0))
            .filter(pl.Series(rows))
        )

    def _held(self) -> "FitOptions":
        """Options that keep the numbers on the scale of the whole: its yardstick, and all else that was estimated.
        Intervals are wanted even where the fit did without, and some of its covariances are not offered here."""
        fit = self.fit
        errors: FitOptions = {"standard_errors": True, "covariance": "observed"}
        if fit.calibration is None:
            return errors
        # Method `hl` can hold nothing. The yardstick is that of the anchoring fit, who may not be a rater here.
        method = "laplace" if fit.method == "laplace" else "mml"
        scale: FitOptions = {"population": fit.yardstick.population, "origin": -fit.alpha}
        unset: FitOptions = {"reference": None, "prior": None, "covariates": None}
        return {**errors, **scale, **unset, "method": method, "anchors": fit}


def _with_interval(name: str) -> tuple[pl.Expr, ...]:
    value, se = pl.col(name), pl.col(f"{name}_se")
    return value, se, (value - _SURE * se).alias(f"{name}_low"), (value + _SURE * se).alias(f"{name}_high")
