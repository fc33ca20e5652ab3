"""Students on the workers of a real cluster: the same fit, whoever does the work and whoever dies."""

import os
import signal
import warnings

import numpy as np
import pytest

import raterlens as rl
from raterlens.engine.cluster import ClusterEngine, OnFile
from raterlens.errors import InputError, OptionError
from raterlens.stored.file import open_packed
from raterlens.stored.ratings import StoredRatings
from tests.engine.test_parts import frame_of

distributed = pytest.importorskip("distributed")

# Sums in the order of the parts, not of the students; estimates stop within 1e-5 standard errors.
ROUNDING, ESTIMATES = 1e-11, 1e-6


@pytest.fixture(scope="module")
def client():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client


@pytest.fixture(scope="module")
def table():
    return frame_of(rl.simulate(students=500, raters=8, items=4, raters_per_student=2, seed=5).ratings)


@pytest.fixture(scope="module")
def ratings(table):
    return rl.read(table)


@pytest.fixture(scope="module")
def packed(table, tmp_path_factory):
    return rl.pack(table, tmp_path_factory.mktemp("packed") / "x.rlpack")


def test_a_fit_from_memory_with_standard_errors(client, ratings):
    steps, alone = [], rl.fit(ratings)
    found = rl.fit(ratings, client=client, progress=steps.append)
    assert len(steps) > 5
    assert found.loglik == pytest.approx(alone.loglik, rel=ROUNDING)
    for name in ("rho", "eta", "kappa", "kappa_se", "kappa_low"):
        np.testing.assert_allclose(found.raters[name], alone.raters[name], rtol=ESTIMATES, atol=ESTIMATES)
    np.testing.assert_allclose(found.students["theta"], alone.students["theta"], atol=ESTIMATES)


def test_a_worker_that_dies_changes_nothing(client, ratings, packed, monkeypatch):
    """Of parts that were sent, and of parts that workers read from a file."""
    stored = StoredRatings(open_packed(packed))
    options = {"client": client, "standard_errors": False, "model": "tfm"}
    calm = [rl.fit(ratings, **options), rl.fit(stored, **options)]
    whole = rl.fit(ratings, model="tfm", standard_errors=False)
    evaluate = ClusterEngine.evaluate
    for source, undisturbed in zip((ratings, stored), calm, strict=True):
        count = 0

        def dying(*args):
            nonlocal count
            count += 1
            if count == 5:
                process = client.run(os.getpid)
                os.kill(process[min(process)], signal.SIGKILL)
            return evaluate(*args)

        monkeypatch.setattr(ClusterEngine, "evaluate", dying)
        found = rl.fit(source, **options)
        monkeypatch.undo()
        assert count > 5
        # The same parts in the same tree: the same doubles.
        assert found.loglik == undisturbed.loglik
        np.testing.assert_array_equal(found.raters["kappa"], undisturbed.raters["kappa"])
        assert found.loglik == pytest.approx(whole.loglik, rel=ROUNDING)
        np.testing.assert_allclose(found.raters["kappa"], whole.raters["kappa"], atol=ESTIMATES)


def test_what_a_cluster_does_not_do_is_said(client, ratings, packed, tmp_path):
    with pytest.raises(OptionError, match="a cluster goes with method 'mml'"):
        rl.fit(ratings, method="hl", client=client)
    with pytest.raises(OptionError, match=r"give a distributed\.Client"):
        rl.fit(ratings, client="tcp://localhost:8786")
    with pytest.raises(InputError, match="a worker cannot open"):
        OnFile(tmp_path / "x.rlpack", 0, None, 0, 1).ratings()
    with pytest.raises(InputError, match="is another file for a worker"):
        OnFile(packed, 0, None, 0, 1).ratings()
