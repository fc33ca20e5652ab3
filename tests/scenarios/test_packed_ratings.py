"""Packed files and known answers, from a table to results by commands."""

import json

import numpy as np
import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from raterlens.fitting.run import sample_for_diagnostics
from raterlens.ratings.packed import StoredRatings, open_packed
from tests.support.command_line import run
from tests.support.packed_tables import table
from tests.support.shared_panels import panel

# --------------------------------------------------- from a table to a packed file to results, by commands


def test_the_command_and_a_fit_of_what_it_wrote(tmp_path, capsys):
    table(students=200).write_csv(tmp_path / "table.csv")
    path = tmp_path / "x.rlpack"
    assert main(["pack", str(tmp_path / "table.csv"), "--out", str(path), "--cut", "2"]) == 0
    assert "students by 7 raters on 3 items" in capsys.readouterr().out
    one, other = rl.fit(rl.read(tmp_path / "table.csv", cut=2), model="gmf"), rl.fit(path, model="gmf")
    assert other.loglik == pytest.approx(one.loglik, rel=1e-12)
    np.testing.assert_allclose(other.raters["kappa"], one.raters["kappa"], rtol=1e-9)
    np.testing.assert_allclose(other.raters["kappa_se"], one.raters["kappa_se"], rtol=1e-9)
    np.testing.assert_allclose(other.students["theta"], one.students["theta"], rtol=1e-9, atol=1e-12)


def test_a_damaged_file_is_one_message(tmp_path, capsys):
    path = rl.pack(table(), tmp_path / "x.rlpack")
    path.write_bytes(path.read_bytes()[:-100])
    assert main(["check", str(path)]) == 2
    assert "it is cut short or damaged" in capsys.readouterr().err


def test_diagnostics_of_very_many_ratings_look_at_some_students(tmp_path):
    frame = table(students=200)
    path = rl.pack(frame, tmp_path / "x.rlpack", cut=2, facets=["when"])
    on_disk = StoredRatings(open_packed(path), part=1000)
    when = on_disk.facets[0].labels.gather(on_disk.facets[0].codes)
    some, aside, (said,) = sample_for_diagnostics(on_disk, {"groups": {"when": when}}, most=100, sample=1000)
    assert f"diagnostics use {some.n_ratings:,} of {on_disk.n_ratings:,} ratings" in said
    assert 500 < some.n_ratings < 1500
    # The column beside the ratings is that of the same ratings.
    assert aside["groups"]["when"].to_list() == some.table()["when"].to_list()
    assert sample_for_diagnostics(on_disk, {}) == (on_disk, {}, ())


# --- a panel that shares a bias, from the file to the report: every part of a fit works with the second dimension


@pytest.fixture(scope="module")
def made():
    return panel(students=150, raters=6, known=60, bias=2.5, seed=7)


@pytest.mark.nightly
def test_the_command_finds_the_bias_and_writes_it_down(made, tmp_path) -> None:
    made.table.write_csv(tmp_path / "verdicts.csv")
    done = run(
        "fit", tmp_path / "verdicts.csv", "--known", "gold", "--trusted", "r05", "--out", tmp_path / "out"
    )
    assert done.returncode == 0, done.stderr
    assert b"Raters agree on something besides the truth" in b" ".join((done.stdout + done.stderr).split())
    saved = json.loads((tmp_path / "out" / "fit.json").read_text())
    assert saved["config"]["trusted"] == ["r05"]
    assert "bias" in (tmp_path / "out" / "raters.csv").read_text().splitlines()[0].split(",")
    assert "--known gold" in (tmp_path / "out" / "report.html").read_text()


def test_everything_that_can_be_asked_of_a_fit(made) -> None:
    ratings = made.ratings
    fit = rl.fit(ratings, model="gmf", trusted=["r05"], shared=True)
    assert fit.diagnose(ratings).table("raters")["infit"].is_between(0.8, 1.25).all()
    assert fit.differences(ratings).words()
    assert fit.consequences(ratings).students == 150
    others = fit.sensitivity(ratings, links=(), models=("tfm",))
    assert others.height > 0
    alone = fit.refit(ratings.subset(ratings.rater != 5), shared=False)
    assert alone.config.trusted is None
    assert fit.bootstrap(ratings, replicates=2, workers=1).raters()["se"].is_finite().all()
