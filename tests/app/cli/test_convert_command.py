"""raterlens convert: from any file to any other."""

from pathlib import Path

import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from raterlens.reading.reader import read
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
