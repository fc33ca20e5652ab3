"""Commands and tasks on a cluster as users start it: a scheduler and workers from the command line."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import raterlens as rl
from benchmarks.speed.likelihood import Likelihood
from raterlens.app.cli.main import main
from raterlens.base.errors import InputError, OptionError
from raterlens.base.processes import ONE_THREAD, ClusterLostError, addresses, check_alive, cluster_at
from raterlens.base.threads import one_thread
from raterlens.inference.covariance import in_full
from raterlens.likelihood.engines.dask import DaskEngine, OnFile
from raterlens.ratings.packed import StoredRatings, open_packed, write_ratings
from raterlens.studies.study import SEED, Task, get_study, run
from tests.support.likelihoods import CASES, NODES, problem_of, ratings_of
from tests.support.packed_tables import uneven

distributed = pytest.importorskip("distributed")

# Sums in the order of the parts, not of the students; estimates stop within 1e-5 standard errors.
ROUNDING, ESTIMATES = 1e-11, 1e-6
# What compiled code loses by going over every second or fourth node of a wide posterior.
THINNED = 1e-7


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The scheduler's address. Two workers, started again when they die."""
    folder = tmp_path_factory.mktemp("cluster")
    told = folder / "scheduler.json"
    environment = os.environ | dict.fromkeys(ONE_THREAD, "1")

    def start(*arguments: str) -> subprocess.Popen:
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dask",
                *arguments,
                "--scheduler-file",
                str(told),
                "--dashboard-address",
                "127.0.0.1:0",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=folder,
        )

    scheduler = start("scheduler", "--host", "127.0.0.1", "--port", "0")
    workers = start("worker", "--nworkers", "2", "--nthreads", "1", "--death-timeout", "60")
    try:
        until = time.monotonic() + 60
        while not told.exists() and time.monotonic() < until:
            time.sleep(0.05)
        with distributed.Client(scheduler_file=str(told), timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
            yield client.scheduler.address
    finally:
        for process in (workers, scheduler):
            process.terminate()
            process.wait()


@pytest.fixture(scope="module")
def client(address):
    with distributed.Client(address) as client:
        yield client


@pytest.fixture(scope="module")
def table():
    return uneven(rl.simulate(students=500, raters=8, items=4, raters_per_student=2, seed=5).ratings)


@pytest.fixture(scope="module")
def ratings(table):
    return rl.read(table)


@pytest.fixture(scope="module")
def fit(ratings):
    return rl.fit(ratings, model="gmf")


@pytest.fixture(scope="module")
def packed(table, tmp_path_factory):
    return rl.pack(table, tmp_path_factory.mktemp("packed") / "x.rlpack")


def kill_a_worker(client) -> None:
    process = client.run(os.getpid)
    os.kill(process[min(process)], signal.SIGKILL)


@pytest.mark.nightly
def test_a_worker_that_takes_the_place_of_a_dead_one_gets_its_share(client, packed):
    """Parts that were built again by the one that was left go to the other when it is there."""
    likelihood = Likelihood.of(StoredRatings(open_packed(packed)), 20, client)
    evaluate = partial(likelihood.problem.value, likelihood.parameters, likelihood.nodes)
    before = evaluate()
    kill_a_worker(client)
    shares, until = list[int](), time.monotonic() + 60
    # The other comes when it has started, and parts go to it at the next evaluation.
    while (len(shares) < 2 or min(shares) < 4) and time.monotonic() < until:
        found, parts = evaluate(), likelihood.problem.engine._parts  # type: ignore[attr-defined]
        holders = client.who_has(parts)
        shares = [sum(at in holders[part.key] for part in parts) for at in addresses(client)]
    assert len(shares) == 2
    assert min(shares) >= len(parts) // 2
    assert found.loglik == before.loglik
    np.testing.assert_array_equal(found.gradient, before.gradient)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("prior", "rounding", "estimates"),
    # An average over spreads is not at a maximum, so that the likelihood changes with the estimates' rounding.
    [("none", ROUNDING, ESTIMATES), ("panel", 1e-8, 1e-4)],
)
def test_a_fit_from_memory_with_standard_errors(client, ratings, prior, rounding, estimates):
    steps, alone = list[Any](), rl.fit(ratings, model="gmf", prior=prior)
    found = rl.fit(ratings, model="gmf", prior=prior, client=client, progress=steps.append)
    assert len(steps) > 5
    assert found.loglik == pytest.approx(alone.loglik, rel=rounding)
    for name in ("rho", "eta", "kappa", "kappa_se", "kappa_low"):
        np.testing.assert_allclose(found.raters[name], alone.raters[name], rtol=estimates, atol=estimates)
    np.testing.assert_allclose(found.students["theta"], alone.students["theta"], atol=estimates)


