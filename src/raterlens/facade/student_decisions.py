"""What a fit says about students: decisions, and what to mark again."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from raterlens.facade.estimates import Estimates
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.grading.cuts import Cut, On
    from raterlens.grading.decisions import Decisions
    from raterlens.grading.remarking import Remark


class StudentDecisions(Estimates):
    """Decisions about students by a fit of a facets model."""

    __slots__ = ()

    def decisions(
        self,
        ratings: Ratings | None = None,
        *,
        cut: "Cut",
        on: "On" = "score",
        grades: Sequence[str] | None = None,
        safe: float = 0.9,
    ) -> "Decisions":
        """Which grade each student should have, and how sure that is.

        Parameters
        ----------
        ratings
            Those that were fitted, or others by the same raters on the same items. Without them, and
            where raters share a second ability, posteriors are taken as normal, and what depends on who marked whom is
            left out.
        cut
            Where each grade but the lowest begins: a number, or several in rising order.
        on
            The scale of the cuts: `score`, the mean score over all items that the average rater would be expected to
            give, in the numbers that raters gave; or `ability`.
        grades
            Names, the lowest grade first. Default: fail and pass, or the cuts in words.
        safe
            How probable a grade must be for a decision to be safe.

        Returns
        -------
        Decisions
            `students` has a row per student; `exam` has accuracy and consistency; `summary()` says it in words.

        Examples
        --------
        >>> import raterlens as rl
        >>> ratings = rl.load_example()
        >>> found = rl.fit(ratings).decisions(ratings, cut=0.5)
        >>> found.students.columns[4:10]
        ['raw', 'raw_grade', 'fair', 'fair_se', 'would_change', 'grade']
        >>> found.students.filter(student="S001").select("raw", "grade", "safe").row(0)
        (0.45, 'fail', False)
        """
        from raterlens.grading.decisions import decisions  # a fit alone does without

        return decisions(self, ratings, cut, on=on, grades=grades, safe=safe)

    def remark(
        self,
        ratings: Ratings,
        *,
        cut: "Cut | Decisions",
        budget: int = 50,
        raters: Sequence[str] | None = None,
        per_rater: int | None = None,
    ) -> "Remark":
        """Which work should be marked again, and by whom, to put most grades right.

        A further mark is one more rater's reading of all of a student's items. Once they are in, fit again with them
        and ask again.

        Parameters
        ----------
        ratings
            Those that were fitted.
        cut
            Where grades begin, as in `decisions`, or what `decisions` returned.
        budget
            Further marks.
        raters
            Who may mark; all raters where left out.
        per_rater
            The most marks that one of them gets; three times the even share where left out.

        Returns
        -------
        Remark
            `marks` has a row per further mark, the most useful first, with what it is expected to gain.

        Examples
        --------
        >>> import raterlens as rl
        >>> ratings = rl.load_example()
        >>> plan = rl.fit(ratings).remark(ratings, cut=0.5, budget=20)
        >>> plan.marks.columns
        ['student', 'rater', 'grade', 'right', 'gain', 'becomes_safe']
        >>> bool(plan.gain > 1)
        True
        """
        from raterlens.grading.remarking import remark  # a fit alone does without

        return remark(self, ratings, cut, budget, raters=raters, per_rater=per_rater)
