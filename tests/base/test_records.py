"""Records are to do what Python's own frozen dataclasses do: each test asks both."""

import copy
import pickle
import weakref
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from dataclasses import dataclass as python_dataclass
from typing import Any

import pytest

from raterlens.base.records import dataclass as record


@record(frozen=True, slots=True)
class Place:
    """As `PythonPlace`."""

    row: int
    name: str = "here"
    seen: list[int] = field(default_factory=list, compare=False)


@python_dataclass(frozen=True, slots=True)
class PythonPlace:
    """As `Place`."""

    row: int
    name: str = "here"
    seen: list[int] = field(default_factory=list, compare=False)


BOTH = pytest.mark.parametrize("place", [Place, PythonPlace])


@BOTH
def test_values_come_by_position_by_name_or_by_default(place: Any) -> None:
    found = place(3, seen=[1])
    assert (found.row, found.name, found.seen) == (3, "here", [1])
    assert [one.name for one in fields(found)] == ["row", "name", "seen"]
    assert place(1).seen is not place(1).seen


@BOTH
@pytest.mark.parametrize(
    "make",
    [
        lambda place: place(),
        lambda place: place(1, "a", [], 4),
        lambda place: place(1, row=2),
        lambda place: place(1, colour="red"),
    ],
    ids=["missing", "too many", "twice", "unknown"],
)
def test_values_that_do_not_fit_are_refused(place: Any, make: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="Place"):
        make(place)


@BOTH
def test_nothing_can_be_changed(place: Any) -> None:
    found = place(1)
    with pytest.raises(FrozenInstanceError):
        found.row = 2
    with pytest.raises(FrozenInstanceError):
        del found.row
    with pytest.raises((FrozenInstanceError, TypeError)):
        found.column = 2
    assert not hasattr(found, "__dict__")


@BOTH
def test_equal_values_are_equal_and_hash_alike(place: Any) -> None:
    assert place(1, "a", [1]) == place(1, "a", [2])
    assert hash(place(1, "a", [1])) == hash(place(1, "a", [2]))
    assert place(1, "a") != place(1, "b")
    assert place(1) != (1, "here")


@BOTH
def test_copies_changes_and_pickles(place: Any) -> None:
    found = place(1, "a", [1])
    for again in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found)), replace(found)):
        assert again == found
        assert again.seen == [1]
    assert replace(found, name="b") == place(1, "b")
    assert asdict(found) == {"row": 1, "name": "a", "seen": [1]}


def test_both_show_the_same() -> None:
    assert f"Python{Place(1)!r}" == repr(PythonPlace(1))


@pytest.mark.parametrize("kind", [record, python_dataclass])
def test_a_class_keeps_its_own_methods_and_adds_to_the_fields_of_another(kind: Any) -> None:
    @kind(frozen=True, slots=True, eq=False)
    class Base:
        low: float

        def __post_init__(self) -> None:
            if self.low < 0:
                raise ValueError(self.low)

        def __repr__(self) -> str:
            return "base"

    @kind(frozen=True, eq=False, kw_only=True)
    class Wider(Base):
        high: float

    base: Any = Base
    wider: Any = Wider
    found = wider(1.0, high=2.0)
    assert (found.low, found.high, repr(base(1.0))) == (1.0, 2.0, "base")
    assert found != wider(1.0, high=2.0)
    assert found in {found}
    with pytest.raises(TypeError):
        wider(1.0, 2.0)
    with pytest.raises(ValueError, match="-1"):
        wider(-1.0, high=0.0)


def test_other_options_are_python_s() -> None:
    @record(frozen=True, slots=True, weakref_slot=True)
    class Seen:
        place: int

    found = Seen(1)
    assert weakref.ref(found)() is found


def test_classes_that_can_change_are_refused() -> None:
    with pytest.raises(TypeError, match=r"dataclasses\.dataclass"):
        record(slots=True)(Place)
