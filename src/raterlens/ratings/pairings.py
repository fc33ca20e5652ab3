"""Designs in which raters meet in pairs only: whether each one's discrimination can be told at all.

With at most two pass/fail ratings per student, all that ratings say of discrimination is how strongly each pair of
raters agrees: about the product of their slopes. If raters fall into two sides that meet each other and never their own
(a single pair, a chain, an even ring), one side's slopes can all rise and the other's fall, and every product stays. An
odd ring, such as three raters who each meet the other two, settles it.
"""

import numpy as np

from raterlens.base.text import counted, listed
from raterlens.base.types import Mask
from raterlens.ratings.coded import Ratings
from raterlens.ratings.components import components


def only_products(ratings: Ratings) -> Mask:
    """(raters,): whose slopes are known by products with others' alone. None of ordered scores, which say more."""
    n, per_student = ratings.n_raters, ratings.tally("student").n
    nobody = np.zeros(n, dtype=bool)
    if ratings.n_categories > 2 or ratings.known is not None or per_student.max() < 2:
        return nobody
    order = np.argsort(ratings.student, kind="stable")
    student, rater = ratings.student[order], ratings.rater[order].astype(np.int64)
    next_to = np.flatnonzero(student[1:] == student[:-1])
    one, other = rater[next_to], rater[next_to + 1]
    # Every rater twice, once on either side: a ring that leads from one side to the other is odd.
    _, part = components(2 * n, np.append(one, one + n), np.append(other + n, other))
    two_sides = part[:n] != part[n:]
    _, group = components(n, one, other)
    more = np.zeros(int(group.max()) + 1, dtype=bool)
    more[group[rater[per_student[student] > 2]]] = True
    met = np.bincount(np.append(one, other), minlength=n) > 0
    return np.asarray(met & two_sides & ~more[group])


def pairing_warnings(ratings: Ratings) -> tuple[str, ...]:
    """In plain words, with the fix."""
    which = only_products(ratings)
    if not which.any():
        return ()
    names = listed(ratings.raters.gather(np.flatnonzero(which)), 6)
    return (
        f"{counted(int(which.sum()), 'rater')} ({names}) meet only in pairs, one rating each per student, and never "
        "three of them in a ring: how well each of them discriminates cannot be told, only products of two. Have some "
        "students rated by a third of them, or on a second item; or fit one discrimination for all (model 'tfm')",
    )
