"""The straight line of a fit: check the request, bind it to ratings, estimate, tabulate. Every fit is made here."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from raterlens.base.arrays import Array, averaged, limit_blas_threads
from raterlens.base.errors import OptionError
from raterlens.capability.yardstick import Yardstick
from raterlens.config import FitConfig
from raterlens.config.limits import SPREAD_RATERS, SPREAD_RATINGS
from raterlens.estimation.checkpoint import Checkpoint
from raterlens.estimation.facets_estimate import (
    ROUGH,
    Covariance,
    FacetsEstimate,
    Known,
    Where,
    judged,
    settled,
)
from raterlens.estimation.methods import estimate, on_scale, sharp_moments
from raterlens.estimation.optimiser import Search
from raterlens.estimation.scoring import with_scores
from raterlens.estimation.shared_estimate import shared_estimate
from raterlens.fitting.checks import (
    Run,
    check_scores,
    check_terms,
    checked,
    default_yardstick,
    known_scores,
    wants_shared,
)
from raterlens.inference.cautions import beyond_the_rest, facets_warnings, renumbered
from raterlens.inference.covariance import OBSERVED, covariance_of, differenced_information
from raterlens.inference.covariance import covariance as inverted
from raterlens.inference.draw_table import draw_table
from raterlens.inference.measurement import check_measurable, largest_of, measured
from raterlens.inference.panel_posterior import over_spreads, spread_of
from raterlens.inference.resampling import redrawn
from raterlens.inference.result import Result
from raterlens.inference.slope_limits import slope_limits
from raterlens.inference.spreads import curve_covariance, item_variance, over_drawn, with_marginal
from raterlens.inference.tables import Estimates, ability_errors, tabulate
from raterlens.kernels.library import missed
from raterlens.likelihood.engines.contract import Matrix
from raterlens.likelihood.marginal import FacetsMarginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import PanelPrior
from raterlens.models.anchors import anchor, anchors_from, held_highest, hold
from raterlens.models.build import COVARYING, KINDS, build, model_options
from raterlens.models.calibration import Calibration
from raterlens.models.covariates import Covariates, read_covariates
from raterlens.models.facets import FacetsModel, redundancy
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from raterlens.models.terms.shared_bias import trusted_raters
from raterlens.ratings.coded import Ratings
from raterlens.ratings.design import check_design, connected_groups, in_small_group
from raterlens.ratings.groupings import counted_once


def carry_out(config: FitConfig, ratings: Ratings, run: Run) -> Result:
    """Fit the ratings as requested."""
    config, ratings = checked(config, ratings, run)
    with limit_blas_threads(ratings):
        if MODELS[config.model_name].true_category:
            from raterlens.fitting.latent_class_fit import latent_class_result  # most fits do without

            found = latent_class_result(ratings, config, run)
        else:
            found = FacetsTask.of(ratings, config, run).result()
    return replace(found, warnings=(*found.warnings, *missed(ratings.n_ratings)))


@dataclass(frozen=True, slots=True, eq=False)
class FacetsTask:
    """A facets model, its ratings and its yardstick, all of them checked."""

    config: FitConfig
    run: Run
    checkpoint: Checkpoint | None
    ratings: Ratings
    coded: Ratings
    """With each score's place among `scores`; draws that never differ count once."""
    scores: tuple[int, ...]
    options: Options
    yardstick: Yardstick
    covariates: Covariates | None
    shared: bool = False
    """Whether a dimension that raters share is to be tried."""

    @staticmethod
    def of(ratings: Ratings, config: FitConfig, run: Run) -> "FacetsTask":
        checkpoint = None if run.checkpoint is None else Checkpoint(run.checkpoint, resume=run.resume)
        check_terms(ratings, config)
        scores = known_scores(config, ratings)
        coded = counted_once(with_scores(ratings, scores))
        options = model_options(config, coded)
        check_scores(ratings, len(scores), options, config.method)
        yardstick = Yardstick.chosen(
            default_yardstick(config, options),
            ratings.raters,
            config.reference,
            config.population,
            config.origin,
        )
        covariates = None
        if config.covariates is not None:
            covariates = read_covariates(config.covariates, ratings.raters)
            if not _sampled(config):  # else they say what is usual of such raters, and each differs from it
                options = replace(options, covariates=covariates.design)
        check_measurable(yardstick, standard_errors=config.standard_errors)
        shared = wants_shared(ratings, config)
        return FacetsTask(
            config, run, checkpoint, ratings, coded, scores, options, yardstick, covariates, shared
        )

    def estimate(self) -> FacetsEstimate:
        found = self._one_dimension()
        return self._shared(found) if self.shared else found

    def _shared(self, one: FacetsEstimate) -> FacetsEstimate:
        """The estimate with a dimension that raters share, where it belongs in the model; else the one without."""
        search = Search(self.config.max_iterations, self.run.progress)
        free = ~trusted_raters(self.coded, self.config)
        two = shared_estimate(self.coded, one, free, search)
        ratio = 2 * (two.loglik - one.loglik)

        def drawn(number: int) -> float:
            random = np.random.default_rng([self.config.seed, number])
            again = redrawn(self.coded, one.model, one.problem.response, one.parameters, random)
            task = replace(self, ratings=again, coded=again, run=Run(), checkpoint=None)
            plain = task._one_dimension(one.parameters)
            return 2 * (shared_estimate(again, plain, free, search, ROUGH).loglik - plain.loglik)

        test = judged(ratio, int(free.sum()), drawn) if self.config.shared == "auto" else settled(ratio)
        return replace(two if test.found else one, shared=test)

    def _one_dimension(self, start: Array | None = None) -> FacetsEstimate:
        anchors = self.config.anchors
        highest = None if anchors is None else held_highest(anchors, self.coded)
        model, response = build(self.coded, self.options, len(self.scores), highest)
        held: Array | None = None
        if anchors is not None:
            model, held = anchor(anchors, self.coded, model)
        begin = self._begin(model) if start is None else start
        if model.drawn:
            held = np.full(model.blocks.size, np.nan) if held is None else held
            held[model.of_drawn] = 0.0
        prior = None  # the paper's procedure and the Laplace approximation have none
        if _sampled(self.config):
            usual = None if self.covariates is None else self.covariates.design
            prior = PanelPrior.of(model, usual, anchored=anchors is not None)
        search = Search(self.config.max_iterations, self.run.progress, self.config.starts, self.config.seed)
        found = estimate(
            self.coded,
            model,
            response,
            self.options.link,
            self.config.method,
            Known(held, begin, self.config.allow_reversed, prior),
            search,
            Where(self.checkpoint, self.run.client),
        )
        if model.drawn:
            found = over_drawn(found, self._information, search, allow_reversed=self.config.allow_reversed)
        small = self.ratings.n_raters <= SPREAD_RATERS and self.ratings.n_ratings <= SPREAD_RATINGS
        if found.problem.prior is not None and small:
            found = over_spreads(found, self._information)
            found = with_marginal(found, self._information) if model.drawn else found
        return found

    def _information(self, problem: FacetsMarginal, parameters: Array, nodes: Nodes) -> Matrix:
        if problem.response.cornered:
            redundant = redundancy(problem.model, parameters)
            return differenced_information(problem, parameters, nodes, redundant)
        return problem.information(parameters, nodes)

    def _begin(self, model: FacetsModel) -> Array | None:
        """The earlier fit's estimates of what occurs here, NaN elsewhere."""
        if self.run.start is None:
            return None
        known = self.run.start.calibration
        if known is None or known.covariates:
            raise OptionError(
                f"start is a fit of model {self.run.start.config.model_name!r}{' with covariates' if known else ''}",
                "give one of 'gmf', 'tfm' or 'probit' without covariates",
                option="start",
            )
        anchors = anchors_from(known)
        try:
            return hold(anchors, self.coded, model, pass_over=True)
        except OptionError:  # thresholds of another scale, or of other scores: they are found anew
            return hold(replace(anchors, thresholds=None), self.coded, model, pass_over=True)

    def covariance(self, estimate: FacetsEstimate) -> Covariance | None:
        """Covariance of the parameters; None where it is not offered at this size."""
        model, problem, option = estimate.model, estimate.problem, self.config.covariance
        plain, large = self.config.method != "laplace", model.blocks.size > self.run.dense_parameters
        if large and (option != OBSERVED or not plain or problem.response.cornered):
            return None
        held = estimate.held | estimate.at_limit
        redundant = redundancy(model, estimate.parameters, held)
        if option != OBSERVED or (estimate.covariance is None and not plain):
            invert = partial(inverted, redundant=redundant, held=held)
            link, method = self.options.link, self.config.method
            found = covariance_of(option, method, self.coded, estimate, link, invert)
        elif estimate.covariance is not None:
            found = estimate.covariance
        else:
            information = self._information(problem, estimate.parameters, estimate.nodes)
            if large:
                from raterlens.inference.sparse_covariance import large_covariance  # most fits do without

                return large_covariance(information, redundant, held, model)
            found = inverted(information, redundant, held)
        if not estimate.drifts:
            return found
        return replace(found, matrix=found.matrix + sum(np.outer(drift, drift) for drift in estimate.drifts))

    def result(self) -> Result:
        """The fit. Of a sample of raters the largest slope follows from the covariance, whether or not standard errors
        are shown."""
        config, ratings = self.config, self.ratings
        self.run.enter("fitting")
        estimate = self.estimate()
        self.run.enter("standard errors")
        wanted = config.standard_errors or _sampled(config)
        covariance = self.covariance(estimate) if wanted else None
        calibration, reach = self.calibration(estimate, covariance), None
        # Intervals by `mml`, whose likelihood says more than standard errors do.
        usual = config.covariance == OBSERVED and config.method == "mml" and config.standard_errors
        if usual and covariance is not None:
            reach = slope_limits(estimate, self.coded.n_ratings)
        if reach is not None:
            calibration = replace(calibration, limits=reach.limits)
        if config.fair == "across":
            model, x = estimate.model.across_groups(), estimate.parameters
            problem = replace(estimate.problem, model=model)
            moments = on_scale(model, x, sharp_moments(problem, x, estimate.moments))
            estimate = replace(estimate, problem=problem, moments=moments)
        if not config.standard_errors:
            covariance, calibration = None, replace(calibration, covariance=None)
        errors = estimate.moments.sd
        if config.method == "mml":
            errors = ability_errors(estimate, self.coded, covariance, reach)
        raters = measured(calibration, self.yardstick, estimate.moments.mean, errors).raters()
        shown = Estimates(ratings, estimate, covariance, calibration.values, calibration.unit)
        tables = tabulate(shown, raters, errors, self.covariates)
        if estimate.shared is not None:
            tables["shared"] = estimate.shared.table()
        draws = draw_table(ratings, estimate, covariance, self.options.link, tables["raters"])
        if draws is not None:
            tables["draws"] = draws
        unit, marks = calibration.unit, calibration.marks
        if self.checkpoint is not None and not self.run.keep_checkpoint:
            self.checkpoint.finish()
        said = *self._warnings(shown, tables["raters"]), *beyond_the_rest(calibration, self.yardstick)
        return Result(
            config=config,
            link=self.options.link.name if marks is None else marks.link,
            loglik=estimate.loglik,
            sigma=unit * raters.sigma,
            sigma_se=unit * raters.sigma_se,
            alpha=raters.alpha if marks is None else marks.from_middle(raters.alpha),
            n_parameters=self.n_parameters(estimate),
            n_ratings=ratings.n_ratings,
            n_students=ratings.n_students,
            n_raters=ratings.n_raters,
            n_items=ratings.n_items,
            optimiser=estimate.record,
            warnings=said,
            notes=ratings.notes,
            tables=tables,
            backend=ratings.backend,
            yardstick=self.yardstick,
            calibration=calibration.for_keeping(),
        )

    def n_parameters(self, estimate: FacetsEstimate) -> int:
        """Parameters that are estimated, with a spread for those of each drawn term."""
        redundant = redundancy(estimate.model, estimate.parameters, estimate.held)
        free = ~estimate.held & ~estimate.model.of_drawn
        return int(free.sum()) - len(redundant) + len(estimate.spreads)

    def _warnings(self, shown: Estimates, raters: pl.DataFrame) -> list[str]:
        estimate, covariance = shown.found, shown.covariance
        warnings = [*check_design(self.ratings), *facets_warnings(self.coded, shown, raters)]
        warnings += [said for kind in KINDS for said in kind.cautions(self.ratings, self.config)]
        anchors = self.config.anchors
        between = self.scores[-1] - self.scores[0] >= len(self.scores)
        if between and (anchors is None or anchors.earlier is None):
            warnings.append(renumbered(self.scores))
        if estimate.shared is not None and estimate.shared.found:
            warnings.append(estimate.shared.words())
        if self.config.standard_errors and covariance is None:
            warnings.append(
                f"no standard errors: {estimate.model.blocks.size:,} parameters are more than the "
                f"{self.run.dense_parameters:,} for which the full covariance is computed; use method 'mml' with "
                "covariance 'observed', which needs none"
            )
        return warnings

    def calibration(self, estimate: FacetsEstimate, covariance: Covariance | None = None) -> Calibration:
        """The effects of an estimate, by name."""
        model, x, ratings = estimate.model, estimate.parameters, self.coded
        given, falling = ratings.tally("rater"), np.zeros(ratings.n_raters)
        if model.slope.own:
            falling = -estimate.value.gradient[model.blocks["slope"]]
        found = Calibration(
            model=self.config.model_name,
            link=self.options.link.name,
            scale=self.options.scale,
            scores=self.scores,
            score_step=self.ratings.score_step,
            repeats=self.config.repeats,
            group_means=self.options.groups,
            fair=self.config.fair,
            labels={
                "rater": ratings.raters,
                "item": ratings.items,
                **{f"facet {facet.name}": facet.labels for facet in ratings.facets},
                **({} if ratings.group is None else {"group": ratings.group.labels}),
            },
            effects=model.tables(x),
            covariance=None if covariance is None else _of_effects(model, x, covariance.matrix),
            falling=falling,
            covariates=() if self.covariates is None else self.covariates.names,
            anchored=int((estimate.held & ~model.of_drawn).sum()),
            at_limit=estimate.raters_at_limit,
            apart=in_small_group(connected_groups(self.ratings)),
            extreme=(given.total == 0) | (given.total == given.n * (ratings.n_categories - 1)),
            spread=spread_of(estimate, covariance),
            known_slope=model.known_slope,
            item_variance=None if covariance is None else item_variance(model, covariance),
            between_variance=model.between_variance(x),
            curve_covariance=None if covariance is None else curve_covariance(model, x, covariance),
        )
        if found.spread is None:
            return found
        # By what is known of the raters, whichever kind of covariance is shown.
        known = found
        if estimate.covariance is not None:
            known = replace(found, covariance=_of_effects(model, x, estimate.covariance.matrix))
        return replace(found, spread=replace(found.spread, largest=largest_of(known)))


def _of_effects(model: FacetsModel, parameters: Array, matrix: Matrix) -> Matrix:
    """The covariance of the effects that are kept, from that of the parameters."""
    through = model.effect_jacobian(parameters, *COVARYING)
    spread = through @ (through @ matrix).T
    return averaged(spread) if isinstance(spread, np.ndarray) else (spread + spread.T) / 2


def _sampled(config: FitConfig) -> bool:
    """Whether raters are fitted as a sample of raters; by the paper's procedure and by Laplace they are not."""
    return config.prior == "panel" and config.method == "mml"
