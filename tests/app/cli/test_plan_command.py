"""raterlens plan: numbers on the screen, the assignment and its network as files."""

import json
from pathlib import Path

import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from tests.support.command_line import Captured


def test_a_plan_with_loads_and_forbidden_pairs(tmp_path: Path, capsys: Captured) -> None:
    raters, banned, out = tmp_path / "raters.csv", tmp_path / "banned.csv", tmp_path / "assignment.csv"
    pl.DataFrame({"rater": ["AM", "BE", "CO", "DA"], "load": [60, 60, 40, 40]}).write_csv(raters)
    pl.DataFrame({"student": [f"S{k}" for k in range(10, 50)], "rater": ["AM"] * 40}).write_csv(banned)
    design = ["--students", "80", "--raters", str(raters), "--items", "2", "--forbidden", str(banned)]
    assert main(["plan", *design, "--out", str(out), "--network", str(tmp_path / "n.svg")]) == 0
    assert "160 readings" in capsys.readouterr().out
    made = pl.read_csv(out)
    assert made.group_by("student").len()["len"].to_list() == [2] * 80
    assert not made.filter(pl.col("student").is_in([f"S{k}" for k in range(10, 50)]), rater="AM").height
    assert "<svg" in (tmp_path / "n.svg").read_text()


def test_json_from_an_earlier_fit_with_a_target(tmp_path: Path, capsys: Captured) -> None:
    fit = rl.fit(rl.simulate(students=100, raters=4, items=2, seed=1).ratings, halo="none")
    fit.save(tmp_path / "fit.json")
    given = ["--students", "150", "--fit", str(tmp_path / "fit.json"), "--target-se", "0.1", "--json"]
    assert main(["plan", *given]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["reached"]
    assert found["kappa_se"] <= 0.1
    assert len(found["per_rater"]) == 4


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--network", "a.doc"], "a.doc"),
        (["--marks", "30"], "--marks 30 with 10 raters; give 1 to 10"),
        (["--raters", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_refusals(arguments: list[str], what: str, capsys: Captured) -> None:
    assert main(["plan", *arguments]) == 2
    assert what in capsys.readouterr().err