@pytest.mark.parametrize(
    "name", ["gmf", "ordered, halo", "pieces", "groups", "known", "rater thresholds, halo, pieces"]
)
def test_the_likelihood_of_a_file_on_the_workers(client, name, tmp_path):
    """Every effect is in the parts that workers read: sums over them are those of all students."""
    case = CASES[name]
    ratings = ratings_of(case)
    alone, x = problem_of(case, ratings)
    write_ratings(ratings, tmp_path / "x.rlpack", cut=None)
    found, _ = problem_of(case, StoredRatings(open_packed(tmp_path / "x.rlpack")), client=client)
    one, two = alone.value(x, NODES), found.value(x, NODES)
    assert two.loglik == pytest.approx(one.loglik, rel=1e-10)
    np.testing.assert_allclose(two.gradient, one.gradient, rtol=1e-10, atol=1e-9)
    information = [in_full(problem.information(x, NODES)) for problem in (alone, found)]
    scale = np.abs(information[0]).max()
    np.testing.assert_allclose(information[1] / scale, information[0] / scale, atol=THINNED)


def dependent(students: int = 150, seed: int = 4) -> pl.DataFrame:
    """Two essays per student, each read by two of six raters on three items with scores 0 to 2, of students from three
    schools; a reader's impression is in all of its scores. The right answer is known of every third student."""
    random = np.random.default_rng(seed)
    theta, rows = random.normal(size=students), []
    theta += 0.5 * (np.arange(students) % 3 - 1)
    for student, essay in product(range(students), range(2)):
        worth = theta[student] + 0.5 * random.normal()
        gold = int(theta[student] > -0.5) + int(theta[student] > 0.5) if student % 3 == 0 else None
        for rater in random.choice(6, 2, replace=False):
            impression = worth + 0.4 * random.normal() - 0.3 * (rater - 2.5)
            for item in range(3):
                score = int((impression + random.logistic(size=2) > (-0.5, 0.7)).sum())
                rows.append((student, f"s{student % 3}", essay, f"r{rater}", item, gold, score))
    names = ["student", "school", "essay", "rater", "item", "gold", "score"]
    return pl.DataFrame(rows, schema=names, orient="row")


FITS = {
    "gmf": ({}, {}),
    "halo": ({}, {"halo": "common"}),
    "pieces": ({"piece": "essay"}, {}),
    "groups": ({"group": "school"}, {}),
    "known": ({"known": "gold"}, {"shared": "no"}),
    "rater thresholds": ({}, {"scale": "rater"}),
    "smooth": ({}, {"ability": "smooth", "model": "tfm", "starts": 1}),
}


@pytest.mark.nightly
@pytest.mark.parametrize("source", ["disk", "workers", "workers from a file"])
@pytest.mark.parametrize("kind", FITS)
def test_fits_with_every_effect_are_those_from_memory(client, kind, source, tmp_path):
    columns, options = FITS[kind]
    table = dependent()
    columns = {"student": "student"} | columns  # two essays each, of one student
    alone = rl.fit(rl.read(table, **columns), **{"model": "gmf"} | options)
    ratings: Any = rl.read(table, **columns)
    if source != "workers":
        ratings = StoredRatings(open_packed(rl.pack(table, tmp_path / "x.rlpack", **columns)), part=400)
    found = rl.fit(ratings, client=client if "workers" in source else None, **{"model": "gmf"} | options)
    assert found.loglik == pytest.approx(alone.loglik, rel=1e-10)
    for name, one in alone.tables.items():
        if name != "assumptions":  # tested in memory alone
            assert_frame_equal(found.tables[name], one, rel_tol=1e-8, abs_tol=1e-8)


@pytest.mark.nightly
def test_a_worker_that_dies_changes_nothing(client, ratings, packed, monkeypatch):
    """Both for parts that were sent and for parts that workers read from a file."""
    on_disk = StoredRatings(open_packed(packed))
    options = {"client": client, "standard_errors": False, "model": "tfm"}
    calm = [rl.fit(ratings, **{"model": "gmf"} | options), rl.fit(on_disk, **{"model": "gmf"} | options)]
    whole = rl.fit(ratings, model="tfm", standard_errors=False)
    evaluate = DaskEngine.evaluate
    for source, undisturbed in zip((ratings, on_disk), calm, strict=True):
        count = 0

        def dying(*args):
            nonlocal count
            count += 1
            if count == 5:
                kill_a_worker(client)
            return evaluate(*args)

        monkeypatch.setattr(DaskEngine, "evaluate", dying)
        found = rl.fit(source, **{"model": "gmf"} | options)
        monkeypatch.undo()
        assert count > 5
        # The same parts in the same tree: the same doubles.
        assert found.loglik == undisturbed.loglik
        np.testing.assert_array_equal(found.raters["kappa"], undisturbed.raters["kappa"])
        assert found.loglik == pytest.approx(whole.loglik, rel=ROUNDING)
        np.testing.assert_allclose(found.raters["kappa"], whole.raters["kappa"], atol=ESTIMATES)


