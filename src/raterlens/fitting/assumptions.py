"""Assumptions of a fit: one policy for every surface (Python, the command, the app, judges, scikit-learn).

`warn` fits exactly the model that was named, and warns about what it misses. `adapt` lets the data decide, starting
from GMF: terms with a spread are in from the start, since the spread says how much of them there is; the others are
tested one after the other, and added where the likelihood ratio of the fit with them leaves no doubt. Score tests,
which take no fit, say which are worth one. `ignore` tests nothing. Every outcome is in `fit.assumptions`.

Which terms, and in which order, was measured on real ratings by what was held out: benchmarks/truth/held_out_terms.py.
Halo comes first; item slopes only beside thresholds of each item, halo and rater x item, without which they follow what
two criteria share within a reading; the students' distribution last, since anything else that is wrong bends it.
"""

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy import special

from raterlens.base.arrays import limit_blas_threads
from raterlens.base.errors import RaterlensError
from raterlens.base.text import Message, Option
from raterlens.capability.population import AbilityShape
from raterlens.config import FitConfig
from raterlens.config.fit_config import facets_of
from raterlens.config.limits import (
    ADAPTED_PARAMETERS,
    ADAPTED_RATINGS,
    CONFIRMED_RATINGS,
    TESTED_PARAMETERS,
    TESTED_RATINGS,
    TESTED_STUDENTS,
)
from raterlens.diagnostics.differences import p_words
from raterlens.estimation.scoring import Placed, place
from raterlens.fitting.facets_checks import check_interactions, with_scale
from raterlens.fitting.facets_task import FacetsTask
from raterlens.fitting.line import carry_out, check, checked
from raterlens.fitting.steps import Earlier, Run
from raterlens.inference.projected_scores import ScoredFit, ScoreTest, effect_score, halo_score, shape_score
from raterlens.inference.result import Result, differences
from raterlens.likelihood.cells import readings_in
from raterlens.models.calibration import Calibration
from raterlens.models.registry import MODELS, FacetsSpec
from raterlens.models.terms.halo import PIECE
from raterlens.models.terms.rater_interactions import ITEM
from raterlens.models.terms.shape import SHAPE
from raterlens.models.terms.shared_bias import BIAS
from raterlens.ratings.coded import Ratings
from raterlens.ratings.packed import StoredRatings

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit

CLEAR = 0.001
"""From this p-value down a term is added, or missed."""
PROMISING = 0.05
"""From this p-value of the score test down, the likelihood ratio is asked: it takes another fit."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one assumption: a row of `fit.assumptions`."""

    assumption: str
    statistic: float | None
    p: float | None
    taken: bool
    words: str


@dataclass(frozen=True, slots=True)
class Term:
    """Something a model may have, and how to find out whether these ratings show it."""

    name: str
    options: Mapping[str, Any]
    """Options that ask for it."""
    applies: Callable[[Ratings, FitConfig], bool]
    """Whether the ratings could show it, and nothing was said about it."""
    seen: str
    """A description of what the ratings show; {p} stands for the p-value."""
    missed: str = ""
    """The harm that leaving it out does."""
    keep: Option | None = None
    """How to say that it is not wanted."""
    score: Callable[[ScoredFit], ScoreTest | None] | None = None
    needs: tuple[str, ...] = ()
    """Terms beside which alone it is added, as far as the ratings could show them."""
    last: bool = False
    """Whether it is tested only where nothing else is wrong: whatever is looks like it."""


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """A model estimated on ratings, without errors and tables: all that tests need of it."""

    config: FitConfig
    loglik: float
    n_parameters: int
    converged: bool
    calibration: Calibration
    placed: Placed
    ratings: Ratings

    @staticmethod
    def of(config: FitConfig, ratings: Ratings, run: Run) -> "_Trial":
        config, ratings = checked(config, ratings, run)
        task = FacetsTask.of(ratings, config, run)
        found = task.estimate()
        placed = Placed(task.coded, found.problem, found.parameters, found.moments)
        number, calibration = task.n_parameters(found), task.calibration(found)
        return _Trial(config, found.loglik, number, found.record.converged, calibration, placed, ratings)

    @property
    def model(self) -> str:
        return self.config.model_name

    @property
    def tested(self) -> ScoredFit:
        return ScoredFit.of(self.placed, self.calibration, self.ratings)


