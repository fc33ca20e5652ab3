"""From a table to a packed file to results, by commands."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from raterlens.fitting.run import sample_for_diagnostics
from raterlens.ratings.packed import StoredRatings, open_packed
from tests.support.packed_tables import table


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
