"""`raterlens check` and `raterlens judge`."""

import json
import re
import shlex
from importlib import util
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

from raterlens.app.cli.main import AT_FAULT, DONE, GATE_FAILED, main
from tests.support.command_line import Captured


def test_check_reads_and_examines_only(table: Path, capsys: Captured) -> None:
    assert main(["check", str(table)]) == DONE
    shown = capsys.readouterr().out
    assert "720 ratings of 60 students by 4 raters on 3 items" in shown
    assert "Student column: 'student' (recognised)" in shown
    assert "log-likelihood" not in shown


def test_check_names_groups_that_share_no_student(
    ratings: pl.DataFrame, tmp_path: Path, capsys: Captured
) -> None:
    apart = ratings.filter((pl.col("student") < 30) == pl.col("rater").is_in(["Ann", "Bob"]))
    apart.write_csv(tmp_path / "apart.csv")
    assert main(["check", str(tmp_path / "apart.csv")]) == DONE
    assert "2 groups that share no student" in " ".join(capsys.readouterr().out.split())


def test_several_columns_make_a_student(ratings: pl.DataFrame, tmp_path: Path, capsys: Captured) -> None:
    half = ratings.with_columns(day=pl.col("item") % 2)
    half.write_csv(tmp_path / "days.csv")
    assert main(["check", str(tmp_path / "days.csv"), "--student", "student,day"]) == DONE
    assert "of 120 students" in capsys.readouterr().out


def test_options_of_a_fit_need_a_bound(table: Path, capsys: Captured) -> None:
    for option in (["--model", "tfm"], ["--covariance", "sandwich"], ["--by-estimate"]):
        assert main(["check", str(table), *option]) == AT_FAULT
        assert (
            "no bound is set to judge raters by; add one, such as --min-sharpness 0.5"
            in capsys.readouterr().err
        )


STRANGE = """Marks of June

Student;Ann;Bob;Cleo;Mean
a;55;61;70;62
b;80;75;88;81
c;31;42;38;37
d;66;64;71;67
Total;232;242;267;247
"""


