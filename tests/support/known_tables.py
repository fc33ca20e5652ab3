"""A small table with known answers, and the answers of ratings by label."""

import polars as pl

from raterlens.ratings.coded import Ratings

TABLE = pl.DataFrame(
    {
        "student": ["a", "a", "b", "b", "c", "c", "d", "d"],
        "rater": ["x", "y"] * 4,
        "item": ["i", "j"] * 4,
        "score": [0, 1, 2, 0, 1, 1, 2, 0],
        "gold": [2, None, None, 0, None, 1, 1, None],
    }
)


def answers(ratings: Ratings) -> set[tuple[str, str, int]]:
    known = ratings.known
    if known is None:
        return set()
    return {
        (ratings.students[int(s)], ratings.items[int(i)], int(a))
        for s, i, a in zip(known.student, known.item, known.answer, strict=True)
    }