def result_under_policy(ratings: Ratings, config: FitConfig, run: Run) -> Result:
    """Fit the ratings as requested, under the request's policy."""
    policy, config = config.policy, with_scale(config, ratings)
    if policy == "ignore" or not isinstance(MODELS.get(config.model_name), FacetsSpec):
        return carry_out(config, ratings, run)
    with limit_blas_threads(ratings):
        if policy == "adapt" and (why := _not_adapted(ratings, config, run)) is None:
            return _adapt(ratings, config, run)
        found = carry_out(config, ratings, run)
        outcomes = _look(found, ratings, run)
        if policy == "adapt":
            outcomes = [Outcome("all", None, None, False, f"No term was added: {why}."), *outcomes]
        more = policy == "warn" and _not_adapted(ratings, config, run) is None
        said = [
            _advice(term, outcome, alone=not (term.needs and _ordered(ratings)), more=more)
            for outcome in outcomes
            if (term := _clear(outcome)) is not None
        ]
        return replace(_recorded(found, outcomes), warnings=(*found.warnings, *said))


def _not_adapted(ratings: Ratings, config: FitConfig, run: Run) -> str | None:
    """Why no term is added, whatever the ratings show; None where some may be."""
    if config.method != "mml":
        return f"method {config.method!r} has none"
    if run.client is not None or run.checkpoint is not None or isinstance(ratings, StoredRatings):
        return "the fit goes over parts of the ratings"
    if ratings.n_ratings > ADAPTED_RATINGS:
        return f"{ratings.n_ratings:,} ratings are more than the {ADAPTED_RATINGS:,} up to which terms are"
    return None


# -- adapt -----------------------------------------------------------------------------------------------------


def _adapt(ratings: Ratings, config: FitConfig, run: Run) -> Result:
    """Terms without a spread are tested in plain fits, where the likelihood ratio has its usual distribution; what they
    come to is then fitted with the terms that have a spread."""
    spreads, outcomes = [], []
    for term in SPREADS:
        if not term.applies(ratings, config):
            continue
        try:
            check(config.changed(**term.options), run)
            check_interactions(ratings, config.changed(**term.options))
        except RaterlensError as reason:
            outcomes.append(Outcome(term.name, None, None, False, f"Left out: {reason}"))
            continue
        spreads.append(term)
    wanted = {name: value for term in spreads for name, value in term.options.items()}
    # Tests are made with thresholds that raters share: their own have a spread.
    scale = next((term.options["scale"] for term in spreads if term.name == CREDIT), config.scale)
    # The yardstick may follow from errors; and to compare a fit with a larger one that begins there takes one start.
    plain = config.changed(scale=scale, standard_errors=False, reference=None, starts=1)
    added, tested = _tested(ratings, plain, run, {*_named(config), *(term.name for term in spreads)})
    config = config.changed(**wanted, **added)
    if run.start is not None and any(
        getattr(run.start.config, name) != getattr(config, name)
        for name in ("scale", "item_slopes", "halo", "ability")
    ):
        run = replace(run, start=None)  # an earlier fit of another model
    found = carry_out(config, ratings, run)
    outcomes += [Outcome(term.name, None, None, True, _spread_words(term.name, found)) for term in spreads]
    return _recorded(found, [*outcomes, *tested])


def _named(config: FitConfig) -> set[str]:
    """Terms that the request has by name."""
    return {
        name
        for name, there in (
            (CREDIT, config.shared_scale == "partial credit"),
            (HALO, config.halo not in (None, "none")),
            (RATER_ITEM, ITEM in facets_of(config.interactions)),
        )
        if there
    }


