"""The pipeline on one screen: ratings -> estimate -> uncertainty -> Fit."""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.design import Design, examine
from raterlens.errors import InputError, OptionError, choose
from raterlens.estimation.estimate import METHODS, Estimate, estimate
from raterlens.estimation.optimise import OnProgress
from raterlens.inference.covariance import Covariance, covariance
from raterlens.inference.information import observed_information
from raterlens.inference.kappa import RaterEstimates, rater_estimates
from raterlens.links import LINKS, get_link
from raterlens.models import MODELS
from raterlens.models.facets import LARGEST_SLOPE
from raterlens.models.parameters import Pairs
from raterlens.ratings import Ratings
from raterlens.reading import read
from raterlens.results import Fit
from raterlens.wording import listed

Array = NDArray[np.float64]

# A dense covariance of this many parameters takes 200 MB and seconds; beyond it standard errors are left out.
MOST_PARAMETERS = 5_000


def fit(
    ratings: Ratings | Any,
    model: str = "gmf",
    method: str = "mml",
    link: str = "logit",
    *,
    allow_reversed: bool = False,
    standard_errors: bool = True,
    max_iterations: int = 500,
    progress: OnProgress | None = None,
) -> Fit:
    """Estimate every rater's capability.

    Parameters
    ----------
    ratings
        From `rl.read`; a path or dataframe is read first, with its columns recognised.
    model
        `gmf` (raters differ in severity and discrimination) or `tfm` (in severity only).
    method
        `mml` (marginal maximum likelihood by quadrature), `laplace` (its Laplace approximation) or `hl`
        (hierarchical likelihood, the paper's procedure; biased with few ratings a student).
    link
        `logit`, `probit`, `cauchit` or `cloglog`.
    allow_reversed
        Let a slope be negative: a rater who scores against ability, with negative kappa.
    standard_errors
        Compute standard errors and intervals.
    progress
        Called once an iteration with a `Progress` record.

    Examples
    --------
    >>> import raterlens as rl
    >>> fit = rl.fit(rl.load_example())
    >>> fit.converged
    True
    >>> fit.raters.columns[:4]
    ['rater', 'n', 'mean_score', 'rho']
    """
    choose("model", model, MODELS)
    choose("method", method, METHODS)
    _check_link(link, method)
    if not isinstance(ratings, Ratings):
        ratings = read(ratings)
    _check_scores(ratings)
    design = examine(ratings)
    found = estimate(
        ratings,
        MODELS[model](Pairs.of(ratings)),
        get_link(link),
        method,
        allow_reversed=allow_reversed,
        max_iterations=max_iterations,
        on_progress=progress,
    )
    spread = _uncertainty(ratings, found) if standard_errors else None
    raters = rater_estimates(found.model, found.parameters, None if spread is None else spread.matrix, link)
    flags = _flags(ratings, raters)
    return Fit(
        model=model,
        method=method,
        link=link,
        loglik=found.loglik,
        sigma=raters.sigma,
        sigma_se=raters.sigma_se,
        alpha=raters.alpha,
        n_parameters=found.model.n_parameters,
        n_ratings=ratings.n_ratings,
        n_students=ratings.n_students,
        n_raters=ratings.n_raters,
        n_items=ratings.n_items,
        optimiser=found.record,
        warnings=_warnings(ratings, design, found, spread, raters, flags, standard_errors=standard_errors),
        notes=ratings.notes,
        tables={
            "raters": _rater_table(ratings, raters, flags),
            "items": _item_table(ratings, found, spread),
            "students": _level_table(
                ratings, "student", {"theta": found.moments.mean, "theta_se": found.moments.sd}
            ),
        },
        backend=ratings.backend,
    )


def _check_link(link: str, method: str) -> None:
    choose("link", link, LINKS)
    if link == "log":
        raise OptionError("link 'log' cannot be fitted yet; use 'logit', 'probit', 'cauchit' or 'cloglog'")
    if link == "cauchit" and method != "mml":
        raise OptionError(
            f"link 'cauchit' with method {method!r}: its posteriors can have several peaks, so a single most "
            "probable ability does not stand for them; use method 'mml'"
        )


def _check_scores(ratings: Ratings) -> None:
    if ratings.n_categories > 2:
        raise InputError(
            f"scores go from {ratings.score.min()} to {ratings.score.max()}, but this model takes pass (1) or "
            f"fail (0); say from which score on is a pass, for example cut={int(ratings.score.max())}"
        )