def test_what_is_asked_comes_with_the_command_that_accepts_it(tmp_path: Path, capsys: Captured) -> None:
    """From a strange file to a report in two commands."""
    (tmp_path / "strange.csv").write_text(STRANGE)
    assert main(["check", str(tmp_path / "strange.csv")]) == 2
    told = capsys.readouterr().out
    for words in (
        "12 ratings of 4 students by 3 raters",
        "Please confirm or change",
        "looks like a total",
        "each a score of its own",
    ):
        assert words in told
    command = shlex.split(next(line for line in told.splitlines() if line.startswith("raterlens fit")))
    assert main([*command[1:], "--out", str(tmp_path / "results")]) == 0
    assert (tmp_path / "results" / "report.html").exists()
    capsys.readouterr()
    assert main(["fit", str(tmp_path / "strange.csv"), "--out", str(tmp_path / "other")]) == 2
    assert f"To accept all of it: {shlex.join(command)} --out" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_the_proposal_as_json(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "strange.csv").write_text(STRANGE)
    assert main(["check", str(tmp_path / "strange.csv"), "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert told["n_ratings"] == 12
    assert "--bands" in told["command"]
    assert len(told["questions"]) == 1


def test_a_file_that_is_understood_ends_with_the_command_that_says_everything(
    tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "plain.csv").write_text("student,rater,verdict\n1,a,good\n2,a,bad\n1,b,good\n2,b,good\n")
    assert main(["check", str(tmp_path / "plain.csv")]) == 0
    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert last.endswith("plain.csv --student student --rater rater --score verdict --map good=1,bad=0")


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
        main(["judge", str(verdicts), "--known", "human_label", "--save", "judges/judges.json"])
        == GATE_FAILED
    )
    assert main(arguments) == GATE_FAILED
    shown = capsys.readouterr().out
    assert "estimated from 60 known answers and 960 verdicts" in shown
    assert "0 of 4 judges can be trusted (capability at least 0.5); 3 not certain" in shown
    assert "Pass rate by system" in shown
    comment = Path("comment.md").read_text()
    assert comment.startswith("### Raterlens: 0 of 4 judges can be trusted")
    assert "- candidate: 0." in comment
    assert "No judge has changed since the last run beyond chance." in comment
    suite = ElementTree.parse("judges.xml").getroot()
    assert suite.get("failures") == "1"
    assert json.loads(Path("judges.json").read_text())["format"] == "raterlens judges"


def test_all_trusted_is_exit_code_0_and_json_is_alone(verdicts: Path, capsys: Captured) -> None:
    command = ["judge", str(verdicts), "--known", "human_label", "--only", "large,large-strict", "--json"]
    assert main(command) == DONE
    content = json.loads(capsys.readouterr().out)
    assert content["passed"] is True
    assert content["decided_by"] == "interval"
    assert [row["judge"] for row in content["judges"]] == ["large", "large-strict"]
    assert content["n_known"] == 60


def test_people_by_name(verdicts: Path, capsys: Captured) -> None:
    command = [
        "judge",
        str(verdicts),
        "--trusted",
        "large,large-strict",
        "--markdown",
        "c.md",
        "--save",
        "last.json",
    ]
    assert main(command) == GATE_FAILED
    shown = " ".join(capsys.readouterr().out.split())
    assert "Measured on the scale of 2 people ('large', 'large-strict')" in shown
    assert "mini may not stand in for a person" in shown
    assert "| Judge | Capability |" in Path("c.md").read_text()
    content = json.loads(Path("last.json").read_text())
    assert content["people"] == ["large", "large-strict"]
    assert {row["judge"] for row in content["replacements"]} == {"mini", "small"}
    assert main([*command[:4], "--by", "system"]) == AT_FAULT
    assert "pass rates are estimated from known answers" in capsys.readouterr().err


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


def test_the_first_run_has_no_baseline_and_goes_on(verdicts: Path, capsys: Captured) -> None:
    command = ["judge", str(verdicts), "--known", "human_label", "--only", "large", "--baseline", "none.json"]
    assert main(command) == DONE
    assert "Since the last run" not in capsys.readouterr().out


NUMBERS = {"judge": "large", "capability": 0.1, "capability_low": 0.05, "capability_high": 0.2}


def test_a_change_beyond_chance_is_said(verdicts: Path, capsys: Captured) -> None:
    Path("last.json").write_text(json.dumps({"format": "raterlens judges", "judges": [NUMBERS]}))
    main(["judge", str(verdicts), "--known", "human_label", "--baseline", "last.json"])
    assert "large: capability 0.10 -> " in capsys.readouterr().out


@pytest.mark.parametrize(
    "content",
    [
        "{}",
        "[1]",
        '{"format": "raterlens judges"}',
        '{"format": "raterlens judges", "judges": 3}',
        '{"format": "raterlens judges", "judges": [{}]}',
        '{"format": "raterlens judges", "judges": [{"judge": "large", "capability": %s}]}' % ("9" * 400),
        '{"format": "raterlens judges", "judges": ["large"]}',
    ],
)
def test_a_baseline_that_was_edited_is_refused(verdicts: Path, capsys: Captured, content: str) -> None:
    Path("last.json").write_text(content)
    command = [
        "judge",
        str(verdicts),
        "--known",
        "human_label",
        "--baseline",
        "last.json",
        "--markdown",
        "c.md",
    ]
    assert main(command) == AT_FAULT
    assert (
        "'last.json' is not what raterlens judge saves; give a file that --save wrote"
        in capsys.readouterr().err
    )
    assert not Path("c.md").exists()


@pytest.mark.parametrize(
    "numbers",
    [
        {"capability_low": "x"},
        {"capability_low": None},
        {"capability_low": float("nan")},
        {"capability": True},
    ],
)
def test_a_baseline_without_usable_numbers_says_nothing_of_them(
    verdicts: Path, capsys: Captured, numbers: dict[str, object]
) -> None:
    row = {**NUMBERS, "capability_high": 2, **numbers}
    Path("last.json").write_text(json.dumps({"format": "raterlens judges", "judges": [row]}))
    main(["judge", str(verdicts), "--known", "human_label", "--baseline", "last.json"])
    assert "large: capability" not in capsys.readouterr().out


def test_a_folder_of_tables(verdicts: Path) -> None:
    command = ["judge", str(verdicts), "--known", "human_label", "--by", "system", "--out", "found", "--json"]
    assert main(command) == GATE_FAILED
    names = {path.name for path in Path("found").iterdir()}
    assert names == {"judges.csv", "labels.csv", "systems.csv", "differences.csv", "slices.csv"}
    labels = Path("found/labels.csv").read_text().splitlines()
    assert labels[0] == "student,item,label,probability,n_judges,known,needs_person"
    assert len(labels) == 241
    Path("found/mine.txt").write_text("mine")
    assert main([*command[:4], *command[6:]]) == GATE_FAILED
    names = {path.name for path in Path("found").iterdir()}
    assert names == {"judges.csv", "labels.csv", "mine.txt"}, "tables by system are of the earlier run"


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(verdicts: Path, capsys: Captured) -> None:
    Path("found").write_text("a file")
    assert (
        main(["judge", str(verdicts), "--known", "human_label", "--out", "found", "--save", "s.json"])
        == AT_FAULT
    )
    assert "cannot write results to 'found': it is a file" in capsys.readouterr().err
    assert not Path("s.json").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--min-sharpness", "0.5"], "sharpness is not estimated; give --min-capability 0.5"),
        (["--min-accuracy", "80"], "--min-accuracy 80"),
        (["--by-metric", "kappa"], "--by-metric kappa"),
        (["--without", "nobody"], "nobody"),
    ],
)
def test_options_that_do_not_go_with_known_answers(
    verdicts: Path, capsys: Captured, options: list[str], said: str
) -> None:
    assert (
        main(["judge", str(verdicts), "--known", "human_label", "--markdown", "c.md", *options]) == AT_FAULT
    )
    assert said in " ".join(capsys.readouterr().err.split())
    assert not Path("c.md").exists()


def test_ten_known_answers_are_too_few(verdicts: Path, capsys: Captured) -> None:
    rows = [json.loads(line) for line in verdicts.read_text().splitlines()]
    known = sorted({row["answer"] for row in rows if row["human_label"] is not None})[:10]
    for row in rows:
        row["human_label"] = row["human_label"] if row["answer"] in known else None
    Path("few.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    assert main(["judge", "few.jsonl", "--known", "human_label"]) == AT_FAULT
    assert "10 known answers" in (said := capsys.readouterr().err)
    assert "look up at least 5 more" in said
