"""Assumptions of a fit: one policy for every surface (Python, the command, the app, judges, scikit-learn).

`warn` fits exactly the model that was named, and warns about what it misses. `adapt` lets the data decide, starting
from GMF: terms with a spread are in from the start, since the spread says how much of them there is; the others are
tested one after the other, and added where the likelihood ratio of the fit with them leaves no doubt. Score tests,
which take no fit, say which are worth one. `ignore` tests nothing. Every outcome is in `fit.assumptions`.

Which terms, and in which order, was measured on real ratings by what was held out: benchmarks/truth/held_out_terms.py.
Halo comes first; item slopes only beside thresholds of each item, halo and rater x item, without which they follow what
two criteria share within a reading; the students' distribution last, since anything else that is wrong bends it.
"""

from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy import special

from raterlens.base.arrays import limit_blas_threads
from raterlens.base.errors import RaterlensError
from raterlens.base.text import Message, Option, listed, shortened
from raterlens.capability.population import AbilityShape
from raterlens.config import FitConfig
from raterlens.config.limits import (
    ADAPTED_RATINGS,
    CONFIRMED_RATINGS,
    TESTED_PARAMETERS,
    TESTED_RATINGS,
    TESTED_STUDENTS,
)
from raterlens.diagnostics.differences import p_words
from raterlens.fitting.checks import Run, check, check_terms, checked, with_scale
from raterlens.fitting.line import FacetsTask, carry_out
from raterlens.inference.projected_scores import ScoredFit, ScoreTest
from raterlens.inference.result import ASSUMPTIONS, Result, differences
from raterlens.models.build import KINDS
from raterlens.models.calibration import Calibration
from raterlens.models.registry import MODELS
from raterlens.models.requested import CLEAR, NEAR, PROMISING, Candidate
from raterlens.models.terms.item_slopes import ITEM_PAIR
from raterlens.models.terms.students import GROUP_MEAN
from raterlens.ratings.coded import Ratings
from raterlens.ratings.packed import StoredRatings

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit

_EVERY = sorted((one for kind in KINDS for one in kind.candidates), key=lambda one: one.order)
FIRST = [one for one in _EVERY if one.spread and not one.last]
"""Terms with a spread: in from the start under `adapt`."""
TESTED = [one for one in _EVERY if not one.spread]
"""Terms without a spread."""
SHARED = [one for one in FIRST if one.seen]
"""Parts that a named model may have items share, and `adapt` never does: tested like terms without a spread."""
AFTERWARDS = [one for one in _EVERY if one.spread and one.last]
"""Terms with a spread that join the model after the tests."""
ADDED = {name for one in _EVERY for name in one.options} - {"item_slopes"}
"""Options that the policy may set, besides item slopes."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one assumption: a row of `fit.assumptions`."""

    assumption: str
    statistic: float | None
    p: float | None
    taken: bool
    words: str

    @staticmethod
    def of(one: Candidate, statistic: float, p: float, *, taken: bool = False) -> "Outcome":
        seen = one.seen.format(p=p_words(p))
        if taken:
            words = f"{seen}. The model allows for it."
        elif p < CLEAR:
            words = f"{seen}. {one.missed}."
        else:
            some = f"Some sign ({p_words(p)}, not beyond doubt)"
            sign = some if p < PROMISING else f"No clear sign ({p_words(p)})"
            words = f"{sign} that {one.seen.partition(' (')[0].lower()}."
        return Outcome(one.name, statistic, p, taken, words)

    @staticmethod
    def untested(name: str, words: str, *, taken: bool = False) -> "Outcome":
        return Outcome(name, None, None, taken, words)


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A model estimated on ratings, without errors and tables: all that tests need of it."""

    config: FitConfig
    loglik: float
    n_parameters: int
    converged: bool
    calibration: Calibration

    @staticmethod
    def of(config: FitConfig, ratings: Ratings, run: Run) -> "Trial":
        config, ratings = checked(config, ratings, run)
        task = FacetsTask.of(ratings, config, run)
        found = task.estimate()
        number, calibration = task.n_parameters(found), task.calibration(found)
        return Trial(config, found.loglik, number, found.record.converged, calibration)


def result_under_policy(ratings: Ratings, config: FitConfig, run: Run) -> Result:
    """Fit the ratings as requested, under the request's policy."""
    policy, config = config.policy, with_scale(config, ratings)
    spec = MODELS.get(config.model_name)
    if policy == "ignore" or spec is None or spec.true_category:
        return carry_out(config, ratings, run)
    with limit_blas_threads(ratings):
        why = _not_adapted(ratings, config, run)
        if policy == "adapt" and why is None:
            return _adapt(ratings, config, run)
        found = carry_out(config, ratings, run)
        walk = _Walk(ratings, run, add=False)
        if run.client is None and run.checkpoint is None:  # candidates go over all ratings at once
            walk.through(found, (*SHARED, *TESTED))
        if policy == "adapt":
            walk.outcomes.insert(0, Outcome.untested("all", f"No term was added: {why}."))
        more = policy == "warn" and why is None
        alone = not any(one.possible(ratings) for one in SHARED)
        said = [_advice(one, outcome, alone=alone or not one.needs, more=more) for one, outcome in walk.clear]
        return _recorded(found, walk.outcomes, said)


