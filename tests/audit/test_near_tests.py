"""Faults put in on purpose: the tests nearest to one run first, and lines where none can be seen are left out."""

from pathlib import Path

import pytest

from audit.mutants import SET_ASIDE, can_be_seen
from audit.near_tests import NEAR, faulty, places

HERE = Path(__file__).parents[2]


def test_the_tests_of_the_faulty_module_come_first(tmp_path: Path) -> None:
    room = tmp_path / "src" / "raterlens" / "capability"
    room.mkdir(parents=True)
    for path in (HERE / "src" / "raterlens" / "capability").glob("*.py"):
        (room / path.name).write_bytes(path.read_bytes())
    (tmp_path / "tests").symlink_to(HERE / "tests")
    (room / "links.py").write_text("")
    assert faulty(tmp_path, HERE, "capability") == ["links"]
    found = places(tmp_path, HERE, "capability")
    assert found[0] == "tests/capability/test_links.py"
    assert len(set(found)) == len(found) > 5


@pytest.mark.parametrize("room", NEAR)
def test_every_place_is_there(room: str) -> None:
    assert all((HERE / place).exists() for place in places(HERE, HERE, room))


def test_what_is_set_aside_is_in_the_code() -> None:
    code = "".join(
        path.read_text() for room in NEAR for path in (HERE / "src/raterlens" / room).rglob("*.py")
    )
    for line in SET_ASIDE:
        assert line in code
        assert not can_be_seen(f"    x = {line})")
    assert not can_be_seen("@dataclass(slots=True)")
    assert can_be_seen("    total = one + other")
