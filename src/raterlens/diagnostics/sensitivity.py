"""Would the answer change? Capability again without the yardstick's rater, by another link or model, without some
students. Each is a fit of its own; standard errors are left out, since only the change is looked at."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from raterlens.errors import OptionError
from raterlens.fitting import fit as estimate
from raterlens.ratings.coded import Ratings
from raterlens.ratings.grouping_columns import levels_of
from raterlens.result.record import Fit


def sensitivity(
    fit: Fit,
    ratings: Ratings,
    *,
    links: tuple[str, ...] = ("probit",),
    models: tuple[str, ...] = ("tfm",),
    groups: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Kappa-bar of every rater under other choices: rater, change, kappa (of the fit), other, difference.

    Parameters
    ----------
    links, models
        Others to fit; those of the fit itself are passed over.
    groups
        One label a rating for each name, such as the student's school: each group is left out in turn.

    Examples
    --------
    >>> import raterlens as rl
    >>> ratings = rl.load_example()
    >>> table = sensitivity(rl.fit(ratings, standard_errors=False), ratings, links=(), models=())
    >>> table["change"].unique().to_list()
    ['without AM:Family']
    """
    if fit.calibration is None or fit.model == "probit":
        raise OptionError(
            f"model {fit.model!r} has no other link or yardstick to compare with; fit 'gmf' or 'tfm'"
        )
    own = fit.table("raters").select(pl.col("rater").cast(pl.String), "kappa")
    parts = []
    if fit.model == "gmf":
        yardstick = int(fit.table("raters")["rho"].arg_max() or 0)
        parts.append(
            _refit(f"without {own['rater'][yardstick]}", fit, ratings.subset(ratings.rater != yardstick))
        )
    parts += [_refit(f"link {link}", fit, ratings, link=link) for link in links if link != fit.link]
    parts += [_refit(f"model {model}", fit, ratings, model=model) for model in models if model != fit.model]
    for name, values in (groups or {}).items():
        codes, labels = levels_of(name, values, ratings)
        for code, label in enumerate(labels):
            parts.append(_refit(f"without {name} {label}", fit, ratings.subset(codes != code)))
    if not parts:
        raise OptionError("nothing to change; give links, models or groups other than those of the fit")
    return (
        pl.concat(parts)
        .join(own, on="rater", how="left", maintain_order="left")
        .select("rater", "change", "kappa", "other", difference=pl.col("other") - pl.col("kappa"))
    )


def _refit(
    change: str, fit: Fit, ratings: Ratings, *, link: str | None = None, model: str | None = None
) -> pl.DataFrame:
    scale = fit.calibration.scale if fit.calibration else "rating scale"
    if link is not None and "thresholds" in fit.tables:
        scale = "graded"
    other = estimate(
        ratings,
        model=model or fit.model,
        method=fit.method,
        link=link or fit.link,
        scale=scale,
        standard_errors=False,
    )
    return other.table("raters").select(
        pl.col("rater").cast(pl.String), change=pl.lit(change), other=pl.col("kappa")
    )
