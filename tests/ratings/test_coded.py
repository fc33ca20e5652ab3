"""Ratings: codes, counts, parts, groupings."""

import datetime as dt
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.inference.resampling import resampled
from raterlens.ratings.coded import (
    Facet,
    KnownAnswers,
    Ratings,
    joined,
    joined_answers,
    level_table,
    renumbered,
    to_backend,
    used_levels,
)
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
from tests.support.known_tables import TABLE, answers

# -- Ratings --


@pytest.fixture
def ratings() -> Ratings:
    """Rater c, item y and topic t of one student alone, the last."""
    return Ratings(
        student=np.array([0, 0, 1, 2, 2], dtype=np.int32),
        rater=np.array([0, 1, 0, 2, 2], dtype=np.int32),
        item=np.array([0, 0, 0, 0, 1], dtype=np.int32),
        score=np.array([0, 1, 1, 2, 0], dtype=np.int16),
        students=pl.Series("student", [7, 8, 9]),
        raters=pl.Series("rater", ["a", "b", "c"]),
        items=pl.Series("item", ["x", "y"]),
        notes=("a note",),
        backend="pandas",
        facets=(Facet("topic", np.array([0, 0, 0, 0, 1], dtype=np.int32), pl.Series("topic", ["s", "t"])),),
    )


def test_the_table_names_pieces_and_is_read_back(ratings):
    essay = Facet("essay", np.array([1, 1, 0, 0, 1], dtype=np.int32), pl.Series("essay", ["p", "q"]))
    table = replace(ratings, piece=essay).table()
    assert table.columns == ["student", "rater", "item", "score", "topic", "essay"]
    assert table["essay"].to_list() == ["q", "q", "p", "p", "q"]
    again = rl.read(table, piece="essay", facets=["topic"])
    assert again.piece is not None
    assert_frame_equal(again.table(), table, check_dtypes=False)


@pytest.mark.parametrize(
    "rows", [slice(0, 3), np.array([True, False, True, False, False]), np.array([2, 0, 2])]
)
def test_a_subset_has_these_rows_and_no_other_levels(ratings, rows):
    found = ratings.subset(rows)
    table = ratings.table()
    picked = table[rows] if isinstance(rows, slice) else table[np.arange(5)[rows]]
    assert_frame_equal(found.table(), picked)
    for labels, name in ((found.students, "student"), (found.raters, "rater"), (found.items, "item")):
        assert labels.to_list() == sorted(picked[name].unique())
    assert found.facets[0].labels.to_list() == ["s"]
    assert (found.notes, found.backend) == (ratings.notes, "pandas")


def test_a_subset_may_keep_what_a_model_has_parameters_for(ratings):
    found = ratings.subset(ratings.student < 2, keep_levels=True)
    assert found.students.to_list() == [7, 8]
    assert found.raters.to_list() == ["a", "b", "c"]
    assert (found.items.to_list(), found.facets[0].labels.to_list()) == (["x", "y"], ["s", "t"])


def test_parts_join_to_the_whole(ratings):
    parts = [ratings.subset(rows, keep_levels=True) for rows in (ratings.student == 0, ratings.student > 0)]
    assert_frame_equal(joined(parts).table(), ratings.table())


def test_a_sample_has_whole_students(ratings):
    seeds = [ratings.sample(3, seed) for seed in range(20)]
    assert {some.n_students for some in seeds} > {1}
    for some in seeds:
        expected = ratings.table().filter(pl.col("student").is_in(some.students.implode()))
        assert_frame_equal(some.table(), expected)


def test_unused_levels_go_and_codes_follow():
    codes, labels = used_levels(np.array([3, 1, 3], dtype=np.int32), pl.Series(list("abcd")))
    assert (codes.tolist(), labels.to_list()) == ([1, 0, 1], ["b", "d"])


def test_tallies_are_those_of_the_table(ratings):
    for role in ("student", "rater", "item"):
        expected = ratings.table().group_by(role).agg(n=pl.len(), total=pl.col("score").sum()).sort(role)
        assert ratings.tally(role).n.tolist() == expected["n"].to_list()
        assert ratings.tally(role).total.tolist() == expected["total"].to_list()
    assert ratings.tally("facet topic").mean.tolist() == [1.0, 0.0]
    assert ratings.score_counts.tolist() == [2, 2, 1]
    assert ratings.with_scores(np.array([0, 1, 1], dtype=np.int16)).score.tolist() == [0, 1, 1, 1, 0]


