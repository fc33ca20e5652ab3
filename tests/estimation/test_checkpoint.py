"""A fit that was interrupted and goes on is the fit that was not."""

import signal
import subprocess
import sys

import numpy as np
import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from raterlens.base.errors import InputError, OptionError
from raterlens.likelihood.marginal import FacetsMarginal
from tests.support.packed_tables import uneven

# The journal gives back the same doubles, so that the optimiser takes the same steps.
SAME = 1e-9


@pytest.fixture(scope="module")
def ratings():
    return rl.simulate(students=400, raters=10, items=3, raters_per_student=2, seed=3).ratings


class StoppedError(Exception):
    pass


def interrupted(ratings, path, after: int, **options):
    """A fit that stops after some iterations."""

    def stop(progress):
        nonlocal after
        after -= 1
        if after == 0:
            raise StoppedError

    with pytest.raises(StoppedError):
        rl.fit(ratings, checkpoint=path, progress=stop, **{"model": "gmf"} | options)


def counted(monkeypatch) -> list[int]:
    """How many times the likelihood is evaluated from here on."""
    calls, compute = list[int](), FacetsMarginal._value

    def value(*args):
        calls.append(1)
        return compute(*args)

    monkeypatch.setattr(FacetsMarginal, "_value", value)
    return calls


@pytest.mark.parametrize("options", [{}, {"link": "probit"}, {"model": "tfm"}])
def test_a_resumed_fit_is_the_fit(ratings, options, tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    calls = counted(monkeypatch)
    whole = rl.fit(ratings, **{"model": "gmf"} | options)
    n_whole = len(calls)
    interrupted(ratings, path, 6, **options)
    n_before = len(calls) - n_whole
    found = rl.fit(ratings, checkpoint=path, resume=True, **{"model": "gmf"} | options)
    # Nothing that was evaluated is evaluated again.
    assert n_before > 5
    assert len(calls) - n_whole <= n_whole
    assert found.loglik == pytest.approx(whole.loglik, rel=1e-14)
    assert found.optimiser == whole.optimiser
    for name in ("rho", "eta", "kappa", "kappa_se"):
        np.testing.assert_allclose(found.raters[name], whole.raters[name], rtol=SAME, atol=SAME)
    np.testing.assert_allclose(found.students["theta"], whole.students["theta"], atol=SAME)
    assert not path.exists()


def test_a_record_that_is_cut_short_is_done_again(ratings, tmp_path):
    path = tmp_path / "fit.checkpoint"
    interrupted(ratings, path, 6)
    path.write_bytes(path.read_bytes()[:-7])
    found = rl.fit(ratings, model="gmf", checkpoint=path, resume=True)
    np.testing.assert_allclose(found.raters["kappa"], rl.fit(ratings, model="gmf").raters["kappa"], rtol=SAME)


@pytest.mark.parametrize("kept", [0, 5, 12, 40])
def test_a_fit_killed_while_its_head_was_written_begins_anew(ratings, tmp_path, kept):
    path = tmp_path / "fit.checkpoint"
    interrupted(ratings, path, 3)
    path.write_bytes(path.read_bytes()[:kept])
    found = rl.fit(ratings, model="gmf", checkpoint=path, resume=True)
    np.testing.assert_allclose(found.raters["kappa"], rl.fit(ratings, model="gmf").raters["kappa"], rtol=SAME)
    assert not path.exists()


def test_checkpoints_of_something_else_are_refused(ratings, tmp_path):
    path = tmp_path / "fit.checkpoint"
    with pytest.raises(InputError, match="no such checkpoint"):
        rl.fit(ratings, model="gmf", checkpoint=path, resume=True)
    interrupted(ratings, path, 3)
    before = path.read_bytes()
    with pytest.raises(OptionError, match="exists; add resume=True to go on"):
        rl.fit(ratings, model="gmf", checkpoint=path)
    with pytest.raises(InputError, match="a checkpoint of another model"):
        rl.fit(ratings, model="tfm", checkpoint=path, resume=True)
    other = rl.simulate(students=400, raters=10, items=3, raters_per_student=2, seed=4).ratings
    with pytest.raises(InputError, match="a checkpoint of other ratings"):
        rl.fit(other, model="gmf", checkpoint=path, resume=True)
    assert path.read_bytes() == before
    path.write_bytes(b"something else")
    with pytest.raises(InputError, match="is not a checkpoint"):
        rl.fit(ratings, model="gmf", checkpoint=path, resume=True)
    with pytest.raises(OptionError, match="resume is given without a checkpoint"):
        rl.fit(ratings, model="gmf", resume=True)
    with pytest.raises(OptionError, match="goes with method 'mml'"):
        rl.fit(ratings, model="gmf", method="hl", checkpoint=tmp_path / "x")
    with pytest.raises(InputError, match="no such folder"):
        rl.fit(ratings, model="gmf", checkpoint=tmp_path / "missing" / "x")


STOPPED = """
import sys, time
from raterlens.app.cli.main import main
from raterlens.likelihood.marginal import FacetsMarginal
compute, evaluations = FacetsMarginal._value, iter(range(12))
def value(*args):
    if next(evaluations, None) is None:
        print("twelve evaluations are saved", flush=True)
        time.sleep(600)
    return compute(*args)
FacetsMarginal._value = value
sys.exit(main(sys.argv[1:]))
"""
"""The command, waiting in the middle of its fit until it is ended."""


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_the_command_goes_on_after_ctrl_c_and_after_a_kill(ratings, tmp_path, end, capsys):
    table, path, out = tmp_path / "table.csv", tmp_path / "fit.checkpoint", tmp_path / "out"
    uneven(ratings).write_csv(table)
    command = ["fit", str(table), "--out", str(out), "--checkpoint", str(path)]
    stopped = subprocess.Popen(
        [sys.executable, "-c", STOPPED, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert stopped.stdout is not None
    assert stopped.stdout.readline() == "twelve evaluations are saved\n"
    stopped.send_signal(end)
    error = stopped.communicate(timeout=300)[1]
    assert path.stat().st_size > 2000
    assert not out.exists() or not list(out.iterdir())
    if end == signal.SIGINT:
        assert stopped.returncode == 130
        assert error.strip().endswith(f"--checkpoint {path} --resume")
    assert main([*command, "--resume", "--quiet"]) == 0
    assert not path.exists()
    whole = rl.fit(rl.read(table), model="gmf")
    np.testing.assert_allclose(rl.load(out / "fit.json").raters["kappa"], whole.raters["kappa"], rtol=SAME)