def _not_adapted(ratings: Ratings, config: FitConfig, run: Run) -> str | None:
    """Why no term is added, whatever the ratings show; None where some may be."""
    if config.method != "mml":
        return f"method {config.method!r} has none"
    if run.client is not None or run.checkpoint is not None or isinstance(ratings, StoredRatings):
        return "the fit goes over parts of the ratings"
    if ratings.n_ratings > ADAPTED_RATINGS:
        return f"{ratings.n_ratings:,} ratings are more than the {ADAPTED_RATINGS:,} up to which terms are"
    return None


def _adapt(ratings: Ratings, config: FitConfig, run: Run) -> Result:
    """Terms without a spread are tested in plain fits, where the likelihood ratio has its usual distribution; what they
    come to is then fitted with the terms that have a spread."""
    spreads, left_out = [], []
    for one in FIRST:
        if not one.applies(ratings, config):
            continue
        try:
            with_it = config.changed(**one.options)
            check(with_it, run)
            check_terms(ratings, with_it)
            spreads.append(one)
        except RaterlensError as reason:
            left_out.append(Outcome.untested(one.name, f"Left out: {one.name}, since {reason}"))
    # Tests are made with thresholds that raters share: their own have a spread. The yardstick may follow from errors;
    # and to compare a fit with a larger one that begins there takes one start.
    plain = config.changed(standard_errors=False, reference=None, starts=1)
    for one in (one for one in spreads if one in SHARED):
        plain = plain.changed(**one.options)
    there = {one.name for one in (*FIRST, *TESTED) if one in spreads or one.there(config)}
    walk = _Walk(ratings, run, add=True, there=there)
    if ratings.n_students < TESTED_STUDENTS:
        words = f"Nothing else was tested: that takes {TESTED_STUDENTS} students, and there are {ratings.n_students}."
        walk.outcomes.append(Outcome.untested("tests", words))
    elif any(one.applies(ratings, plain) for one in TESTED):
        walk.through(Trial.of(plain, ratings, walk.run), TESTED)
    wanted = {name: value for one in spreads for name, value in one.options.items()}
    config = config.changed(**wanted, **walk.added)
    tested = {outcome.assumption: outcome for outcome in walk.outcomes}
    for one in (one for one in AFTERWARDS if one.applies(ratings, config)):
        spreads.append(one)
        config = config.changed(**one.options)
        walk.outcomes = [outcome for outcome in walk.outcomes if outcome.assumption != one.name]
    if run.start is not None and any(
        getattr(run.start.config, name) != getattr(config, name)
        for name in ("scale", "item_slopes", "halo", "ability")
    ):
        run = replace(run, start=None)  # an earlier fit of another model
    found = carry_out(config, ratings, run)
    kept = [_with_spread(one, found, tested.get(one.name)) for one in spreads]
    said = [outcome.words.removesuffix(".") for one, outcome in walk.clear if not one.options]
    return _recorded(found, [*left_out, *kept, *walk.outcomes], said)


# -- the tests -------------------------------------------------------------------------------------------------