def _tested(
    ratings: Ratings, config: FitConfig, run: Run, there: set[str]
) -> tuple[dict[str, Any], list[Outcome]]:
    """Options of the tested terms that are clear, and what became of each."""
    if ratings.n_students < TESTED_STUDENTS:
        words = f"Nothing else was tested: that takes {TESTED_STUDENTS} students, and there are {ratings.n_students}."
        return {}, [Outcome("tests", None, None, False, words)]
    run.enter("testing assumptions")
    run = replace(run, on_stage=None, start=None)
    found: _Trial | None = None
    added: dict[str, Any] = {}
    outcomes: list[Outcome] = []
    for term in TESTED:
        if not term.applies(ratings, config if found is None else found.config):
            continue
        found = found or _Trial.of(config, ratings, run)
        if not _testable(found, ratings):
            continue
        if term.last and (wrong := [one.assumption for one in outcomes if _suspected(one)]):
            words = f"Not tested: {_and(wrong)} would look like it."
            outcomes.append(Outcome(term.name, None, None, False, words))
            continue
        lacking = [name for name in term.needs if name not in there and _possible(name, ratings)]
        found, outcome = _tried(term, found, ratings, run, lacking)
        outcomes.append(outcome)
        if outcome.taken:
            added |= term.options
            there = {*there, term.name}
    return added, outcomes


def _possible(name: str, ratings: Ratings) -> bool:
    """Whether the ratings could show the term."""
    if name == CREDIT:
        return _ordered(ratings)
    return _shows_halo(ratings) if name == HALO else True


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _suspected(outcome: Outcome) -> bool:
    """Whether something may be wrong that the model does not have."""
    return not outcome.taken and outcome.p is not None and outcome.p < PROMISING


def _tried(
    term: Term, found: _Trial, ratings: Ratings, run: Run, lacking: list[str]
) -> tuple[_Trial, Outcome]:
    """The fit with the term where it is clear and may be added, else the fit as it was."""
    score = None if term.score is None else term.score(found.tested)
    if score is not None and (score.p > PROMISING or lacking):
        outcome = _outcome(term, score.statistic, score.p, taken=False)
        if lacking and score.p < CLEAR:
            why = f" It is added only beside {_and(lacking)}, which the model does not have."
            outcome = replace(outcome, words=outcome.words + why)
        return found, outcome
    if lacking:
        return found, Outcome(term.name, None, None, False, f"Not tested without {_and(lacking)}.")
    larger, ratio, p = _ratio(term, found, ratings, run)
    return larger if p < CLEAR else found, _outcome(term, ratio, p, taken=p < CLEAR)


def _ratio(term: Term, found: Earlier, ratings: Ratings, run: Run) -> tuple[_Trial, float, float]:
    """The fit with the term, and its likelihood ratio with the p-value."""
    another = term.last or "scale" in term.options or found.config.covariates is not None
    larger = _Trial.of(
        found.config.changed(**term.options, standard_errors=False, reference=None),
        ratings,
        replace(run, start=None if another else found, on_stage=None),
    )
    ratio, df = 2 * (larger.loglik - found.loglik), larger.n_parameters - found.n_parameters
    p = p_of_ratio(ratio, df, variance="halo" in term.options) if larger.converged else 1.0
    return larger, ratio, p


def p_of_ratio(ratio: float, df: int, *, variance: bool = False) -> float:
    """The p-value of a likelihood ratio; of a variance, which cannot be negative, the ratio is 0 half of the time where
    there is none.

    Examples
    --------
    >>> round(p_of_ratio(2.706, 1, variance=True), 3), round(p_of_ratio(5.991, 2), 3)
    (0.05, 0.05)
    """
    if ratio <= 0:
        return 1.0
    return float(special.chdtrc(df, ratio)) / (2 if variance else 1)


