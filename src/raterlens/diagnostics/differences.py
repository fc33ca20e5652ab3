"""Do raters differ at all, in severity, sharpness, halo or drift, before anybody is ranked; and what their differences
mean for students: who would change between pass and fail, and what chance decides."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import linalg, special

from raterlens.base.arrays import Array
from raterlens.base.errors import RaterlensError
from raterlens.base.text import counted, number
from raterlens.config.option_fields import check_whole
from raterlens.diagnostics.agreement import PairedRatings
from raterlens.diagnostics.rater_effects import LEVEL, adjusted
from raterlens.diagnostics.residuals import Residuals, residuals
from raterlens.estimation.scoring import place
from raterlens.inference.expected_scores import FairResults, Panel, fair_results, panel_of
from raterlens.inference.resampling import redrawn
from raterlens.inference.result import Result
from raterlens.ratings.coded import Backend, Ratings, to_backend

if TYPE_CHECKING:
    from raterlens.config import FitOptions
    from raterlens.diagnostics.diagnosis import Diagnosis
    from raterlens.fitting.fit import Fit


# --------------------------------------------------------------------------------------------------- differences


class Hypothesis(NamedTuple):
    """One hypothesis: that raters are equal, or that nobody has the fault."""

    of: str
    test: str
    statistic: float
    df: int
    p: float


_BY_LEVEL = "Simes, by item"
"""Raters differ in severity from item to item (or level to level), but not beyond chance on the whole."""
_BETWEEN = ("severity", "sharpness")
"""Respects in which raters differ from each other; halo and drift are a rater's own."""


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Whether raters differ beyond chance, and which model the data prefer."""

    tests: tuple[Hypothesis, ...]
    prefers: str = ""
    """In words, where two models were compared."""
    backend: Backend = "polars"

    @property
    def table(self) -> Any:
        """of, test, statistic, df, p"""
        types = (pl.String, pl.String, pl.Float64, pl.Int64, pl.Float64)
        schema = dict(zip(Hypothesis._fields, types, strict=True))
        return to_backend(pl.DataFrame(self.tests, schema=schema, orient="row"), self.backend)

    @property
    def equal(self) -> bool:
        """Severity and sharpness were tested, and chance explains all differences: a ranking would rank luck. Halo and
        drift do not count, as all raters may have the same."""
        return not self.clear and any(test.of in _BETWEEN and np.isfinite(test.p) for test in self.tests)

    @property
    def clear(self) -> tuple[str, ...]:
        """Respects in which raters differ: by Holm's rule, so that equal raters are said to differ in about 5 % of
        panels."""
        known = [(test.p, test.of) for test in self.tests if test.of in _BETWEEN and np.isfinite(test.p)]
        kept: list[str] = []
        for p, of in sorted(known):
            if p * (len(known) - len(kept)) >= LEVEL:
                break
            kept.append(of)
        return tuple(kept)

    def words(self) -> list[str]:
        """ "Raters differ in severity (p < 0.001), but not clearly in sharpness (p = 0.12)."."""
        known = [test for test in self.tests if np.isfinite(test.p)]
        between, within = ([test for test in known if (test.of in _BETWEEN) == one] for one in (True, False))
        clear, not_clear = (
            [test for test in between if (test.of in self.clear) == one] for one in (True, False)
        )
        said = []
        if clear:
            but = f", but not clearly in {_listed(not_clear)}" if not_clear else ""
            said.append(f"Raters differ in {_listed(clear)}{but}.")
        elif not_clear:
            # Of two tests the smaller p counts only below half the level.
            near = min(test.p for test in not_clear) < LEVEL
            halved = f"; of two tests, one has to be below {LEVEL / 2:g}" if near else ""
            said.append(f"Raters do not differ beyond chance in {_listed(not_clear, 'or')}{halved}.")
        some, none = ([test for test in within if (test.p < LEVEL) == shown] for shown in (True, False))
        if some:
            said.append(f"At least one rater shows {_listed(some)}.")
        if none:
            said.append(f"There is no clear sign of {_listed(none, 'or')}.")
        return [*said, self.prefers] if self.prefers else said


def differences(
    fit: "Fit", ratings: Ratings | None = None, diagnosis: "Diagnosis | None" = None, replicates: int = 0
) -> Differences:
    """Test what can be tested with what is given: `Fit.differences`."""
    check_whole("replicates", replicates, 0)
    if fit.n_raters < 2:
        return Differences(())
    of_sharpness, prefers = sharpness_test(fit, ratings, replicates)
    tests = [severity_test(fit), of_sharpness]
    if diagnosis is not None:
        effects = diagnosis.tables["effects"]
        size, se = (effects[name].cast(pl.Float64).to_numpy() for name in ("halo", "halo_se"))
        with np.errstate(invalid="ignore", divide="ignore"):
            tests.append(_simes("halo", np.where(se > 0, special.ndtr(-size / se), np.nan)))
        if "change" in diagnosis.tables:
            tests.append(_simes("drift", diagnosis.tables["change"]["p"].cast(pl.Float64).to_numpy()))
    return Differences(tuple(test for test in tests if test is not None), prefers, fit.backend)


def severity_test(fit: Result) -> Hypothesis | None:
    """That raters are equally severe, also on each item (or level) where the model lets their severity vary."""
    if (known := fit.calibration) is not None and known.covariates:
        return None
    found, spreads = _wald(fit, "severity", "eta"), fit.tables.get("spreads")
    if found is None or spreads is None:
        return found
    p = spreads.filter(pl.col("term").str.starts_with("rater:"))["p"].cast(pl.Float64).to_numpy()
    if not len(p) or not np.isfinite(p).all() or (both := _simes("severity", np.append(found.p, p))) is None:
        return found
    return both._replace(test=_BY_LEVEL) if both.p < LEVEL <= found.p else both


def sharpness_test(fit: "Fit", ratings: Ratings | None, replicates: int = 0) -> tuple[Hypothesis | None, str]:
    """The test, and which of two models AIC and BIC prefer, where both were fitted."""
    known = fit.calibration
    if known is not None and (known.covariates or known.anchored):
        return None, ""
    # A shared dimension comes with a ridge, and likelihoods are then not at their largest.
    ridged = known is not None and known.second_ability
    comparable = fit.method == "mml" and fit.model in ("gmf", "tfm") and not ridged
    if comparable and replicates and ratings is not None and ratings.n_ratings == fit.n_ratings:
        return _likelihood_ratio(fit, ratings, replicates)
    return (None if fit.model == "tfm" else _wald(fit, "sharpness", "slope")), ""


def _likelihood_ratio(fit: "Fit", ratings: Ratings, replicates: int) -> tuple[Hypothesis | None, str]:
    """Likelihood ratio of a slope per rater against one for all, next to its distribution by chance."""
    known = fit.calibration
    # Likelihoods are compared where they are largest: a prior moves estimates away from there.
    errors = fit.yardstick.follows_from_errors
    # What is settled is known by its names alone.
    plain: FitOptions = {"prior": None, "standard_errors": errors, **fit.settled()}  # type: ignore[typeddict-item]
    here = fit.refit(ratings, **plain) if known is not None and known.spread is not None else fit
    swapped: FitOptions = {**plain, "model": "tfm" if fit.model == "gmf" else "gmf"}
    other = fit.refit(ratings, **swapped)
    equal, own = (other, here) if fit.model == "gmf" else (here, other)
    if not other.converged or not here.converged:
        return None, ""
    ratio, df = max(2 * (own.loglik - equal.loglik), 0.0), own.n_parameters - equal.n_parameters
    kind, p = "likelihood ratio", float(special.chdtrc(df, ratio))
    drawn = bootstrap_p(equal, own, ratings, replicates, fit.config.seed)
    if drawn is not None:
        kind, p = "likelihood ratio, bootstrap", drawn
    words = {True: "gmf, in which sharpness differs", False: "tfm, in which all raters are equally sharp"}
    aic, bic = own.aic < equal.aic, own.bic < equal.bic
    preferred = f"AIC prefers the model {words[aic]}; BIC prefers {words[bic]}."
    if aic == bic:
        preferred = f"AIC and BIC prefer the model {words[aic]}."
    return Hypothesis("sharpness", kind, ratio, df, p), preferred


def _simes(of: str, p: Array) -> Hypothesis | None:
    """That nobody has the fault, from a p value each."""
    p = p[np.isfinite(p)]
    return Hypothesis(of, "Simes", float("nan"), len(p), float(np.min(adjusted(p)))) if len(p) else None


def _listed(tests: list[Hypothesis], conjunction: str = "and") -> str:
    where = {_BY_LEVEL: " from item to item"}
    parts = [f"{test.of}{where.get(test.test, '')} ({p_words(test.p)})" for test in tests]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {conjunction} {parts[-1]}"


def p_words(p: float) -> str:
    """
    Examples
    --------
    >>> p_words(0.0004), p_words(0.047), p_words(0.5)
    ('p < 0.001', 'p = 0.047', 'p = 0.50')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


