"""A subject of the audit: cases made by Hypothesis, and a check that each must pass."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis.strategies import SearchStrategy

from raterlens.base.errors import RaterlensError

Case = Any
"""Numbers, text, lists and dicts: what JSON can hold, so that a failure is a command."""
LONGEST_MESSAGE = 700


@dataclass(frozen=True)
class Subject:
    """One kind of trouble."""

    name: str
    cases: Callable[[], SearchStrategy[Case]]
    check: Callable[[Case, Path], str]
    """Try a case in an empty folder and say what came of it; whatever it raises is a fault."""
    share: float
    """Share of the time."""
    batch: int
    """Cases per turn."""


def refusal(error: RaterlensError) -> str:
    """One line, not too long, in which nothing is unforeseen."""
    said = str(error)
    assert said, f"no message: {error!r}"
    assert "\n" not in said, f"more than one line: {said!r}"
    assert len(said) <= LONGEST_MESSAGE, f"{len(said)} characters: {said[:200]!r}"
    return "refused"
