"""The alternative annotator test of Calderon, Reichart and Dror (2025): may a judge stand in for an annotator?

Each person is left out in turn. On every piece of work that this person, the judge and at least one other person
judged, whoever is in better agreement with the others wins; a tie is a win for both. With W the indicator of a win,
the judge's share of wins rho_f is tested against the person's rho_h:

    H0: rho_f <= rho_h - epsilon        one-sided paired t test of W_h - W_f against epsilon

epsilon is what a person costs more than the judge. The hypotheses are tested together (Benjamini and Yekutieli 2001,
as they share the judge); the winning rate omega is the share of people whose hypothesis is rejected, and the judge may
replace annotators where omega >= 0.5.

The test takes what the others say for the truth: raters who share a bias confirm each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import special, stats

from raterlens.base.arrays import Array
from raterlens.base.errors import choose
from raterlens.ratings.coded import Ratings

EPSILON = 0.2
"""For experts; the authors suggest 0.15 for skilled annotators and 0.1 for crowd workers."""
LEVEL = 0.05
ENOUGH = 0.5
FEWEST = 30
"""Pieces of work per person, for a normal approximation."""


@dataclass(frozen=True, slots=True, eq=False)
class AltTest:
    """The judge against each person."""

    table: pl.DataFrame
    """A row per person: rater, n (pieces of work), judge_wins, person_wins (a tie counts for both), p, beaten."""
    epsilon: float

    @property
    def winning_rate(self) -> float:
        """omega: the share of people against whom the judge holds; not-a-number where nobody could be left out."""
        return self._mean("beaten")

    @property
    def advantage(self) -> float:
        """rho: the judge's mean share of wins."""
        return self._mean("judge_wins")

    def _mean(self, column: str) -> float:
        return float(np.mean(self.table[column].to_numpy())) if self.table.height else float("nan")

    @property
    def passed(self) -> bool:
        return self.winning_rate >= ENOUGH

    def words(self) -> str:
        """One sentence."""
        if not self.table.height:
            return (
                f"The alt-test says nothing: no person shares {FEWEST} pieces of work with the judge and another "
                "person."
            )
        held = int(self.table["beaten"].sum())
        verdict = "it may replace people" if self.passed else "it may not replace people"
        return (
            f"By the alt-test (epsilon {self.epsilon:g}), which takes people for the truth, {verdict}: winning rate "
            f"{self.winning_rate:.2f} ({held} of {self.table.height}), advantage {self.advantage:.2f}."
        )


def alt_test(ratings: Ratings, judge: str, people: Sequence[str], *, epsilon: float = EPSILON) -> AltTest:
    """Leave one person out at a time; pieces of work are student-items, each with a rater's first score."""
    scores = _scores(ratings, [judge, *people])
    by_judge, by_people = scores[:, 0], scores[:, 1:]
    rows = []
    for place, person in enumerate(people):
        others, own = np.delete(by_people, place, axis=1), by_people[:, place]
        usable = np.isfinite(by_judge) & np.isfinite(own) & np.isfinite(others).any(axis=1)
        if usable.sum() < FEWEST:
            continue
        of_judge, of_person = (_agreement(one[usable], others[usable]) for one in (by_judge, own))
        judge_wins, person_wins = of_judge >= of_person, of_person >= of_judge
        p = _t_test(person_wins.astype(np.float64) - judge_wins, epsilon)
        rows.append((person, int(usable.sum()), float(judge_wins.mean()), float(person_wins.mean()), p))
    schema = {
        "rater": pl.String, "n": pl.Int64, "judge_wins": pl.Float64, "person_wins": pl.Float64, "p": pl.Float64
    }  # fmt: skip
    table = pl.DataFrame(rows, schema=schema, orient="row")
    p_all = table["p"].to_numpy()
    beaten = stats.false_discovery_control(p_all, method="by") < LEVEL if len(p_all) else np.zeros(0, bool)
    return AltTest(table.with_columns(pl.Series("beaten", beaten, dtype=pl.Boolean)), epsilon)


def _scores(ratings: Ratings, raters: Sequence[str]) -> Array:
    """(student-items, raters): the first score of each, NaN where there is none."""
    labels = ratings.raters.cast(pl.String).to_list()
    piece = ratings.student.astype(np.int64) * ratings.n_items + ratings.item
    _, piece = np.unique(piece, return_inverse=True)
    found = np.full((int(piece.max()) + 1, len(raters)), np.nan)
    for column, rater in enumerate(raters):
        rows = np.flatnonzero(
            ratings.rater == labels.index(choose("rater of the ratings", rater, labels, "judge"))
        )[::-1]
        found[piece[rows], column] = ratings.score[rows]
    return found


def _agreement(own: Array, others: Array) -> Array:
    """(pieces,): minus the root mean square distance from the others; for pass and fail it orders as the share of them
    who say the same."""
    return np.asarray(-np.sqrt(np.nanmean((own[:, None] - others) ** 2, axis=1)))


def _t_test(lead: Array, epsilon: float) -> float:
    """P-value of the person's lead being at least epsilon."""
    n, spread = len(lead), float(lead.std(ddof=1))
    if spread == 0:
        return 0.0 if lead[0] < epsilon else 1.0
    return float(special.stdtr(n - 1, (lead.mean() - epsilon) / (spread / np.sqrt(n))))