class _Walk:
    """One walk through the candidates, each tested beside what the model has by then.

    `add`: those that are clear are added, and those that need others wait for them. Otherwise a candidate that
    something else may look like is not said to be seen.
    """

    def __init__(self, ratings: Ratings, run: Run, *, add: bool, there: Iterable[str] = ()) -> None:
        self.ratings, self.add, self.there = ratings, add, set(there)
        run.enter("testing assumptions")
        self.run = replace(run, on_stage=None, start=None)
        self.outcomes: list[Outcome] = []
        self.added: dict[str, Any] = {}
        self.clear: list[tuple[Candidate, Outcome]] = []
        """Candidates that are seen and not added."""
        self._wrong: list[str] = []

    def through(self, found: Result | Trial, candidates: Iterable[Candidate]) -> None:
        at: ScoredFit | None = None
        for one in candidates:
            if not _testable(found, self.ratings) or not one.applies(self.ratings, found.config):
                continue
            if one.last and self._wrong:
                self.outcomes.append(_hidden(one, self._wrong))
                continue
            at = at or self._scored(found)
            score = at.test(one.term)
            if score is None:
                continue
            outcome, larger = self._decided(one, score, found)
            words, clear = outcome.words, outcome.p is not None and outcome.p < CLEAR
            if one.term == GROUP_MEAN and (outcome.taken or score.p < CLEAR):
                words += _columns_proposed(at)
            if one.term == ITEM_PAIR and at.dependent_items is not None:
                first, second = map(shortened, at.dependent_items[0])
                words = words.replace("Two items", f"Items {first} and {second}", 1)
            outcome = replace(outcome, words=words)
            self.outcomes.append(outcome)
            if outcome.taken and larger is not None:
                found, at = larger, None
                self.added |= one.options
                self.there.add(one.name)
            elif clear or (one.options and (outcome.p is None or outcome.p < PROMISING)):
                self._wrong.append(one.name)
            if clear and not outcome.taken:
                self.clear.append((one, outcome))

    def _scored(self, found: Result | Trial) -> ScoredFit:
        """The fit with everything that may be tested in it; of many ratings on those of some students, at least twice
        as many as parameters."""
        assert found.calibration is not None
        terms = {one.term for one in (*SHARED, *TESTED) if one.applies(self.ratings, found.config)}
        each = self.ratings.n_ratings / self.ratings.n_students
        enough = max(TESTED_RATINGS, int(2 * found.n_parameters * each))
        some = self.ratings if self.ratings.n_ratings <= enough else self.ratings.sample(enough)
        return ScoredFit.of(found.calibration, some, terms)

    def _decided(
        self, one: Candidate, score: ScoreTest, found: Result | Trial
    ) -> tuple[Outcome, Trial | None]:
        """The outcome of a candidate, and the fit with it where the likelihood ratio had to decide."""
        statistic, p, larger = score.statistic, score.p, None
        adds = self.add and bool(one.options)
        if blocking := self._blocking(one, found, adds=adds) if p < PROMISING else []:
            if not adds:
                return _hidden(one, blocking), None
            outcome = Outcome.of(one, statistic, p)
            why = f" It is added only beside {_and(blocking)}, which the model does not have."
            return (replace(outcome, words=outcome.words + why) if p < CLEAR else outcome), None
        taken = adds and p < one.by_score
        if taken:
            larger = self._larger(one, found)
        # Without adding anything, another fit only confirms what is clear already.
        elif one.options and not one.by_score and p < (NEAR if self.add else CLEAR):
            if self.add or self.ratings.n_ratings <= CONFIRMED_RATINGS:
                larger = self._larger(one, found)
                statistic, df = 2 * (larger.loglik - found.loglik), larger.n_parameters - found.n_parameters
                p = p_of_ratio(statistic, df, variance="halo" in one.options) if larger.converged else 1.0
            taken = self.add and p < CLEAR
        return Outcome.of(one, statistic, p, taken=taken), larger

    def _blocking(self, one: Candidate, found: Result | Trial, *, adds: bool) -> list[str]:
        """Candidates that it needs, and that the model does not have; or that may be what is wrong instead."""
        if adds:
            missing = {each.name: each for each in _EVERY if each.name not in self.there}
            return [name for name in one.needs if name in missing and missing[name].possible(self.ratings)]
        tested = {outcome.assumption for outcome in self.outcomes}
        untested = (each for each in SHARED if each.name not in tested and not each.there(found.config))
        unsure = [*self._wrong, *(each.name for each in untested if each.possible(self.ratings))]
        return [name for name in unsure if name in one.needs]

    def _larger(self, one: Candidate, found: Result | Trial) -> Trial:
        another = one.last or "scale" in one.options or found.config.covariates is not None
        config = found.config.changed(**one.options, standard_errors=False, reference=None)
        return Trial.of(config, self.ratings, replace(self.run, start=None if another else found))


