"""One base error. It carries fields, which Python, the command line and the web app each put in their own words."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

from raterlens.base.text import Option, mentioned, shortened, worded


class RaterlensError(Exception):
    """The input is at fault, and the message says how to mend it (exit code 2 on the command line).

    Parameters
    ----------
    what
        What is wrong, with the value seen.
    remedy
        What to do about it.
    value
        The value seen, for programs; by default that of the first option that `what` mentions.
    option
        The option at fault, for programs and for forms that point at it; by default the first that `what`, else
        `remedy`, mentions.

    Examples
    --------
    >>> from raterlens.base.text import Message, Option
    >>> remedy = Message("give the lowest passing score, for example ", Option("cut", 3))
    >>> error = RaterlensError("scores go from 0 to 3", remedy)
    >>> str(error)
    'scores go from 0 to 3; give the lowest passing score, for example cut=3'
    >>> error.worded(lambda option: f"--{option.name} {option.value}")
    'scores go from 0 to 3; give the lowest passing score, for example --cut 3'
    """

    def __init__(
        self, what: str, remedy: str = "", *, value: object = None, option: str | None = None
    ) -> None:
        super().__init__(what, remedy)
        named = next(mentioned(what), None)
        if value is None and named is not None and option in (None, named.name) and named.value is not ...:
            value = named.value
        named = named or next(mentioned(remedy), None)
        if option is None and named is not None:
            option = named.name
        self.what, self.remedy, self.value, self.option = what, remedy, value, option

    def worded(self, mention: Callable[[Option], str] = str) -> str:
        """The message, with options as `mention` writes them."""
        return "; ".join(worded(part, mention) for part in (self.what, self.remedy) if part)

    def __str__(self) -> str:
        return self.worded()

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.what, self.remedy, self.value, self.option)


class InputError(RaterlensError):
    """A file or table that cannot be read as ratings."""


class OptionError(RaterlensError):
    """An argument that cannot be used."""


_OF_CHARTS = ("altair", "vl_convert")


def missing_charts(error: ImportError) -> OptionError | None:
    """Return the error to show if the packages for charts are not installed."""
    if error.name not in _OF_CHARTS:
        return None
    return OptionError("charts are not installed", "run: pip install 'raterlens[charts]'", value=error.name)


def _rebuilt(
    kind: type[RaterlensError], what: str, remedy: str, value: object, option: str | None
) -> RaterlensError:
    """Rebuild an error that came from another process."""
    return kind(what, remedy, value=value, option=option)


def choose(name: str, value: str, options: Iterable[str], option: str | None = None) -> str:
    """Return `value` if it is one of `options`; otherwise raise, listing them.

    `option` is what the choice is made by, where that is not its name.
    """
    options = list(options)
    if value in options:
        return value
    near = get_close_matches(str(value), options, n=1)
    hint = f"did you mean {shortened(near[0])}? " if near else ""
    raise OptionError(
        f"unknown {name} {shortened(value)}",
        f"{hint}choose one of: {', '.join(options)}",
        value=value,
        option=option or name,
    )


def is_interrupt(error: BaseException) -> bool:
    """Whether an error is Ctrl-C or SIGTERM, even if ctypes wrapped it while converting an argument."""
    wrapped = type(error).__name__ == "ArgumentError" and "KeyboardInterrupt" in str(error)
    return wrapped or isinstance(error, KeyboardInterrupt)
