"""Next to no data: every command still answers, and without a warning from the numerics."""

import pytest

from raterlens.app.cli.main import main


@pytest.mark.parametrize(
    "rows",
    [
        ["1,A,x,1", "1,B,x,0", "2,A,x,0", "2,B,x,1"],
        ["1,A,x,1", "2,A,x,0"],
        ["1,A,x,1", "2,B,x,0"],
        ["1,A,x,1", "1,B,x,0", "2,A,x,0", "2,B,x,1", "3,A,x,7"],
        ["1,A,x,1", "1,A,x,1", "2,A,x,0", "2,A,x,0"],
    ],
    ids=["two by two", "one rater", "no shared student", "a gap in the scores", "only repeats"],
)
def test_a_handful_of_ratings_is_fitted_and_diagnosed(rows, tmp_path, capsys):
    table = tmp_path / "ratings.csv"
    table.write_text("\n".join(["student,rater,item,score", *rows]))
    assert main(["fit", str(table), "--out", str(tmp_path / "results")]) == 0
    assert main(["check", str(table)]) == 0
    assert "Traceback" not in capsys.readouterr().err
