"""The pipeline on one screen: ratings -> model -> estimate -> uncertainty -> Fit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from raterlens.cautions import facets_cautions
from raterlens.design import examine
from raterlens.errors import InputError, OptionError, choose
from raterlens.estimation.estimate import METHODS, Estimate, estimate
from raterlens.estimation.optimise import OnProgress
from raterlens.inference.covariance import Covariance, covariance
from raterlens.inference.index import Index, NoiselessIndex, OrderedIndex, PanelIndex
from raterlens.inference.information import observed_information
from raterlens.inference.kappa import rater_estimates
from raterlens.links import LINKS, get_link
from raterlens.models import FACETS_MODELS
from raterlens.models.build import SCALES, Options, build
from raterlens.models.facets import LARGEST_SLOPE, FacetsModel
from raterlens.models.redundancy import redundancy
from raterlens.ordered import OrderedScore
from raterlens.ratings import Ratings
from raterlens.reading import read
from raterlens.results import Fit
from raterlens.tabulate import tabulate

Array = NDArray[np.float64]

# A dense covariance of this many parameters takes 200 MB and seconds; beyond it standard errors are left out.
MOST_PARAMETERS = 5_000


def fit(
    ratings: Ratings | Any,
    model: str = "gmf",
    method: str = "mml",
    link: str | None = None,
    *,
    scale: str = "rating scale",
    item_slopes: bool = False,
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
        `gmf` (raters differ in severity and discrimination), `tfm` (in severity only) or `probit` (raters
        see ability through noise).
    method
        `mml` (marginal maximum likelihood by quadrature), `laplace` (its Laplace approximation) or `hl`
        (hierarchical likelihood, the paper's procedure; biased with few ratings a student).
    link
        `logit` (the default), `probit`, `cauchit` or `cloglog`.
    scale
        How ordered scores get their thresholds: `rating scale` (shared), `partial credit` (each item its
        own) or `graded` (cumulative, shared). No matter for pass/fail ratings.
    item_slopes
        Let items differ in how strongly they reflect ability.
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
    options = _options(model, method, link, scale, item_slopes=item_slopes)
    if not isinstance(ratings, Ratings):
        ratings = read(ratings)
    _check_scores(ratings, options, method)
    design = examine(ratings)
    facets, response = build(ratings, options)
    found = estimate(
        ratings,
        facets,
        response,
        options.link,
        method,
        allow_reversed=allow_reversed,
        max_iterations=max_iterations,
        on_progress=progress,
    )
    spread = _uncertainty(ratings, found) if standard_errors else None
    raters = rater_estimates(
        facets,
        found.parameters,
        None if spread is None else spread.matrix,
        _index(options, facets, found.parameters),
        gradient=found.value.gradient,
        centred=not options.spec.absolute,
    )
    tables = tabulate(ratings, found, raters, _standard_errors(facets, spread))
    cautions = [*design.warnings, *facets_cautions(ratings, found, spread, raters, tables["raters"])]
    if standard_errors and spread is None:
        cautions.append(
            f"no standard errors: {facets.blocks.size:,} parameters are more than the {MOST_PARAMETERS:,} for "
            "which the full covariance is computed; fit fewer raters at a time to have them"
        )
    return Fit(
        model=model,
        method=method,
        link=options.link.name,
        loglik=found.loglik,
        sigma=raters.sigma,
        sigma_se=raters.sigma_se,
        alpha=raters.alpha,
        n_parameters=facets.blocks.size - len(redundancy(facets, found.parameters)),
        n_ratings=ratings.n_ratings,
        n_students=ratings.n_students,
        n_raters=ratings.n_raters,
        n_items=ratings.n_items,
        optimiser=found.record,
        warnings=tuple(cautions),
        notes=ratings.notes,
        tables=tables,
        backend=ratings.backend,
    )


def _options(model: str, method: str, link: str | None, scale: str, *, item_slopes: bool) -> Options:
    """Check every choice before any work is done."""
    spec = FACETS_MODELS[choose("model", model, FACETS_MODELS)]
    choose("method", method, METHODS)
    choose("scale", scale, SCALES)
    name = choose("link", link or spec.link or "logit", LINKS)
    if spec.link is not None and name != spec.link:
        raise OptionError(
            f"model {model!r} is defined with link {spec.link!r}, not {name!r}; leave link out, or use model 'gmf'"
        )
    if name == "log":
        raise OptionError("link 'log' cannot be fitted yet; use 'logit', 'probit', 'cauchit' or 'cloglog'")
    if name == "cauchit" and method != "mml":
        raise OptionError(
            f"link 'cauchit' with method {method!r}: its posteriors can have several peaks, so a single most "
            "probable ability does not stand for them; use method 'mml'"
        )
    return Options(spec, get_link(name), scale, item_slopes)


def _check_scores(ratings: Ratings, options: Options, method: str) -> None:
    if ratings.n_categories == 2:
        return
    seen = f"scores go from {ratings.score.min()} to {ratings.score.max()}"
    cut = f"say from which score on is a pass, for example cut={int(ratings.score.max())}"
    if options.spec.name == "probit":
        raise InputError(f"{seen}, but model 'probit' takes pass (1) or fail (0); {cut}, or use model 'gmf'")
    if method != "mml":
        raise InputError(
            f"{seen}, but method {method!r} takes pass (1) or fail (0); {cut}, or use method 'mml'"
        )
    if options.scale != "graded" and options.link.name != "logit":
        raise InputError(
            f"{seen}, and link {options.link.name!r} needs scale 'graded' for ordered scores; choose that, or "
            f"link 'logit', or {cut}"
        )


def _index(options: Options, model: FacetsModel, parameters: Array) -> Index:
    if options.spec.absolute:
        return NoiselessIndex()
    if model.thresholds is None:
        return PanelIndex(options.link.name)
    values = model.thresholds.values(parameters[model.blocks["threshold"]])
    return OrderedIndex(OrderedScore(values, model.thresholds.graded, options.link.name))


def _uncertainty(ratings: Ratings, found: Estimate) -> Covariance | None:
    model, parameters = found.model, found.parameters
    if model.blocks.size > MOST_PARAMETERS:
        return None
    information = observed_information(found.problem, ratings, parameters, found.nodes)
    held = np.zeros(model.blocks.size, dtype=bool)
    held[model.blocks["slope"]] = np.abs(parameters[model.blocks["slope"]]) >= LARGEST_SLOPE
    return covariance(information, redundancy(model, parameters), held)


def _standard_errors(model: FacetsModel, spread: Covariance | None) -> Array:
    if spread is None:
        return np.full(model.blocks.size, np.nan)
    return np.sqrt(np.maximum(np.diag(spread.matrix), 0.0))
