"""Sessions, and what goes with them."""

from pathlib import Path

import pytest

from raterlens.app.web.refusals import RefusedError
from raterlens.app.web.sessions import Sessions, Table
from raterlens.app.web.settings import Settings


def test_sessions_go_with_their_files(tmp_path: Path) -> None:
    now = [0.0]
    sessions = Sessions(tmp_path, Settings(idle=100, max_sessions=2), clock=lambda: now[0])
    one, two = sessions.create(), sessions.create()
    now[0] = 90
    assert sessions.find(two.id) is two
    now[0] = 150
    sessions.sweep()
    assert sessions.find(one.id) is None
    assert not one.folder.exists()
    assert two.folder.exists()
    assert sessions.find("") is None


def test_where_all_places_are_taken_the_session_idle_for_longest_makes_room(tmp_path: Path) -> None:
    now = [0.0]
    sessions = Sessions(tmp_path, Settings(max_sessions=2, spared=100), clock=lambda: now[0])
    one, two = sessions.create(), sessions.create()
    now[0] = 60
    assert sessions.find(one.id) is one
    with pytest.raises(RefusedError, match="2 people are already using this Raterlens"):
        sessions.create()
    now[0] = 120
    three = sessions.create()
    assert (sessions.find(two.id), two.folder.exists()) == (None, False)
    assert [session.id for session in sessions] == [one.id, three.id]


def test_what_does_not_arrive_leaves_nothing(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path, Settings())
    with sessions.incoming() as folder:
        (folder / "table.csv").touch()
    assert list(tmp_path.iterdir()) == []
    session = sessions.create()
    with sessions.incoming() as folder:
        (folder / "table.csv").touch()
        table = Table("id", "ratings.csv", folder / "table.csv", 0, {}, {})
        session.take(table)
    assert table.path.exists()
    assert table.path.parent.parent == session.folder
