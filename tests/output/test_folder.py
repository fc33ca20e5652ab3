"""The results folder: whole or not at all, and harmless to spreadsheets."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import raterlens as rl
import raterlens.output.report.page
from raterlens.base import atomic_files
from raterlens.base.errors import OptionError
from raterlens.diagnostics.wording import with_verdicts
from raterlens.output.folder import DECIDED, DIAGNOSED, FILES, WORKBOOK, check_folder, harmless, write_results
from raterlens.output.report.reproduce import Reproduction
from tests.support.report_fits import made

# -------------------------------------------- results in a folder: all files or none, nothing else touched


@pytest.fixture
def fit(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Something that can be written; the real pages have their own tests."""

    def page(fit: Any, reproduction: Reproduction | None, *_: object) -> str:
        return f"<p>{reproduction and reproduction.command}</p>"

    monkeypatch.setattr(raterlens.output.report.page, "render", page)
    found = made(2, names=("a,b", '"q"'))
    monkeypatch.setattr(type(found), "to_json", lambda self: "{}")
    return found


def test_five_files(fit: Any, tmp_path: Path) -> None:
    out = tmp_path / "new" / "results"
    write_results(fit, out, reproduction=Reproduction("fit = ...", "raterlens demo"))
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)
    raters = pl.read_csv(out / "raters.csv")
    numbers = ["rater", "n", "kappa", "kappa_low", "kappa_high"]
    assert raters.select(numbers).equals(fit.table("raters").select(numbers))
    told = ("verdict", "standard", "sharpness_verdict", "costs_most", "next_step")
    assert raters.select(told).equals(with_verdicts(fit).select(told))
    assert (out / "report.html").read_text() == "<p>raterlens demo</p>"
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_sets_of_raters_are_not_written_as_groups_of_students(tmp_path: Path) -> None:
    ratings = rl.simulate(students=60, raters=4, items=2, raters_per_student=2, seed=1).ratings
    fit = rl.fit(ratings, model="gmf", group_means="raters", standard_errors=False)
    assert "groups" in fit.tables
    write_results(fit, tmp_path / "out")
    assert not (tmp_path / "out" / "groups.csv").exists()


def test_files_are_replaced_and_others_left_alone(fit: Any, tmp_path: Path) -> None:
    (tmp_path / "fit.json").write_text("old")
    (tmp_path / "notes.txt").write_text("mine")
    write_results(fit, tmp_path)
    assert (tmp_path / "fit.json").read_text() == "{}"
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*FILES, "notes.txt"])


def test_a_second_fit_leaves_no_file_of_the_first(fit: Any, tmp_path: Path) -> None:
    (tmp_path / "bias.csv").write_text("mine")
    write_results(fit, tmp_path)
    assert (tmp_path / "bias.csv").exists(), "not ours: there was no fit before"
    for name in (*DIAGNOSED, *DECIDED, WORKBOOK):
        (tmp_path / name).write_text("of the first fit")
    write_results(fit, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)


def test_drafts_of_killed_runs_are_removed(fit: Any, tmp_path: Path) -> None:
    (tmp_path / ".raterlens-killed").mkdir()  # before there was the folder of results, and after
    (tmp_path / "results" / ".raterlens-killed").mkdir(parents=True)
    write_results(fit, tmp_path / "results")
    assert not list(tmp_path.rglob(".raterlens-*"))


