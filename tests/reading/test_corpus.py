"""The corpus is read: most files with no option at all, the others with the proposal that the refusal makes."""

from pathlib import Path
from typing import Any

import pytest

from raterlens.config import ReadConfig
from raterlens.ratings.coded import Ratings
from raterlens.reading.read import read, read_with_plan
from raterlens.reading.read_plan import UncertainError
from tests.reading.corpus.cases import CASES, Case


def rows(ratings: Ratings) -> list[tuple[Any, ...]]:
    table = ratings.table().select("student", "rater", "item", "score").rows()
    return sorted((str(s), str(r), str(i), int(y)) for s, r, i, y in table)


def test_the_corpus_is_large_enough_and_mostly_read_without_options() -> None:
    assert len(CASES) >= 60
    assert sum(not case.asks for case in CASES) >= 55
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", [case for case in CASES if not case.asks], ids=lambda case: case.name)
def test_files_that_are_read_with_no_option(case: Case, tmp_path: Path) -> None:
    path = case.write(tmp_path)
    assert rows(read(path)) == case.rows
    _, plan = read_with_plan(path, ReadConfig())
    assert rows(read(path, **plan.config.given())) == case.rows, "said in so many words, the same"


@pytest.mark.parametrize("case", [case for case in CASES if case.asks], ids=lambda case: case.name)
def test_files_that_ask_and_whose_proposal_works(case: Case, tmp_path: Path) -> None:
    path = case.write(tmp_path)
    with pytest.raises(UncertainError) as caught:
        read(path)
    assert caught.value.proposal is not None
    found = rows(read(path, **caught.value.proposal.config.given()))
    assert found == case.rows
