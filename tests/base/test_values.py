"""Arrays, text and notebooks."""

import ctypes
import pickle
from itertools import groupby
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  its threads count, too
from threadpoolctl import threadpool_info

import raterlens as rl
from raterlens.base.arrays import (
    all_true,
    averaged,
    count,
    distinct_counts,
    is_all_true,
    limit_blas_threads,
    mirrored,
    run_starts,
    run_sums,
    single_threaded_blas,
    sorted_unique,
    take_in_blocks,
)
from raterlens.base.errors import (
    InputError,
    OptionError,
    RaterlensError,
    choose,
    is_interrupt,
    missing_charts,
)
from raterlens.base.notebook import MOST, intervals, lines, shown, table
from raterlens.base.text import Message, Option, distinct, interval, listed, number, printable, worded

# -------------------------------------------------------------------------------- long columns, masks and matrices


ROWS = 300_000  # more than a block


@pytest.fixture(scope="module")
def columns():
    random = np.random.default_rng(0)
    return [np.repeat(random.integers(0, 9, ROWS), 2)[:ROWS].astype(np.int32), random.integers(0, 2, ROWS)]


def test_runs_begin_where_a_column_changes(columns):
    pairs = zip(*(column.tolist() for column in columns), strict=True)
    lengths = [len(list(run)) for _, run in groupby(pairs)]
    np.testing.assert_array_equal(run_starts(*columns), np.cumsum([0, *lengths[:-1]]))
    assert run_starts(np.empty(0, dtype=np.int32)).tolist() == []


def test_distinct_numbers(columns):
    numbers = columns[0].astype(np.int64)
    np.testing.assert_array_equal(sorted_unique(numbers), np.unique(numbers))
    assert sorted_unique(np.empty(0, dtype=np.int64)).tolist() == []


def test_sums_of_runs(columns):
    starts = run_starts(columns[0])
    sums = run_sums(columns[1], starts, np.int64)
    np.testing.assert_array_equal(sums, np.add.reduceat(columns[1], starts))


@pytest.mark.parametrize("size", [9, 10_000_000])
def test_distinct_values_and_how_often(columns, size):
    found, expected = distinct_counts(columns[0], size), np.unique(columns[0], return_counts=True)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_looking_up(columns):
    table = np.arange(9) ** 2
    np.testing.assert_array_equal(take_in_blocks(table, columns[0]), table[columns[0]])


def test_a_mask_that_holds_everywhere_is_known_without_looking() -> None:
    mask = all_true(3, 2)
    assert mask.shape == (3, 2)
    assert mask.all()
    assert mask.base is not None
    assert is_all_true(mask)
    assert is_all_true(mask[:, 0])
    assert count(mask) == 6
    with pytest.raises(ValueError, match="read-only"):
        mask[0, 0] = False


@pytest.mark.parametrize("mask", [np.ones(3, bool), np.zeros(3, bool), np.broadcast_to(np.False_, (3,))])
def test_other_masks_have_to_be_looked_at(mask: np.ndarray) -> None:
    assert not is_all_true(mask)
    assert count(mask) == int(mask.sum())


def test_an_empty_mask_is_counted() -> None:
    assert count(all_true(0, 1)) == 0
    assert count(all_true(1)) == 1


