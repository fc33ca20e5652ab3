"""Options as users give them, as a request keeps them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from raterlens.base.errors import OptionError
from raterlens.capability.population import Histogram, Normal
from raterlens.capability.yardstick import PERFECT, STANDARD
from raterlens.config import Anchors, EarlierScale, FitConfig
from raterlens.models.anchors import anchors_from
from raterlens.models.covariates import covariate_columns
from raterlens.models.facets import SHAPE
from raterlens.ratings.coded import Ratings
from raterlens.result.record import Result


def recorded(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as a request keeps them: an anchoring fit by what it holds, covariates by their columns."""
    found = dict(options)
    if isinstance(anchoring := found.get("anchors"), Result):
        found["anchors"] = _anchors_of(anchoring)
    if found.get("covariates") is not None:
        found["covariates"] = covariate_columns(found["covariates"])
    return found


def changed(config: FitConfig, changes: Mapping[str, Any], ratings: Ratings) -> FitConfig:
    """The request with some options changed, for other ratings: of the trusted raters, those who are among theirs."""
    found = config.changed(**recorded(changes))
    if found.trusted is None or "trusted" in changes:
        return found
    there = set(ratings.raters.cast(pl.String))
    return found.changed(trusted=[rater for rater in found.trusted if rater in there])


def _anchors_of(fit: Result) -> Anchors:
    if fit.calibration is None:
        raise OptionError(
            f"a fit of model {fit.model!r} cannot anchor another",
            "use 'gmf', 'tfm' or 'probit'",
            option="anchors",
        )
    sigma = None if fit.yardstick.reference == PERFECT else fit.sigma
    population, shape = fit.yardstick.population, fit.calibration.effects.get(SHAPE)
    if population == STANDARD and shape is not None:
        population = Histogram.smooth(*shape.tolist()).text
    elif population == STANDARD and fit.calibration.piece_variance:
        population = Normal(0.0, float(np.sqrt(1 + fit.calibration.piece_variance))).text
    scale = EarlierScale(fit.calibration.scores, sigma, fit.alpha, population)
    return anchors_from(fit.calibration, scale)
