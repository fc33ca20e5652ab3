"""Work in processes: bounded, queued, cancelled for good, and told when it was interrupted."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from raterlens.app.web.jobs import JobState, Pool
from raterlens.app.web.refusals import RefusedError
from raterlens.simulation.simulate import simulate


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
        pool = Pool(tmp_path, size=1, max_waiting=2)
        first, second, third = (pool.submit("fit", **slow) for _ in range(3))
        assert [job.state for job in (first, second, third)] == [
            JobState.RUNNING,
            JobState.WAITING,
            JobState.WAITING,
        ]
        assert [pool.ahead(job) for job in (first, second, third)] == [0, 1, 2]
        with pytest.raises(RefusedError, match="2 tasks are already waiting"):
            pool.submit("fit", **slow)

        await pool.cancel(second)
        assert second.state is JobState.CANCELLED
        assert pool.ahead(third) == 1

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
        with pytest.raises(RefusedError, match="interrupted"):
            await third.answer()

        # The pool goes on: a task at fault says so, and its worker is kept for the next.
        fault = pool.submit("preview", path=str(tmp_path / "table.csv"), name="gone.csv", sheet=None)
        with pytest.raises(RefusedError, match=r"no such file: 'gone\.csv'"):
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
        pool = Pool(root, size=1, max_waiting=1)
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
        pool = Pool(tmp_path, size=1, max_waiting=1, max_memory=60_000_000)  # less than the imports take
        greedy = pool.submit("fit", **slow)
        with pytest.raises(RefusedError, match=r"more than 0\.06 GB of memory.*--max-memory N") as refused:
            await asyncio.wait_for(greedy.answer(), 60)
        assert refused.value.status == 422
        await until(lambda: not pool._workers)
        await pool.close()

    asyncio.run(story())
