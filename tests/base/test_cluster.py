"""Requirements of a cluster, and tasks on a scheduler within this process."""

import platform
from importlib.metadata import version
from types import SimpleNamespace

import pytest

from raterlens.base.errors import InputError, OptionError
from raterlens.base.processes import (
    check_client,
    check_versions,
    cluster_at,
    on_cluster,
    placements,
    result,
)

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def scaled(shared, task):
    return shared * task


def test_every_task_comes_back_once_with_what_is_shared(client):
    assert dict(on_cluster(scaled, 10, [1, 2, 3], client)) == {1: 10, 2: 20, 3: 30}
    assert list(on_cluster(scaled, 10, [], client)) == []
    assert result(client, client.submit(scaled, 2, 3)) == 6


def test_neighbours_are_kept_together(client):
    at = [where["workers"][0] for where in placements(client, 6)]
    assert at == sorted(at)
    assert [at.count(one) for one in sorted(set(at))] == [3, 3]


@pytest.mark.parametrize(
    ("name", "seen", "said"),
    [
        ("raterlens", None, "has no raterlens, but this machine has"),
        ("raterlens", "0.0.9", r"has raterlens 0\.0\.9, but this machine has"),
        ("distributed", "2020.1", r"has distributed 2020\.1, but this machine has"),
        ("python", "3.9.1.final.0", r"has python 3\.9, but this machine has"),
    ],
)
def test_workers_that_would_misread_are_refused(name, seen, said):
    here = {"python": platform.python_version()} | {
        package: version(package) for package in ("raterlens", "distributed")
    }

    def versions(of_worker):
        return lambda packages: {
            "scheduler": {"packages": here},
            "workers": {"tcp://w": {"packages": of_worker}},
        }

    check_versions(SimpleNamespace(get_versions=versions(here)))
    with pytest.raises(InputError, match=f"the worker at tcp://w {said}"):
        check_versions(SimpleNamespace(get_versions=versions(here | {name: seen})))


def test_no_address_is_no_cluster_and_a_text_is_no_client():
    with cluster_at(None) as nobody:
        assert nobody is None
    with pytest.raises(OptionError, match="client is a str"):
        check_client("tcp://127.0.0.1:8786")
