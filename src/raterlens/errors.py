"""One base error. Every message says what is wrong, the value seen, and what to do."""

from collections.abc import Iterable
from difflib import get_close_matches


class RaterlensError(Exception):
    """The input is at fault, and the message says how to mend it (exit code 2 on the command line)."""


class InputError(RaterlensError):
    """A file or table that cannot be read as ratings."""


class OptionError(RaterlensError):
    """An argument that is not one of those offered."""


def choose(name: str, value: str, options: Iterable[str]) -> str:
    """Return `value` where it is one of `options`; otherwise say which there are."""
    options = list(options)
    if value in options:
        return value
    near = get_close_matches(str(value), options, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise OptionError(f"unknown {name} {value!r}; {hint}choose one of: {', '.join(options)}")
