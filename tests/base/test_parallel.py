"""Work in threads and in processes."""

import os
import threading
from threading import Event, current_thread
from threading import enumerate as threads

import numpy as np
import polars as pl
import pytest
import scipy.linalg  # noqa: F401  its threads count, too
from threadpoolctl import threadpool_info

from raterlens.base.errors import OptionError
from raterlens.base.processes import (
    ONE_THREAD,
    Parts,
    map_in_processes,
    run_missing_parts,
)
from raterlens.base.threads import (
    available_cores,
    in_background,
    in_blocks,
    in_threads,
    one_thread,
    spans,
)

# ------------------------------------------------------------------------- threads, blocks, work in the background


def test_a_task_among_others_keeps_to_its_thread():
    with one_thread():
        assert available_cores() == 1
        assert in_threads(lambda _: threading.get_ident(), [1, 2]) == 2 * [threading.get_ident()]


def test_work_in_threads_comes_back_in_order_and_may_fail():
    assert in_threads(lambda x: (x, threading.get_ident())[0], list(range(20))) == list(range(20))
    assert in_threads(str, []) == []
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda x: 1 // x, [1, 0])
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda x: 1 // x, [0, 1])


def test_shared_work_that_shares_its_work_in_turn_does_not_wait_for_itself():
    def outer(x):
        return sum(in_threads(lambda y: x * y, list(range(8))))

    assert in_threads(outer, list(range(8))) == [28 * x for x in range(8)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    in_threads(str, [1, 2])
    child = os.fork()
    if child == 0:
        os._exit(0 if in_threads(str, [3, 4]) == ["3", "4"] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("size", [0, 1, 6, 7, 8, 50])
def test_blocks_and_spans_cover_every_row_once(size):
    blocks = in_blocks(lambda rows: list(range(rows.start, rows.stop)), size, block=7)
    assert [row for block in blocks for row in block] == list(range(size))
    assert max(map(len, blocks), default=0) <= 7
    assert [row for span in spans(size) for row in range(*span)] == list(range(size))
    assert [row for span in spans(size, 7) for row in range(*span)] == list(range(size))
    assert len(spans(size, 7)) <= max(1, size // 7)


def test_it_is_done_on_another_thread_that_keeps_to_itself():
    with in_background(lambda: (current_thread(), available_cores())) as answer:
        other, cores = answer()
    assert other is not current_thread()
    assert cores == 1


def test_both_go_on_at_once():
    here, there = Event(), Event()

    def work():
        there.set()
        return here.wait(30)

    with in_background(work) as answer:
        assert there.wait(30)
        here.set()
        assert answer()


def test_its_error_is_raised_where_the_answer_is_asked_for():
    def work():
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"), in_background(work) as answer:
        answer()


def test_an_error_of_the_block_waits_for_the_work():
    begun, finished = Event(), []

    def work():
        begun.wait(30)
        finished.append(True)

    def block():
        with in_background(work):
            begun.set()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        block()
    assert finished == [True]
    assert not [thread for thread in threads() if thread.name.startswith("raterlens-background")]


# -------------------------------------------------------------- tasks in processes, and numbered parts that resume


def threads_of_a_worker(_, task):
    np.ones((200, 200)) @ np.ones((200, 200))
    return available_cores(), [pool["num_threads"] for pool in threadpool_info()], task


def test_a_worker_has_one_thread(monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)  # `make test` sets it
    ((task, found),) = map_in_processes(threads_of_a_worker, None, [7], workers=2)
    assert found[0] == 1
    assert set(found[1]) == {1}
    assert task == found[2] == 7


def half(shared, task):
    return shared[task] // (task - 2)


def test_a_task_that_fails_ends_the_others_and_leaves_the_environment_alone():
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    with pytest.raises(ZeroDivisionError):
        dict(map_in_processes(half, {1: 10, 2: 20}, [1, 2], workers=2))
    assert {name: os.environ.get(name) for name in ONE_THREAD} == before


def test_nothing_to_do_starts_nothing():
    assert list(map_in_processes(half, None, [])) == []


def test_a_client_and_workers_exclude_each_other():
    client = type("Client", (), {"submit": None, "scatter": None})()
    with pytest.raises(OptionError, match="both workers=2 and client are given; leave one of them out"):
        map_in_processes(half, None, [1], workers=2, client=client)
    with pytest.raises(OptionError, match=r"client is a str; give a distributed\.Client"):
        map_in_processes(half, None, [1], client="tcp://127.0.0.1:8786")


def squares(base: int, number: int) -> pl.DataFrame:
    return pl.DataFrame({"number": [number], "square": [(base + number) ** 2]})


def test_finished_parts_are_not_done_again(tmp_path):
    parts = Parts(tmp_path / "parts", tmp_path / "work.json")
    parts.open({"base": 3})
    parts.keep(1, squares(3, 1))
    seen: list[tuple[int, int]] = []
    missing = [number for number in range(3) if not parts.part(number).exists()]
    run_missing_parts(squares, 3, 3, missing, parts.keep, workers=1, on_done=lambda *done: seen.append(done))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    rows = pl.concat([pl.read_parquet(parts.part(number)) for number in range(3)])
    assert rows["square"].to_list() == [9, 16, 25]


def test_an_error_leaves_what_was_finished(tmp_path):
    parts = Parts(tmp_path / "parts", tmp_path / "work.json")
    parts.open({})

    def keep(number: int, rows: pl.DataFrame) -> None:
        if number == 1:
            raise KeyboardInterrupt
        parts.keep(number, rows)

    with pytest.raises(KeyboardInterrupt):
        run_missing_parts(squares, 0, 3, [0, 1, 2], keep, workers=1)
    assert [path.name for path in sorted(parts.folder.iterdir())] == ["000000.parquet"]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [({"seed": 2}, "was begun with seed 1, not 2"), ({"seed": 1, "data": "b" * 64}, "another data")],
)
def test_parts_of_other_work_are_refused(tmp_path, wanted, message):
    parts = Parts(tmp_path, tmp_path / "work.json")
    parts.open({"seed": 1, "data": "a" * 64})
    with pytest.raises(OptionError, match=message) as caught:
        parts.open(wanted)
    assert caught.value.remedy.startswith("give another folder")
