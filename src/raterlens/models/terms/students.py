"""The students' distribution: its shape, means of groups, and mean and spread where students are of another population.

How skewed abilities are, and how heavy their tails, are two parameters on which no predictor depends. Students who were
not assigned at random have groups, such as schools, each with a mean of its own:

    theta_n ~ N(m_g, 1)  for a student n of group g,      m_g free, drawn from N(0, s²), or linear in a number

Raters who mark weak schools would else be taken for severe. Groups that no rater links to the others are confounded
with the severities of their raters: they are centred apart.

Where anchors hold the scale, theta = mean + sd z: the mean and standard deviation of the new students can be estimated,
and must be, or those who are not anchored would be judged by students who are not there. With z standard normal, mean
and sd are predictors of each rating, so that everything downstream works with z as it does with theta.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy import sparse, special

from raterlens.base.arrays import Array, Indices
from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import Message, Option, listed
from raterlens.capability.population import LARGEST_SHAPE, AbilityShape
from raterlens.config import FitConfig
from raterlens.config.limits import ADAPTED_SETS, STUDENTS_PER_SET
from raterlens.models.requested import NEAR, Candidate, Part, Setting, of_ratings, says, unsaid
from raterlens.models.term import (
    Contexts,
    Designs,
    Effect,
    Estimated,
    LevelTerm,
    People,
    Redrawn,
    Tables,
    Term,
    at_answers,
)
from raterlens.ratings.coded import Ratings
from raterlens.ratings.design import components
from raterlens.ratings.groupings import SET_OF_RATERS, with_sets_of_raters

if TYPE_CHECKING:
    from raterlens.models.calibration import Calibration
    from raterlens.models.facets import FacetsModel

GROUP_MEAN = "group"
# Groups up to which each mean is by its own students alone; more are drawn from a normal distribution, unless they have
# this many students on average: drawn, their means would move by a few per cent of what they differ by.
FEW_GROUPS, LARGE_GROUP = 20, 100
# Square root of the students that the mean of all groups is held by, per student.
_HELD = 10.0
LARGEST_MEAN = 5.0
"""In standard deviations of ability within groups."""


def has_groups(ratings: Ratings, config: FitConfig) -> bool:
    """Whether groups of students have means."""
    return config.group_means == "raters" or (ratings.group is not None and config.group_means != "none")


def _may_differ_by_raters(ratings: Ratings, config: FitConfig) -> bool:
    """Whether students of different raters may be different, and groups of them may have means."""
    plain = unsaid(config, "group_means", "anchors", "trusted", "covariates")
    plain = plain and config.ability != "smooth" and config.shared != "yes"
    unnamed = ratings.group is None and ratings.piece is None and ratings.known is None
    return plain and unnamed and len(ratings.marked_pairs()) < ratings.n_students * ratings.n_raters


def _few_sets(ratings: Ratings, config: FitConfig) -> bool:
    """Whether students fall into so few sets of raters that the spread of their means can be told from that of
    students; not beside halo on the scale of ability, which has the students' distribution for itself."""
    if not _may_differ_by_raters(ratings, config) or config.halo == "ability":
        return False
    sets = with_sets_of_raters(ratings).group
    most = min(ADAPTED_SETS, ratings.n_students // STUDENTS_PER_SET)
    return sets is not None and 1 < len(sets.labels) <= most


_ASSIGNMENT = Candidate(
    "assignment",
    {"group_means": "raters"},
    _may_differ_by_raters,
    GROUP_MEAN,
    "Students of different raters differ in ability ({p})",
    "Raters of weak students look severe, and those of able ones lenient",
    Option("group_means", "none"),
    order=1,
    by_score=NEAR,
)


@dataclass(frozen=True, slots=True, eq=False)
class GroupMeans(LevelTerm):
    """m = D x, of groups of students: x are the means themselves, or the slope and the place of a line."""

    n_students: Array
    """(groups,): students of each."""
    linked: Indices
    """(groups,): which are linked to each other by raters; all of them where they are on a line."""
    rater_linked: Indices
    """(raters,): to which of these each rater belongs."""
    drawn: bool
    middle: float | None = None
    """Where the numbers are counted from that means are linear in; None where each group has its own."""
    across: bool = False
    """Whether students are distributed like all of them together, whatever their group."""
    name = GROUP_MEAN
    unitless = True
    candidates = (
        _ASSIGNMENT,
        # With its spread, whatever the test says: raters whose students are not known to be alike are not compared as
        # if they were.
        replace(
            _ASSIGNMENT,
            applies=_few_sets,
            seen="",
            missed="Ability does not vary between students of different raters beyond chance.",
            spread="Ability varies between students of different raters by {spread} of its standard deviation.",
            last=True,
        ),
    )
    parts = (
        Part(
            "group",
            of_ratings("group", lambda ratings: ratings.group and ratings.group.name),
            ("method", "log link", "smooth", "piece", "trusted", "shared"),
        ),
    )

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        if at.options.groups != "none" and at.ratings is not None:
            yield cls.of(at.ratings, at.options.groups, across=at.options.fair == "across")

    @classmethod
    def check(cls, ratings: Ratings, config: FitConfig) -> None:
        if ratings.group is None:
            if config.group_means == "linear" or config.fair == "across":
                across = config.fair == "across"
                asked = Option("fair", "across") if across else Option("group_means", "linear")
                raise OptionError(
                    Message(asked, " without groups of students"),
                    Message("name their column with ", Option("group")),
                    option="group_means",
                )
            return
        name = ratings.group.name
        if len(ratings.group.labels) < 2:
            raise InputError(
                f"all students are of one group (column {name!r}), which has nothing to be compared with",
                Message("leave out ", Option("group")),
                value=name,
            )
        numbers = ratings.group.labels.cast(pl.Float64, strict=False)
        strange = ratings.group.labels.filter(~numbers.is_finite().fill_null(value=False)).to_list()
        if config.group_means == "linear" and strange:
            raise InputError(
                Message(
                    Option("group_means", "linear"), f": {name!r} has {listed(strange)}, which are no numbers"
                ),
                Message("correct them, or use ", Option("group_means", "each")),
                value=strange,
                option="group_means",
            )

    @staticmethod
    def of(ratings: Ratings, kind: str = "each", *, across: bool = False) -> "GroupMeans":
        """`kind`: each group's own mean, drawn where there are many of them or they are sets of `raters`; or a `linear`
        function of its label."""
        assert ratings.group is not None
        n, groups, pairs = ratings.n_raters, len(ratings.group.labels), []
        students = np.zeros(groups)
        for part in ratings.parts():
            assert part.group is not None
            assert part.student_groups is not None
            pairs.append(np.unique(part.rater.astype(np.int64) * groups + part.group.codes))
            students += np.bincount(part.student_groups, minlength=groups)
        if kind == "linear":
            number = ratings.group.labels.cast(pl.Float64).to_numpy()
            middle = float(np.average(number, weights=students))
            line = np.column_stack([number - middle, np.ones(groups)])
            every, raters = np.zeros(groups, np.int64), np.zeros(n, np.int64)
            return GroupMeans(Effect(sparse.csr_array(line)), students, every, raters, False, middle, across)
        rater, group = np.divmod(np.unique(np.concatenate(pairs)), groups)
        _, found = components(n + groups, rater, group + n)
        drawn = kind == "raters" or (groups > FEW_GROUPS and students.mean() < LARGE_GROUP)
        return GroupMeans(Effect.each(groups), students, found[n:], found[:n], drawn, across=across)

    def designs(self, rows: Contexts) -> Designs:
        return {}

    @property
    def n_groups(self) -> int:
        return len(self.n_students)

    def across_groups(self) -> "GroupMeans":
        return replace(self, across=True)

    @property
    def weights(self) -> Array:
        """(raters, groups): shares of the students that raters link each rater to."""
        together = (self.rater_linked[:, None] == self.linked) * self.n_students
        return np.asarray(together / together.sum(axis=1, keepdims=True))

    def people(self, x: Array, points: Array) -> People:
        """log phi(t - m) / phi(t) = m t - m² / 2"""
        mean, one_each = self.effect(x), np.arange(self.size)[:, None]
        if self.middle is None:
            by, parameter = np.ones((self.size, 1)), one_each
        else:
            by, parameter = self.effect.design.toarray(), np.tile(one_each.T, (self.n_groups, 1))
        ratio = np.multiply.outer(mean, points) - mean[:, None] ** 2 / 2
        if self.across:
            share = np.log(self.n_students / self.n_students.sum())
            ratio = np.broadcast_to(special.logsumexp(ratio + share[:, None], axis=0), ratio.shape)
        return People(
            ratio,
            by[:, :, None] * (points - mean[:, None])[:, None],
            parameter,
            self._curvature,
            np.zeros(self.size),
            1.0,
        )

    def _curvature(self, counts: Array) -> Array:
        design = self.effect.design
        return np.asarray(-(design.T @ sparse.diags_array(counts.sum(axis=1)) @ design).toarray())

    def information(self, model: "FacetsModel", parameters: Array, n_students: int) -> Array:
        return np.asarray(np.maximum(0.5 * self.n_students @ self.effect.design.power(2), 0.5))

    def between(self, x: Array) -> float:
        means, n = self.effect(x), self.n_students
        return float(np.average((means - np.average(means, weights=n)) ** 2, weights=n))

    def redraw(self, x: Array, at: Redrawn) -> Redrawn:
        grouped = with_sets_of_raters(at.ratings) if at.ratings.group is None else at.ratings
        return replace(at, ability=at.ability + self.effect(x)[grouped.student_groups])

    def bounds(self, *, allow_reversed: bool) -> tuple[Array, Array]:
        most = LARGEST_MEAN / np.maximum(abs(self.effect.design).max(axis=0).toarray().ravel(), 1e-9)
        return -most, most

    def redundancies(self, model: "FacetsModel", parameters: Array) -> Iterator[tuple[Array, Array]]:
        """Groups that raters link, all alike, against the severities of these raters; drawn ones have a mean of 0."""
        if self.drawn:
            return
        slopes = model.slope(parameters[model.blocks["slope"]])
        for link in np.unique(self.linked):
            groups, raters = self.linked == link, self.rater_linked == link
            # So heavily that a prior of severities, which alone has a say in it, cannot bend the information there.
            share = np.where(groups, self.n_students, 0.0)
            weight = _HELD * np.sqrt(share.sum()) / share.sum()
            alike = groups.astype(float) if self.middle is None else np.array([0.0, 1.0])
            severity = model.severity.invert(np.where(raters, slopes, 0.0))
            yield (
                model.vector(**{self.name: weight * share @ self.effect.design}),
                model.vector(**{self.name: alike, "severity": severity}),
            )

    @classmethod
    def check_new(cls, ratings: Ratings) -> None:
        if ratings.group is None:
            raise InputError(
                "the fit has a mean ability for each group of students, and these ratings name no groups",
                Message("read them with ", Option("group")),
            )

    def warnings(self, found: Estimated) -> Iterator[str]:
        """Groups whose means cannot be told from the severities of their raters; of sets of raters the design says it
        already."""
        group, (parts, sizes) = found.ratings.group, np.unique(self.linked, return_counts=True)
        if group is not None and group.name != SET_OF_RATERS and len(parts) > 1:
            apart = group.labels.filter(pl.Series(self.linked != parts[np.argmax(sizes)]))
            yield (
                f"no rater marks students of {listed(apart)} and of the other groups, so how able they are cannot be "
                "told from how severe their raters are: compare raters and students within groups only, or have some "
                "scripts marked across groups"
            )

    def tables(self, found: Estimated) -> Tables:
        """group, n, mean, mean_se; of sets of raters nothing, which nobody named"""
        group, (mean, error) = found.ratings.group, found.of(self.name)
        if group is None:
            return {}
        label, n = group.labels.cast(pl.String), self.n_students.astype(np.int64)
        return {"groups": pl.DataFrame({"group": label, "n": n, "mean": mean, "mean_se": error})}

    @property
    def levels(self) -> tuple[str, ...]:  # type: ignore[override]  # of its own groups
        return ("group",) if self.middle is None else ()

    def table(self, x: Array) -> Array:
        """The means, or the line's slope and its height at 0."""
        return x if self.middle is None else np.array([x[0], x[1] - self.middle * x[0]])

    def parameters(self, table: Array) -> Array:
        return table if self.middle is None else np.array([table[0], table[1] + self.middle * table[0]])


SHAPE, POPULATION = "ability", "population"
# Of what the shape could be known by, were abilities known, so much is.
_INFORMATION = 0.2
# How firmly the shape is held at a normal one: as if this many students were known to come from it.
_NORMAL_STUDENTS = 5.0
SHAPE_RIDGE = _NORMAL_STUDENTS * np.array([6.0, 24.0])
"""(2,): times the variances of the two polynomials, the information of a student whose ability is known."""
# A distribution of two peaks makes posteriors of two: no width tells how fast they change.
_STEEPNESS = np.inf


def _may_have_a_shape(ratings: Ratings, config: FitConfig) -> bool:
    plain = unsaid(config, "ability", "anchors", "covariates", "trusted") and ratings.known is None
    return plain and not has_groups(ratings, config) and config.halo != "ability"


class Shape(Term):
    """c3 and c4 of `capability/population.py`, on which no predictor depends."""

    name = SHAPE
    bound = (-np.array(LARGEST_SHAPE), np.array(LARGEST_SHAPE))
    asks = (("smooth", True),)
    parts = (Part("smooth", says("ability", "smooth"), ("method", "log link", "scores' covariance")),)

    candidates = (
        Candidate(
            "ability shape",
            {"ability": "smooth"},
            _may_have_a_shape,
            name,
            "Abilities are not normally distributed ({p})",
            "Assuming normal abilities biases severity and capability here",
            Option("ability", "normal"),
            order=5,
            last=True,
        ),
    )
    size = 2
    n_groups = 1
    starts = ((0.15, -0.02), (-0.15, -0.02), (0.0, -0.15))

    def people(self, x: Array, points: Array) -> People:
        shape = AbilityShape.of(*x.tolist())
        return People(
            shape.log_ratio(points)[None],
            shape.scores(points)[None],
            np.arange(2)[None],
            lambda counts: shape.curvature(points) @ counts[0],
            SHAPE_RIDGE,
            _STEEPNESS,
        )

    def information(self, model: "FacetsModel", parameters: Array, n_students: int) -> Array:
        return np.asarray(_INFORMATION * n_students * np.array([6.0, 24.0]))

    def redraw(self, x: Array, at: Redrawn) -> Redrawn:
        return replace(at, ability=AbilityShape.of(*x.tolist()).at(special.ndtr(at.ability)))

    @classmethod
    def null(cls, known: "Calibration", ratings: Ratings) -> Array | None:
        return np.zeros(2)

    def tables(self, found: Estimated) -> Tables:
        (c3, c4), (c3_se, c4_se) = found.of(self.name)
        return {self.name: pl.DataFrame({"c3": c3, "c3_se": c3_se, "c4": c4, "c4_se": c4_se})}


class Population(Term):
    """The students' mean and the logarithm of their standard deviation."""

    name = POPULATION
    asks = (("population", True),)
    size = 2

    def designs(self, rows: Contexts) -> Designs:
        rated = (~at_answers(rows)).astype(float)[:, None] * np.eye(2)[:, None]
        return {"mean": sparse.csr_array(rated[0]), "log_sd": sparse.csr_array(rated[1])}

    def table(self, x: Array) -> Array:
        """Mean and standard deviation."""
        return np.array([x[0], np.exp(x[1])])

    def parameters(self, table: Array) -> Array:
        return np.array([table[0], np.log(table[1])])

    def tables(self, found: Estimated) -> Tables:
        (mean, log_sd), (mean_se, log_se) = found.of(self.name)
        sd = np.exp(log_sd)
        columns = {"mean": mean, "mean_se": mean_se, "sd": sd, "sd_se": sd * log_se}
        return {self.name: pl.DataFrame(columns)}
