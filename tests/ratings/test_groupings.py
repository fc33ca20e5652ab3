"""Pieces of work, repeats, times and groups; rows put together by codes."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.ratings.groupings import (
    by_piece,
    columns_by_name,
    grouped,
    groups_of,
    large,
    levels_of,
    occurrence,
    one_each,
    order_of,
    order_of_two,
    periods_of,
    read_once,
    readings_of,
    time_of,
    times,
)
from raterlens.reading.read import read
from raterlens.simulation.simulate import simulate


def of_pieces(rows):
    frame = pl.DataFrame(rows, schema=["student", "essay", "rater", "score"], orient="row")
    return rl.read(frame, student="student", rater="rater", score="score", piece="essay")


def test_a_label_counts_within_its_student():
    ratings = of_pieces([("a", "x", "r", 1), ("a", "y", "r", 0), ("b", "x", "r", 1), ("b", "x", "s", 0)])
    found = by_piece(ratings)
    assert found.ratings.n_students == 3
    assert found.student.tolist() == [0, 0, 1]
    assert ratings.piece.labels.gather(found.label).to_list() == ["x", "y", "x"]
    assert not one_each(ratings)
    assert not read_once(ratings)
    assert ratings.facets == ()


def test_one_piece_per_student_and_pieces_read_once():
    assert one_each(of_pieces([("a", "x", "r", 1), ("b", "y", "s", 0), ("b", "y", "r", 1)]))
    assert read_once(of_pieces([("a", "x", "r", 1), ("a", "y", "s", 0), ("b", "x", "r", 1)]))


def test_parts_keep_their_pieces():
    ratings = of_pieces([("a", "x", "r", 1), ("a", "y", "r", 0), ("b", "z", "r", 1)])
    some = ratings.subset(ratings.student == 1)
    assert some.piece.labels.to_list() == ["z"]


STUDENT, RATER = np.array([0, 0, 0, 0, 1]), np.array([1, 1, 1, 0, 1])


def test_nothing_occurs_again():
    assert occurrence(STUDENT, RATER, np.array([0, 1, 2, 0, 0])) is None
    assert occurrence(*(np.empty(0, dtype=np.int32),) * 3) is None
    which, number = readings_of(STUDENT, RATER, np.array([0, 1, 2, 0, 0]))
    assert number == 3
    assert which.tolist() == [1, 1, 1, 0, 2]


def test_an_item_that_occurs_again_is_of_the_next_reading():
    item = np.array([0, 1, 0, 0, 0])
    assert occurrence(STUDENT, RATER, item).tolist() == [0, 0, 1, 0, 0]
    which, number = readings_of(STUDENT, RATER, item)
    assert number == 4
    assert which[0] == which[1] != which[2]


@pytest.fixture(scope="module")
def ratings():
    return simulate(students=30, raters=4, items=2, raters_per_student=2, seed=1).ratings


@pytest.mark.parametrize("n_labels", [2, 100])
def test_codes_lead_back_to_the_values(ratings, n_labels):
    values = np.random.default_rng(0).integers(0, n_labels, ratings.n_ratings) * 3
    codes, labels = levels_of("school", values, ratings)
    assert labels.to_list() == sorted(set(values.tolist()))
    np.testing.assert_array_equal(labels.gather(codes).to_numpy(), values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda values: values[:-1], "school has 119 values for 120 ratings; give one for every rating"),
        (lambda values: [None, *values[1:]], "school is missing for 1 rating; fill it in"),
        (lambda values: ["a"] * len(values), "school is 'a' for every rating; leave it out"),
    ],
)
def test_what_groups_nothing_is_refused(ratings, change, message):
    values = ["a", "b"] * (ratings.n_ratings // 2)
    with pytest.raises(InputError, match=message):
        levels_of("school", change(values), ratings)


def test_a_column_that_was_not_read_is_named(ratings):
    message = r"column 'week' was not read with the ratings; name it when reading: rl.read\(..., beside=\['week'\]\)"
    with pytest.raises(OptionError, match=message):
        time_of("week", ratings)


def test_many_times_become_four_periods_of_equal_size():
    moment = np.arange(400, dtype=np.int32) // 4
    codes, names = periods_of(moment, pl.Series(np.arange(100)))
    # A moment is not divided between two periods: 4 ratings each.
    np.testing.assert_allclose(np.bincount(codes), 4 * [100], atol=4)
    starts = [int(moment[codes == code].min()) for code in range(4)]
    assert names.to_list() == [f"{code + 1}: from {start}" for code, start in enumerate(starts)]
    few, names = periods_of(moment % 3, pl.Series([1.0, 2.5, 3.0]))
    assert names.to_list() == ["1", "2.5", "3"]
    np.testing.assert_array_equal(few, moment % 3)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (["10", "9"], [10.0, 9.0]),
        (["2024-05-31", "2024-06-01"], [dt.date(2024, 5, 31), dt.date(2024, 6, 1)]),
        (["2024-05-31 09:30"], [dt.datetime(2024, 5, 31, 9, 30)]),
    ],
)
def test_text_is_read_as_times(text, read):
    assert times(pl.Series("week", text)).to_list() == read


def test_text_that_is_no_time_is_named():
    with pytest.raises(
        InputError, match="'May' in the column of times, 'week', is neither a number nor a date"
    ):
        times(pl.Series("week", ["1", "May"]))


def test_columns_set_aside_are_no_part_of_the_model():
    table = {"student": [1, 1, 2, 2], "rater": list("ABAB"), "score": [0, 1, 1, 0]}
    table |= {"day": ["10", "9", "9", "10"], "school": list("xxyy"), "topic": list("pqpq")}
    ratings = read(pl.DataFrame(table), facets="topic", beside=["day", "school"])
    assert [facet.name for facet in ratings.facets] == ["topic"]
    columns = columns_by_name(ratings, "day", ["school"])
    assert columns["time"].to_list() == [10.0, 9.0, 9.0, 10.0]
    assert columns["groups"]["school"].to_list() == list("xxyy")
    codes, labels = time_of("day", ratings)
    assert labels.gather(codes).to_list() == [10.0, 9.0, 9.0, 10.0]
    codes, labels = groups_of("school", ratings)["school"]
    assert labels.gather(codes).to_list() == list("xxyy")
    codes, labels = time_of("topic", ratings)  # labels that sort
    assert labels.gather(codes).to_list() == list("pqpq")
    part = ratings.subset(ratings.student == 1)
    assert part.table().select("topic", "day", "school").rows() == [("p", "9", "y"), ("q", "10", "y")]
    same = read(pl.DataFrame(table | {"school": ["x"] * 4}), beside="school")
    with pytest.raises(InputError, match="column 'school' is 'x' in every row"):
        groups_of(["school"], same)


@pytest.mark.parametrize("order", ["as they came", "sorted"])
def test_groups_are_those_of_a_stable_sort(order):
    one, two = np.random.default_rng(3).integers(7, size=(2, 200))
    if order == "sorted":
        place = np.lexsort((two, one))
        one, two = one[place], two[place]
    found = grouped(one, 8, two, 7)
    np.testing.assert_array_equal(found.order, np.lexsort((two, one)))
    np.testing.assert_array_equal(order_of_two(one, 8, two, 7), found.order)
    np.testing.assert_array_equal(order_of(one, 8), np.argsort(one, kind="stable"))
    distinct, of_row = np.unique(one * 7 + two, return_inverse=True)
    assert len(found) == len(distinct)
    np.testing.assert_array_equal(found.of_row, of_row)
    np.testing.assert_array_equal(found.size, np.bincount(of_row))
    np.testing.assert_array_equal(one[found.example] * 7 + two[found.example], distinct)


def test_large_data_begin_where_compiled_code_pays():
    assert not large(50)
    assert large(1_000_000)