def _uncertainty(ratings: Ratings, found: Estimate) -> Covariance | None:
    if found.model.blocks.size > MOST_PARAMETERS:
        return None
    information = observed_information(found.problem, ratings, found.parameters, found.nodes)
    held = np.zeros(found.model.blocks.size, dtype=bool)
    slope = found.model.blocks["slope"]
    held[slope] = np.abs(found.parameters[slope]) >= LARGEST_SLOPE
    return covariance(information, found.model, held)


def _flags(ratings: Ratings, raters: RaterEstimates) -> list[str]:
    mean = np.bincount(ratings.rater, ratings.score) / np.bincount(ratings.rater)
    flags = np.full(ratings.n_raters, "", dtype=object)
    flags[raters.slope == 0] = "slope at 0"
    flags[np.abs(raters.slope) >= LARGEST_SLOPE] = "slope at limit"
    flags[mean == 0], flags[mean == 1] = "all fail", "all pass"
    return list(flags)


def _rater_table(ratings: Ratings, raters: RaterEstimates, flags: list[str]) -> pl.DataFrame:
    columns = ("rho", "rho_se", "eta", "eta_se", "kappa", "kappa_se", "kappa_low", "kappa_high")
    table = _level_table(ratings, "rater", {name: getattr(raters, name) for name in columns})
    return table.with_columns(pl.Series("flag", flags, dtype=pl.String))


def _item_table(ratings: Ratings, found: Estimate, spread: Covariance | None) -> pl.DataFrame:
    block = found.model.blocks["difficulty"]
    se = np.full(ratings.n_items, np.nan) if spread is None else np.sqrt(np.diag(spread.matrix)[block])
    return _level_table(ratings, "item", {"delta": found.parameters[block], "delta_se": se})


def _level_table(ratings: Ratings, facet: str, estimates: dict[str, Array]) -> pl.DataFrame:
    """A row a level: label, number of ratings, mean score, estimates."""
    codes, labels = getattr(ratings, facet), getattr(ratings, facet + "s")
    n = np.bincount(codes, minlength=len(labels))
    mean = np.bincount(codes, ratings.score, minlength=len(labels)) / n
    return pl.DataFrame({facet: labels, "n": n, "mean_score": mean, **estimates})


def _warnings(
    ratings: Ratings,
    design: Design,
    found: Estimate,
    spread: Covariance | None,
    raters: RaterEstimates,
    flags: list[str],
    *,
    standard_errors: bool,
) -> tuple[str, ...]:
    warnings = list(design.warnings)
    names = ratings.raters
    if not found.record.converged:
        warnings.append(
            f"the estimates have not converged: {found.record.stopped} with a gradient of "
            f"{found.record.gradient:.2g} standard errors left. Try, in this order: more iterations "
            "(max_iterations), model 'tfm', or leaving out raters with very few ratings"
        )
    limit = [names[r] for r, flag in enumerate(flags) if flag == "slope at limit"]
    if limit:
        warnings.append(
            f"the discrimination of {listed(limit)} ran to its limit: their few ratings order students "
            f"perfectly. They are shown with rho 1, and {names[raters.yardstick]!s} is the yardstick instead; "
            "give them more ratings before trusting their kappa"
        )
    if found.model.n_redundant > 1:
        groups = found.model.rater_group
        smallest = int(np.argmin(np.bincount(groups)))
        warnings.append(
            f"raters and items fall into {found.model.n_redundant} groups that share no item, so severity and "
            f"difficulty cannot be told apart between them (one group: {listed(names.filter(groups == smallest))}). "
            "Severities across groups assume that their items are equally difficult on average; let some "
            "raters rate items of both groups"
        )
    if standard_errors and spread is None:
        warnings.append(
            f"no standard errors: {found.model.n_parameters} parameters are more than the {MOST_PARAMETERS} "
            "for which the full covariance is computed"
        )
    if spread is not None and len(spread.undetermined):
        where = np.flatnonzero(np.isin(np.arange(ratings.n_raters), _raters_of(found, spread.undetermined)))
        warnings.append(
            f"the ratings say next to nothing about {listed(names.gather(where)) if len(where) else 'some items'}; "
            "their standard errors are nominal. Give them ratings of students whom others rate, too"
        )
    return tuple(warnings)


def _raters_of(found: Estimate, parameters: NDArray[np.int64]) -> NDArray[np.int64]:
    """Raters whose slope or severity is among these parameters."""
    blocks, n = found.model.blocks, found.model.pairs.n_raters
    severity = blocks["severity"].start
    own_slopes = (
        parameters[parameters < blocks["slope"].stop] if blocks["slope"].stop == n else parameters[:0]
    )
    return np.concatenate([own_slopes, parameters[(parameters >= severity)] - severity])