# -------------------------------------------------------------------------------------------------- Wald tests


# Of the prior's variance, the share that must have gone after the ratings for a difference to be tested.
_SAYS_SOMETHING = 0.95


def _wald(fit: Result, of: str, column: str) -> Hypothesis | None:
    """That all raters have the same slope or severity, over those whose estimate is not at a limit."""
    known, raters = fit.calibration, fit.table("raters")
    spread = None if known is None else known.covariance
    if known is None or not isinstance(spread, np.ndarray):
        column = "rho" if column == "slope" and known is not None else column
        value, error = (raters[name].cast(pl.Float64).to_numpy() for name in (column, f"{column}_se"))
        usable = np.isfinite(value) & np.isfinite(error) & (error > 0)
        return _equality(of, value[usable], np.diag(error[usable] ** 2), np.inf)
    panel, sample = known.without_errors.panel(), known.spread
    n, own = len(panel.slope), panel.slope if column == "slope" else panel.severity
    first = 0 if column == "slope" else n
    estimated = spread.diagonal()[first : first + n] > 0  # anchored ones are held
    rows = np.flatnonzero(~panel.aside & estimated & ~((panel.slope == 0) & (column == "slope")))
    drawn_by = np.inf
    if sample is not None:
        p = sample.slope_p if column == "slope" else sample.severity_p
        if p is not None:
            ratio = float(special.chdtri(n - 1, max(p, np.finfo(np.float64).tiny)))
            return Hypothesis(of, "likelihood ratio", ratio, n - 1, p)
        drawn_by = sample.severity if column == "severity" else sample.slope or np.inf
    value, joint = own[rows], spread[np.ix_(first + rows, first + rows)]
    if column == "slope":  # on a scale on which steep slopes are known about as well as others
        rise = 1 / np.sqrt(1 + value**2)
        value, joint = np.arcsinh(value), rise[:, None] * joint * rise
        drawn_by *= float(np.mean(rise))
    return _equality(of, value, joint, drawn_by)


