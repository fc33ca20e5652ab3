"""Logs that the real package wrote (support/inspect_logs.py), read without it; and against it where installed."""

import importlib.util
import json
import shutil
import sys
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import AT_FAULT, DONE, main
from raterlens.base.errors import InputError

DATA = Path(__file__).parents[2] / "data"
LOGS = ["inspect.eval", "inspect.json.gz"]


@pytest.mark.parametrize("name", LOGS)
def test_scorers_are_raters_and_samples_are_students(name):
    ratings = rl.read(DATA / name, cut=1)
    assert ratings.raters.to_list() == ["letters", "rubric"]
    assert ratings.items.to_list() == ["all", "clarity", "truth"]
    assert ratings.students.to_list() == [f"q{n}" for n in range(6)]
    assert ratings.n_ratings == 6 * 3 * 2  # samples, scores of each, epochs
    # q0 to q5 were scored C I P N C I by letters: correct where n is a multiple of 4.
    passes = (
        ratings.table().filter(rater="letters").group_by("student").agg(pl.col("score").sum()).sort("student")
    )
    assert passes["score"].to_list() == [2, 0, 0, 0, 2, 0]
    truth = (
        ratings.table().filter(item="truth").group_by("student").agg(pl.col("score").sum()).sort("student")
    )
    assert truth["score"].to_list() == [2 * (n // 2 % 2) for n in range(6)]
    assert any("task 'demo', model 'mockllm/model'" in note for note in ratings.notes)
    assert any("2 epochs" in note for note in ratings.notes)


def test_partial_credit_counts_by_the_cut():
    half = rl.read(DATA / "inspect.eval", cut=0.5).table().filter(rater="letters", student="q2")
    assert half["score"].to_list() == [1, 1]
    doubled = rl.read(DATA / "inspect.eval")
    assert doubled.table().filter(rater="letters", student="q2")["score"].to_list() == [1, 1]
    assert any("steps of 0.5" in note and "doubled" in note for note in doubled.notes)


def test_an_epoch_can_be_an_answer_of_its_own():
    ratings = rl.read(DATA / "inspect.eval", student=["student", "epoch"], cut=1)
    assert ratings.n_students == 12


def test_both_kinds_of_log_hold_the_same_ratings():
    one, other = (rl.read(DATA / name, cut=1).table() for name in LOGS)
    assert one.sort(one.columns).equals(other.sort(other.columns))


def test_a_log_goes_through_the_command_line(tmp_path, capsys):
    assert main(["check", str(DATA / "inspect.eval"), "--cut", "1"]) == DONE
    assert "scorers are raters" in " ".join(capsys.readouterr().out.split())
    broken = tmp_path / "broken.eval"
    broken.write_bytes((DATA / "inspect.eval").read_bytes()[:2000])
    assert main(["check", str(broken)]) == AT_FAULT
    assert "not a whole log of Inspect AI" in capsys.readouterr().err


def test_an_unknown_method_of_compression_is_a_damaged_log(tmp_path):
    path = tmp_path / "log.eval"
    with ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{}")
    content = bytearray(path.read_bytes())
    for signature, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        content[content.index(signature) + place] = 77
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a whole log of Inspect AI"):
        rl.read(path)


def rewritten(path: Path, change) -> Path:
    """A log of one JSON document, changed."""
    import gzip

    content = json.loads(gzip.decompress((DATA / "inspect.json.gz").read_bytes()))
    change(content)
    path.write_text(json.dumps(content))
    return path


def test_an_interrupted_evaluation_is_read_from_its_samples(tmp_path):
    path = tmp_path / "started.eval"
    sample = {
        "id": 1,
        "epoch": 1,
        "scores": {"a": {"value": True}, "b": {"value": [0, "yes"]}, "c": {"value": None}},
    }
    with ZipFile(path, "w") as archive:
        archive.writestr(
            "_journal/start.json", json.dumps({"version": 2, "eval": {"task": "t", "model": "m"}})
        )
        for n in range(3):
            archive.writestr(f"samples/{n}_epoch_1.json", json.dumps(sample | {"id": n}))
    ratings = rl.read(path)
    assert ratings.table().sort("student", "item")["score"].to_list() == [0, 1, 1] * 3
    assert any("status is 'started'" in note for note in ratings.notes)
    assert any("left out: no score" in note for note in ratings.notes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda log: [sample.update(scores={}) for sample in log["samples"]], "without scores"),
        (lambda log: log["samples"][0]["scores"]["letters"].update(value="B"), "score 'B'.*is not a number"),
        (lambda log: log["samples"][0].pop("id"), "not as this release knows it .KeyError: 'samples.id'"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        rl.read(rewritten(tmp_path / "log.json", change), cut=1)


def test_without_zstandard_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(InputError, match=r"raterlens\[zst\]"):
        rl.read(DATA / "inspect.eval", cut=1)


@pytest.mark.filterwarnings("ignore")  # of the package itself
@pytest.mark.skipif(importlib.util.find_spec("inspect_ai") is None, reason="inspect_ai is not installed")
def test_against_the_package_itself(tmp_path):
    from inspect_ai.log import read_eval_log
    from inspect_ai.scorer import value_to_float

    from tests.support.inspect_logs import write

    number = value_to_float()
    for location in write(tmp_path):
        copy = shutil.copy(location, tmp_path / f"log{Path(location).suffix}")
        theirs = sum(
            number(part) >= 1
            for sample in read_eval_log(location).samples or []
            for score in (sample.scores or {}).values()
            for part in (score.value.values() if isinstance(score.value, dict) else [score.value])
        )
        assert np.sum(rl.read(copy, cut=1).score) == theirs
