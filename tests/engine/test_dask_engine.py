"""Parts of students for workers; fits on a cluster are in tests/scenarios/test_fits_on_a_cluster.py."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import raterlens as rl
from raterlens.errors import InputError
from raterlens.ratings.packed_file import open_packed

pytest.importorskip("distributed")

from raterlens.engine.dask_engine import OnFile, _edges, _held


@pytest.mark.parametrize(
    ("status", "workers", "held"),
    [("finished", ["one"], True), ("finished", [], False), ("lost", ["one"], False)],
)
def test_a_part_is_held_where_it_is_done_and_a_worker_has_it(status, workers, held):
    client = SimpleNamespace(who_has=lambda futures: {futures[0].key: workers})
    assert _held(client, SimpleNamespace(status=status, key="part")) is held


@pytest.fixture
def source(small, tmp_path) -> OnFile:
    packed = open_packed(rl.pack(small.table(), tmp_path / "small.rlpack"))
    return OnFile(packed.path, packed.checksum, None, 10, 25)


def test_a_worker_reads_its_students_from_the_file(source, small):
    part = source.ratings()
    assert part.n_students == 15
    assert part.n_ratings == np.isin(small.student, np.arange(10, 25)).sum()


def test_files_that_are_missing_or_others_are_named(source, tmp_path):
    with pytest.raises(InputError, match=r"cannot open .*nowhere.rlpack.*put it where all workers find it"):
        replace(source, path=tmp_path / "nowhere.rlpack").ratings()
    with pytest.raises(InputError, match="not the same file"):
        replace(source, checksum=source.checksum + 1).ratings()


def test_parts_depend_on_the_data_alone():
    edges = _edges(np.arange(0, 100_001, 10))
    assert (edges[0], edges[-1]) == (0, 10_000)
    assert len(edges) - 1 == 8
    assert np.ptp(np.diff(edges)) <= 10
