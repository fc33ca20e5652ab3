"""What the raters' differences mean for students: who would change between pass and fail, and what chance decides.

Were all ratings of a student given by the average rater, the mean score would move by what the model expects of these
raters less what it expects of the average one, both at the student's ability. The rest of the score, the student's own
and luck, stays: raters who are alike change nobody's result. Totals are rounded to whole scores, so a tie stays a tie.

Agreement and reliability are those of the fitted model: two raters of the panel, drawn at random, on the same work; and
the share of the variance of a student's mean score that comes from ability,

    Var(m(θ)) / [Var(m(θ)) + E Var_r(m_r(θ)) / k + E Var(y | θ, r) / (k items)],    m(θ) the mean over raters

for k raters per student, as it is and as it would be if every rater were the average one.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.text import counted
from raterlens.diagnostics.expected_scores import Panel, panel_of
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.result.record import Result


@dataclass(frozen=True, slots=True, eq=False)
class Consequences:
    """What it means that raters differ; shares are between 0 and 1."""

    students: int
    changed: int | None
    """Students who would change between pass and fail if the average rater had marked them; None without ratings."""
    raters_per_student: int
    """Median; 1 without ratings."""
    agreement: float
    """Chance that two raters of this panel give the same work the same score."""
    agreement_if_alike: float
    """The same if every rater were the average one."""
    reliability: float
    """Of a student's mean score, with that many raters; not a number for latent classes, which know no ability."""
    reliability_if_alike: float
    most_lenient: tuple[str, float]
    """Rater, and the share of the highest score that an average student can expect (pass or fail: chance of a pass)."""
    most_severe: tuple[str, float]
    ordered: bool

    def words(self) -> list[str]:
        """One sentence each, the gravest first."""
        gets = "can expect {:.0f} % of the marks" if self.ordered else "passes {:.0f} % of the time"
        lenient, severe = (100 * share for _, share in (self.most_lenient, self.most_severe))
        found = []
        if self.changed is not None:
            found.append(
                f"Of {counted(self.students, 'student')}, {self.changed:,} would change between pass and fail if the "
                "average rater had marked them."
            )
        if self.most_lenient[0] != self.most_severe[0]:
            found.append(
                f"An average student {gets.format(lenient)} with {self.most_lenient[0]}, but {severe:.0f} % with "
                f"{self.most_severe[0]}."
            )
        found.append(
            f"Two raters agree on the same work {100 * self.agreement:.0f} % of the time; if all were alike, "
            f"{100 * self.agreement_if_alike:.0f} %."
        )
        raters = "one rater" if self.raters_per_student == 1 else f"{self.raters_per_student} raters"
        if np.isfinite(self.reliability):
            found.append(
                f"Unadjusted, a mean score from {raters} has a reliability of {self.reliability:.2f}; if all were "
                f"alike, {self.reliability_if_alike:.2f}."
            )
        return found

    def summary(self) -> str:
        return "\n".join(self.words())


def consequences(fit: "Result", ratings: Ratings | None = None, cut: float | None = None) -> Consequences:
    """What the raters' differences mean for students: `Fit.consequences`."""
    panel = panel_of(fit)
    alike = panel.alike()
    k = 1 if ratings is None else _raters_per_student(ratings)
    names = fit.table("raters")["rater"].cast(pl.String)
    gets, nothing = panel.average_scores, float("nan")
    top, bottom = int(np.argmax(gets)), int(np.argmin(gets))
    return Consequences(
        students=fit.n_students if ratings is None else ratings.n_students,
        changed=None if ratings is None else _changed(panel, fit, ratings, cut),
        raters_per_student=k,
        agreement=_agreement(panel),
        agreement_if_alike=_agreement(alike),
        reliability=nothing if fit.calibration is None else _reliability(panel, k),
        reliability_if_alike=nothing if fit.calibration is None else _reliability(alike, k),
        most_lenient=(names[top], float(gets[top])),
        most_severe=(names[bottom], float(gets[bottom])),
        ordered="thresholds" in fit.tables,
    )


def _raters_per_student(ratings: Ratings) -> int:
    whose = ratings.marked_pairs() // ratings.n_raters
    return int(np.median(np.bincount(whose, minlength=ratings.n_students)))


def _changed(panel: Panel, fit: "Result", ratings: Ratings, cut: float | None) -> int:
    """Students whose mean score crosses the pass mark when the average rater takes the place of theirs."""
    steps = panel.categories - 1
    mark = 0.5 if cut is None else cut / steps
    score, shift = panel.scores_and_shifts(fit, ratings)
    n = np.bincount(ratings.student, minlength=ratings.n_students)
    total, moved = (np.bincount(ratings.student, part, ratings.n_students) for part in (score, shift))
    passed = total >= mark * n * steps - 1e-9
    would = np.round(total - moved) >= mark * n * steps - 1e-9
    return int((passed != would).sum())


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