def _spread_words(name: str, found: Result) -> str:
    """Say how large a term with a spread is."""
    if name == PANEL and found.spread is not None:
        return f"Raters are a sample of raters: they {differences(found.spread).removeprefix('Raters ')}."
    if name not in (RATER_ITEM, RATER_SCALE):
        return "Each item has thresholds of its own."
    spreads = found.tables.get("spreads")
    known = {} if spreads is None else dict(spreads.select("term", "spread").iter_rows())
    spread = known.get("rater:item" if name == RATER_ITEM else "rater threshold") or 0.0
    size = f"{spread:.2f} (standard deviation{', logits' if found.link == 'logit' else ''})"
    if name == RATER_ITEM:
        varies = f"A rater's severity varies from item to item by {size}."
        return varies if spread else "A rater's severity does not vary from item to item beyond chance."
    return (
        f"Raters' thresholds vary around the shared ones by {size}."
        if spread
        else "Raters use the scale alike."
    )


# -- warn ------------------------------------------------------------------------------------------------------


def _look(found: Result, ratings: Ratings, run: Run) -> list[Outcome]:
    """Score tests of what the model leaves out, unless something else that is or may be wrong would look like it."""
    if not _testable(found, ratings) or run.client is not None or run.checkpoint is not None:
        return []  # before the terms are asked, which go over all ratings at once
    terms = [term for term in (*MISSED, *TESTED) if term.applies(ratings, found.config)]
    if not terms:
        return []
    run.enter("testing assumptions")
    assert found.calibration is not None
    some = ratings if ratings.n_ratings <= TESTED_RATINGS else ratings.sample(TESTED_RATINGS)
    at = ScoredFit.of(place(found.calibration, some, as_fitted=True), found.calibration, some)
    outcomes: list[Outcome] = []
    wrong: list[str] = []
    for term in terms:
        if term.last and wrong:
            continue
        if term.score is None or (score := term.score(at)) is None:
            continue
        unsure = [*wrong, *([CREDIT] if _may_miss_thresholds(found.config, ratings, outcomes) else [])]
        if score.p < PROMISING and (like := [name for name in unsure if name in term.needs]):
            words = f"Not tested: {_and(like)} would look like it."
            wrong.append(term.name)
            outcomes.append(Outcome(term.name, None, None, False, words))
            continue
        statistic, p = score.statistic, score.p
        if p < CLEAR and ratings.n_ratings <= CONFIRMED_RATINGS:
            statistic, p = _ratio(term, found, ratings, run)[1:]
        outcomes.append(_outcome(term, statistic, p, taken=False))
        wrong += [term.name] if _suspected(outcomes[-1]) else []
    return outcomes


def _may_miss_thresholds(config: FitConfig, ratings: Ratings, outcomes: list[Outcome]) -> bool:
    """Whether items share thresholds, and no test says that they do."""
    tested = any(one.assumption == CREDIT for one in outcomes)
    return _ordered(ratings) and config.shared_scale != "partial credit" and not tested


def _clear(outcome: Outcome) -> Term | None:
    if outcome.p is None or outcome.p >= CLEAR:
        return None
    return next(term for term in (*MISSED, *TESTED) if term.name == outcome.assumption)


def _advice(term: Term, outcome: Outcome, *, alone: bool, more: bool) -> str:
    """Say what is missed and what to do: `alone`: the term helps without others; `more`: others can be added."""
    assert outcome.p is not None
    said = f"{term.seen.format(p=p_words(outcome.p))}. {term.missed}"
    if not alone:
        return (
            Message(f"{said}. Use ", Option("assumptions", "adapt"), " to let the data decide")
            if more
            else said
        )
    ((name, value),) = term.options.items()
    keep = () if term.keep is None else (", or ", term.keep, " to keep the assumption")
    return Message(f"{said}. Use ", Option(name, value), *keep)