def _testable(found: Result | Trial, ratings: Ratings) -> bool:
    """Whether candidates can be tested in this fit."""
    known, config = found.calibration, found.config
    return (
        known is not None
        and config.method == "mml"
        and known.link != "log"
        and config.covariance in ("observed", "expected")
        and found.n_parameters <= TESTED_PARAMETERS
        and ratings.n_students >= TESTED_STUDENTS
        and not isinstance(ratings, StoredRatings)
        and "piece" not in known.effects
        and not known.second_ability
    )


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


# -- in words --------------------------------------------------------------------------------------------------


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _hidden(one: Candidate, by: list[str]) -> Outcome:
    return Outcome.untested(one.name, f"Not tested: {one.name}, because {_and(by)} would look like it.")


def _with_spread(one: Candidate, found: Result, tested: Outcome | None) -> Outcome:
    """The outcome of a term with a spread: how large it is, and whether that may be chance."""
    marks = None if found.calibration is None else found.calibration.marks
    outcome = replace(tested or Outcome.untested("", ""), assumption=one.name, taken=True, words=one.spread)
    if found.spread is not None and not one.term:
        differ = differences(found.spread, 1.0 if marks is None else marks.unit).removeprefix("Raters ")
        return replace(outcome, words=one.spread.format(differ=differ))
    if one in SHARED:
        return outcome
    rows = [] if "spreads" not in found.tables else found.tables["spreads"].to_dicts()
    row = next((row for row in rows if row["term"] == one.term and row["spread"]), None)
    if row is None:
        return replace(outcome, words=one.missed)
    units = ", marks" if marks is not None else ", logits" if found.link == "logit" else ""
    p, shown, end = row["p"], f"{row['spread']:.2f}", "."
    if p is not None and p >= PROMISING:
        shown = f"at most {row['high']:.2f}" if np.isfinite(row["high"]) else shown
        end = f", if at all ({p_words(p)})."
    words = one.spread.format(size=f"{shown} (standard deviation{units})", spread=shown)
    return replace(outcome, statistic=row["statistic"], p=p, words=words.removesuffix(".") + end)


def _columns_proposed(at: ScoredFit) -> str:
    found = [column.name for column in at.placed.ratings.beside if at.differs_by(column) < CLEAR]
    return f" They differ by {listed(found)}: better name that column as their group." if found else ""


def _advice(one: Candidate, outcome: Outcome, *, alone: bool, more: bool) -> str:
    """Say what is missed and what to do: `alone`: the term helps without others; `more`: others can be added."""
    said = outcome.words.removesuffix(".")
    if not one.options:  # nothing could be added
        return said
    if not alone:
        let = Message(f"{said}. Use ", Option("assumptions", "adapt"), " to let the data decide")
        return let if more else said
    ((name, value),) = one.options.items()
    keep = () if one.keep is None else (", or ", one.keep, " to keep the assumption")
    return Message(f"{said}. Use ", Option(name, value), *keep)


def _recorded(found: Result, outcomes: list[Outcome], said: list[str]) -> Result:
    table = pl.DataFrame([astuple(one) for one in outcomes], schema=ASSUMPTIONS, orient="row")
    tables = {**found.tables, "assumptions": table}
    return replace(found, tables=tables, warnings=(*found.warnings, *said))


# -- likelihood ratios on request ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HaloTest:
    """Log-likelihoods without a reading effect, with a common one and with one per rater, and tests between them."""

    loglik: float
    common: float
    rater: float
    spread: float
    """Spread of the common effect."""
    table: pl.DataFrame
    """test, statistic, df, p"""


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
    n, one, own, more = fit.n_raters, 2 * (common - none), 2 * (rater - none), max(2 * (rater - common), 0.0)
    rows = [
        ("common against none", one, 1, p_of_ratio(one, 1, variance=True)),
        ("rater against none", own, n, p_of_variances(own, n)),
        ("rater against common", more, n - 1, p_of_ratio(more, n - 1)),
    ]
    table = pl.DataFrame(rows, schema=["test", "statistic", "df", "p"], orient="row")
    return HaloTest(none, common, rater, spread, table)


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
    c3, c4 = smooth.calibration.effects["ability"].tolist()
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
