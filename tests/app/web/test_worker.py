"""Answers of a worker: a result, the parts of an error, or a message about a bug."""

from typing import Any

from raterlens.app.web.worker import _do
from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option

REMEDY = Message("give ", Option("cut", 3))


def answer(task: Any) -> dict[str, Any]:
    return _do({"task": task}, {"task": "task", "arguments": {"name": "x"}}, lambda said: None)


def test_a_result() -> None:
    assert answer(lambda name, progress: name * 2) == {"state": "done", "result": "xx"}


def test_the_parts_of_an_error_in_the_words_of_the_pages() -> None:
    def fault(name: str, progress: object) -> None:
        raise InputError("scores go from 0 to 3", REMEDY, value={"a": 1}, option="cut")

    assert answer(fault) == {
        "state": "fault",
        "what": "scores go from 0 to 3",
        "remedy": "give the pass mark 3",
        "option": "cut",
        "value": "{'a': 1}",
    }


def test_a_bug_is_told_as_one() -> None:
    def bug(name: str, progress: object) -> None:
        raise ZeroDivisionError

    found = answer(bug)
    assert found["state"] == "failed"
    assert "This is a bug in Raterlens" in found["what"]
