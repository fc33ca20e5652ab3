"""Latent class models (hierarchical raters, Dawid-Skene) to a Fit, in the words of the other models.

rho = F(a / 2) - F(-a / 2)     the capability this rater would have with the best criterion, a / 2
eta = c - a / 2                how far above it the criterion stands: severity
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.capability.links import get_link
from raterlens.capability.yardstick import ABSOLUTE, NOISELESS, Yardstick
from raterlens.errors import OptionError
from raterlens.estimation.optimiser import OnProgress
from raterlens.models.registry import latent_class_spec
from raterlens.ratings.coded import Ratings
from raterlens.ratings.design import examine
from raterlens.ratings.level_tables import level_table
from raterlens.result.record import Fit

if TYPE_CHECKING:
    from raterlens.estimation.latent_class_fit import LatentClassFit


def check_latent(model: str, method: str, given: Iterable[str]) -> None:
    """Refuse what only facets models have: another method, or the options named in `given`."""
    if method != "mml":
        raise OptionError(
            f"model {model!r} with method {method!r}: its true categories have to be summed over; use method 'mml'"
        )
    if names := list(given):
        raise OptionError(f"model {model!r} takes no {' or '.join(names)}; leave it out, or use model 'gmf'")


def fit_latent(
    ratings: Ratings,
    model: str,
    link: str | None,
    *,
    starts: int,
    seed: int,
    standard_errors: bool,
    max_iterations: int,
    progress: OnProgress | None,
) -> Fit:
    """Estimate a latent class model by marginal maximum likelihood."""
    from raterlens.estimation.latent_class_fit import fit_latent_class  # other models do without

    found = fit_latent_class(
        ratings,
        link=link or "logit",
        rasch=latent_class_spec(model).ability,
        starts=starts,
        seed=seed,
        standard_errors=standard_errors,
        max_iterations=max_iterations,
        on_progress=progress,
    )
    return Fit(
        model=model,
        method="mml",
        link=found.link,
        loglik=found.loglik,
        sigma=found.sigma,
        sigma_se=found.sigma_se,
        alpha=found.alpha,
        n_parameters=found.n_parameters,
        n_ratings=ratings.n_ratings,
        n_students=ratings.n_students,
        n_raters=ratings.n_raters,
        n_items=ratings.n_items,
        optimiser=found.record,
        warnings=(*examine(ratings).warnings, *found.warnings),
        notes=ratings.notes,
        tables={
            "raters": _raters(ratings, found),
            "items": _items(ratings, found),
            "students": _students(ratings, found),
            "truth": found.truth,
        },
        backend=ratings.backend,
        yardstick=Yardstick(NOISELESS, origin=ABSOLUTE),
    )


def _raters(ratings: Ratings, found: "LatentClassFit") -> pl.DataFrame:
    link, half = get_link(found.link), found.slope / 2
    columns = {
        "rho": np.exp(link.log_pass(half)) - np.exp(link.log_pass(-half)),
        "rho_se": link.density(half) * found.slope_se,
        "eta": found.bias,
        "eta_se": found.bias_se,
        **{name: getattr(found, name) for name in ("kappa", "kappa_se", "kappa_low", "kappa_high")},
    }
    table = level_table(ratings.raters, ratings.tally("rater"), columns)
    more = ("criterion", "criterion_se", "slope", "slope_se", "sensitivity", "specificity")
    return table.with_columns(
        pl.Series("flag", found.flags, dtype=pl.String),
        *(pl.Series(name, getattr(found, name)) for name in more),
    )


def _items(ratings: Ratings, found: "LatentClassFit") -> pl.DataFrame:
    columns = {"delta": found.delta, "delta_se": found.delta_se, "prevalence": found.prevalence}
    return level_table(ratings.items, ratings.tally("item"), columns)


def _students(ratings: Ratings, found: "LatentClassFit") -> pl.DataFrame:
    """Dawid-Skene knows no ability; its students have none."""
    unknown = np.full(ratings.n_students, np.nan)
    theta, error = (unknown, unknown) if found.moments is None else (found.moments.mean, found.moments.sd)
    columns = {"theta": theta, "theta_se": error}
    return level_table(ratings.students, ratings.tally("student"), columns)
