""""""

from collections import Counter, defaultdict

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import raterlens as rl
from raterlens import Ratings
from raterlens.likelihood.cells import (
    _kinds,
    essays,
    rating_cells,
    reading_columns,
    readings,
)
from raterlens.models.term import Contexts
from raterlens.ratings.groupings import readings_in


def test_essays_hold_the_same_ratings_as_cells(small: Ratings):
    contexts = Contexts.of(small)
    cells = rating_cells(small, contexts, 2).toarray().reshape(small.n_students, len(contexts), 2)
    found = essays(small, contexts, contexts.rater, 2)
    np.testing.assert_array_equal((found.counts @ found.kinds.members).toarray(), cells.sum(axis=2))
    passes = cells[:, :, 1] @ np.eye(small.n_raters)[contexts.rater]
    np.testing.assert_array_equal(found.sums.toarray(), passes)
    assert found.counts.nnz < rating_cells(small, contexts, 2).nnz


def test_a_repeated_rating_is_another_item_set():
    one = np.zeros(3, dtype=np.int32)
    ratings = _ratings([0, 0, 1], one, one, [1, 0, 1])
    found = essays(ratings, Contexts.of(ratings), np.zeros(1, dtype=np.int64), 2)
    np.testing.assert_array_equal((found.counts @ found.kinds.members).toarray(), [[2], [1]])
    np.testing.assert_array_equal(found.sums.toarray(), [[1], [1]])


def test_groups_of_a_kind_have_its_key():
    """Whichever rater they are of; the third column is empty."""
    keys = np.array([7, 3, 3, 7, 5, 8], dtype=np.uint64)
    indptr, columns = np.array([0, 2, 3, 6]), np.array([0, 1, 1, 0, 3, 4])
    counts, distinct, shown_by = _kinds(sparse.csr_array((keys, columns, indptr), shape=(3, 5)))
    assert distinct.tolist() == [3, 5, 7, 8]
    assert counts.indices.tolist() == [2, 0, 0, 2, 1, 3]
    assert keys[shown_by].tolist() == [3, 5, 7, 8]


def _ratings(student, rater, item, score) -> Ratings:
    return Ratings(
        np.array(student, dtype=np.int32),
        np.array(rater, dtype=np.int32),
        np.array(item, dtype=np.int32),
        np.array(score, dtype=np.int16),
        *(pl.Series(name, [0, 1][:size]) for name, size in (("student", 2), ("rater", 1), ("item", 1))),
    )


# -------------------------------------------------------------- readings, against a walk over the rows of the table


def rows(*, pieces: bool) -> pl.DataFrame:
    """Ratings of three raters on three items, some of them twice; of one piece or of up to two per student."""
    random = np.random.default_rng(3)
    n = 240
    table = pl.DataFrame(
        {
            "student": random.integers(0, 25, n),
            "rater": random.choice(list("abc"), n),
            "item": random.integers(0, 3, n),
            "score": random.integers(0, 3, n),
            "piece": random.choice(["x", "y"], n),
        }
    )
    return table if pieces else table.drop("piece")


def walked(table: pl.DataFrame) -> dict[int, Counter]:
    """The readings of each student: (rater, ((item, score), ...)), as often as they occur."""
    seen: Counter = Counter()
    groups = defaultdict(list)
    for row in table.iter_rows(named=True):
        own = (row["student"], row.get("piece"), row["rater"])
        seen[(*own, row["item"])] += 1
        groups[(*own, seen[(*own, row["item"])])].append((row["item"], row["score"]))
    found: dict[int, Counter] = defaultdict(Counter)
    for (student, _, rater, _), ratings in groups.items():
        found[student][rater, tuple(sorted(ratings))] += 1
    return found


@pytest.mark.parametrize("pieces", [True, False])
@pytest.mark.parametrize("by_total", [True, False])
def test_readings_are_those_of_the_rows(pieces, by_total):
    table = rows(pieces=pieces)
    ratings = rl.read(table, piece="piece") if pieces else rl.read(table)
    contexts = Contexts.of(ratings)
    found = readings(ratings, contexts, 3, by_total=by_total, n_groups=1)
    expected, kinds = walked(table), found.kinds

    def known(kind: int) -> tuple:
        """A kind's rater and items, with its total or with every score."""
        members = kinds.members[[kind]].tocoo()
        context = members.col if by_total else members.col // 3
        rater = ratings.raters[int(contexts.rater[context[0]])]
        items = ratings.items.gather(contexts.item[context]).to_list()
        times = members.data.astype(int)
        if by_total:
            return rater, tuple(sorted(np.repeat(items, times).tolist())), float(kinds.total[kind])
        scores = [(item, int(cell) % 3) for item, cell in zip(items, members.col, strict=True)]
        return rater, tuple(sorted(pair for pair, n in zip(scores, times, strict=True) for _ in range(n)))

    names = [known(kind) for kind in range(len(kinds.keys))]
    assert len(set(names)) == len(names)
    for place, student in enumerate(ratings.students):
        own = found.counts[[place]].tocoo()
        assert own.col[-1] == len(names)  # the cell that everyone has
        mine: Counter = Counter()
        for kind, n in zip(own.col[:-1], own.data, strict=False):
            mine[names[kind]] += int(n)
        theirs: Counter = Counter()
        for (rater, given), n in expected[student].items():
            items = tuple(sorted(item for item, _ in given))
            total = float(sum(score for _, score in given))
            theirs[(rater, items, total) if by_total else (rater, given)] += n
        assert mine == theirs
    assert found.counts[:, [-1]].toarray().tolist() == [[1.0]] * 25
    assert kinds.n_groups == sum(own.total() for own in expected.values())
    given = np.zeros_like(kinds.given)
    places = contexts.places(ratings)
    np.add.at(given, (places, ratings.score), 1)
    np.testing.assert_array_equal(kinds.given, given)


@pytest.mark.parametrize(("again", "number"), [([], 2), ([("s", "b", 0)], 4), ([("s", "b", 0)] * 2, 6)])
def test_a_student_has_as_many_columns_as_readings_could_be(again, number):
    of = [("s", "a", 0), ("s", "b", 0), ("t", "a", 1), *again]
    table = pl.DataFrame(
        [(*row, n % 2) for n, row in enumerate(of)], ["student", "rater", "item", "score"], orient="row"
    )
    columns = reading_columns(rl.read(table))
    assert columns.number == number
    assert columns.of[:3].tolist() == [0, 1, 0]
    assert columns.of[3:].tolist() == [2 * n + 3 for n in range(len(again))]


@pytest.mark.parametrize(
    ("of", "long", "second"),
    [
        ([("s", "a", 0), ("t", "b", 0)], False, False),
        ([("s", "a", 0), ("s", "a", 1), ("t", "b", 0)], True, False),
        ([("s", "a", 0), ("s", "b", 0), ("t", "b", 0)], False, True),
        ([("s", "a", 0), ("s", "a", 0), ("t", "b", 0)], False, True),
        ([("s", "a", 0), ("s", "a", 1), ("s", "b", 0), ("t", "b", 0)], True, True),
    ],
)
def test_long_and_second_readings(of, long, second):
    table = pl.DataFrame(
        [(*row, n % 2) for n, row in enumerate(of)], ["student", "rater", "item", "score"], orient="row"
    )
    ratings = rl.read(table)
    assert readings_in(ratings) == (long, second)
