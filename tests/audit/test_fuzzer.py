"""The audit itself: it finds faults that are there, makes them small, and prints a command that shows them again."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import strategies as st

from audit import worker
from audit.__main__ import Findings, command, fuzz
from audit.__main__ import _smaller as smaller
from audit.__main__ import _used as used
from audit.damaged_files import KINDS, edited, whole
from audit.damaged_files import check as check_file
from audit.subject import Subject, refusal
from audit.subjects import SUBJECTS
from raterlens.base.errors import InputError


@pytest.mark.nightly
def test_cases_made_by_chance_show_no_fault() -> None:
    """A turn of each subject, the same one each time; `make fuzz` tries others."""
    found = fuzz(600, seed=20261116, turns=1)
    assert found.failures == {}
    assert all(found.counts[name].total() >= subject.batch for name, subject in SUBJECTS.items())


# A worker that writes down its case, and then is no help.
WORKER = """
import json, os, sys
folder = sys.argv[sys.argv.index("--folder") + 1]
with open(folder + "/case.json", "w") as file:
    json.dump(["damaged files", {"kind": "csv"}], file)
"""


def test_a_case_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit.__main__.IDLE", 0.5)
    monkeypatch.setattr(
        "audit.__main__.WORKER", (sys.executable, "-c", WORKER + "import time; time.sleep(60)")
    )
    monkeypatch.setattr("audit.__main__._smaller", lambda _, case: case)
    ((said,)) = fuzz(0.01, seed=1).failures.values()
    assert "nothing for 0.5 s" in said


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("end", "why"), [("os.abort()", "the process ended with -6"), ("while True: pass", "more than 0.3 s")]
)
def test_a_case_that_ends_the_process_or_takes_too_long(
    end: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audit.__main__.LONGEST", 0.3)
    monkeypatch.setattr("audit.__main__.WORKER", (sys.executable, "-c", WORKER + end))
    found = fuzz(0.01, seed=1)
    ((said,)) = found.failures.values()
    assert said.startswith("python -m audit --case 'damaged files' '{")
    assert why in said
    assert found.counts["damaged files"]["failed"] == 1


def test_a_case_that_took_too_long_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit.__main__._passes", lambda _, case: not {3, 7} <= {*case["numbers"]})
    assert smaller("any", {"numbers": list(range(9)), "other": 1}) == {"numbers": [3, 7], "other": 1}
    monkeypatch.setattr("audit.__main__.PATIENCE", 0.0)
    assert smaller("any", {"numbers": list(range(9))}) == {"numbers": list(range(9))}


def test_every_case_that_took_too_long_is_told(capsys: pytest.CaptureFixture) -> None:
    found = Findings()
    for number in (1, 2, 2):
        found.fail("commands", {"number": number}, "more than 20 s")
    assert capsys.readouterr().out.count("FAILED") == 2


def faulty(case: dict, _: Path) -> str:
    assert sum(case["numbers"]) < 100, "too much"
    return "fine"


def test_a_fault_is_found_and_made_small(tmp_path: Path) -> None:
    numbers = st.fixed_dictionaries({"numbers": st.lists(st.integers(0, 1000))})
    subject = Subject("sums", lambda: numbers, faulty, 1.0, 200)
    counts = Counter[str]()
    failed = worker.turn(subject, 1, tmp_path, counts)
    assert failed is not None
    case, error = failed
    assert case == {"numbers": [100]}
    assert "too much" in str(error)
    assert counts["fine"] > 0


def test_a_fault_that_many_cases_meet_is_told_once(capsys: pytest.CaptureFixture) -> None:
    found = Findings()
    for number in range(3):
        found.fail("damaged files", {"number": number}, "ValueError: the same")
    assert capsys.readouterr().out.count("FAILED") == 1
    assert found.counts["damaged files"]["failed"] == 3


@pytest.mark.parametrize(
    ("place", "code"), [([], 0), pytest.param([["cut", 0, 0, ""]], 0, marks=pytest.mark.nightly)]
)
def test_the_command_tries_a_case_again(place: list, code: int) -> None:
    case = {"kind": "csv", "edits": place}
    assert command("damaged files", case).startswith("python -m audit --case 'damaged files' ")
    done = subprocess.run(
        [sys.executable, "-m", "audit", "--case", "damaged files", json.dumps(case)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert (done.returncode, done.stdout.strip()) == (code, "refused" if place else "read")


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_is_good_before_it_is_damaged(kind: str, tmp_path: Path) -> None:
    assert check_file({"kind": kind, "edits": []}, tmp_path) == "read"
    assert edited(whole(kind)[1], []) == whole(kind)[1]


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (["cut", 2, 0, ""], b"ab"),
        (["flip", 1, 0, ""], b"accd"),
        (["set", 1, 65, ""], b"aAcd"),
        (["insert", 1, 0, "é"], b"a\xc3\xa9bcd"),
        (["remove", 1, 2, ""], b"ad"),
        (["double", 1, 2, ""], b"abcbcd"),
        (["blank", 2, 9, ""], b"ab\0\0"),
        (["cut", 7, 0, ""], b"ab"),
    ],
)
def test_edits(edit: list, expected: bytes) -> None:
    assert edited(b"abcd", [edit]) == expected


def test_refusals_are_one_short_line() -> None:
    assert refusal(InputError("what", "remedy")) == "refused"
    for said in ("two\nlines", "long" * 500):
        with pytest.raises(AssertionError):
            refusal(InputError(said))


def test_shares_of_the_time_add_up() -> None:
    assert sum(subject.share for subject in SUBJECTS.values()) == pytest.approx(1.0)


# As much time as a case may take, in a child that has ended; then it waits.
AFTER_A_CHILD = """
import subprocess, sys, time
subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.6: pass"])
print(flush=True)
time.sleep(60)
"""


def test_the_time_of_children_that_have_ended_is_not_the_case_s() -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", AFTER_A_CHILD], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert used(process.pid) < 0.5
        process.kill()
