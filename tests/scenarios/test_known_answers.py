"""A panel that shares a bias, from the file to the report: every part of a fit works with the second dimension."""

import json

import pytest

import raterlens as rl
from tests.support.command_line import run
from tests.support.shared_panels import panel


@pytest.fixture(scope="module")
def made():
    return panel(students=150, raters=6, known=60, bias=2.5, seed=7)


@pytest.mark.nightly
def test_the_command_finds_the_bias_and_writes_it_down(made, tmp_path) -> None:
    made.table.write_csv(tmp_path / "verdicts.csv")
    done = run(
        "fit", tmp_path / "verdicts.csv", "--known", "gold", "--trusted", "r05", "--out", tmp_path / "out"
    )
    assert done.returncode == 0, done.stderr
    assert b"Raters agree on something besides the truth" in b" ".join((done.stdout + done.stderr).split())
    saved = json.loads((tmp_path / "out" / "fit.json").read_text())
    assert saved["config"]["trusted"] == ["r05"]
    assert "bias" in (tmp_path / "out" / "raters.csv").read_text().splitlines()[0].split(",")
    assert "--known gold" in (tmp_path / "out" / "report.html").read_text()


def test_everything_that_can_be_asked_of_a_fit(made) -> None:
    ratings = made.ratings
    fit = rl.fit(ratings, model="gmf", trusted=["r05"], shared=True)
    assert fit.diagnose(ratings).table("raters")["infit"].is_between(0.8, 1.25).all()
    assert fit.differences(ratings).words()
    assert fit.consequences(ratings).students == 150
    others = fit.sensitivity(ratings, links=(), models=("tfm",))
    assert others.height > 0
    alone = fit.refit(ratings.subset(ratings.rater != 5), shared=False)
    assert alone.config.trusted is None
    assert fit.bootstrap(ratings, replicates=2, workers=1).raters()["se"].is_finite().all()