# -- both ------------------------------------------------------------------------------------------------------


def _testable(found: Earlier, ratings: Ratings) -> bool:
    """Whether terms can be tested in this fit."""
    known, config = found.calibration, found.config
    return (
        known is not None
        and config.method == "mml"
        and known.link != "log"
        and config.covariance in ("observed", "expected")
        and found.n_parameters <= TESTED_PARAMETERS
        and ratings.n_students >= TESTED_STUDENTS
        and not isinstance(ratings, StoredRatings)
        and PIECE not in known.effects
        and BIAS not in known.effects
    )


def _outcome(term: Term, statistic: float, p: float, *, taken: bool) -> Outcome:
    seen = term.seen.format(p=p_words(p))
    if taken:
        words = f"{seen}. The model has it."
    elif p < CLEAR:
        words = f"{seen}. {term.missed}."
    else:
        words = f"No clear sign ({p_words(p)}) that {term.seen.partition(' (')[0].lower()}."
    return Outcome(term.name, statistic, p, taken, words)


def _recorded(found: Result, outcomes: list[Outcome]) -> Result:
    kinds = (pl.String, pl.Float64, pl.Float64, pl.Boolean, pl.String)
    schema = dict(zip((field.name for field in fields(Outcome)), kinds, strict=True))
    table = pl.DataFrame([astuple(one) for one in outcomes], schema=schema, orient="row")
    return replace(found, tables={**found.tables, "assumptions": table})


# -- the terms -------------------------------------------------------------------------------------------------


def _ordered(ratings: Ratings) -> bool:
    return int(np.count_nonzero(ratings.score_counts)) > 2


def _shows_halo(ratings: Ratings) -> bool:
    readings = readings_in(ratings)
    return readings.long and readings.second


def _may_have_halo(ratings: Ratings, config: FitConfig) -> bool:
    unsaid = config.halo is None and config.scale != "continuous"
    return unsaid and ratings.known is None and _shows_halo(ratings)


def _on_ability(ratings: Ratings, config: FitConfig) -> bool:
    """Whether halo can be on the ability scale, where it predicts better: pieces and groups take its place there."""
    plain = config.ability != "smooth" and config.covariance == "observed"
    return plain and ratings.piece is None and ratings.group is None and ratings.draw is None


def _may_have_own_scales(ratings: Ratings, config: FitConfig) -> bool:
    thresholds = ratings.n_raters * (int(np.count_nonzero(ratings.score_counts)) - 2)
    unsaid = config.scale is None and config.anchors is None and config.link in (None, "logit")
    return unsaid and ratings.known is None and 0 < thresholds <= ADAPTED_PARAMETERS


def _by_abilities(ratings: Ratings, config: FitConfig) -> bool:
    said = (config.ability, config.anchors, config.covariates, config.trusted, ratings.known, ratings.group)
    return all(one is None for one in said) and config.halo != "ability"


def _slopes_score(at: ScoredFit) -> ScoreTest | None:
    return effect_score(at, "item_slope", np.zeros_like(at.calibration.effects["difficulty"]))


def _thresholds_score(at: ScoredFit) -> ScoreTest | None:
    """Where some item never got the highest scores, it would have no threshold for them: not tested then."""
    shared, coded = at.calibration.effects["threshold"], at.placed.ratings
    highest = np.zeros(coded.n_items, dtype=np.int64)
    np.maximum.at(highest, coded.item, coded.score)
    if (highest < shared.shape[1]).any():
        return None
    return effect_score(at, "threshold", np.repeat(shared, len(at.calibration.labels["item"]), axis=0))


PANEL, CREDIT, RATER_ITEM, HALO = "panel prior", "partial credit", "rater x item", "halo"
RATER_SCALE = "thresholds per rater"

