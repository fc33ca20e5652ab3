"""`raterlens simulate`, `plan` and `next`."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from tests.support.command_line import Captured


def test_ratings_and_their_truth(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    ratings, truth = tmp_path / "ratings.parquet", tmp_path / "truth.csv"
    design = ["--students", "400", "--raters", "6", "--items", "4", "--raters-per-student", "3"]
    assert main(["simulate", *design, "--seed", "5", "--truth", str(truth), "--out", str(ratings)]) == 0
    assert "4,800 ratings written to" in capsys.readouterr().out
    expected = rl.simulate(students=400, raters=6, items=4, raters_per_student=3, seed=5)
    assert rl.read(ratings).score.tolist() == expected.ratings.score.tolist()
    table = pl.read_csv(truth)
    np.testing.assert_allclose(table["kappa"], expected.truth.kappa)
    # The files fit together: estimates go with the truth.
    found = rl.fit(ratings, model="gmf").raters.join(table, on="rater", suffix="_true")
    assert np.corrcoef(found["kappa"], found["kappa_true"])[0, 1] > 0.9


def test_ordered_scores(tmp_path: Path) -> None:
    out = tmp_path / "marks"
    assert main(["simulate", "--categories", "5", "--to", "csv", "--out", str(out)]) == 0
    assert rl.read(out, format="csv").n_categories == 5


def test_marks_out_of_100_and_their_truth(tmp_path: Path) -> None:
    out, truth = tmp_path / "marks.csv", tmp_path / "truth.csv"
    assert main(["simulate", "--scale", "continuous", "--out", str(out), "--truth", str(truth)]) == 0
    drawn = rl.simulate(scale="continuous")
    assert rl.read(out).score.tolist() == drawn.ratings.score.tolist()
    assert pl.read_csv(truth)["noise"].to_numpy() == pytest.approx(drawn.truth.noise)


def test_marks_are_planned_in_marks_and_need_no_perfect_rater(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(["plan", "--scale", "continuous", "--noise", "6", "--target-severity-se", "1.5"]) == 0
    assert " marks, sharpness 0.0" in capsys.readouterr().out
    rl.simulate(
        scale="continuous", students=60, raters=4, items=1, raters_per_student=2
    ).ratings.table().write_csv(tmp_path / "marks.csv")
    assert main(["next", str(tmp_path / "marks.csv"), "--budget", "3"]) == 0
    assert "3 readings" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--out", "ratings.txt"], "does not say what kind of file to write; add --to csv"),
        (["--out", "nowhere/ratings.csv"], "give a file in an existing folder"),
        (["--out", "a.csv", "--categories", "1"], "--categories 1; give 2"),
        (["--out", "a.csv", "--categories", "4", "--model", "hrm"], "leave out --categories"),
        (["--out", "a.csv", "--categories", "4", "--scale", "continuous"], "leave out --categories"),
        (["--out", "a.csv", "--truth", "a.csv"], "a csv file of its own"),
        (["--out", "a.csv", "--truth", "a.parquet"], "a csv file of its own"),
        (["--out", "a.csv", "--students", "1"], "give a whole number of at least 2"),
        (["--out", "a.csv", "--raters", "3", "--raters-per-student", "4"], "more than the 3 raters"),
        (["--out", "a.csv", "--model", "rasch"], "'rasch'"),
    ],
)
def test_what_cannot_be_drawn(
    arguments: list[str],
    what: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", *arguments]) == 2
    assert what in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


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
    fit = rl.fit(rl.simulate(students=100, raters=4, items=2, seed=1).ratings, model="gmf", halo="none")
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


def test_next_readings_on_the_screen_and_in_a_file(tmp_path: Path, capsys: Captured) -> None:
    ratings, out = tmp_path / "ratings.csv", tmp_path / "next.csv"
    drawn = rl.simulate(students=80, raters=5, items=2, raters_per_student=2, seed=1).ratings
    drawn.table().write_csv(ratings)
    assert main(["next", str(ratings), "--budget", "12", "--capacity", "4"]) == 0
    shown = capsys.readouterr().out
    assert "12 readings: the mean standard error of kappa is expected to fall from" in shown
    assert "and 2 more" in shown
    fit = rl.fit(drawn, model="gmf", reference="perfect", halo="none")
    fit.save(tmp_path / "fit.json")
    given = ["--fit", str(tmp_path / "fit.json"), "--budget", "12", "--capacity", "4", "--out", str(out)]
    assert main(["next", str(ratings), *given]) == 0
    table = pl.read_csv(out)
    assert table.columns == ["student", "rater", "gain"]
    assert table["rater"].value_counts()["count"].max() == 4
    assert table.select("student", "rater").equals(
        rl.next_marks(fit, drawn, 12, capacity=4).table.select("student", "rater")
    )


def test_a_budget_of_nothing_is_refused(tmp_path: Path, capsys: Captured) -> None:
    ratings = tmp_path / "ratings.csv"
    rl.simulate(students=40, raters=3, items=2, seed=1).ratings.table().write_csv(ratings)
    assert main(["next", str(ratings), "--budget", "0"]) == 2
    assert "budget 0 is not possible; give a whole number of at least 1" in capsys.readouterr().err