@pytest.mark.nightly
def test_what_a_cluster_does_not_do_is_said(client, ratings, packed, tmp_path):
    with pytest.raises(OptionError, match="a cluster goes with method 'mml'"):
        rl.fit(ratings, model="gmf", method="hl", client=client)
    with pytest.raises(OptionError, match=r"give a distributed\.Client"):
        rl.fit(ratings, model="gmf", client="tcp://localhost:8786")
    with pytest.raises(InputError, match="a worker cannot open"):
        OnFile(tmp_path / "x.rlpack", 0, None, 0, 1).ratings()
    with pytest.raises(InputError, match="is not the same file for a worker"):
        OnFile(packed, 0, None, 0, 1).ratings()


@pytest.mark.nightly
@pytest.mark.parametrize("suffix", ["csv", "parquet", "rlpack"])
def test_the_command_fits_on_the_cluster(address, table, fit, tmp_path, capsys, suffix):
    file = tmp_path / f"ratings.{suffix}"
    write = {"csv": table.write_csv, "parquet": table.write_parquet, "rlpack": lambda to: rl.pack(table, to)}
    write[suffix](file)
    assert main(["fit", str(file), "--cluster", address, "--json"]) == 0
    file.with_suffix(".json").write_text(capsys.readouterr().out)
    found = rl.load(file.with_suffix(".json"))
    assert found.loglik == pytest.approx(fit.loglik, rel=ROUNDING)
    for name in ("kappa", "kappa_se"):
        np.testing.assert_allclose(found.raters[name], fit.raters[name], atol=ESTIMATES)


@pytest.mark.nightly
def test_several_models_and_a_study_are_those_of_this_machine(client, ratings, fit, tmp_path):
    found = rl.fit_models(ratings, {"free": {"model": "gmf"}, "equal": {"model": "tfm"}}, client=client)
    assert list(found) == ["free", "equal"]
    assert found["free"].loglik == pytest.approx(fit.loglik, rel=1e-13)
    # A worker has one thread, and BLAS may add up in another order there.
    assert_frame_equal(found["free"].raters, fit.raters, rel_tol=1e-6)
    assert found["equal"].loglik == pytest.approx(rl.fit(ratings, model="tfm").loglik, rel=1e-13)
    rows = run(get_study("noise"), tmp_path, replications=1, seed=SEED, client=client)
    assert_frame_equal(rows.drop("replication"), get_study("noise").replicate(Task(SEED, 0)), abs_tol=1e-6)


@pytest.mark.nightly
def test_packed_ratings_go_as_a_path(client, table, tmp_path):
    path = rl.pack(table, tmp_path / "x.rlpack")
    on_disk = StoredRatings(open_packed(path))
    with one_thread():
        here = rl.fit(on_disk, model="tfm", standard_errors=False)
    options = {"equal": {"model": "tfm", "standard_errors": False}}
    assert rl.fit_models(on_disk, options, client=client)["equal"].loglik == here.loglik
    path.rename(tmp_path / "moved.rlpack")
    with pytest.raises(InputError, match=r"no such file: .*x\.rlpack'; workers of a cluster need"):
        rl.fit_models(on_disk, options, client=client)


@pytest.mark.nightly
def test_what_hinders_a_cluster_is_said(address, client, ratings, fit, capsys):
    nobody = "tcp://127.0.0.1:9"
    with (
        pytest.raises(InputError, match=f"no Dask scheduler answers at '{nobody}'"),
        cluster_at(nobody, scheduler_timeout=0.5),
    ):
        pass
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0") as empty,
        pytest.raises(InputError, match=r"has no workers after 0\.5 s; start some with: dask worker"),
        cluster_at(empty.scheduler_address, workers_timeout=0.5),
    ):
        pass
    assert "has no workers yet; waiting" in capsys.readouterr().err
    with pytest.raises(ClusterLostError, match="the Dask cluster is gone: no worker for"):
        check_alive(
            SimpleNamespace(wait_for_workers=lambda n, timeout: client.wait_for_workers(9, timeout)), 0.5
        )

    with pytest.raises(OptionError, match="both workers=2 and client are given"):
        fit.bootstrap(ratings, workers=2, client=client)
    with pytest.raises(OptionError, match="client is a str"):
        rl.fit_models(ratings, ["tfm"], client=address)


@pytest.mark.nightly
def test_a_bootstrap_goes_on_when_a_worker_dies(client, ratings, fit):
    here = fit.bootstrap(ratings, replicates=6, seed=3, workers=1)
    there = fit.bootstrap(
        ratings,
        replicates=6,
        seed=3,
        client=client,
        progress=lambda done, total: kill_a_worker(client) if done == 1 else None,
    )
    assert there.replicates.equals(here.replicates)


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ("gmf", "give a list of models"),
        (["gmf", "gmf"], "names one twice"),
        ({"a": "gmf"}, "the options of 'a' are a str"),
        ({"a": {"client": None}}, "'client' among the options of 'a'"),
    ],
)
def test_models_that_cannot_be_told_apart_are_refused(ratings, models, message):
    with pytest.raises(OptionError, match=message):
        rl.fit_models(ratings, models)