SPREADS = (
    Term(
        PANEL,
        {"prior": "panel"},
        lambda ratings, config: (
            config.prior is None
            and config.anchors is None
            and ratings.known is None
            and config.trusted is None
        ),
        "Raters are a sample of raters",
    ),
    Term(
        CREDIT,
        {"scale": "partial credit"},
        lambda ratings, config: (
            config.scale is None and _ordered(ratings) and ratings.n_items > 1 and config.anchors is None
        ),
        "Each item has thresholds of its own",
    ),
    Term(
        RATER_SCALE,
        {"scale": "partial credit, rater"},
        lambda ratings, config: _may_have_own_scales(ratings, config) and ratings.n_items > 1,
        "Raters use the scale in their own ways",
    ),
    Term(
        RATER_SCALE,
        {"scale": "rater"},
        lambda ratings, config: _may_have_own_scales(ratings, config) and ratings.n_items == 1,
        "Raters use the scale in their own ways",
    ),
    Term(
        RATER_ITEM,
        {"interactions": ("rater:item",)},
        lambda ratings, config: (
            config.interactions is None
            and config.anchors is None
            and 1 < ratings.n_items <= ADAPTED_PARAMETERS // ratings.n_raters
        ),
        "Raters are more severe on some items than on others",
    ),
)
"""Terms with a spread, which says how much of them there is: in from the start under `adapt`."""

_HALO_SEEN = "On the whole, a rater's scores of the same student are correlated beyond ability (halo, {p})"
_HALO_MISSED = "Intervals of severity, capability and ability are too narrow"

TESTED = (
    Term(
        HALO,
        {"halo": "ability"},
        lambda ratings, config: _on_ability(ratings, config) and _may_have_halo(ratings, config),
        _HALO_SEEN,
        _HALO_MISSED,
        Option("halo", "none"),
        lambda at: halo_score(at, on_ability=True),
    ),
    Term(
        HALO,
        {"halo": "common"},
        lambda ratings, config: not _on_ability(ratings, config) and _may_have_halo(ratings, config),
        _HALO_SEEN,
        _HALO_MISSED,
        Option("halo", "none"),
        halo_score,
    ),
    Term(
        "item slopes",
        {"item_slopes": True},
        lambda ratings, config: not config.item_slopes and ratings.n_items > 1 and config.anchors is None,
        "Items differ in how strongly they reflect ability ({p})",
        "Severities and abilities lean towards the items that show it best",
        None,
        _slopes_score,
        (CREDIT, HALO, RATER_ITEM),
    ),
    Term(
        "ability shape",
        {"ability": "smooth"},
        _by_abilities,
        "Abilities are not normally distributed ({p})",
        "Assuming normal abilities biases severity and capability here",
        Option("ability", "normal"),
        shape_score,
        last=True,
    ),
)
"""Terms without a spread, in the order in which they are tested."""

MISSED = (
    replace(
        SPREADS[1],
        seen="Items use the scale differently: their thresholds are not the same ({p})",
        missed="Shared thresholds bias severities and abilities",
        score=_thresholds_score,
    ),
)
"""Terms that a named model may miss besides those."""


# -- likelihood ratios on request ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HaloTest:
    """Log-likelihoods without a reading effect, with a common one and with one per rater, and tests between them."""

    loglik: float
    common: float
    rater: float
    spread: float
    """Spread of the common effect."""
    n_raters: int

    @property
    def table(self) -> pl.DataFrame:
        """test, statistic, df, p"""
        common, own = 2 * (self.common - self.loglik), 2 * (self.rater - self.loglik)
        more, df = max(own - common, 0.0), self.n_raters - 1
        rows = [
            ("common against none", common, 1, p_of_ratio(common, 1, variance=True)),
            ("rater against none", own, self.n_raters, p_of_variances(own, self.n_raters)),
            ("rater against common", more, df, p_of_ratio(more, df)),
        ]
        return pl.DataFrame(rows, schema=["test", "statistic", "df", "p"], orient="row")