def threads() -> list[int]:
    return [int(pool["num_threads"]) for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_small_models_take_one_thread_and_large_ones_all():
    before = threads()
    with limit_blas_threads(SimpleNamespace(n_raters=16, n_items=4)):
        assert set(threads()) <= {1}
    assert threads() == before
    with limit_blas_threads(SimpleNamespace(n_raters=790, n_items=11)):
        assert threads() == before


def test_a_fit_leaves_threads_as_they_were(monkeypatch):
    before, seen = threads(), []
    rl.fit(
        rl.simulate(students=40, raters=3, items=2, seed=1).ratings,
        model="gmf",
        progress=lambda _: seen.extend(threads()),
    )
    assert set(seen) == {1}
    assert threads() == before


def test_a_second_core_is_left_alone_by_work_that_would_wait_for_it(monkeypatch):
    before = threads()
    for cores, expected in ((2, {1}), (16, set(before))):
        monkeypatch.setattr("raterlens.base.arrays.available_cores", lambda cores=cores: cores)
        with single_threaded_blas(1_000):
            assert set(threads()) == expected
    assert threads() == before


@pytest.mark.parametrize("size", [1, 5, 300])
def test_what_stands_above_the_diagonal_gives_the_whole(size):
    root = np.random.default_rng(0).normal(size=(size, size))
    whole = root + root.T
    for below in (np.zeros_like(root), root):
        np.testing.assert_array_equal(mirrored(np.triu(whole) + np.tril(below, -1)), whole)


@pytest.mark.parametrize("size", [1, 7, 128, 300])
def test_a_matrix_is_averaged_with_its_transpose(size: int) -> None:
    matrix = np.random.default_rng(size).standard_normal((size, size))
    expected = (matrix + matrix.T) / 2
    np.testing.assert_array_equal(averaged(matrix), expected)


# -------------------------------------------------------------------------------------- words, messages and errors


def test_a_message_is_text_that_remembers_its_options() -> None:
    message = Message("give ", Option("rater", "AM"), " or leave out ", Option("cut"))
    assert message == "give rater='AM' or leave out cut="
    assert worded(message, lambda option: f"--{option.name}") == "give --rater or leave out --cut"
    assert worded("plain", lambda option: "never") == "plain"


def test_messages_within_messages_are_worded_too() -> None:
    inner = Message("give ", Option("cut", 3))
    assert (
        worded(Message("either ", inner, " or not"), lambda option: "a pass mark")
        == "either give a pass mark or not"
    )


def test_a_message_survives_a_process_boundary() -> None:
    message = pickle.loads(pickle.dumps(Message("give ", Option("cut", 3))))
    assert worded(message, lambda option: f"--{option.name} {option.value}") == "give --cut 3"


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (-0.004, 2, "0.00"),
        (-0.006, 2, "-0.01"),
        (1234.5, 1, "1234.5"),
        (float("nan"), 2, "–"),
        (-0.4, 0, "0"),
    ],
)
def test_numbers_never_show_a_negative_zero(value: float, digits: int, text: str) -> None:
    assert number(value, digits) == text


def test_an_interval_needs_both_ends() -> None:
    assert interval(-0.1, 0.25, " to ") == "-0.10 to 0.25"
    assert interval(0.1, float("nan")) == "–"


def test_lists_end_with_what_is_left_out() -> None:
    assert listed("abc", most=3) == "'a', 'b', 'c'"
    assert listed(["a"] * 2_000, most=1) == "'a' and 1,999 more"


def test_labels_cannot_steer_a_terminal_and_stay_apart() -> None:
    assert printable("a\u202eb\x07") == "a·b·"
    assert distinct(["a\nb", "a\tb", "a·b", "a·b (2)"]) == ["a·b", "a·b (2)", "a·b (3)", "a·b (2) (2)"]


REMEDY = Message("give the lowest passing score, for example ", Option("cut", 3))


def on_the_command_line(option: Option) -> str:
    return f"--{option.name} {option.value}"


def test_the_sentence_is_the_fact_and_then_the_remedy() -> None:
    error = InputError("scores go from 0 to 3", REMEDY, value=3, option="cut")
    assert str(error) == "scores go from 0 to 3; give the lowest passing score, for example cut=3"
    assert (
        error.worded(on_the_command_line)
        == "scores go from 0 to 3; give the lowest passing score, for example --cut 3"
    )
    assert (error.what, error.value, error.option) == ("scores go from 0 to 3", 3, "cut")
    assert str(RaterlensError("no such file")) == "no such file"


def test_the_fact_may_mention_options_too() -> None:
    error = OptionError(Message("there is no ", Option("rater")), "leave it out")
    assert error.worded(lambda option: f"--{option.name}") == "there is no --rater; leave it out"


