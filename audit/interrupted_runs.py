"""Commands that are killed, or whose writes fail: nothing half-written, nothing lost, the same digits afterwards."""

import atexit
import json
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from shutil import copytree, rmtree
from tempfile import TemporaryDirectory
from zipfile import ZipFile, is_zipfile

import polars as pl
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import raterlens as rl
from audit.subject import Case, Subject
from raterlens.base.atomic_files import PREFIX

KILLED = (-signal.SIGKILL, -signal.SIGPROF, -signal.SIGTERM)
"""The last where it comes before the command has begun."""
STOPPED = {"terminate": 143, "interrupt": 130}
"""Exit codes of a command that a signal ends."""
RUNS: dict[str, list[str]] = {
    "fit": ["fit", "ratings.csv", "--out", "results", "--quiet"],
    "fit with a checkpoint": ["fit", "ratings.csv", "--out", "results", "--quiet", "--checkpoint", "so-far"],
    "fit here": ["fit", "ratings.csv", "--out", ".", "--quiet"],
    "fit beside a folder": ["fit", "ratings.csv", "--out", "kept", "--quiet"],
    "fit with decisions": [
        *("fit", "ratings.csv", "--out", "results", "--quiet", "--xlsx", "--decide", "0.5", "--remark", "3")
    ],
    "fit after another": ["fit", "ratings.csv", "--out", "results", "--quiet", "--previous", "fit.json"],
    "judge": [
        *("judge", "ratings.csv", "--trusted", "R1", "--markdown", "judged.md", "--junit", "judged.xml"),
        *("--save", "judged.json"),
    ],
    "judge into a folder": ["judge", "ratings.csv", "--trusted", "R1", "--out", "judges"],
    "next": ["next", "ratings.csv", "--fit", "fit.json", "--budget", "3", "--out", "next.csv"],
    "plan": ["plan", "--students", "9", "--raters", "3", "--out", "plan.csv"],
    "pack": ["pack", "ratings.csv", "--out", "ratings.rlpack"],
    "convert": ["convert", "ratings.csv", "--out", "ratings.parquet"],
    "control file": ["convert", "ratings.csv", "--to", "facets", "--out", "study.txt"],
    "plot": ["plot", "capability", "fit.json", "--out", "capability.svg"],
    "simulate": ["simulate", "--students", "9", "--out", "simulated.csv", "--truth", "truth.csv"],
    "study": ["study", "noise", "--replications", "3", "--workers", "1", "--out", "noise"],
}
EARLIER = ["fit", "ratings.csv", "--out", "results", "--quiet", "--model", "tfm", "--groups", "school"]
"""Earlier results in the folder of a fit: other numbers, and files that only they have."""
SLOW = ("study", "plot", "fit with decisions", "judge", "judge into a folder")
"""Tried less often."""
SEVERAL = ("study", "simulate", "judge")
"""Commands whose files each stand for themselves."""
ONE_BY_ONE = ("fit here", "fit beside a folder")
"""Fits to folders that cannot be exchanged as a whole: a kill may come between two files."""
GATE_FAILED = 3
GIVEN = ("ratings.csv", "fit.json")

Files = dict[str, bytes]


def cases() -> SearchStrategy[Case]:
    place = st.integers(1, 24)
    kinds = {
        "kill": place,
        "moment": st.integers(1, 2000),
        "terminate": st.integers(5, 2000),
        "interrupt": st.integers(5, 2000),
        "fail": place,
        "limit": st.integers(0, 1 << 17),
    }
    fault = st.one_of(*(st.tuples(st.just(kind), at).map(list) for kind, at in kinds.items()))
    runs = [*RUNS, *[name for name in RUNS if name not in SLOW] * 3]
    return st.fixed_dictionaries({"run": st.sampled_from(runs), "fault": fault, "earlier": st.booleans()})


@cache
def runner() -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-m", "audit.runner"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(process.kill)
    return process


def run(words: list[str], folder: Path, fault: str = "", at: int = 0) -> tuple[int, str]:
    """How a command ended, and what it said to standard error."""
    process = runner()
    assert process.stdin is not None
    assert process.stdout is not None
    asked = {"words": words, "folder": str(folder), "fault": fault, "at": at}
    print(json.dumps(asked), file=process.stdin, flush=True)
    code, said = json.loads(process.stdout.readline())
    return code, said