def p_of_variances(ratio: float, n: int) -> float:
    """The p-value of n variances that may be 0: a mixture of chi-squared distributions with binomial weights.

    Examples
    --------
    >>> round(p_of_variances(7.48, 5), 2)
    0.05
    """
    if ratio <= 0:
        return 1.0
    df = np.arange(1, n + 1)
    logs = special.gammaln(n + 1) - special.gammaln(df + 1) - special.gammaln(n - df + 1)
    return float(np.exp(logs - n * np.log(2)) @ special.chdtrc(df, ratio))


def halo_test(fit: "Fit", ratings: Ratings) -> HaloTest:
    """Fit with each kind of reading effect: `Fit.halo_test`."""
    found = {kind: _refitted(fit, ratings, halo=kind) for kind in ("none", "common", "rater")}
    spread = float(found["common"].table("raters")["halo"][0])
    none, common, rater = (found[kind].loglik for kind in ("none", "common", "rater"))
    return HaloTest(none, common, rater, spread, fit.n_raters)


@dataclass(frozen=True, slots=True)
class AbilityTest:
    """The likelihood ratio of a smooth distribution of abilities against a normal one."""

    statistic: float
    shape: tuple[float, float]
    """c3 and c4 (`capability/population.py`)."""

    @property
    def p(self) -> float:
        return p_of_ratio(self.statistic, 2)

    @property
    def finding(self) -> str:
        """A description of the distribution, where the ratings show that it is not normal."""
        return (
            describe_shape(self.shape)
            if self.p < CLEAR
            else "no clear evidence against a normal distribution"
        )

    @property
    def table(self) -> pl.DataFrame:
        """statistic, df, p, finding"""
        row = (self.statistic, 2, self.p, self.finding)
        return pl.DataFrame([row], schema=["statistic", "df", "p", "finding"], orient="row")


def ability_test(fit: "Fit", ratings: Ratings) -> AbilityTest:
    """Fit with a smooth shape and with a normal one: `Fit.ability_test`."""
    normal, smooth = (_refitted(fit, ratings, ability=kind) for kind in ("normal", "smooth"))
    assert smooth.calibration is not None
    c3, c4 = smooth.calibration.effects[SHAPE].tolist()
    return AbilityTest(2 * (smooth.loglik - normal.loglik), (c3, c4))


def _refitted(fit: "Fit", ratings: Ratings, **changes: Any) -> "Fit":
    """The same fit under another assumption, without standard errors if it can be."""
    start = None if fit.calibration is None or fit.calibration.covariates else fit
    return fit.refit(ratings, start=start, standard_errors=fit.yardstick.follows_from_errors, **changes)


_SKEWED, _VALLEY = 0.1, 0.02
"""Distance of the mean of abilities from their median, in half-widths, and depth of a valley between two peaks, as a
share of the lower: from here on they are named."""


def describe_shape(shape: tuple[float, float]) -> str:
    """Describe students of this shape.

    Examples
    --------
    >>> describe_shape((0.25, -0.02)), describe_shape((0.0, -0.2)), describe_shape((0.0, 0.05))
    ('skewed to the right', 'two groups', 'heavy tails')
    """
    theta = np.linspace(-5, 5, 1001)
    density = np.exp(AbilityShape.of(*shape).log_density(theta))
    rises = np.diff(density) > 0
    peaks = np.flatnonzero(rises[:-1] & ~rises[1:]) + 1
    said = []
    if len(peaks) > 1:
        lower = float(min(density[peaks[0]], density[peaks[-1]]))
        said += ["two groups"] if density[peaks[0] : peaks[-1]].min() < (1 - _VALLEY) * lower else []
    mean = float(theta @ density / density.sum())
    if abs(mean) > _SKEWED:
        said.append(f"skewed to the {'right' if mean > 0 else 'left'}")
    return ", ".join(said) or ("heavy tails" if shape[1] > 0 else "light tails")