def test_too_little_to_learn_from(ratings):
    with pytest.raises(InputError, match="1 rating in the table; give at least two, of different students"):
        ratings.subset(slice(1)).check_estimable()
    with pytest.raises(InputError, match="all 2 ratings are of one student, 7; raters are judged") as refused:
        ratings.subset(slice(2)).check_estimable()
    assert refused.value.option == "student"


def test_codes_beyond_the_labels_are_refused(ratings):
    with pytest.raises(ValueError, match="rater codes must be 5 numbers from 0 to 1"):
        replace(ratings, raters=pl.Series("rater", ["a", "b"]))
    with pytest.raises(ValueError, match="student codes must be 5 numbers"):
        replace(ratings, student=ratings.student[:3])


def test_a_subset_keeps_the_answers_of_those_who_are_left() -> None:
    ratings = read(TABLE, known="gold")
    assert answers(ratings) == {("a", "i", 2), ("b", "j", 0), ("c", "j", 1), ("d", "i", 1)}
    assert answers(ratings.subset(ratings.student > 1)) == {("c", "j", 1), ("d", "i", 1)}
    assert answers(ratings.subset(ratings.item == 1)) == {("b", "j", 0), ("c", "j", 1)}
    assert ratings.subset((ratings.student == 1) & (ratings.item == 0)).known is None


def test_parts_join_to_what_they_came_from() -> None:
    ratings = read(TABLE, known="gold")
    parts = [
        ratings.subset(ratings.student < 2, keep_levels=True),
        ratings.subset(ratings.student >= 2, keep_levels=True),
    ]
    assert answers(joined(parts)) == answers(ratings)
    assert joined_answers([(0, None), (3, None)]) is None


def test_scores_and_answers_are_recoded_alike_and_count_as_categories() -> None:
    ratings = read(TABLE.with_columns(score=pl.Series([0, 1] * 4)), known="gold")
    assert ratings.n_categories == 3
    passes = ratings.with_scores(np.array([0, 0, 1], dtype=np.int16))
    assert answers(passes) == {("a", "i", 1), ("b", "j", 0), ("c", "j", 0), ("d", "i", 0)}


def test_students_drawn_again_bring_their_answers_each_time() -> None:
    ratings = read(TABLE, known="gold")
    again = resampled(ratings, np.random.default_rng(3))
    drawn = np.random.default_rng(3).integers(4, size=4)
    truth = {0: (0, 2), 1: (1, 0), 2: (1, 1), 3: (0, 1)}
    assert len(np.unique(drawn)) < 4
    expected = [(place, *truth[int(student)]) for place, student in enumerate(drawn)]
    assert again.known is not None
    found = zip(*(getattr(again.known, name).tolist() for name in ("student", "item", "answer")), strict=True)
    assert list(found) == expected


def test_nobody_left_is_no_answers() -> None:
    known = KnownAnswers(np.array([0, 2], np.int32), np.zeros(2, np.int32), np.array([1, 0], np.int16))
    assert known.of_students(np.array([1, 1])) is None
    np.testing.assert_array_equal(renumbered(np.array([3, 1]), 5), [-1, 0, -1, 1, -1])


@pytest.mark.parametrize(
    ("backend", "kind"), [("polars", pl.DataFrame), ("pandas", pd.DataFrame), ("pyarrow", pa.Table)]
)
def test_values_survive(backend, kind):
    table = pl.DataFrame({"rater": ["AM", "BE"], "kappa": [0.5, None], "n": [1, 2]})
    found = to_backend(table, backend)
    assert isinstance(found, kind)
    assert list(found["rater"].to_pylist() if backend == "pyarrow" else found["rater"]) == ["AM", "BE"]


def test_every_table_is_of_the_kind_that_came_in():
    ratings = rl.read(rl.simulate(students=60, raters=4, items=2, seed=1).ratings.table().to_pandas())
    fit = rl.fit(ratings, model="gmf")
    found, compared = fit.diagnose(ratings, time=range(ratings.n_ratings)), fit.compare_raters()
    models = rl.compare(fit, fit.refit(ratings, model="tfm"))
    tables = {
        "raters": fit.raters,
        "verdicts": fit.verdicts(),
        "advice": fit.advice(),
        "flags": found.flags,
        "diagnosis": found.table("raters"),
        "curves": found.curves("R1"),
        "drift": found.drift(),
        "compared": compared.raters,
        "pairs": compared.pairs,
        "models": models.models,
        "agreement": models.agreement,
        "ranks": models.raters,
        "what if": fit.what_if("R1").curve,
        "differences": fit.differences(ratings).table,
        "bootstrap": fit.bootstrap(ratings, replicates=2, workers=1).raters(),
        "profile": fit.profile(ratings, "R1").raters,
        "gate": rl.gate(fit, min_sharpness=0.1).checks,
    }
    others = [name for name, table in tables.items() if not isinstance(table, pd.DataFrame)]
    assert others == []
    assert "R1" in compared.summary()
    assert "gmf" in models.summary()


