"""`raterlens judge`, as the example's workflow runs it."""

import json
import re
import shlex
from importlib import util
from pathlib import Path
from xml.etree import ElementTree

import pytest

from raterlens.app.cli.main import AT_FAULT, DONE, GATE_FAILED, main
from tests.support.command_line import Captured

EXAMPLE = Path(__file__).parents[3] / "examples" / "judge_in_ci"


@pytest.fixture
def verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judges").mkdir()
    (tmp_path / "judges" / "verdicts.jsonl").write_bytes((EXAMPLE / "verdicts.jsonl").read_bytes())
    return Path("judges/verdicts.jsonl")


def test_the_example_is_what_its_script_makes() -> None:
    spec = util.spec_from_file_location("generate", EXAMPLE / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    stored = [json.loads(line) for line in (EXAMPLE / "verdicts.jsonl").read_text().splitlines()]
    assert stored == module.verdicts()


def test_the_workflow_of_the_example_runs(verdicts: Path, capsys: Captured) -> None:
    text = (EXAMPLE / "judges.yml").read_text()
    command = re.search(r"run: >\n((?: {10}.*\n)+)", text)
    assert command is not None
    program, *arguments = shlex.split(command[1])
    assert program == "raterlens"
    assert (
        main(["judge", str(verdicts), "--known", "human_label", "--save", "judges/fit.json"]) == GATE_FAILED
    )
    assert main(arguments) == GATE_FAILED
    shown = capsys.readouterr().out
    assert "960 verdicts on 240 pieces of work by 4 raters" in shown
    assert "3 of 4 judges can be trusted (sharpness at least 0.5)" in shown
    assert "Share of good work by system, as if nobody erred" in shown
    comment = Path("comment.md").read_text()
    assert comment.startswith("### Raterlens: 3 of 4 judges can be trusted")
    assert "| candidate |" in comment
    assert "No judge has changed since the last run beyond chance." in comment
    suite = ElementTree.parse("judges.xml").getroot()
    assert suite.get("failures") == "1"
    assert json.loads(Path("fit.json").read_text())["model"] == "gmf"


def test_all_trusted_is_exit_code_0_and_json_is_alone(verdicts: Path, capsys: Captured) -> None:
    command = ["judge", str(verdicts), "--known", "human_label", "--only", "large,large-strict", "--json"]
    assert main(command) == DONE
    content = json.loads(capsys.readouterr().out)
    assert content["passed"] is True
    assert [row["judge"] for row in content["judges"]] == ["large", "large-strict"]
    assert content["n_known"] == 60


def test_people_by_name_and_the_column_of_items(verdicts: Path, capsys: Captured) -> None:
    command = ["judge", str(verdicts), "--trusted", "large", "--by", "system", "--item", "system"]
    assert main(command) == GATE_FAILED
    shown = " ".join(capsys.readouterr().out.split())
    assert "On the scale of 1 person ('large')" in shown
    assert "Share of good work by item" in shown
    assert "whether mini may stand in for a person" in shown


def test_without_anything_to_go_by_it_refuses(verdicts: Path, capsys: Captured) -> None:
    assert main(["judge", str(verdicts), "--markdown", "comment.md"]) == AT_FAULT
    said = capsys.readouterr().err
    assert "judges who agree may all be wrong; add a column of known answers, --known human_label" in said
    assert not Path("comment.md").exists()


def test_a_wrong_column_writes_nothing(verdicts: Path, capsys: Captured) -> None:
    command = ["judge", str(verdicts), "--known", "human_label", "--by", "sistem", "--markdown", "comment.md"]
    assert main(command) == AT_FAULT
    assert "sistem" in capsys.readouterr().err
    assert not Path("comment.md").exists()


def test_check_is_the_same_gate(verdicts: Path, capsys: Captured) -> None:
    options = [
        str(verdicts),
        "--known",
        "human_label",
        "--min-sharpness",
        "0.5",
        "--reference",
        "perfect",
        "--json",
    ]
    assert main(["check", *options]) == main(["judge", *options]) == GATE_FAILED
    checked, judged = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert judged["gate"]["checks"] == checked["checks"]
