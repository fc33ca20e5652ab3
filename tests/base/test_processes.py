"""Tasks in processes of one thread each."""

import os

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from raterlens.base.errors import OptionError
from raterlens.base.processes import ONE_THREAD, side_by_side
from raterlens.base.threads import available_cores


def threads_of_a_worker(_, task):
    np.ones((200, 200)) @ np.ones((200, 200))
    return available_cores(), [pool["num_threads"] for pool in threadpool_info()], task


def test_a_worker_has_one_thread(monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)  # `make test` sets it
    ((task, found),) = side_by_side(threads_of_a_worker, None, [7], workers=1)
    assert found[0] == 1
    assert set(found[1]) == {1}
    assert task == found[2] == 7


def half(shared, task):
    return shared[task] // (task - 2)


def test_a_task_that_fails_ends_the_others_and_leaves_the_environment_alone():
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    with pytest.raises(ZeroDivisionError):
        dict(side_by_side(half, {1: 10, 2: 20}, [1, 2], workers=1))
    assert {name: os.environ.get(name) for name in ONE_THREAD} == before


def test_nothing_to_do_starts_nothing():
    assert list(side_by_side(half, None, [])) == []


def test_a_client_and_workers_exclude_each_other():
    client = type("Client", (), {"submit": None, "scatter": None})()
    with pytest.raises(OptionError, match="both workers=2 and client are given; leave one of them out"):
        side_by_side(half, None, [1], workers=2, client=client)
    with pytest.raises(OptionError, match=r"client is a str; give a distributed\.Client"):
        side_by_side(half, None, [1], client="tcp://127.0.0.1:8786")
