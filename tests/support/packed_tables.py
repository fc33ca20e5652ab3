"""Tables to be packed, and what they are when they are read again."""

import numpy as np
import polars as pl

from raterlens.ratings.coded import Ratings


def uneven(ratings: Ratings) -> pl.DataFrame:
    """The ratings without every seventh, so that essays differ in their items."""
    return ratings.table().filter(pl.int_range(pl.len()) % 7 > 0)


def table(seed: int = 0, students: int = 60) -> pl.DataFrame:
    """Long ratings in no order, with missing labels and scores."""
    random = np.random.default_rng(seed)
    n = students * 12
    score = random.integers(0, 4, n).astype(float)
    score[random.random(n) < 0.05] = np.nan
    frame = pl.DataFrame(
        {
            "student": random.integers(0, students, n),
            "rater": random.integers(0, 7, n),
            "topic": random.choice(["sport", "work"], n),
            "item": random.integers(0, 3, n),
            "score": score,
            "when": random.integers(0, 4, n),
            "entry": np.arange(n),  # so that no row is a copy of another
        }
    )
    blank = pl.Series(random.random(n) < 0.03)
    return frame.with_columns(rater=pl.when(~blank).then("rater"), score=pl.col("score").fill_nan(None))


def told(seed: int = 0) -> pl.DataFrame:
    """The same with the piece and the draw of each rating, the student's school and the right score of some, and whom
    to trust."""
    random = np.random.default_rng(seed)
    answers = np.where(random.random(60) < 0.4, np.nan, random.integers(0, 4, 60))
    return table(seed).with_columns(
        essay=pl.col("when") % 2,
        epoch=pl.col("entry") // 5 % 3,
        school=pl.col("student") % 4,
        gold=pl.col("student").replace_strict(range(60), answers).fill_nan(None),
        trust=pl.when(pl.col("rater") == 2).then(pl.lit("yes")),
    )


def assert_same(found: Ratings, expected: Ratings) -> None:
    """The same ratings in order of students, the labels as they were."""
    order = np.argsort(expected.student, kind="stable")
    for name in ("student", "rater", "item", "score"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name)[order], err_msg=name)
    for name in ("students", "raters", "items"):
        assert getattr(found, name).to_list() == getattr(expected, name).to_list()
        assert getattr(found, name).dtype == getattr(expected, name).dtype
    aside = [(one.piece, one.draw, one.group) for one in (found, expected)]
    assert [facet is None for facet in aside[0]] == [facet is None for facet in aside[1]]
    facets = [
        (*one.facets, *(f for f in own if f)) for one, own in zip((found, expected), aside, strict=True)
    ]
    for facet, other in zip(*facets, strict=True):
        assert facet.name == other.name
        assert facet.labels.to_list() == other.labels.to_list()
        np.testing.assert_array_equal(facet.codes, other.codes[order])
    assert (found.known is None) == (expected.known is None)
    if found.known is not None and expected.known is not None:
        for name in ("student", "item", "answer"):
            np.testing.assert_array_equal(getattr(found.known, name), getattr(expected.known, name))
    assert (found.trusted, found.score_step) == (expected.trusted, expected.score_step)
    assert found.notes == expected.notes
