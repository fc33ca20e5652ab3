"""Profile-likelihood intervals of a fit's raters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy import stats

from raterlens.base.errors import OptionError, choose
from raterlens.base.text import Message, Option
from raterlens.base.types import Array
from raterlens.capability.index import Index
from raterlens.capability.links import get_link
from raterlens.capability.yardstick import (
    MAX,
    PERFECT,
    severity_of_origin,
    slope_of_yardstick,
    students_of,
)
from raterlens.estimation.facets_estimate import Known
from raterlens.estimation.methods import estimate
from raterlens.estimation.scoring import with_scores
from raterlens.inference.covariance import covariance
from raterlens.inference.profile_likelihood import Likelihood, Profile
from raterlens.inference.resampling import check_same
from raterlens.models.anchors import anchors_from, hold, known_here
from raterlens.models.build import Options, build
from raterlens.models.calibration import Calibration
from raterlens.models.interaction_terms import interacting_facets
from raterlens.models.redundancy import redundancy
from raterlens.models.registry import facets_spec
from raterlens.ratings.backend import as_came
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.result.record import Result

# Beyond this the dense steps of the constrained search take too long.
_MOST_PARAMETERS = 1_500


@dataclass(frozen=True, slots=True, eq=False)
class Profiles:
    """Profile-likelihood intervals."""

    raters: Any
    """rater, kappa, low, high: a dataframe of the kind that came in."""
    points: Any
    """rater, kappa, deviance: the profile where it was evaluated."""
    level: float


@dataclass(frozen=True, slots=True, eq=False)
class Profiler:
    """A fitted likelihood, ready to profile any rater."""

    likelihood: Likelihood
    index: Index
    fit: "Result"
    se: Array

    @staticmethod
    def of(fit: "Result", ratings: Ratings) -> "Profiler":
        """Find the maximum again, with everything at hand that a fit does not keep."""
        known = _check(fit, ratings)
        options = Options(facets_spec(fit.model), get_link(fit.link), known.scale, known.item_slopes)
        coded = with_scores(ratings, known.scores)
        model, response = build(coded, options, len(known.scores))
        found = estimate(
            coded,
            model,
            response,
            options.link,
            "mml",
            Known(
                begin=hold(known_here(anchors_from(known), coded), coded, model),
                allow_reversed=fit.config.allow_reversed,
            ),
        )
        held = found.at_limit
        information = found.problem.information(found.parameters, found.nodes)
        spread = covariance(information, redundancy(model, found.parameters, held), held).matrix
        through = model.effect_jacobian(found.parameters)[model.effects["slope"]]
        variance = np.asarray((through @ spread * through.toarray()).sum(axis=1))
        students = students_of(fit.yardstick.population, found.moments.mean, found.moments.sd)
        return Profiler(
            Likelihood.of(found.problem, found.nodes, found.parameters, information, held),
            Index(known.curve(), students, fit.yardstick.reference == PERFECT),
            fit,
            np.sqrt(np.maximum(variance, 0.0)),
        )

    def profile(self, rater: int) -> Profile:
        """Of the rater in that place."""
        assert self.fit.calibration is not None
        reference, raters = self.fit.yardstick.reference, self.fit.table("raters")["rater"]
        panel = self.fit.calibration.panel()
        return Profile(
            self.likelihood,
            rater,
            self.index,
            severity_of_origin(self.fit.yardstick.origin, len(raters), panel.aside),
            None
            if reference == MAX and panel.candidates.all()
            else slope_of_yardstick(reference, raters, panel.slope, panel.candidates),
            self.se,
            self.fit.config.allow_reversed,
        )


def profile(
    fit: "Result", ratings: Ratings, raters: str | Sequence[str] | None = None, *, level: float = 0.95
) -> Profiles:
    """Intervals of kappa by profile likelihood: `Fit.profile`."""
    if not 0 < level < 1:
        raise OptionError(
            Message(Option("level", level)),
            "give a share between 0 and 1, for example 0.95",
            value=level,
            option="level",
        )
    _check(fit, ratings)
    table = fit.table("raters")
    labels = table["rater"].cast(pl.String).to_list()
    wanted = labels if raters is None else [raters] if isinstance(raters, str) else list(raters)
    places = [labels.index(choose("rater", str(label), labels)) for label in wanted]
    profiler = Profiler.of(fit, ratings)
    rows, points = [], []
    highest = 1.0 if fit.yardstick.reference in (MAX, PERFECT) else 10.0
    lowest = -highest if fit.config.allow_reversed else 0.0
    for place in places:
        own = profiler.profile(place)
        kappa = own.kappa()
        guess = table.select("kappa_low", "kappa_high").row(place)
        guess = guess if np.isfinite(guess).all() else (kappa - 0.2, kappa + 0.2)
        one_sided = kappa <= 1e-6 and lowest == 0
        threshold = float(stats.chi2.ppf(2 * level - 1 if one_sided else level, 1))
        found = own.interval(threshold, guess, (lowest, highest))
        rows.append((table["rater"][place], kappa, found.low, found.high))
        points += [(table["rater"][place], *point) for point in found.points.tolist()]
    kinds = {"rater": table["rater"].dtype}
    tables = (
        pl.DataFrame(rows, schema=["rater", "kappa", "low", "high"], orient="row", schema_overrides=kinds),
        pl.DataFrame(points, schema=["rater", "kappa", "deviance"], orient="row", schema_overrides=kinds),
    )
    return Profiles(as_came(tables[0], fit.backend), as_came(tables[1], fit.backend), level)


def _check(fit: "Result", ratings: Ratings) -> Calibration:
    known, yardstick = fit.calibration, fit.yardstick
    if known is None or known.covariates or known.anchored or fit.method != "mml" or fit.link == "log":
        raise OptionError(
            "profile takes a fit of 'gmf', 'tfm' or 'probit' by method 'mml', with any link but 'log' and without "
            "covariates or anchors",
            "use the intervals in fit.raters for others",
            option="model",
        )
    interacting = {"interactions"} if interacting_facets(known.effects) else set()
    for option in ("halo", "ability", "piece", "interactions"):
        if option in {*known.effects, *interacting}:
            value = getattr(fit.config, option, None)
            raise OptionError(
                Message("profile does not know ", Option(option, value)),
                "use the intervals in fit.raters",
                value=value,
                option=option,
            )
    mixed = yardstick.reference != MAX and str(yardstick.reference).split()[0] in ("quantile", "max")
    if known.spread is not None:
        raise OptionError(
            "profile likelihood is that of the ratings alone, and this fit has a panel prior",
            Message("use the intervals in fit.raters, or fit with ", Option("prior", None)),
            option="prior",
        )
    if mixed:
        raise OptionError(
            f"profile needs a yardstick that is one rater or a fixed slope, not {yardstick.reference!r}",
            "use fit.capability(...) for it",
            value=yardstick.reference,
            option="reference",
        )
    if fit.n_parameters > _MOST_PARAMETERS:
        raise OptionError(
            f"profile of {fit.n_parameters:,} parameters would take hours; up to {_MOST_PARAMETERS:,} are offered",
            "use the intervals in fit.raters",
            value=fit.n_parameters,
        )
    check_same(fit, ratings)
    return known