def test_an_error_keeps_its_fields_on_the_way_from_another_process() -> None:
    error = InputError("scores go from 0 to 3", REMEDY, value=[3], option="cut")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is InputError
    assert (again.what, again.value, again.option) == (error.what, [3], "cut")
    assert again.worded(on_the_command_line) == error.worded(on_the_command_line)


def test_a_choice_is_returned_or_the_nearest_is_suggested() -> None:
    assert choose("link", "probit", ["logit", "probit"]) == "probit"
    with pytest.raises(OptionError) as caught:
        choose("link", "probbit", ["logit", "probit"])
    assert str(caught.value) == "unknown link 'probbit'; did you mean 'probit'? choose one of: logit, probit"
    assert (caught.value.value, caught.value.option) == ("probbit", "link")
    with pytest.raises(OptionError) as caught:
        choose("column", "zzz", ["pid"], option="student")
    assert str(caught.value) == "unknown column 'zzz'; choose one of: pid"
    assert caught.value.option == "student"


def test_charts_that_are_not_installed_are_named() -> None:
    found = missing_charts(ModuleNotFoundError("No module named 'altair'", name="altair"))
    assert "pip install 'raterlens[charts]'" in str(found)
    assert missing_charts(ModuleNotFoundError("No module named 'numpy'", name="numpy")) is None


def test_an_interrupt_is_known_even_in_the_arguments_of_a_compiled_function() -> None:
    class Interrupted:
        @classmethod
        def from_param(cls, value: object) -> object:
            raise KeyboardInterrupt

    absolute = ctypes.CDLL(None).abs
    absolute.argtypes = [Interrupted]  # type: ignore[list-item]
    with pytest.raises(ctypes.ArgumentError) as wrapped:
        absolute(1)
    assert is_interrupt(wrapped.value)
    assert is_interrupt(KeyboardInterrupt())
    assert not is_interrupt(ctypes.ArgumentError("argument 1: wrong type"))


# ------------------------------------------------ notebook output: short, escaped, with a picture; and short reprs


@pytest.fixture(scope="module")
def ratings() -> rl.Ratings:
    return rl.simulate(students=60, raters=4, items=2, seed=1).ratings


def test_text_is_escaped_and_long_lists_are_cut():
    points = [("<script>" if k == 0 else f"R{k}", k / 40, 0.0, float("nan")) for k in range(40)]
    page = shown("<h>", lines(["a & b"]), table(["<c>"], [["<x>"]] * 30), intervals(points, (0.0, 1.0), "κ"))
    root = ElementTree.fromstring(page.replace("&nbsp;", " "))
    assert len(list(root.iter("circle"))) == MOST
    assert not list(root.iter("script"))
    assert "and 20 more" in page
    assert "and 10 more" in page


def test_a_point_stands_where_its_value_is():
    (circle,) = ElementTree.fromstring(intervals([("a", 0.5, 0.4, 0.6)], (0.0, 1.0), "κ")).iter("circle")
    (other,) = ElementTree.fromstring(intervals([("a", 1.0, 0.9, 1.0)], (0.0, 1.0), "κ")).iter("circle")
    (first,) = ElementTree.fromstring(intervals([("a", 0.0, 0.0, 0.1)], (0.0, 1.0), "κ")).iter("circle")
    assert float(circle.get("cx")) == pytest.approx((float(other.get("cx")) + float(first.get("cx"))) / 2)


def test_every_object_shows_itself_in_a_few_lines(ratings):
    fit = rl.fit(ratings, model="gmf")
    found = {
        "ratings": ratings,
        "fit": fit,
        "diagnosis": fit.diagnose(ratings),
        "comparison": fit.compare_raters(),
        "models": rl.compare(fit, fit.refit(ratings, model="tfm")),
    }
    for name, one in found.items():
        page = one._repr_html_()
        assert list(ElementTree.fromstring(page).iter("svg")), name
        assert len(page) < 20_000, name
        assert len(repr(one)) < 200, name
        assert repr(one).startswith("<"), name
    assert repr(ratings) == "<Ratings: 480 ratings of 60 students by 4 raters on 2 items>"
    assert "4 raters" in repr(fit)
