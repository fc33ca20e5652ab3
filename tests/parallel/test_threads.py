"""Processes of one thread each, and threads."""

import os
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from raterlens.parallel.threads import available_cores, in_threads, one_thread, side_by_side


def threads_of_a_worker(_, task):
    np.ones((200, 200)) @ np.ones((200, 200))
    return available_cores(), [pool["num_threads"] for pool in threadpool_info()], task


def test_a_worker_has_one_thread(monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)  # `make test` sets it
    ((task, found),) = side_by_side(threads_of_a_worker, None, [7], workers=1)
    assert found[0] == 1
    assert set(found[1]) == {1}
    assert task == found[2] == 7


def test_a_task_among_others_keeps_to_its_thread():
    with one_thread():
        assert available_cores() == 1
        assert in_threads(lambda _: threading.get_ident(), [1, 2]) == 2 * [threading.get_ident()]


def test_work_in_threads_comes_back_in_order_and_may_fail():
    assert in_threads(lambda x: (x, threading.get_ident())[0], list(range(20))) == list(range(20))
    assert in_threads(str, []) == []
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda x: 1 // x, [1, 0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    in_threads(str, [1, 2])
    child = os.fork()
    if child == 0:
        os._exit(0 if in_threads(str, [3, 4]) == ["3", "4"] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
