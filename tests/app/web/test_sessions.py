"""Sessions, and what goes with them."""

from pathlib import Path

from raterlens.app.web.sessions import Sessions
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