def _equality(of: str, value: Array, spread: Array, drawn_by: float) -> Hypothesis | None:
    """That raters are equal, from estimates with this covariance, which a prior of standard deviation `drawn_by`
    (infinite without one) has drawn to their mean.

    With a covariance V after the ratings and a prior of variance v², estimates of equal raters vary by V - V V / v²:
    less than V, which would make raters look equal who are not. Directions of which the ratings say next to nothing
    (V nearly v²) do not count.
    """
    n = len(value)
    if n < 2:
        return None
    df = n - 1
    if np.isfinite(drawn_by):
        contrasts = linalg.helmert(n)
        variance, directions = np.linalg.eigh(contrasts @ spread @ contrasts.T)
        known = (variance > 0) & (variance < _SAYS_SOMETHING * drawn_by**2)
        off, df = (directions.T @ (contrasts @ value))[known], int(known.sum())
        if not df:
            return None
        chi = float(np.sum(off**2 / (variance[known] * (1 - variance[known] / drawn_by**2))))
    elif np.count_nonzero(spread - np.diag(spread.diagonal())) == 0:
        weight = 1 / spread.diagonal()
        chi = float(weight @ (value - weight @ value / weight.sum()) ** 2)
    else:
        # Contrasts with the last one: any other choice gives the same.
        off = value[:-1] - value[-1]
        of_contrasts = spread[:-1, :-1] - spread[:-1, -1:] - spread[-1:, :-1] + spread[-1, -1]
        try:
            chi = float(off @ linalg.cho_solve(linalg.cho_factor(of_contrasts), off))
        except linalg.LinAlgError:  # singular: the pseudo-inverse, which takes ten times as long
            chi = float(off @ np.linalg.pinv(of_contrasts, hermitian=True) @ off)
    return Hypothesis(of, "Wald", chi, df, float(special.chdtrc(df, max(chi, 0.0))))


# ----------------------------------------------------------------------------------------------- bootstrap ratio


# So many replicates at or above what was seen settle that it is nothing unusual (Besag and Clifford's rule).
ENOUGH = 20


