"""`raterlens convert`, `pack`, `plot` and `compare`."""

import json
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.file_commands import _names
from raterlens.app.cli.main import AT_FAULT, DONE, main
from raterlens.charts import CHARTS
from raterlens.reading.read import read
from tests.support.command_line import Captured
from tests.support.facets_files import rows


@pytest.fixture(scope="module")
def panel() -> rl.Ratings:
    """Three facets and scores from 0 to 2."""
    return rl.simulate(
        students=60, raters=5, items=3, raters_per_student=3, thresholds=[-0.8, 0.8], seed=3
    ).ratings


def test_convert_there_and_back(panel: rl.Ratings, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    panel.table().write_csv(tmp_path / "a.csv")
    steps = [("a.csv", "b.parquet"), ("b.parquet", "c.jsonl"), ("c.jsonl", "d.facets"), ("d.facets", "e.tsv")]
    for source, target in steps:
        assert main(["convert", str(tmp_path / source), "--out", str(tmp_path / target)]) == 0
    assert f"{panel.n_ratings:,} ratings written to" in capsys.readouterr().out
    assert rows(read(tmp_path / "e.tsv")) == rows(panel)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.csv",
        "b.parquet",
        "c.jsonl",
        "d.facets",
        "e.tsv",
    ]


def test_half_points_are_written_as_half_points(tmp_path: Path) -> None:
    bands = pl.DataFrame({"student": [1, 1, 2, 2], "rater": ["a", "b"] * 2, "band": [5.5, 6.0, 6.5, 7.0]})
    bands.write_csv(tmp_path / "bands.csv")
    assert main(["convert", str(tmp_path / "bands.csv"), "--out", str(tmp_path / "out.csv")]) == 0
    assert pl.read_csv(tmp_path / "out.csv")["score"].to_list() == bands["band"].to_list()


