"""Consequences of the raters' differences for students: who would change between pass and fail, and what chance
decides.
`fair_results` has the raw and the fair result of each student; a result would change where they lie on different sides
of the pass mark.

Agreement and reliability are those of the fitted model: two raters of the panel, drawn at random, on the same work; and
the share of the variance of a student's mean score that comes from ability,

    Var(m(θ)) / [Var(m(θ)) + E Var_r(m_r(θ)) / k + E Var(y | θ, r) / (k items)],    m(θ) the mean over raters

for k raters per student, as it is and as it would be if every rater were the average one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.arrays import Array
from raterlens.base.text import counted, number
from raterlens.diagnostics.agreement import PairedRatings
from raterlens.diagnostics.residuals import Residuals, residuals
from raterlens.inference.expected_scores import FairResults, Panel, fair_results, panel_of
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.inference.result import Result


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
        lenient, severe = self.extremes()
        found = [self._on_results()]
        if lenient != severe:
            gets, than = (
                (f"can expect a score of {lenient}", "from")
                if self.ordered
                else (f"passes {lenient} of the time", "with")
            )
            found.append(
                f"An average student {gets} {than} {self.most_lenient[0]}, but {severe} {than} {self.most_severe[0]}."
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

    def extremes(self) -> tuple[str, str]:
        """Scores of an average student with the most lenient and the most severe rater, in words."""
        ends = self.most_lenient[1], self.most_severe[1]
        digits = 1 if max(ends) >= 10 else 2
        lenient, severe = (number(end, digits) if self.ordered else f"{100 * end:.0f} %" for end in ends)
        return lenient, severe

    def summary(self) -> str:
        return "\n".join(self.words())


def consequences(
    fit: "Result",
    ratings: Ratings | None = None,
    cut: float | Sequence[float] | None = None,
    *,
    passed: Residuals | None = None,
    results: FairResults | None = None,
) -> Consequences:
    """Compute the consequences of the raters' differences for students: `Fit.consequences`. `passed` and `results`:
    the residuals and the fair results, where they were computed."""
    if ratings is not None and passed is None:
        passed = residuals(fit, ratings, compared=True)
    observed = None if ratings is None else observed_agreement(ratings)
    expected = None if ratings is None or passed is None else _expected_agreement(ratings, passed.paired)
    panel = panel_of(fit)
    alike = panel.alike()
    k = 1 if ratings is None else _raters_per_student(ratings)
    names = fit.table("raters")["rater"].cast(pl.String)
    gets, nothing = panel.average_scores, float("nan")
    top, bottom = int(np.argmax(gets)), int(np.argmin(gets))
    if ratings is not None and results is None:
        results = fair_results(fit, ratings)
    marks = fit.calibration is not None and fit.calibration.scale == "continuous"
    cuts = _pass_mark(fit) if cut is None else (cut,) if isinstance(cut, int | float) else tuple(cut)
    return Consequences(
        students=fit.n_students if ratings is None else ratings.n_students,
        results=results,
        cuts=cuts,
        raters_per_student=k,
        observed_agreement=None if marks else observed,
        expected_agreement=expected,
        agreement=_agreement(panel),
        agreement_if_alike=_agreement(alike),
        reliability=nothing if fit.calibration is None else _reliability(panel, k),
        reliability_if_alike=nothing if fit.calibration is None else _reliability(alike, k),
        most_lenient=(names[top], float(gets[top])),
        most_severe=(names[bottom], float(gets[bottom])),
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


def _pass_mark(fit: "Result") -> tuple[float, ...]:
    """Half of the items where scores are pass or fail; ordered scores do not say what a pass is."""
    if fit.ordered:
        return ()
    return (0.5,) if fit.calibration is None else (float(fit.calibration.values.mean()),)


def _raters_per_student(ratings: Ratings) -> int:
    whose = ratings.marked_pairs() // ratings.n_raters
    return int(np.median(np.bincount(whose, minlength=ratings.n_students)))


def _expected_agreement(ratings: Ratings, pairs: PairedRatings | None) -> float | None:
    """The share of pairs of ratings of the same work by two raters that the model expects to have the same score; None
    where no work has two raters, or the pairs are too many to look at one by one."""
    if pairs is None:
        return None
    two_raters = ratings.rater[pairs.first] != ratings.rater[pairs.second]
    return float(pairs.expected[two_raters].mean()) if two_raters.any() else None


def observed_agreement(ratings: Ratings) -> float | None:
    """The share of pairs of ratings of the same work (of a student on an item) by two raters that have the same score;
    None where no work has two raters."""
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
