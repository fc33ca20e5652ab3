"""Checks that the records of a request share."""

from collections.abc import Iterable
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from raterlens.base.errors import OptionError, choose
from raterlens.base.text import Message, Option

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def given_options(config: "DataclassInstance") -> dict[str, Any]:
    """The options that are not at their defaults."""
    return {
        option.name: value
        for option in fields(config)
        if option.default is not MISSING and _differs(value := getattr(config, option.name), option.default)
    }


def _differs(value: object, default: object) -> bool:
    """Where the default is None a value may be a dataframe, which does not compare as a whole."""
    return value is not None if default is None else value != default


def check_names(record: "type[DataclassInstance]", names: Iterable[str]) -> None:
    """Refuse an option that the record does not have, naming the nearest that it has."""
    known = [option.name for option in fields(record)]
    for name in names:
        choose("option", name, known)


def check_switch(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise OptionError(Message(Option(name, value)), "give True or False", value=value, option=name)


def check_text(name: str, value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise OptionError(Message(Option(name, value)), "give text", value=value, option=name)


def check_whole(name: str, value: object, least: int, most: int | None = None) -> None:
    beyond = not isinstance(value, int) or value < least or (most is not None and value > most)
    if beyond or isinstance(value, bool):
        bound = f"of at least {least}" if most is None else f"from {least:,} to {most:,}"
        raise OptionError(
            Message(Option(name, value)),
            Message(f"give a whole number {bound}, for example ", Option(name, max(least, 1))),
            value=value,
            option=name,
        )


def check_number(name: str, value: object, least: float, most: float) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        raise OptionError(
            Message(Option(name, value)),
            Message(f"give a number from {least:g} to {most:g}"),
            value=value,
            option=name,
        )
