"""Would the answer change? Capability again without the yardstick's rater, by another link or model, without some
students. Each is a fit of its own; standard errors are left out, since only the change is looked at."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

from raterlens.base.errors import OptionError
from raterlens.config import FitOptions
from raterlens.estimation.scoring import places_of
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import levels_of

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit


def sensitivity(
    fit: "Fit",
    ratings: Ratings,
    *,
    links: tuple[str, ...] = ("probit",),
    models: tuple[str, ...] = ("tfm",),
    groups: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Kappa-bar of every rater under other choices: `Fit.sensitivity`."""
    if fit.calibration is None or fit.model == "probit":
        raise OptionError(
            f"model {fit.model!r} has no other link or yardstick to compare with",
            "fit 'gmf' or 'tfm'",
            option="model",
        )
    own = fit.table("raters").select(pl.col("rater").cast(pl.String), "kappa")
    known, parts = places_of(ratings.raters, own["rater"], "raters"), []
    if fit.model == "gmf":
        yardstick = int(fit.table("raters")["rho"].arg_max() or 0)
        label = own["rater"][yardstick]
        # Whoever is left discriminates best in its place.
        reference = None if fit.config.reference == label else fit.config.reference
        parts.append(
            _refit(
                f"without {label}",
                fit,
                ratings.subset(known[ratings.rater] != yardstick),
                reference=reference,
            )
        )
    parts += [_refit(f"link {link}", fit, ratings, **_link(fit, link)) for link in links if link != fit.link]
    parts += [_refit(f"model {model}", fit, ratings, model=model) for model in models if model != fit.model]
    for name, values in (groups or {}).items():
        codes, labels = levels_of(name, values, ratings)
        for code, label in enumerate(labels):
            parts.append(_refit(f"without {name} {label}", fit, ratings.subset(codes != code)))
    if not parts:
        raise OptionError(
            "nothing to change", "give links, models or groups other than those of the fit", option="links"
        )
    return (
        pl.concat(parts)
        .join(own, on="rater", how="left", maintain_order="left")
        .select("rater", "change", "kappa", "other", difference=pl.col("other") - pl.col("kappa"))
    )


def _refit(change: str, fit: "Fit", ratings: Ratings, **changes: Unpack[FitOptions]) -> pl.DataFrame:
    # Only the change is looked at; but some yardsticks follow from standard errors.
    options: FitOptions = {**changes, "standard_errors": fit.yardstick.follows_from_errors}
    other = fit.refit(ratings, **{**fit.settled(), **options})
    return other.table("raters").select(
        pl.col("rater").cast(pl.String), change=pl.lit(change), other=pl.col("kappa")
    )


def _link(fit: "Fit", link: str) -> FitOptions:
    """Another link; ordered scores then have to be graded."""
    return {"link": link, "scale": "graded"} if "thresholds" in fit.tables else {"link": link}
