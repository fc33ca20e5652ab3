"""Numbers, labels and messages as people read them; the examples in the docstrings run as tests too."""

import pickle

import pytest

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
