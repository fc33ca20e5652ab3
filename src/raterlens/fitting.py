"""The pipeline on one screen: ratings -> model -> estimate -> uncertainty -> calibration -> Fit."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raterlens.capability.yardstick import LARGEST_SLOPE, Origin, Reference, Students, Yardstick
from raterlens.errors import OptionError, choose
from raterlens.estimation.methods import METHODS, Estimate, estimate
from raterlens.estimation.optimiser import OnProgress
from raterlens.estimation.scoring import with_scores
from raterlens.models.anchors import Anchors, anchor, anchors_from, hold
from raterlens.models.build import Options, build
from raterlens.models.calibration import calibrate
from raterlens.models.capped_log import Capped
from raterlens.models.covariates import Covariates, read_covariates
from raterlens.models.facets import FacetsModel
from raterlens.models.redundancy import redundancy
from raterlens.models.registry import MODELS, is_latent_class
from raterlens.parallel.dask_cluster import check_client
from raterlens.ratings.coded import Ratings
from raterlens.ratings.design import examine
from raterlens.reading.reader import read
from raterlens.result.choices import (
    check_by_parts,
    check_scores,
    check_together,
    checked_checkpoint,
    checked_options,
    default_yardstick,
    known_scores,
)
from raterlens.result.latent_class import check_latent, fit_latent
from raterlens.result.record import Fit
from raterlens.result.tables import tabulate
from raterlens.result.warnings import facets_cautions, renumbered
from raterlens.types import Array
from raterlens.uncertainty.covariance import Covariance
from raterlens.uncertainty.covariance import covariance as inverted
from raterlens.uncertainty.covariance_kinds import OBSERVED, check_kind, covariance_of
from raterlens.uncertainty.information import observed_information
from raterlens.uncertainty.measurement import check_measurable, measured
from raterlens.uncertainty.numerical_information import differenced_information
from raterlens.uncertainty.sparse_covariance import large_covariance

if TYPE_CHECKING:
    from distributed import Client


# A dense covariance of this many parameters takes 200 MB and seconds; beyond it, each rater's own block has to do.
MOST_PARAMETERS = 5_000


def fit(
    ratings: Ratings | Any,
    model: str = "gmf",
    method: str = "mml",
    link: str | None = None,
    *,
    scale: str = "rating scale",
    item_slopes: bool = False,
    covariates: Any = None,
    anchors: Anchors | Fit | None = None,
    reference: Reference | None = None,
    population: Students | None = None,
    origin: Origin | None = None,
    shrink: bool = False,
    allow_reversed: bool = False,
    starts: int = 8,
    seed: int = 0,
    standard_errors: bool = True,
    covariance: str = OBSERVED,
    max_iterations: int = 500,
    start: Fit | None = None,
    progress: OnProgress | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    client: "Client | None" = None,
) -> Fit:
    """Estimate every rater's capability.

    Parameters
    ----------
    ratings
        From `rl.read`; a path or dataframe is read first, with its columns recognised.
    model
        `gmf` (raters differ in severity and discrimination), `tfm` (in severity only), `probit` (raters see
        ability through noise), `hrm` (raters detect a true category, pass or fail, that depends on ability) or
        `dawid-skene` (the same without ability: each item has a prevalence).
    method
        `mml` (marginal maximum likelihood by quadrature), `laplace` (its Laplace approximation) or `hl`
        (hierarchical likelihood, the paper's procedure; biased with few ratings a student).
    link
        `logit` (the default), `probit`, `cauchit`, `cloglog` or `log`. The log link's pass rate exp(S) is capped at
        1 where S exceeds 0; how often that happens is among the warnings.
    scale
        How ordered scores get their thresholds: `rating scale` (shared), `partial credit` (each item its
        own) or `graded` (cumulative, shared). No matter for pass/fail ratings.
    item_slopes
        Let items differ in how strongly they reflect ability.
    covariates
        A dataframe with the column `rater` and columns of numbers: severity and the logarithm of discrimination
        are linear functions of them, in `fit.table("covariates")`, instead of a number for each rater.
    anchors
        Parameters to hold: `rl.Anchors(...)`, or an earlier fit, all of whose raters, items, levels and thresholds
        that occur here are held. Numbers are then on the earlier fit's scale: its yardstick and origin are the default,
        and the mean and standard deviation of the students on it are estimated, `fit.table("population")`.
    reference
        The yardstick, with discrimination rho = 1: `"max"`, the most discriminating rater (the default, as in the
        paper; the largest of noisy slopes is somewhat too large); `"max corrected"`, the same less what chance adds
        to it, which needs standard errors; `"quantile 0.9"` of the slopes; a rater's label; or
        the slope itself, a number. With another yardstick than `"max"`, rho and kappa may exceed 1. The
        default for model `probit` is a rater without noise.
    population
        The students over whom kappa averages: `"standard"` normal (the default), `(mean, sd)` for another normal
        population, `"estimated"` for these students as estimated, or `rl.Window(centre, half_width)`, abilities
        around a cut score.
    origin
        Severity relative to the `"average"` rater (the default, as in the paper) or `"absolute"`, with the actual
        difficulty for an average student (eta - alpha; the default for model `probit`).
    shrink
        Take raters for a sample from a population of raters, and draw their noisy slopes and severities towards it
        (empirical Bayes). The largest of noisy slopes then no longer sets the scale: sigma is the largest slope on
        average over what is known of all of them, and rho stays below 1. Use it to rank or choose raters of a small
        panel or with few ratings each; leave it out where a single rater is to be judged by its own ratings alone.
    allow_reversed
        Let a slope be negative: a rater who scores against ability, with negative kappa.
    starts, seed
        For `hrm` and `dawid-skene`: starting values to try at most, and the seed of the random ones.
    covariance
        Where standard errors come from: `observed` information (the default; for method `laplace` that of its own
        approximation); `expected` information on this design; `sandwich`, clustered by student, which holds where
        ratings of a student depend on each other in ways that the model leaves out; `opg`, the students' outer
        products; or, for method `hl`, `conditional` on the abilities, as the paper's procedure implies: too small.
    standard_errors
        Compute standard errors and intervals.
    start
        A fit of the same model to begin from, of similar ratings: a few iterations are then enough.
    progress
        Called once an iteration with a `Progress` record.
    checkpoint, resume
        A file in which the fit keeps what it has done so far, for method `mml`; if it is interrupted, the same call
        with `resume=True` goes on from there, to the same estimates. The file is removed when the fit is done.
    client
        A client of a Dask cluster (`distributed.Client`), for method `mml`: the students' ratings are kept and worked
        on by its workers. Packed ratings beyond memory are read by the workers themselves, from a file that all of
        them can open. What is computed here: the optimiser's steps, and the covariance matrix from what the workers
        add up.

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
    kept = checked_checkpoint(checkpoint, model, method, resume=resume)
    if client is not None:
        check_client(client)
        check_by_parts("a cluster", model, method)
    if is_latent_class(model):
        chosen = {
            "scale": scale != "rating scale",
            "item_slopes": item_slopes,
            "covariates": covariates is not None,
            "anchors": anchors is not None,
            "reference": reference is not None,
            "population": population is not None,
            "origin": origin is not None,
            "shrink": shrink,
            "covariance": covariance != OBSERVED,
            "allow_reversed": allow_reversed,
        }
        check_latent(model, method, (name for name, given in chosen.items() if given))
        return fit_latent(
            _estimable(ratings),
            model,
            link,
            starts=starts,
            seed=seed,
            standard_errors=standard_errors,
            max_iterations=max_iterations,
            progress=progress,
        )
    options = checked_options(model, method, link, scale, item_slopes=item_slopes)
    check_together(options, method, covariates, anchors)
    ratings = _estimable(ratings)
    scores = known_scores(ratings, anchors)
    coded = with_scores(ratings, scores)
    check_scores(ratings, len(scores), options, method)
    yardstick = Yardstick.chosen(
        default_yardstick(options, anchors), ratings.raters, reference, population, origin, shrink
    )
    explained = None if covariates is None else read_covariates(covariates, ratings.raters)
    names = () if explained is None else explained.names
    check_kind(covariance, method, options.link)
    check_measurable(yardstick, ratings.n_raters, names, standard_errors=standard_errors)
    options = _explained(options, explained)
    design = examine(ratings)

    facets, response = build(coded, options, len(scores))
    facets, held = _anchored(anchors, coded, facets)
    found = estimate(
        coded,
        facets,
        response,
        options.link,
        method,
        anchored=held,
        begin=None if start is None else _begin(start, coded, facets),
        allow_reversed=allow_reversed,
        max_iterations=max_iterations,
        on_progress=progress,
        checkpoint=kept,
        client=client,
    )
    spread = _uncertainty(coded, found, covariance, method, options) if standard_errors else None
    calibration = calibrate(coded, options, found, spread, scores, names)
    raters = measured(calibration, yardstick, found.moments.mean, found.moments.sd).raters()
    tables = tabulate(coded, found, raters, spread, explained)
    cautions = [*design.warnings, *facets_cautions(coded, found, spread, tables["raters"])]
    if coded is not ratings and not isinstance(anchors, Fit):
        cautions.append(renumbered(scores))
    if standard_errors and spread is None:
        cautions.append(
            f"no standard errors: {facets.blocks.size:,} parameters are more than the {MOST_PARAMETERS:,} for which "
            "the full covariance is computed; use method 'mml' with covariance 'observed', which needs none"
        )
    result = Fit(
        model=model,
        method=method,
        link=options.link.name,
        loglik=found.loglik,
        sigma=raters.sigma,
        sigma_se=raters.sigma_se,
        alpha=raters.alpha,
        n_parameters=_free_parameters(found),
        n_ratings=ratings.n_ratings,
        n_students=ratings.n_students,
        n_raters=ratings.n_raters,
        n_items=ratings.n_items,
        optimiser=found.record,
        warnings=tuple(cautions),
        notes=ratings.notes,
        tables=tables,
        backend=ratings.backend,
        covariance=covariance,
        yardstick=yardstick,
        calibration=calibration.for_keeping(),
    )
    if kept is not None:
        kept.finish()
    return result


def _estimable(ratings: Ratings | Any) -> Ratings:
    if not isinstance(ratings, Ratings):
        ratings = read(ratings)
    ratings.check_estimable()
    return ratings


def _explained(options: Options, covariates: Covariates | None) -> Options:
    if covariates is None:
        return options
    return Options(options.spec, options.link, options.scale, options.item_slopes, covariates.design)


def _anchored(
    anchors: Anchors | Fit | None, ratings: Ratings, model: FacetsModel
) -> tuple[FacetsModel, Array | None]:
    if isinstance(anchors, Fit):
        assert anchors.calibration is not None
        anchors = anchors_from(anchors.calibration, ratings)
    return (model, None) if anchors is None else anchor(anchors, ratings, model)


def _begin(start: Fit, ratings: Ratings, model: FacetsModel) -> Array:
    """The earlier fit's estimates of what occurs here; NaN elsewhere."""
    if start.calibration is None or start.calibration.covariates:
        raise OptionError("start takes a fit of 'gmf', 'tfm' or 'probit' without covariates")
    return hold(anchors_from(start.calibration, ratings), ratings, model)


# -------------------------------------------------------------------------------------------- uncertainty


def _uncertainty(
    ratings: Ratings, found: Estimate, kind: str, method: str, options: Options
) -> Covariance | None:
    model, parameters = found.model, found.parameters
    large = model.blocks.size > MOST_PARAMETERS
    if large and (kind != OBSERVED or method == "laplace" or isinstance(found.problem.response, Capped)):
        return None
    redundant = redundancy(model, parameters, found.held)
    held = found.held.copy()
    held[model.blocks["slope"]] |= np.abs(parameters[model.blocks["slope"]]) >= LARGEST_SLOPE
    if kind != OBSERVED or method == "laplace":
        invert = partial(inverted, redundant=redundant, held=held)
        return covariance_of(kind, method, ratings, found, options.link, invert)
    if isinstance(found.problem.response, Capped):
        information = differenced_information(found.problem, parameters, found.nodes, redundant)
    else:
        information = observed_information(found.problem, ratings, parameters, found.nodes)
    if large:
        return large_covariance(information, redundant, held, model)
    return inverted(information, redundant, held)


def _free_parameters(found: Estimate) -> int:
    redundant = redundancy(found.model, found.parameters, found.held)
    return found.model.blocks.size - len(redundant) - int(found.held.sum())
