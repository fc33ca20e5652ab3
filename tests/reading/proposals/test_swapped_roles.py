"""Three students and 200 items: swapped?"""

import polars as pl
import pytest

from raterlens.reading.proposals.findings import UncertainError
from raterlens.reading.reader import read

FRAME = pl.DataFrame(
    [(s, r, i, (s + r * i + i) % 2) for s in range(3) for r in range(2) for i in range(40)],
    schema=["sample", "rater", "question", "score"],
    orient="row",
)


def test_weak_names_are_asked_about_with_roles_turned_round() -> None:
    with pytest.raises(UncertainError, match="3 students and 40 items look swapped") as caught:
        read(FRAME)
    assert caught.value.proposal is not None
    ratings = read(FRAME, **caught.value.proposal.config.given())
    assert (ratings.n_students, ratings.n_items) == (40, 3)


def test_plain_names_and_what_the_user_says_are_only_remarked_on() -> None:
    notes = read(FRAME.rename({"sample": "student"})).notes
    assert "3 students and 40 items: are the student and the item column swapped?" in notes
    assert read(FRAME, student="sample").n_students == 3