def test_a_failure_on_the_way_leaves_what_was_there(
    fit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "raters.csv").write_text("old")

    def fail(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(raterlens.output.report.page, "render", fail)
    with pytest.raises(OSError, match="No space left"):
        write_results(fit, tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("raters.csv", "old")]
    with pytest.raises(OSError, match="No space left"):
        write_results(fit, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_new_folder_is_as_open_as_any_other(fit: Any, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    write_results(fit, tmp_path / "results")
    assert (tmp_path / "results").stat().st_mode == (tmp_path / "other").stat().st_mode
    assert (tmp_path / "results" / "fit.json").stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_check_leaves_no_trace(tmp_path: Path) -> None:
    check_folder(tmp_path / "a" / "b")
    check_folder(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_refusals(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "nowhere")
    (tmp_path / "odd" / "fit.json").mkdir(parents=True)
    for name, reason in {
        "file": "it is a file",
        "file/below": "is not a folder",
        "loop": "is not a folder",
        "odd": "a folder named 'fit.json'",
        "n" * 300: "name too long",
    }.items():
        with pytest.raises(OptionError, match=reason):
            check_folder(tmp_path / name)


@pytest.mark.skipif(
    not Path("/proc/self").exists(), reason="no /proc: no folder that even root cannot write to"
)
def test_a_folder_that_may_not_be_written_to() -> None:
    with pytest.raises(OptionError, match="cannot write results to '/proc/self/results'"):
        check_folder(Path("/proc/self/results"))


@pytest.mark.usefixtures("fit")
def test_csv_files_hold_no_formula(tmp_path: Path) -> None:
    labels = ["=cmd()", "+1+2", "-3", "@a", "AM"]
    panel = made(5, names=labels)
    write_results(panel, tmp_path)
    written = pl.read_csv(tmp_path / "raters.csv")
    assert written["rater"].to_list() == ["'=cmd()", "'+1+2", "-3", "'@a", "AM"]
    assert written["kappa"].to_list() == panel.table("raters")["kappa"].to_list()


@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize("failing", range(len(FILES)))
def test_where_one_file_cannot_be_put_in_place_none_is(
    fit: Any, failing: int, earlier: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "results"
    if earlier:
        out.mkdir()
        for file in FILES:
            (out / file).write_text("earlier")
    replace, left = os.replace, iter(range(100))

    def full(source: Path, place: Path) -> None:
        if next(left) == failing:
            raise OSError(28, "No space left on device")
        replace(source, place)

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(atomic_files, "_replace_folder", lambda *_: False)
    with pytest.raises(OSError, match="No space left"):
        write_results(fit, out)
    assert [path.name for path in tmp_path.iterdir()] == ["results"] * earlier
    if earlier:
        assert {path.name: path.read_text() for path in out.iterdir()} == dict.fromkeys(FILES, "earlier")


SLOW_WRITER = """
import sys, time
from pathlib import Path
from raterlens.base.atomic_files import lock_folder
with lock_folder(Path(sys.argv[1])):
    print(flush=True)
    time.sleep(60)
"""


def test_a_second_command_is_told_who_is_writing(fit: Any, tmp_path: Path) -> None:
    out = tmp_path / "results"
    with subprocess.Popen([sys.executable, "-c", SLOW_WRITER, str(out)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(
            OptionError, match=rf"process {other.pid} is writing there; wait until it is done"
        ):
            write_results(fit, out)
        other.kill()
    write_results(fit, out)
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_no_lock_is_left_where_it_cannot_be_written_or_held(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "getpid", full)
        with pytest.raises(OSError, match="No space left"), atomic_files.lock_folder(tmp_path / "results"):
            pass
    monkeypatch.setattr("raterlens.base.atomic_files.fcntl.flock", full)  # a file system without locks
    with atomic_files.lock_folder(tmp_path / "results"):
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_exchanged_as_a_whole(fit: Any, tmp_path: Path) -> None:
    out = tmp_path / "results"
    write_results(fit, out)
    (out / "notes.txt").write_text("mine")
    before = out.stat().st_ino, (out / "notes.txt").stat().st_ino
    write_results(fit, out)
    assert out.stat().st_ino != before[0]
    assert (out / "notes.txt").stat().st_ino == before[1]
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_a_link_stays_and_the_folder_behind_it_is_exchanged(fit: Any, tmp_path: Path) -> None:
    place, out = tmp_path / "place", tmp_path / "results"
    place.mkdir()
    out.symlink_to(place)
    before = place.stat().st_ino
    write_results(fit, out)
    assert out.is_symlink()
    assert place.stat().st_ino != before
    assert {*FILES} == {path.name for path in out.iterdir()}
    assert not list(tmp_path.rglob(".raterlens-*"))


@pytest.mark.parametrize("kind", ["folder inside", "here"])
def test_a_folder_that_cannot_be_exchanged_is_filled_file_by_file(
    fit: Any, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "results"
    (out / "sub").mkdir(parents=True)
    (out / "sub" / "mine").write_text("mine")
    if kind == "here":
        monkeypatch.chdir(out)
    before = out.stat().st_ino
    for _ in range(2):
        write_results(fit, Path() if kind == "here" else out)
    assert out.stat().st_ino == before
    assert {*FILES} <= {path.name for path in out.iterdir()}
    assert (out / "sub" / "mine").read_text() == "mine"
    assert not list(tmp_path.rglob(".raterlens-*"))


MIXED = """
import os, signal, sys
from pathlib import Path
from raterlens.base.atomic_files import staging_folder, replace_files
out, at = Path(sys.argv[1]), int(sys.argv[2])
calls = 0
def stop(*seen):
    global calls
    calls += seen[0] in ("os.rename", "os.link", "os.mkdir", "os.remove", "ctypes.dlsym")
    if calls == at:
        os.kill(os.getpid(), signal.SIGKILL)
with staging_folder(out.parent) as draft:
    for name in "abc":
        (draft / name).write_text("new")
    sys.addaudithook(stop)
    replace_files(draft, out, ["a", "b", "c"], ["d"])
"""


@pytest.mark.parametrize("at", range(1, 8))
def test_a_kill_at_any_step_leaves_all_old_or_all_new(tmp_path: Path, at: int) -> None:
    out = tmp_path / "results"
    out.mkdir()
    for name in "abd":
        (out / name).write_text("old")
    subprocess.run([sys.executable, "-c", MIXED, str(out), str(at)], check=False)
    found = {path.name: path.read_text() for path in out.iterdir()}
    assert found in (dict.fromkeys("abd", "old"), dict.fromkeys("abc", "new"))


# ----------------------------------------------------------------- labels that a spreadsheet would compute


@pytest.mark.parametrize("label", ["=1+1", "+cmd", "-cmd", "@SUM(A1)", "\tx", "\r=1", "＝1"])
def test_formulas_get_an_apostrophe(label):
    assert harmless(pl.DataFrame({"rater": [label]}))["rater"].item() == f"'{label}"


@pytest.mark.parametrize("label", ["-3", "+2.5e-3", ".5", "AM:Sport", "a=b", ""])
def test_numbers_and_plain_labels_stay(label):
    assert harmless(pl.DataFrame({"rater": [label]}))["rater"].item() == label


def test_other_columns_stay():
    table = pl.DataFrame({"n": [-1, 2], "rater": pl.Series(["=x", "y"], dtype=pl.Categorical)})
    found = harmless(table)
    assert found["n"].to_list() == [-1, 2]
    assert found["rater"].to_list() == ["'=x", "y"]