def test_several_files_are_written_as_one(panel: rl.Ratings, tmp_path: Path) -> None:
    table = panel.table()
    halves = [tmp_path / "first.csv", tmp_path / "second.csv"]
    for half, path in zip((table.head(200), table.tail(-200)), halves, strict=True):
        half.write_csv(path)
    for target in ("whole.csv", "whole.rlpack"):
        assert (
            main(
                ["convert" if "csv" in target else "pack", *map(str, halves), "--out", str(tmp_path / target)]
            )
            == 0
        )
        assert rows(read(tmp_path / target)) == rows(panel)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--out", "x.txt"], "'x.txt' does not say what kind of file to write; add --to csv"),
        (["--out", "nowhere/x.csv"], "give a file in an existing folder"),
        (["--out", "x.csv", "--to", "cvs"], "did you mean 'csv'?"),
    ],
)
def test_convert_refuses(
    arguments: list[str],
    what: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("student,rater,score\n1,a,0\n2,b,1\n")
    assert main(["convert", "a.csv", *arguments]) == 2
    assert what in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_packed_ratings_give_the_same_fit(table: Path, tmp_path: Path, capsys: Captured) -> None:
    packed = tmp_path / "ratings.rlpack"
    assert main(["pack", str(table), "--out", str(packed)]) == DONE
    assert "720 ratings of 60 students by 4 raters on 3 items" in capsys.readouterr().out
    assert abs(rl.fit(packed, model="gmf").loglik - rl.fit(table, model="gmf").loglik) < 1e-8


PARTS = 3


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table with days, a fit of it, and one of a latent class model."""
    folder = tmp_path_factory.mktemp("plot")
    ratings = rl.simulate(students=60, raters=4, items=2, seed=1).ratings
    names = {"student": ratings.students, "rater": ratings.raters, "item": ratings.items}
    columns = {name: labels.gather(getattr(ratings, name)) for name, labels in names.items()}
    day = [f"day {place % PARTS + 1}" for place in range(ratings.n_ratings)]
    pl.DataFrame({**columns, "score": ratings.score, "day": day}).write_csv(folder / "ratings.csv")
    fit = rl.fit(ratings, model="gmf")
    fit.save(folder / "fit.json")
    rl.fit(ratings, model="hrm").save(folder / "hrm.json")
    ordered = rl.simulate(students=60, raters=4, items=2, thresholds=[-0.7, 0.7], seed=1).ratings
    ordered.table().write_csv(folder / "ordered.csv")
    rl.fit(ordered, model="gmf").save(folder / "ordered.json")
    return SimpleNamespace(
        ordered_ratings=str(folder / "ordered.csv"),
        ordered_fit=str(folder / "ordered.json"),
        ratings=str(folder / "ratings.csv"),
        fit=str(folder / "fit.json"),
        hrm=str(folder / "hrm.json"),
        rater=fit.raters["rater"][0],
    )


def arguments(name, files):
    needs, ordered = CHARTS[name], name in ("categories", "category_use")
    fit, ratings = (files.ordered_fit, files.ordered_ratings) if ordered else (files.fit, files.ratings)
    return [
        name,
        *([fit] if needs.fit else []),
        *(["--ratings", ratings] if needs.ratings else []),
        *(["--time", "day"] if needs.time else []),
        *(["--show", files.rater] if needs.fewest else []),
    ]


def test_every_chart_has_a_command():
    assert set(CHARTS) == set(rl.charts.__all__) - {"save", "svg"}


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_is_written(name, files, tmp_path, capsys):
    out = tmp_path / "x.svg"
    assert (
        main(["plot", *arguments(name, files), "--out", str(out), "--theme", "dark", "--width", "380"]) == 0
    )
    assert capsys.readouterr().out.strip() == str(out)
    assert b"#15181c" in out.read_bytes()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["capabilty", "FIT"], "unknown chart 'capabilty'; did you mean 'capability'?"),
        (["capability"], "the chart 'capability' needs FIT: the path of a fit.json"),
        (["network"], "the chart 'network' needs --ratings: the table of ratings"),
        (["drift", "FIT", "--ratings", "RATINGS"], "the chart 'drift' needs --time: the column"),
        (["what_if", "FIT"], "--show names 0 raters, and the chart 'what_if' shows one rater"),
        (["what_if", "FIT", "--show", "nobody"], "no rater 'nobody' in this fit; give one of: 'R1', 'R2'"),
        (["severity", "FIT", "--show", "R1"], "the chart 'severity' shows all raters; leave out --show"),
        (["wright", "FIT", "--ratings", "RATINGS"], "the chart 'wright' takes no --ratings; leave it out"),
        (["capability", "FIT", "--theme", "sepia"], "unknown theme 'sepia'; choose one of: light, dark"),
        (["capability", "FIT", "--width", "20"], "width is 20; give pixels from 280"),
        (["capability", "nowhere.json"], "no such file: 'nowhere.json'"),
        (["curves", "HRM"], "the chart 'curves' has no meaning for model 'hrm'"),
        (["drift", "FIT", "--ratings", "RATINGS", "--time", "month"], "month"),
        (
            ["drift", "FIT", "--ratings", "RATINGS", "--time", "day", "--value", "kindness"],
            "unknown value 'kindness'; choose one of: severity, discrimination, capability",
        ),
        (
            ["capability", "FIT", "--value", "severity"],
            "the chart 'capability' takes no --value; leave it out",
        ),
    ],
)
def test_a_mistake_is_answered_by_what_would_do(given, message, files, tmp_path, capsys):
    places = {"FIT": files.fit, "HRM": files.hrm, "RATINGS": files.ratings}
    out = tmp_path / "x.svg"
    assert main(["plot", *(places.get(word, word) for word in given), "--out", str(out)]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_drift_of_another_value(files, tmp_path):
    out = tmp_path / "x.svg"
    given = [*arguments("drift", files), "--value", "discrimination", "--out", str(out)]
    assert main(["plot", *given]) == 0
    assert "Discrimination" in out.read_text()


def test_a_file_of_another_kind_is_refused(files, tmp_path, capsys):
    assert main(["plot", "capability", files.fit, "--out", str(tmp_path / "x.jpg")]) == 2
    assert "use one of the endings .svg, .png, .pdf, .html" in capsys.readouterr().err


def test_help_lists_the_charts(capsys):
    assert main(["plot", "--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in CHARTS)


def test_a_full_disk_leaves_nothing(files, tmp_path, capsys):
    resource = pytest.importorskip("resource", reason="Windows has no such limit")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(
        resource.RLIMIT_FSIZE, (1000, hard)
    )  # bytes per file: the same error path as a full disk
    try:
        assert main(["plot", "capability", files.fit, "--out", str(tmp_path / "x.svg")]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "x.svg': File too large; give a file" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_fits_are_named_by_file_folder_or_path() -> None:
    assert _names([Path("a/x.json"), Path("a/y.json")]) == ["x", "y"]
    assert _names([Path("a/fit.json"), Path("b/fit.json")]) == ["a", "b"]
    assert _names([Path("1/a/fit.json"), Path("2/a/fit.json")]) == ["1/a/fit.json", "2/a/fit.json"]


def test_two_fits_side_by_side(table: Path, tmp_path: Path, capsys: Captured) -> None:
    for model in ("tfm", "gmf"):
        main(["fit", str(table), "--model", model, "--out", str(tmp_path / model), "--quiet"])
    assert main(["compare", *(str(tmp_path / model / "fit.json") for model in ("tfm", "gmf"))]) == DONE
    shown = capsys.readouterr().out
    assert "tfm" in shown
    assert "likelihood" in shown
    assert (
        main(["compare", "--json", *(str(tmp_path / name / "fit.json") for name in ("tfm", "gmf"))]) == DONE
    )
    found = json.loads(capsys.readouterr().out)
    assert [row["fit"] for row in found["models"]] == ["tfm", "gmf"]
    assert found["models"][0]["p"] is None
    assert set(found) == {"models", "raters", "agreement", "words", "warnings"}
    assert main(["compare", str(tmp_path / "tfm" / "fit.json")]) == AT_FAULT
    assert "1 fit to compare; give the paths of two or more fit.json" in capsys.readouterr().err
