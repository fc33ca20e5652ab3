"""Visitors' sessions and jobs."""

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from raterlens.app.web.form import PageError
from raterlens.app.web.jobs import Job, JobState, Limits, Pool
from raterlens.app.web.sessions import Sessions, Table
from raterlens.app.web.settings import GIGABYTE, Settings, quarter_of_memory
from raterlens.app.web.worker import _do
from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option
from raterlens.simulation.simulate import simulate
from tests.support.web_clients import LONG, ORIGIN, send, visiting

# ------------------------------------------------------------------------------- sessions, and what goes with them


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


# ------------------------ work in processes: bounded, queued, cancelled for good, and told when it was interrupted


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """The arguments of a fit that takes long."""
    folder = tmp_path_factory.mktemp("slow")
    drawn = simulate(students=4_000, raters=60, items=4, raters_per_student=6, seed=1)
    ratings = drawn.ratings
    columns = {
        "student": ratings.students.gather(ratings.student),
        "rater": ratings.raters.gather(ratings.rater),
        "item": ratings.items.gather(ratings.item),
        "score": ratings.score,
    }
    import polars as pl

    path = folder / "table.parquet"
    pl.DataFrame(columns).write_parquet(path)
    return {
        "path": str(path),
        "name": "slow.parquet",
        "read": {name: name for name in columns},
        "fit": {"model": "gmf"},
        "folder": str(folder / "out"),
    }


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


async def until(true, seconds=30.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        await asyncio.sleep(0.02)


def test_fits_are_bounded_queued_cancelled_and_told_when_interrupted(tmp_path, slow):
    async def story():
        pool = Pool(tmp_path, Limits(1, waiting=2))
        first, second, third = (pool.submit("fit", **slow) for _ in range(3))
        assert [job.state for job in (first, second, third)] == [
            JobState.RUNNING,
            JobState.WAITING,
            JobState.WAITING,
        ]
        assert [pool.ahead(job) for job in (first, second, third)] == [0, 0, 1]
        with pytest.raises(PageError, match="2 tasks are already waiting"):
            pool.submit("fit", **slow)

        await pool.cancel(second)
        assert second.state is JobState.CANCELLED
        assert pool.ahead(third) == 0

        await until(lambda: first.progress)
        process = pool._workers[first]._process.pid
        assert alive(process)
        await pool.cancel(first)
        assert first.state is JobState.CANCELLED
        assert not alive(process)

        await until(lambda: third.progress)
        os.kill(pool._workers[third]._process.pid, signal.SIGKILL)  # as the system does for want of memory
        await asyncio.wait_for(third.over.wait(), 10)
        assert third.state is JobState.FAILED
        assert "interrupted" in third.message
        with pytest.raises(PageError, match="interrupted"):
            await third.answer()

        # The pool goes on: a task at fault says so, and its worker is kept for the next.
        fault = pool.submit("preview", path=str(tmp_path / "table.csv"), name="gone.csv", sheet=None)
        with pytest.raises(PageError, match=r"no such file: 'gone\.csv'"):
            await fault.answer()
        (worker,) = pool._idle
        assert worker.ready
        await pool.close()
        assert not alive(worker._process.pid)

    asyncio.run(story())


def test_workers_end_with_their_server_and_remove_its_files(tmp_path):
    """Even where it was killed and could not say goodbye: their stdin closes."""

    async def story():
        root = tmp_path / "root"
        root.mkdir()
        (root / "secret.csv").write_text("x")
        pool = Pool(root, Limits(1))
        await pool.warm()
        process = pool._idle[0]._process
        process.stdin.close()
        await asyncio.wait_for(process.wait(), 20)
        assert not root.exists()

    asyncio.run(story())


@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="this system does not say what a process holds"
)
def test_a_fit_that_takes_too_much_memory_is_ended_and_told(tmp_path, slow):
    async def story():
        pool = Pool(tmp_path, Limits(1, memory=60_000_000))  # less than the imports take
        greedy = pool.submit("fit", **slow)
        with pytest.raises(PageError, match=r"more than 0\.06 GB of memory.*--max-memory N") as refused:
            await asyncio.wait_for(greedy.answer(), 60)
        assert refused.value.status == 422
        await until(lambda: not pool._workers)
        await pool.close()

    asyncio.run(story())


def test_a_job_that_takes_too_long_is_ended_and_its_worker_replaced(tmp_path, slow):
    async def story():
        pool = Pool(tmp_path, Limits(1, seconds=0.3, too_long="longer than allowed here"))
        endless = pool.submit("fit", **slow)
        with pytest.raises(PageError, match="longer than allowed here") as refused:
            await asyncio.wait_for(endless.answer(), 60)
        assert refused.value.status == 422
        await until(lambda: not pool._running)
        assert not [worker for worker in pool._idle if worker.ready]
        pool._limits = Limits(1)
        after = pool.submit("preview", path=str(tmp_path / "table.csv"), name="gone.csv", sheet=None)
        with pytest.raises(PageError, match="no such file"):
            await after.answer()
        await pool.close()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("ages", "place"),
    [([], True), ([1], False), ([9], True), ([9, 1], False), ([9, 9], True), ([9, 9, 9], False)],
)
def test_slow_jobs_let_others_pass_up_to_a_number(tmp_path, ages, place):
    pool = Pool(tmp_path, Limits(1, slow=5, slow_places=2))
    for age in ages:
        pool._running[Job("preview", {}, begun=time.monotonic() - age)] = None  # type: ignore[assignment]
    assert pool._has_place() is place


def test_visitors_take_turns(tmp_path, slow):
    async def story():
        pool = Pool(tmp_path, Limits(1))
        pool.submit("fit", "greedy", **slow)
        more = [pool.submit("fit", "greedy", **slow) for _ in range(2)]
        other = pool.submit("fit", "other", **slow)
        assert [pool.ahead(job) for job in (*more, other)] == [1, 2, 0]
        await pool.close()

    asyncio.run(story())


def answer(task: Any) -> dict[str, Any]:
    return _do({"task": task}, {"task": "task", "arguments": {"name": "x"}}, lambda said: None)


def test_a_result() -> None:
    assert answer(lambda name, progress: name * 2) == {"state": "done", "result": "xx"}


def test_the_parts_of_an_error_in_the_words_of_the_pages() -> None:
    def fault(name: str, progress: object) -> None:
        raise InputError(
            "scores go from 0 to 3", Message("give ", Option("cut", 3)), value={"a": 1}, option="cut"
        )

    assert answer(fault) == {
        "state": "fault",
        "what": "scores go from 0 to 3",
        "remedy": "give the pass mark 3",
        "option": "cut",
        "value": "{'a': 1}",
    }


def test_a_bug_is_told_as_one() -> None:
    def bug(name: str, progress: object) -> None:
        raise ZeroDivisionError

    found = answer(bug)
    assert found["state"] == "failed"
    assert "This is a bug in Raterlens" in found["what"]
