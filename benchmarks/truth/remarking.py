"""Marks spent against grades right: `python -m benchmarks.truth.remarking [--panels 100] [--students 1000]`.

Each panel: 1,000 students, 12 raters who differ in severity and sharpness, 4 criteria scored 0 to 3, one rater per
student but for one in ten who have two (the links). One central cut. From there:

- full double marking: a second mark, by a random other rater, for every student who has one;
- random: such a mark for some students drawn at random;
- near the cut: for the students whose raw result is nearest to the cut;
- remark: the marks that `fit.remark` asks for, by the raters it names;
- two rounds: half of these marks, then a fit, and the other half as it asks for them then;
- third marking: full double marking, and a third mark where the two raters disagree about the grade.

After each, all ratings are fitted again. A grade is right if it is that of the student's true ability.
"""

import argparse
import json
from dataclasses import dataclass

import numpy as np
import polars as pl

import raterlens as rl
from raterlens.base.arrays import Array, Indices
from raterlens.grading.grades import cuts_of
from raterlens.models.calibration import Calibration

RATERS, ITEMS, LINKED = 12, 4, 0.1
THRESHOLDS = (-1.2, 0.0, 1.2)
SHARES = (0.1, 0.2, 0.4)
"""Shares of the marks of full double marking."""


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Everything that raters would say, and what is true."""

    ratings: rl.Ratings
    """Every rater's ratings of every student, for marks to be taken from"""
    right: Array
    """(students,): whether the true ability has reached the cut"""
    cut: float
    first: Indices
    """(students,): who marks each student first"""
    second: Indices
    """(students,): who would be next, and after that"""
    third: Indices
    linked: Indices
    """Students who have two marks from the start"""

    @property
    def students(self) -> int:
        return len(self.first)

    @staticmethod
    def drawn(students: int, seed: list[int]) -> "Panel":
        whole = rl.simulate(students=students, raters=RATERS, items=ITEMS, thresholds=THRESHOLDS, seed=seed)
        truth, ratings = whole.truth, whole.ratings
        effects = {
            "slope": truth.slope,
            "severity": truth.severity - truth.alpha,
            "difficulty": truth.difficulty,
            "threshold": np.atleast_2d(np.array(THRESHOLDS)),
        }
        labels = {"rater": ratings.raters, "item": ratings.items}
        known = Calibration(
            "gmf", "logit", "rating scale", (0, 1, 2, 3), labels, effects, None, np.zeros(RATERS)
        )
        cuts = cuts_of(known, float(np.median(truth.ability)), "ability")
        random = np.random.default_rng([*seed, 1])
        order = random.permuted(np.tile(np.arange(RATERS), (students, 1)), axis=1)
        linked = random.choice(students, int(LINKED * students), replace=False)
        right = truth.ability >= cuts.ability[0]
        first, second, third = order[:, :3].T
        return Panel(ratings, right, float(cuts.score[0]), first, second, third, linked)

    def marked(self, marks: set[tuple[int, int]]) -> rl.Ratings:
        """The ratings that are there once these (student, rater) have been marked."""
        kept = np.zeros((self.students, RATERS), bool)
        kept[np.arange(self.students), self.first] = True
        kept[self.linked, self.second[self.linked]] = True
        for student, rater in marks:
            kept[student, rater] = True
        return self.ratings.subset(kept[self.ratings.student, self.ratings.rater], keep_levels=True)

    def asked_for(self, marks: set[tuple[int, int]], budget: int) -> set[tuple[int, int]]:
        """The marks that a fit asks for once these have been given."""
        ratings = self.marked(marks)
        plan = rl.fit(ratings, model="gmf").remark(ratings, cut=self.cut, budget=budget).table
        student, rater = (
            {str(label): code for code, label in enumerate(labels)}
            for labels in (ratings.students, ratings.raters)
        )
        return {
            (student[str(one)], rater[str(by)]) for one, by in plan.select("student", "rater").iter_rows()
        }

    def grades_right(self, marks: set[tuple[int, int]]) -> float:
        """Share of right grades, after a fit of all ratings with these marks as well."""
        ratings = self.marked(marks)
        p = rl.fit(ratings, model="gmf", standard_errors=False).decisions(ratings, cut=self.cut).probabilities
        return float(np.mean((p[:, 1] > 0.5) == self.right))


def one_panel(students: int, seed: list[int]) -> dict[str, tuple[int, float]]:
    """Marks spent and share of right grades, by policy."""
    panel = Panel.drawn(students, seed)
    open_to = np.setdiff1d(np.arange(students), panel.linked)
    second = [(int(n), int(panel.second[n])) for n in open_to]
    raw = panel.marked(set()).tally("student").mean
    near = sorted(second, key=lambda mark: abs(raw[mark[0]] - panel.cut))
    shuffled = [second[k] for k in np.random.default_rng([*seed, 2]).permutation(len(second))]
    found = {
        "as it is": (0, panel.grades_right(set())),
        "full double": (len(second), panel.grades_right({*second})),
    }
    for share in SHARES:
        n = round(share * len(second))
        first = panel.asked_for(set(), n // 2)
        policies = {
            "random": {*shuffled[:n]},
            "near the cut": {*near[:n]},
            "remark": panel.asked_for(set(), n),
            "two rounds": first | panel.asked_for(first, n - n // 2),
        }
        for policy, marks in policies.items():
            found[f"{policy} {share:g}"] = (n, panel.grades_right(marks))
    found["third marking"] = _third(panel, second)
    return found


def _third(panel: Panel, second: list[tuple[int, int]]) -> tuple[int, float]:
    whole = panel.ratings
    each = whole.student.astype(np.int64) * RATERS + whole.rater
    mean = np.bincount(each, whole.score) / np.bincount(each)
    passed = (mean >= panel.cut - 1e-9).reshape(panel.students, RATERS)
    n = np.arange(panel.students)
    apart = np.flatnonzero(passed[n, panel.first] != passed[n, panel.second])
    third = [(int(k), int(panel.third[k])) for k in apart]
    return len(second) + len(third), panel.grades_right({*second, *third})


def table(found: list[dict[str, tuple[int, float]]]) -> pl.DataFrame:
    """policy, marks, right (of 100 grades), gain (of 100, over the panel as it is), of_full (of the gain of full double
    marking) with its standard error."""
    gain = {name: np.array([100 * (one[name][1] - one["as it is"][1]) for one in found]) for name in found[0]}
    full, rows = gain["full double"], []
    for name, own in gain.items():
        share = own.mean() / full.mean()
        # Of a ratio of means, by the delta method.
        error = (
            np.std(own - share * full, ddof=1) / np.sqrt(len(full)) / full.mean() if len(full) > 1 else np.nan
        )
        marks = np.mean([one[name][0] for one in found])
        right = 100 * np.mean([one[name][1] for one in found])
        rows.append((name, marks, right, own.mean(), share, error))
    schema = ["policy", "marks", "right", "gain", "of_full", "of_full_se"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--panels", type=int, default=100)
    parser.add_argument("--students", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=25)
    options = parser.parse_args()
    found = table([one_panel(options.students, [options.seed, k]) for k in range(options.panels)])
    with pl.Config(
        tbl_rows=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=3
    ):
        print(found)
    print(json.dumps({row["policy"]: round(row["of_full"], 3) for row in found.iter_rows(named=True)}))


if __name__ == "__main__":
    main()