def _content(path: Path) -> bytes:
    """A workbook says when it was made; the rest of it is to be the same."""
    if path.suffix != ".xlsx" or not is_zipfile(path):
        return path.read_bytes()
    with ZipFile(path) as parts:
        return b"".join(parts.read(name) for name in sorted(parts.namelist()) if name != "docProps/core.xml")


def files(folder: Path) -> Files:
    return {
        str(path.relative_to(folder)): _content(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in GIVEN[:1] and path != folder / "fit.json"
    }


@cache
def start() -> Path:
    """A folder with what the commands need, and one with earlier results as well."""
    place = TemporaryDirectory()
    atexit.register(place.cleanup)
    folder = Path(place.name)
    ratings = rl.simulate(students=12, raters=3, items=2, seed=1).ratings
    for name in ("empty", "earlier"):
        (folder / name).mkdir()
        with_schools = ratings.table().with_columns(school=pl.int_range(pl.len()) % 3)
        with_schools.write_csv(folder / name / "ratings.csv")
        rl.fit(ratings, model="gmf").save(folder / name / "fit.json")
        (folder / name / "kept" / "charts").mkdir(parents=True)
        (folder / name / "kept" / "charts" / "mine.txt").write_text("not ours")
    assert run(EARLIER, folder / "earlier")[0] == 0
    return folder


@cache
def expected(name: str, before: str) -> Files:
    """Files that a command writes when nothing goes wrong."""
    with TemporaryDirectory() as place:
        folder = Path(place) / "work"
        copytree(start() / before, folder)
        code, said = run(RUNS[name], folder)
        assert code in (0, GATE_FAILED), said
        return files(folder)


def check(case: Case, folder: Path) -> str:
    before = "earlier" if case["earlier"] else "empty"
    work = folder / "work"
    copytree(start() / before, work)
    old, new = files(work), expected(case["run"], before)
    words = RUNS[case["run"]]
    fault, at = case["fault"]
    code, said = run(words, work, fault, at)
    killed = code in KILLED
    _whole(files(work), old, new, resumable=case["run"] == "study")
    if code in (0, GATE_FAILED):
        assert _visible(files(work)) == new, f"done, but {_differing(files(work), new)}"
        return "done"
    if code not in KILLED:
        _complained(code, said, STOPPED.get(fault))
        assert _visible(files(work)) == files(work), (
            f"left behind: {sorted({*files(work)} - {*_visible(files(work))})}"
        )
    if code not in KILLED or case["run"] not in ONE_BY_ONE:
        _all_or_nothing(case["run"], _visible(files(work)), old, new)
    if (work / "so-far").exists():
        words = [*words, "--resume"]
    code, said = run(words, work)
    assert code in (0, GATE_FAILED), f"afterwards: {said}"
    assert files(work) == new, f"afterwards: {_differing(files(work), new)}"
    rmtree(work)
    resumed = " and resumed" if words != RUNS[case["run"]] else ""
    return ("killed" if killed else "stopped" if fault in STOPPED else "failed") + resumed


def _visible(found: Files) -> Files:
    return {name: content for name, content in found.items() if PREFIX not in name}


def _whole(found: Files, old: Files, new: Files, resumable: bool) -> None:
    """Every file under its own name is as it was, or as it will be; nothing of before is lost."""
    for name, content in _visible(found).items():
        if (resumable and name not in new) or name == "so-far" or ".draft" in name:
            continue  # what a study or a fit goes on from
        assert content in (old.get(name), new.get(name)), f"{name} is half-written ({len(content)} bytes)"
    for name in old:
        assert name in found or name not in new, f"{name} is lost"


def _complained(code: int, said: str, stopped: int | None) -> None:
    assert code in ((1, 2) if stopped is None else (stopped,)), f"ended with {code}: {said[-300:]}"
    assert "Traceback" not in said, said
    assert "bug in Raterlens" not in said, said
    assert said.count("raterlens: ") == 1, said
    assert "None" not in said, said


def _all_or_nothing(name: str, found: Files, old: Files, new: Files) -> None:
    """Results belong together, even after a kill."""
    if name not in SEVERAL:
        kept = {file: content for file, content in found.items() if file != "so-far"}
        assert kept in (old, new), f"half of the results: {_differing(kept, old)}"


def _differing(one: Files, other: Files) -> list[str]:
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))


SUBJECT = Subject("interrupted runs", cases, check, share=0.1, batch=4)
