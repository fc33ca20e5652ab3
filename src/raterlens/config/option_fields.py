"""Options as fields of a record: each carries its help text, flag and bounds for every surface."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import Field, field, fields, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args, get_origin

from raterlens.base.errors import OptionError, choose
from raterlens.base.text import Message, Option

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def option(default: Any, help_text: str, **how: Any) -> Any:
    """Define a field of a record as an option.

    Parameters
    ----------
    default
        Its default.
    help_text
        What the command line says about it.
    how
        `flag`: the command line's name or names, where they differ; `file`: the command line takes a path; `least`
        and `most`: bounds of a number.
    """
    return field(default=default, metadata={"help": help_text, **how})


def choices(kind: Any) -> tuple[str, ...]:
    """Return the values of a `Literal`, or of `Literal | None`.

    Examples
    --------
    >>> choices(Literal["a", "b"] | None), choices(int)
    (('a', 'b'), ())
    """
    kinds = [part for part in (kind, *get_args(kind)) if get_origin(part) is Literal]
    return get_args(kinds[0]) if kinds else ()


def takes_several(one: "Field[Any]") -> bool:
    """Whether an option takes several names."""
    return Sequence[str] in get_args(one.type)


def check_options(config: "DataclassInstance") -> None:
    """Raise on values that the type or the bounds of their option exclude."""
    for one in fields(config):
        value, how = getattr(config, one.name), one.metadata
        if value is None and type(None) in get_args(one.type):
            continue
        if offered := choices(one.type):
            choose(one.name, value, offered)
        elif one.type is bool:
            check_switch(one.name, value)
        elif "least" in how:
            check = check_number if float in (one.type, *get_args(one.type)) else check_whole
            check(one.name, value, how["least"], how.get("most"))


class Request:
    """A frozen record of options."""

    __slots__ = ()
    __dataclass_fields__: "ClassVar[dict[str, Field[Any]]]"

    def changed(self, **changes: Any) -> Self:
        """The same request with some options changed."""
        check_names(type(self), changes)
        return replace(self, **changes)

    def given(self) -> dict[str, Any]:
        """The options that are not at their defaults."""
        return {
            one.name: value
            for one in fields(self)
            # Where the default is None, the value may be a dataframe, which cannot be compared as a whole.
            if (value := getattr(self, one.name)) is not None
            and (one.default is None or value != one.default)
        }


def check_names(record: "type[DataclassInstance]", names: Iterable[str]) -> None:
    """Raise on an option that the record does not have, naming the nearest."""
    known = [option.name for option in fields(record)]
    for name in names:
        choose("option", name, known)


def check_switch(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise OptionError(Message(Option(name, value)), "give True or False")


def check_text(name: str, value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise OptionError(Message(Option(name, value)), "give text")


def check_whole(name: str, value: object, least: int, most: int | None = None) -> None:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not least <= value <= (math.inf if most is None else most):  # type: ignore[operator]
        bound = f"of at least {least}" if most is None else f"from {least:,} to {most:,}"
        raise OptionError(Message(Option(name, value), " is not possible"), f"give a whole number {bound}")


def check_number(name: str, value: object, least: float, most: float | None = None) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not least <= value <= (math.inf if most is None else most):  # type: ignore[operator]
        bound = f"of at least {least:g}" if most is None else f"from {least:g} to {most:g}"
        raise OptionError(Message(Option(name, value), " is not possible"), f"give a number {bound}")
