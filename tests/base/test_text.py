"""Words, messages and errors."""

import ctypes
import pickle

import pytest

from raterlens.base.errors import (
    InputError,
    OptionError,
    RaterlensError,
    choose,
    is_interrupt,
    missing_charts,
)
from raterlens.base.text import Message, Option, distinct, interval, listed, number, printable, worded


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
