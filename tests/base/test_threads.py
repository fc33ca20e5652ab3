"""Threads, blocks, work in the background."""

import os
import threading
from threading import Event, current_thread
from threading import enumerate as threads

import pytest
import scipy.linalg  # noqa: F401  its threads count, too

from raterlens.base.threads import (
    available_cores,
    in_background,
    in_blocks,
    in_threads,
    one_thread,
    spans,
)


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