def bootstrap_p(equal: "Fit", own: "Fit", ratings: Ratings, replicates: int, seed: int = 0) -> float | None:
    """The share of panels of equal raters with a likelihood ratio as large as that between two fits.

    On small panels the ratio of one slope per rater against one for all need not follow its chi-squared distribution:
    slopes end at 0 or at a limit. Ratings drawn from the model with one slope, on the same design, show what it
    follows. None where none of the panels drawn could be fitted.

    Parameters
    ----------
    equal, own
        Fits of the same ratings without a prior, the first with one slope for all raters.
    replicates
        At most; fewer where it is soon plain that the ratio is nothing unusual.
    """
    assert equal.calibration is not None
    seen = own.loglik - equal.loglik
    placed = place(equal.calibration, ratings)
    problem, scores = placed.problem, np.asarray(equal.calibration.scores, dtype=np.int16)
    above = done = 0
    for index in range(replicates):
        random = np.random.default_rng([seed, index])
        drawn = redrawn(placed.ratings, problem.model, problem.response, placed.parameters, random)
        drawn = drawn.with_scores(scores)
        try:
            one, each = (
                fit.refit(
                    drawn, start=fit, standard_errors=fit.yardstick.follows_from_errors, **fit.settled()
                )
                for fit in (equal, own)
            )
        except RaterlensError:  # all scores alike: no panel to compare with
            continue
        done += 1
        above += each.loglik - one.loglik >= seen
        if above == ENOUGH:
            return above / done
    return (above + 1) / (done + 1) if done else None


# -------------------------------------------------------------------------------------------------- consequences


# `fair_results` has the raw and the fair result of each student; a result would change where they lie on different
# sides of the pass mark.
#
# Agreement and reliability are those of the fitted model: two raters of the panel, drawn at random, on the same work;
# and the share of the variance of a student's mean score that comes from ability,
#
#     Var(m(θ)) / [Var(m(θ)) + E Var_r(m_r(θ)) / k + E Var(y | θ, r) / (k items)],    m(θ) the mean over raters
#
# for k raters per student, as it is and as it would be if every rater were the average one.


