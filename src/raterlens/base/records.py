"""Frozen dataclasses that take no time to define.

Python's `dataclass` writes and compiles up to six methods per class while its module is loaded: half a millisecond
each, a tenth of a short command altogether. Here all classes share methods that go by the fields; `fields`, `replace`,
`asdict` and pickle work as ever. Classes of the public interface are Python's own: help and the documentation know
their signatures.
"""

import dataclasses
from typing import TYPE_CHECKING, Any

_put = object.__setattr__


def _init(self: Any, /, *values: Any, **named: Any) -> None:
    if not named and (rest := self.__rests__.get(len(values))) is not None:
        for name, value in zip(self.__match_args__, values + rest):  # noqa: B905  as many as there are
            _put(self, name, value)
        if hasattr(self, "__post_init__"):
            self.__post_init__()
        return
    positions, fields = self.__match_args__, self.__dataclass_fields__
    left = dict(named)
    if len(values) > len(positions) or any(name in left for name in positions[: len(values)]):
        raise _mistaken(self, values, named)
    left.update(zip(positions, values, strict=False))
    for name, field in fields.items():
        if name in left:
            _put(self, name, left.pop(name))
        elif field.default is not dataclasses.MISSING:
            _put(self, name, field.default)
        elif field.default_factory is not dataclasses.MISSING:
            _put(self, name, field.default_factory())
        else:
            raise _mistaken(self, values, named)
    if left:
        raise _mistaken(self, values, named)
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _rests(cls: Any) -> dict[int, tuple[Any, ...]]:
    """By how many values are given: the defaults of those after them, where all of these have one."""
    fields = dataclasses.fields(cls)
    if len(fields) != len(cls.__match_args__):
        return {}
    found: dict[int, tuple[Any, ...]] = {len(fields): ()}
    for given in range(len(fields) - 1, -1, -1):
        if fields[given].default is dataclasses.MISSING:
            break
        found[given] = (fields[given].default, *found[given + 1])
    return found


def _mistaken(self: Any, values: tuple[Any, ...], named: dict[str, Any]) -> TypeError:
    given = ", ".join([f"{len(values)} by position", *named])
    return TypeError(
        f"{type(self).__qualname__} takes {', '.join(self.__dataclass_fields__)}; given were {given}"
    )


def _refuse(self: Any, name: str, *_: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot change {name!r} of {type(self).__qualname__}")


def _repr(self: Any) -> str:
    shown = (
        f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr
    )
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _compared(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, field.name) for field in dataclasses.fields(self) if field.compare)


def _eq(self: Any, other: object) -> Any:
    return _compared(self) == _compared(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        _put(self, field.name, value)


FROZEN = {"__init__": _init, "__repr__": _repr, "__setattr__": _refuse, "__delattr__": _refuse}
COMPARED = {"__eq__": _eq, "__hash__": _hash}
SLOTTED = {"__getstate__": _getstate, "__setstate__": _setstate}

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: bool = False, eq: bool = True, slots: bool = False, **options: bool):
        """As `dataclasses.dataclass` for frozen classes; methods that a class has of its own stay."""
        if not frozen:
            raise TypeError("only for frozen classes; use dataclasses.dataclass")
        shared = FROZEN | (COMPARED if eq else {}) | (SLOTTED if slots else {})
        fields_alone = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, **options)

        def made(cls: type) -> type:
            # A class that defines __eq__ has None for __hash__.
            own = {name for name, method in vars(cls).items() if method is not None}
            cls.__doc__ = cls.__doc__ or cls.__name__  # which Python would take from the signature, slowly
            cls = fields_alone(cls)
            cls.__rests__ = _rests(cls)
            for name, method in shared.items():
                if name not in own:
                    setattr(cls, name, method)
            return cls

        return made
