"""Tests of what the model takes for granted: independent scores within a reading, and normal abilities."""

from typing import TYPE_CHECKING

from raterlens.facade.student_decisions import StudentDecisions
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.diagnostics.ability_test import AbilityTest
    from raterlens.diagnostics.halo_test import HaloTest


class AssumptionTests(StudentDecisions):
    """Estimates, and fits of other models to the same ratings that they are held against."""

    __slots__ = ()

    # Whoever has these tests is a `Fit`, which comes after this part of it.

    def halo_test(self, ratings: Ratings) -> "HaloTest":
        """Do the scores of a reading share more than ability? Fits without, with a common and with each rater's own
        reading effect, and likelihood-ratio tests between them (`table`).

        Examples
        --------
        >>> import raterlens as rl
        >>> ratings = rl.simulate(students=100, raters=4, items=4, halo=1.0, seed=2).ratings
        >>> rl.fit(ratings, halo="none").halo_test(ratings).table["p"][0] < 0.001
        True
        """
        from raterlens.diagnostics.halo_test import halo_test  # fits again

        return halo_test(self, ratings)  # type: ignore[arg-type]

    def ability_test(self, ratings: Ratings) -> "AbilityTest":
        """Are abilities normally distributed? The likelihood ratio of a smooth shape against a normal one (`table`).

        Examples
        --------
        >>> import raterlens as rl
        >>> ratings = rl.load_example()
        >>> rl.fit(ratings).ability_test(ratings).finding
        'normal as far as ratings can tell'
        """
        from raterlens.diagnostics.ability_test import ability_test  # fits again

        return ability_test(self, ratings)  # type: ignore[arg-type]
