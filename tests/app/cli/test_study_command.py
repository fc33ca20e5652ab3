"""`raterlens study`: what is refused before any work, and what is written."""

import pytest

from raterlens.app.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["studie1"], "unknown study 'studie1'; did you mean 'study1'?"),
        (["noise", "--replications", "0"], "--replications 0; give a whole number of at least 1"),
        (["noise", "--workers", "0"], "--workers 0"),
        (["noise", "--seed", "-1"], "--seed=-1"),
        (["noise", "--data", "x.csv"], "the study 'noise' simulates its ratings"),
        (["writing"], "the study 'writing' needs the dataset data.cqc04; name the file with --data"),
        (["writing", "--data", "nothing.rda"], "no such file: 'nothing.rda'"),
    ],
)
def test_mistakes_are_answered_before_any_work(arguments, message, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["study", *arguments, "--out", str(out)]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_help_lists_the_studies(capsys):
    assert main(["study", "--help"]) == 0
    text = capsys.readouterr().out
    for name in ("study1", "study2", "writing", "figures", "noise"):
        assert f"  {name}" in text


def test_a_study_writes_rows_page_and_figures(tmp_path, capsys):
    assert main(["study", "noise", "--replications", "1", "--workers", "1", "--out", str(tmp_path)]) == 0
    assert "noise.md" in capsys.readouterr().out
    names = {path.name for path in tmp_path.iterdir()}
    files = {"noise.md", "noise.json", "noise.parquet", "noise-accuracy.csv", "noise.svg", "noise.png"}
    assert names == files
    assert "![" in (tmp_path / "noise.md").read_text(encoding="utf-8")