@dataclass(frozen=True, slots=True, eq=False)
class Consequences:
    """Consequences of the raters' differences; shares are between 0 and 1."""

    students: int
    results: FairResults | None
    """Raw and fair results; None without ratings."""
    cuts: tuple[float, ...]
    """Mean scores from which on grades begin, as the file counts; none where no pass mark is known."""
    raters_per_student: int
    """Median; 1 without ratings."""
    observed_agreement: float | None
    """Share of pairs of ratings of the same work that have the same score; None where no work has two, and of marks on
    a continuous scale, which are hardly ever the same."""
    expected_agreement: float | None
    """The same according to the model, of the same pairs; None where there are too many of them to look at."""
    agreement: float
    """Chance that two raters of this panel give the same work the same score, according to the model."""
    agreement_if_alike: float
    """The same if every rater were the average one."""
    reliability: float
    """Reliability of a student's mean score, with that many raters; NaN for latent classes, which have no ability."""
    reliability_if_alike: float
    most_lenient: tuple[str, float]
    """Rater, and the mean score that an average student can expect, as the file counts (pass or fail: the share of
    passes)."""
    most_severe: tuple[str, float]
    equally_severe: bool
    """Chance alone explains the raters' differences in severity, so nobody is the most lenient."""
    ordered: bool
    far: float
    """How many marks a result must move to count: half a score, or of marks on a continuous scale about a twentieth of
    their range."""
    changed_interval: tuple[int, int] | None = None
    """95 % interval of `changed`."""
    unit: str = "mark"
    """Word for one of what scores count; none for marks that are probabilities."""

    @property
    def changed(self) -> int | None:
        """Students who would change between pass and fail if the average rater had marked them; None without ratings
        or a pass mark."""
        if self.results is None or not self.cuts:
            return None
        return int(self.results.changed(np.array(self.cuts)).sum())

    @property
    def moved(self) -> tuple[float, int] | None:
        """How far results move on average if the average rater marks everybody, and for how many by `far` or more; None
        without ratings."""
        if self.results is None:
            return None
        away = np.abs(self.results.fair - self.results.raw)
        return float(away.mean()), int((away >= self.far).sum())

    def table(self) -> pl.DataFrame | None:
        """student, fair, fair_se and, where a pass mark is known, would_change; None without ratings."""
        if self.results is None:
            return None
        found = self.results
        columns = {"student": found.students, "fair": found.fair, "fair_se": found.fair_se}
        marked = {"would_change": found.changed(np.array(self.cuts))} if self.cuts else {}
        return pl.DataFrame(columns | marked)

    def words(self) -> list[str]:
        """One sentence each, the gravest first."""
        found = [self._on_results()]
        if (ends := self.extremes()) is not None:
            gets, than = (
                (f"can expect a score of {ends[0]}", "from")
                if self.ordered
                else (f"passes {ends[0]} of the time", "with")
            )
            found.append(
                f"An average student {gets} {than} {self.most_lenient[0]}, but {ends[1]} {than} {self.most_severe[0]}."
            )
        if self.observed_agreement is not None:
            expected = self.expected_agreement
            said = "" if expected is None else f"; the model expects {100 * expected:.0f} %"
            # Of the same ratings: those that were given may be of easier or harder work than usual.
            rise = round(100 * (self.agreement_if_alike - self.agreement))
            alike = f"rise by {counted(rise, 'point')}" if rise > 0 else "hardly change"
            found.append(
                f"Two raters agreed on {100 * self.observed_agreement:.0f} % of the work that both marked{said}. Were "
                f"all raters alike, agreement would {alike}."
            )
        if np.isfinite(self.reliability):
            raters = "one rater" if self.raters_per_student == 1 else f"{self.raters_per_student} raters"
            found.append(
                f"Unadjusted, a mean score from {raters} has a reliability of {self.reliability:.2f}; if all were "
                f"alike, {self.reliability_if_alike:.2f}."
            )
        return [said for said in found if said]

    def _on_results(self) -> str:
        students = counted(self.students, "student")
        if self.changed is not None:
            between = self.changed_interval
            span = (
                "" if not between or not between[1] else f" (95 % interval {between[0]:,} to {between[1]:,})"
            )
            what = "change grade" if len(self.cuts) > 1 else "change between pass and fail"
            changed = f"{self.changed:,}" if self.changed else "none"
            return f"Of {students}, {changed}{span} would {what} if the average rater had marked them."
        if self.moved is None:
            return ""
        mean, many = self.moved
        those = f"those of {many:,} of {students}" if many else "none of them"
        return (
            f"If the average rater had marked everybody, mean scores would move by {mean:.2f}"
            f"{self.unit and f' {self.unit}s'} on average, and {those} by {self.far:g} or more."
        )

    def so_far(self) -> str:
        """How far a result must move to count, in words."""
        return (
            f"{self.far:g}{self.unit and f' {self.unit}'}{'s' if self.unit and self.far != 1 else ''} or more"
        )

    def extremes(self) -> tuple[str, str] | None:
        """Scores of an average student with the most lenient and the most severe rater, in words; None where they are
        the same, or differ by chance alone."""
        ends = self.most_lenient[1], self.most_severe[1]
        digits = 1 if max(ends) >= 10 else 2
        lenient, severe = (number(end, digits) if self.ordered else f"{100 * end:.0f} %" for end in ends)
        return None if lenient == severe or self.equally_severe else (lenient, severe)

    def summary(self) -> str:
        return "\n".join(self.words())


