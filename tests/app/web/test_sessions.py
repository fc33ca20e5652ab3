"""Sessions, and what goes with them."""

from pathlib import Path

import pytest

from raterlens.app.web.form import PageError
from raterlens.app.web.sessions import Sessions, Table
from raterlens.app.web.settings import GIGABYTE, Settings, quarter_of_memory
from tests.support.web_clients import LONG, ORIGIN, send, visiting


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
    sessions = Sessions(tmp_path, Settings(max_sessions=2, grace_period=100), clock=lambda: now[0])
    one, two = sessions.create(), sessions.create()
    one.tentative = two.tentative = False
    now[0] = 60
    assert sessions.find(one.id) is one
    with pytest.raises(PageError, match="2 people are already using this Raterlens"):
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
        table = Table("id", "ratings.csv", folder / "table.csv", {}, {})
        session.take(table)
    assert table.path.exists()
    assert table.path.parent.parent == session.folder


def test_sessions_without_ratings_make_room_at_once(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path, Settings(max_sessions=2))
    one, two = sessions.create(), sessions.create()
    one.tentative = False
    three = sessions.create()
    assert [session.id for session in sessions] == [one.id, three.id]
    assert not two.folder.exists()


def test_a_table_belongs_to_one_visitor() -> None:
    with visiting() as client:
        sent = send(client, LONG)
        where = sent.headers["location"]
        cookie = sent.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert client.get(where).status_code == 200
        client.cookies.clear()
        gone = client.get(where)
        assert gone.status_code == 404
        assert "This table is no longer here" in gone.text
        assert client.post(f"{where}/remove", headers=ORIGIN).status_code == 404


def test_servers_on_one_host_do_not_share_a_cookie() -> None:
    assert Settings(port=1).cookie != Settings(port=2).cookie


def test_a_job_may_take_a_quarter_of_the_memory() -> None:
    assert Settings().job_memory == int(quarter_of_memory() * GIGABYTE)
    assert Settings(max_memory=2.5).job_memory == 2_500_000_000
