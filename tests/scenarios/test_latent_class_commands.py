"""Latent class models from the command line, beside the others."""

import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import main


@pytest.fixture(scope="module")
def made():
    return rl.simulate(model="hrm", students=300, raters=6, items=3, raters_per_student=4, seed=2)


def test_from_the_command_line(made, tmp_path, capsys):
    ratings = made.ratings
    pl.DataFrame(
        {
            "student": ratings.students.gather(ratings.student),
            "rater": ratings.raters.gather(ratings.rater),
            "item": ratings.items.gather(ratings.item),
            "score": ratings.score,
        }
    ).write_parquet(tmp_path / "ratings.parquet")
    for model in ("hrm", "tfm", "gmf"):
        out = str(tmp_path / model)
        assert main(["fit", str(tmp_path / "ratings.parquet"), "--model", model, "--out", out]) == 0
    capsys.readouterr()
    assert main(["compare", *(str(tmp_path / model / "fit.json") for model in ("tfm", "gmf"))]) == 0
    assert "likelihood" in capsys.readouterr().out
