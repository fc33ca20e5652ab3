"""Each rater period by period: severity, discrimination and kappa-bar, on the scale of the whole."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from raterlens.diagnostics.diagnosis import periods_of, time_of
from raterlens.fitting import fit as estimate
from raterlens.ratings import Ratings
from raterlens.results import Fit


def by_period(fit: Fit, ratings: Ratings, time: Any) -> pl.DataFrame:
    """A row for every rater and period: n, rho, eta and kappa with standard errors and the interval of kappa.

    The ratings are fitted again with each rater's periods as raters of their own, items (and facets and thresholds)
    held at the fit's estimates, so that all numbers are on its scale. `Diagnosis.table("change")` tests whether
    severity changed.
    """
    code, names = periods_of(*time_of(time, ratings))
    cell = ratings.rater.astype(np.int64) * len(names) + code
    kept, place = np.unique(cell, return_inverse=True)
    rater, period = ratings.raters.gather(kept // len(names)), names.gather(kept % len(names))
    labels = pl.Series("rater", [f"{r} in {p}" for r, p in zip(rater, period, strict=True)])
    split = replace(ratings, rater=place.astype(np.int32), raters=labels)
    again = estimate(split, model=fit.model, method=fit.method, link=fit.link, anchors=fit)
    table = again.table("raters").drop("rater", "mean_score", "flag", strict=False)
    return pl.DataFrame({"rater": rater, "period": period}).hstack(table)
