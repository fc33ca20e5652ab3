"""Students who were not assigned at random: each group of them, such as a school, has a mean of its own.

    theta_n ~ N(m_g, 1)  for a student n of group g

Raters who mark weak schools would else be taken for severe. Groups that no rater links to the others are confounded
with the severities of their raters: they are centred apart.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raterlens.base.arrays import Array, Indices
from raterlens.models.term import People, Term
from raterlens.ratings.coded import Ratings
from raterlens.ratings.design import components

if TYPE_CHECKING:
    from raterlens.models.facets import FacetsModel

GROUP_MEAN = "group"
# Groups up to which each mean is by its own students alone; more are drawn from a normal distribution.
FEW_GROUPS = 8
LARGEST_MEAN = 5.0
"""In standard deviations of ability within groups."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupMeans(Term):
    """m_g, of groups of students."""

    n_students: Array
    """(groups,): students of each."""
    linked: Indices
    """(groups,): which are linked to each other by raters."""
    rater_linked: Indices
    """(raters,): to which of these each rater belongs."""
    drawn: bool
    name: str = GROUP_MEAN

    @staticmethod
    def of(ratings: Ratings) -> "GroupMeans":
        assert ratings.group is not None
        n, groups, pairs = ratings.n_raters, len(ratings.group.labels), []
        students = np.zeros(groups)
        for part in ratings.parts():
            assert part.group is not None
            assert part.student_groups is not None
            pairs.append(np.unique(part.rater.astype(np.int64) * groups + part.group.codes))
            students += np.bincount(part.student_groups, minlength=groups)
        rater, group = np.divmod(np.unique(np.concatenate(pairs)), groups)
        _, found = components(n + groups, rater, group + n)
        return GroupMeans(students, found[n:], found[:n], groups > FEW_GROUPS)

    @property
    def size(self) -> int:
        return len(self.n_students)

    @property
    def n_groups(self) -> int:
        return self.size

    @property
    def weights(self) -> Array:
        """(raters, groups): shares of the students that raters link each rater to."""
        together = (self.rater_linked[:, None] == self.linked) * self.n_students
        return np.asarray(together / together.sum(axis=1, keepdims=True))

    def people(self, x: Array, points: Array) -> People:
        """log phi(t - m) / phi(t) = m t - m² / 2"""
        away = points - x[:, None]
        return People(
            np.multiply.outer(x, points) - x[:, None] ** 2 / 2,
            away[:, None],
            np.arange(self.size)[:, None],
            lambda counts: -np.diag(counts.sum(axis=1)),
            np.zeros(self.size),
            1.0,
        )

    def information(self, model: "FacetsModel", parameters: Array, n_students: int) -> Array:
        return np.maximum(0.5 * self.n_students, 0.5)

    def bounds(self, *, allow_reversed: bool) -> tuple[Array, Array]:
        most = np.full(self.size, LARGEST_MEAN)
        return -most, most

    def redundancies(self, model: "FacetsModel", parameters: Array) -> Iterator[tuple[Array, Array]]:
        """Groups that raters link, all alike, against the severities of these raters; drawn ones have a mean of 0."""
        if self.drawn:
            return
        slopes = model.slope(parameters[model.blocks["slope"]])
        for link in np.unique(self.linked):
            groups, raters = self.linked == link, self.rater_linked == link
            share = np.where(groups, self.n_students, 0.0)
            severity = model.severity.invert(np.where(raters, slopes, 0.0))
            yield (
                model.vector(**{self.name: share / share.sum()}),
                model.vector(**{self.name: groups.astype(float), "severity": severity}),
            )

    @property
    def levels(self) -> tuple[str, ...]:
        return ("group",)