@pytest.mark.parametrize("unit", [1, 0.5])
def test_label_count_mean_and_estimates(unit):
    columns = {"student": [1, 2, 3, 1, 2, 3], "rater": [*"aaabbb"]}
    scores = [unit * score for score in (2, 3, 3, 4, 5, 7)]
    ratings = rl.read(
        pl.DataFrame(columns | {"score": scores}), student="student", rater="rater", score="score"
    )
    table = level_table(ratings, ratings.raters, "rater", {"eta": np.array([0.5, -0.5])})
    assert table.drop("mean_score").rows() == [("a", 3, 0.5), ("b", 3, -0.5)]
    np.testing.assert_allclose(table["mean_score"], [unit * 8 / 3, unit * 16 / 3])


# -- Pieces of work, repeats, times and groups --


def of_pieces(rows):
    frame = pl.DataFrame(rows, schema=["student", "essay", "rater", "score"], orient="row")
    return rl.read(frame, student="student", rater="rater", score="score", piece="essay")


def test_a_label_counts_within_its_student():
    ratings_of_groupings = of_pieces(
        [("a", "x", "r", 1), ("a", "y", "r", 0), ("b", "x", "r", 1), ("b", "x", "s", 0)]
    )
    found = by_piece(ratings_of_groupings)
    assert found.ratings.n_students == 3
    assert found.student.tolist() == [0, 0, 1]
    assert ratings_of_groupings.piece.labels.gather(found.label).to_list() == ["x", "y", "x"]
    assert not one_each(ratings_of_groupings)
    assert not read_once(ratings_of_groupings)
    assert ratings_of_groupings.facets == ()


def test_one_piece_per_student_and_pieces_read_once():
    assert one_each(of_pieces([("a", "x", "r", 1), ("b", "y", "s", 0), ("b", "y", "r", 1)]))
    assert read_once(of_pieces([("a", "x", "r", 1), ("a", "y", "s", 0), ("b", "x", "r", 1)]))


def test_parts_keep_their_pieces():
    ratings_of_groupings = of_pieces([("a", "x", "r", 1), ("a", "y", "r", 0), ("b", "z", "r", 1)])
    some = ratings_of_groupings.subset(ratings_of_groupings.student == 1)
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
def ratings_of_groupings():
    return simulate(students=30, raters=4, items=2, raters_per_student=2, seed=1).ratings


@pytest.mark.parametrize("n_labels", [2, 100])
def test_codes_lead_back_to_the_values(ratings_of_groupings, n_labels):
    values = np.random.default_rng(0).integers(0, n_labels, ratings_of_groupings.n_ratings) * 3
    codes, labels = levels_of("school", values, ratings_of_groupings)
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
def test_what_groups_nothing_is_refused(ratings_of_groupings, change, message):
    values = ["a", "b"] * (ratings_of_groupings.n_ratings // 2)
    with pytest.raises(InputError, match=message):
        levels_of("school", change(values), ratings_of_groupings)


def test_a_column_that_was_not_read_is_named(ratings_of_groupings):
    message = r"column 'week' was not read with the ratings; name it when reading: rl.read\(..., beside=\['week'\]\)"
    with pytest.raises(OptionError, match=message):
        time_of("week", ratings_of_groupings)


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
    ratings_of_groupings = read(pl.DataFrame(table), facets="topic", beside=["day", "school"])
    assert [facet.name for facet in ratings_of_groupings.facets] == ["topic"]
    columns = columns_by_name(ratings_of_groupings, "day", ["school"])
    assert columns["time"].to_list() == [10.0, 9.0, 9.0, 10.0]
    assert columns["groups"]["school"].to_list() == list("xxyy")
    codes, labels = time_of("day", ratings_of_groupings)
    assert labels.gather(codes).to_list() == [10.0, 9.0, 9.0, 10.0]
    codes, labels = groups_of("school", ratings_of_groupings)["school"]
    assert labels.gather(codes).to_list() == list("xxyy")
    codes, labels = time_of("topic", ratings_of_groupings)  # labels that sort
    assert labels.gather(codes).to_list() == list("pqpq")
    part = ratings_of_groupings.subset(ratings_of_groupings.student == 1)
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
