"""Tasks in processes, and numbered parts that resume."""

import os

import numpy as np
import polars as pl
import pytest
from threadpoolctl import threadpool_info

from raterlens.base.errors import OptionError
from raterlens.base.processes import (
    ONE_THREAD,
    Parts,
    map_in_processes,
    run_missing_parts,
)
from raterlens.base.threads import available_cores


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