def consequences(
    fit: "Fit",
    ratings: Ratings | None = None,
    cut: float | Sequence[float] | None = None,
    *,
    passed: Residuals | None = None,
    results: FairResults | None = None,
) -> Consequences:
    """Compute the consequences of the raters' differences for students: `Fit.consequences`. `passed` and `results`:
    the residuals and the fair results, where they were computed."""
    panel, known, tests = panel_of(fit), fit.calibration, differences(fit)
    alike, names = panel.alike(), fit.table("raters")["rater"].cast(pl.String)
    marks = known is not None and known.scale == "continuous"
    # Pass is half of the items where scores are pass or fail; ordered scores do not say what a pass is.
    cuts: tuple[float, ...] = () if fit.ordered else (0.5 if known is None else float(known.values.mean()),)
    if cut is not None:
        cuts = (cut,) if isinstance(cut, int | float) else tuple(cut)
    k, students, observed, expected = 1, fit.n_students, None, None
    if ratings is not None:
        passed = passed or residuals(fit, ratings, compared=True)
        results = results or fair_results(fit, ratings)
        readings = np.bincount(ratings.marked_pairs() // ratings.n_raters, minlength=ratings.n_students)
        k, students = int(np.median(readings)), ratings.n_students
        observed, expected = _agreements(ratings, passed.paired)
    gets, nothing = panel.average_scores, float("nan")
    top, bottom = int(np.argmax(gets)), int(np.argmin(gets))
    return Consequences(
        students=students,
        results=results,
        cuts=cuts,
        raters_per_student=k,
        observed_agreement=None if marks else observed,
        expected_agreement=expected,
        agreement=_agreement(panel),
        agreement_if_alike=_agreement(alike),
        reliability=nothing if known is None else _reliability(panel, k),
        reliability_if_alike=nothing if known is None else _reliability(alike, k),
        most_lenient=(names[top], float(gets[top])),
        most_severe=(names[bottom], float(gets[bottom])),
        equally_severe="severity" in {test.of for test in tests.tests} - set(tests.clear),
        ordered=fit.ordered,
        far=0.0 if results is None else _notable(results.raw) if marks else results.step / 2,
        changed_interval=None if results is None or not cuts else results.changed_interval(np.array(cuts)),
        unit="" if marks and fit.link == "logit" else "mark",
    )


def _notable(results: Array) -> float:
    """About a twentieth of the range of results: 1, 2 or 5 times a power of ten.

    Examples
    --------
    >>> _notable(np.array([14.0, 100.0])), _notable(np.array([0.0, 1.0]))
    (5.0, 0.05)
    """
    wanted = max(float(np.ptp(results)) / 20, np.finfo(np.float64).tiny)
    power = np.floor(np.log10(wanted))
    round_ones = np.array([1.0, 2.0, 5.0, 10.0]) * 10**power
    return float(round_ones[np.abs(np.log(round_ones / wanted)).argmin()])


def _agreements(ratings: Ratings, pairs: PairedRatings | None) -> tuple[float | None, float | None]:
    """The share of pairs of ratings of the same work by two raters that have the same score, as seen and as the model
    expects it; None where no work has two raters, or the pairs are too many to look at one by one."""
    if pairs is None:
        return observed_agreement(ratings), None
    two_raters = ratings.rater[pairs.first] != ratings.rater[pairs.second]
    if not two_raters.any():
        return None, None
    same = ratings.score[pairs.first] == ratings.score[pairs.second]
    return float(same[two_raters].mean()), float(pairs.expected[two_raters].mean())


def observed_agreement(ratings: Ratings) -> float | None:
    """The same share by counting, for any number of pairs."""
    work = ratings.student.astype(np.int64) * ratings.n_items + ratings.item
    if ratings.piece is not None:
        work = work * len(ratings.piece.labels) + ratings.piece.codes

    def pairs(of_work: NDArray[np.integer]) -> float:
        counts = np.unique(of_work, return_counts=True)[1].astype(np.float64)
        return float(counts @ (counts - 1))

    # A rater's repeated ratings of a work are no second opinion.
    own = work * ratings.n_raters + ratings.rater
    every = pairs(work) - pairs(own)
    k, score = ratings.n_categories, ratings.score
    return None if every == 0 else (pairs(work * k + score) - pairs(own * k + score)) / every


def _agreement(panel: Panel) -> float:
    """Mean over two different raters of the chance that they give the same score."""
    p, weight = panel.probabilities, panel.weights  # (raters, categories, states), (states,)
    n = len(p)
    if n == 1:
        return float((p[0] ** 2).sum(axis=0) @ weight)
    both = (p.sum(axis=0) ** 2 - (p**2).sum(axis=0)).sum(axis=0) / (n * (n - 1))
    return float(both @ weight)


def _reliability(panel: Panel, k: int) -> float:
    p, weight = panel.probabilities, panel.weights
    scores = np.arange(p.shape[1])
    mean = np.einsum("rks,k->rs", p, scores)
    noise = np.einsum("rks,k->rs", p, scores**2) - mean**2
    # States are abilities within items; a student's result is over all items.
    own = panel.over_items(mean)  # (raters, abilities)
    ability = panel.ability_weights
    centre = own.mean(axis=0)
    true = float(ability @ (centre - ability @ centre) ** 2)
    between = float(own.var(axis=0) @ ability)
    luck = float(noise.mean(axis=0) @ weight) / panel.n_items
    total = true + between / k + luck / k
    return true / total if total > 0 else float("nan")
