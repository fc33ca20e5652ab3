"""Files that appear when they are whole, whatever ends the run that writes them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from raterlens.base.atomic_files import PREFIX, atomic_write, reason, staging_folder
from raterlens.base.errors import OptionError


def test_a_file_that_fails_half_way_leaves_the_old_one(tmp_path: Path) -> None:
    out = tmp_path / "x.txt"
    atomic_write(out, lambda path: path.write_text("first"))

    def fail(path: Path) -> None:
        path.write_text("seco")
        raise OSError(28, "No space left on device")

    with pytest.raises(
        OptionError, match="No space left on device; give a file you may write to, on a disk with room"
    ):
        atomic_write(out, fail)
    assert out.read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["x.txt"]


def test_why_a_library_could_not_write(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        raise OSError("the disk said no\nin Rust")  # as polars does: without a number

    with pytest.raises(OptionError, match=r"cannot write '.*x\.csv': the disk said no; give a file"):
        atomic_write(tmp_path / "x.csv", fail)
    assert reason(OSError()) == "OSError"


def test_what_is_no_file_is_not_replaced() -> None:
    atomic_write(Path(os.devnull), lambda path: path.write_text("text"))
    assert not Path(os.devnull).is_file()


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    atomic_write(tmp_path / "link", lambda path: path.write_text("text"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "text"


def test_the_next_run_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from raterlens.base.atomic_files import staging_folder\n"
        "with staging_folder(Path(sys.argv[1])) as draft: (draft / 'x').touch(); print(flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.readline()
        with staging_folder(tmp_path) as mine:
            assert len(list(tmp_path.glob(f"{PREFIX}*"))) == 2, "a run under way keeps its own"
            run.send_signal(signal.SIGKILL)
            run.wait()
            with staging_folder(tmp_path) as other:
                assert sorted(tmp_path.iterdir()) == sorted([mine, other])
    assert list(tmp_path.iterdir()) == []


def test_a_library_that_meets_a_full_disk_in_its_own_words(tmp_path: Path) -> None:
    def full(_: Path) -> None:
        raise ValueError("parquet: underlying IO error: No space left on device (os error 28)")

    with pytest.raises(OptionError, match=r"cannot write .*: parquet: .*No space left .*; give a file"):
        atomic_write(tmp_path / "x.parquet", full)

    def wrong(_: Path) -> None:
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        atomic_write(tmp_path / "x.parquet", wrong)
    assert list(tmp_path.iterdir()) == []
