"""Further facets and interactions on their way: command, files, report, a saved fit, diagnosis."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import DONE, main
from raterlens.base.errors import InputError, OptionError
from tests.support.interaction_ratings import planted

# ---------------------------------------------------------------- further facets from the table to the fit


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """Topic c is harder by 1 than a, b by 0.3; occasion makes no difference."""
    made = rl.simulate(students=600, raters=5, items=3, raters_per_student=3, seed=9).ratings
    n = made.n_ratings
    topic = np.random.default_rng(1).integers(0, 3, n)
    passed = made.score.astype(bool)
    # A pass becomes a fail more often on harder topics.
    passed &= np.random.default_rng(2).random(n) > np.array([0.0, 0.1, 0.35])[topic]
    return pl.DataFrame(
        {
            "student": made.students.gather(made.student),
            "rater": made.raters.gather(made.rater),
            "item": made.items.gather(made.item),
            "topic": pl.Series(list("abc")).gather(topic),
            "day": np.random.default_rng(3).integers(1, 3, n),
            "score": passed.astype(int),
        }
    )


def test_facets_are_coded_beside_raters_and_items(frame):
    ratings = rl.read(frame, facets=["topic", "day"])
    topic, day = ratings.facets
    assert (topic.name, topic.labels.to_list()) == ("topic", ["a", "b", "c"])
    assert (day.name, day.labels.to_list()) == ("day", [1, 2])
    assert topic.labels.gather(topic.codes).to_list() == frame["topic"].to_list()
    assert rl.read(frame, facets="topic").facets[0].codes.tolist() == topic.codes.tolist()
    assert rl.read(frame).facets == ()


def test_wide_tables_have_facets_too(frame):
    essays = pl.DataFrame(
        {
            "pid": [1, 1, 2],
            "judge": ["x", "y", "x"],
            "topic": ["a", None, "b"],
            "s1": [0, 1, 1],
            "s2": [1, 0, None],
        }
    )
    ratings = rl.read(essays, items=["s1", "s2"], facets=["topic"])
    assert ratings.facets[0].labels.gather(ratings.facets[0].codes).to_list() == ["a", "a", "b"]
    assert "1 of 3 rows left out: no student, rater or 'topic' label" in ratings.notes


def test_effects_of_facets_are_estimated(frame):
    ratings = rl.read(frame, facets=["topic", "day"])
    fit, without = rl.fit(ratings, model="gmf"), rl.fit(frame, model="gmf")
    table = fit.table("facets")
    assert table.columns == ["facet", "level", "n", "mean_score", "effect", "effect_se"]
    topic = table.filter(facet="topic")
    assert topic["effect"].is_sorted()
    assert topic["effect"].sum() == pytest.approx(0, abs=1e-12)
    assert topic["effect"][2] - topic["effect"][0] > 4 * topic["effect_se"].max()
    day = table.filter(facet="day")
    assert day["effect"].abs().max() < 3 * day["effect_se"].max()
    assert fit.n_parameters == without.n_parameters + 2 + 1
    row = rl.compare(without, fit, names=["without", "with"]).models.row(1, named=True)
    assert (row["against"], row["df"]) == ("without", 3)
    assert row["p"] < 1e-6
    np.testing.assert_allclose(fit.score(ratings)["theta"], fit.students["theta"], atol=1e-8)


def test_facets_survive_a_file(frame, tmp_path):
    fit = rl.fit(rl.read(frame, facets="topic"), model="gmf", standard_errors=False)
    loaded = rl.load(fit.save(tmp_path / "fit.json"))
    assert loaded.table("facets")["effect"].to_list() == fit.table("facets")["effect"].to_list()
    again = loaded.score(frame, facets="topic")
    np.testing.assert_allclose(again["theta"], fit.students["theta"], atol=1e-8)


@pytest.mark.parametrize(
    ("facets", "error", "message"),
    [
        ("topics", InputError, "no column 'topics' for facets; did you mean 'topic'"),
        (["topic", "topic"], OptionError, r"'topic' is given for facets \(2 times\)"),
        ("rater", OptionError, "'rater' is given for rater and facets"),
        ([], OptionError, r"facets=\[\] names no column"),
    ],
)
def test_wrong_facets_say_what_to_do(frame, facets, error, message):
    with pytest.raises(error, match=message):
        rl.read(frame, rater="rater", facets=facets)


def test_a_blank_facet_is_refused(frame):
    with pytest.raises(InputError, match="facet column 'blank' is blank in all"):
        rl.read(frame.with_columns(blank=pl.lit("")), facets="blank")


def test_one_new_student_can_be_scored(frame):
    """Even with passes only, which could not be fitted."""
    fit = rl.fit(frame, model="gmf", standard_errors=False)
    new = pd.DataFrame({"student": ["new"] * 2, "rater": ["R1", "R2"], "item": ["I1", "I2"], "score": [3, 2]})
    scored = fit.score(new, cut=2)
    assert isinstance(scored, pd.DataFrame)
    assert scored["student"].tolist() == ["new"]
    assert scored["theta"].item() > 0
    with pytest.raises(InputError, match="one student"):
        rl.read(new)


# ------ interactions on their way: command, files, report, a saved fit, new students, diagnosis, FACETS' B


@pytest.fixture(scope="module")
def ratings() -> rl.Ratings:
    return planted(1.0, students=60, raters=4, items=4)[0]


@pytest.fixture(scope="module")
def fit(ratings: rl.Ratings) -> rl.Fit:
    return rl.fit(ratings, model="gmf", interactions=[("rater", "item")], halo="none", ability="normal")


def test_the_command_writes_them_and_the_report_says_so(
    ratings: rl.Ratings, fit: rl.Fit, tmp_path: Path
) -> None:
    ratings.table().write_csv(tmp_path / "long.csv")
    options = [
        "--interactions",
        "rater:item",
        "--model",
        "gmf",
        "--halo",
        "none",
        "--ability",
        "normal",
        "--quiet",
        "--xlsx",
    ]
    assert main(["fit", str(tmp_path / "long.csv"), *options, "--out", str(tmp_path / "out")]) == DONE
    written = pl.read_csv(tmp_path / "out" / "interactions.csv")
    assert written.columns == ["rater", "facet", "level", "n", "mean_score", "severity", "severity_se"]
    np.testing.assert_allclose(written["severity"], fit.interactions["severity"], atol=1e-6)
    page = (tmp_path / "out" / "report.html").read_text()
    assert '<section id="interactions">' in page
    assert "rater:item: spread " in page
    assert "Apart from its interactions" in page
    assert "--interactions rater:item" in page
    sheet = pl.read_excel(tmp_path / "out" / "results.xlsx", sheet_name="Interactions", engine="calamine")
    assert sheet.height == 16
    # A fit without them leaves no file of theirs behind.
    assert main(["fit", str(tmp_path / "long.csv"), *options[2:], "--out", str(tmp_path / "out")]) == DONE
    assert not (tmp_path / "out" / "interactions.csv").exists()
    assert '<section id="interactions">' not in (tmp_path / "out" / "report.html").read_text()


def test_a_saved_fit_scores_students_by_them(ratings: rl.Ratings, fit: rl.Fit, tmp_path: Path) -> None:
    again = rl.load(fit.save(tmp_path / "fit.json"))
    assert again.config.interactions == ("rater:item",)
    assert again.interactions.equals(fit.interactions)
    np.testing.assert_allclose(again.score(ratings)["theta"], fit.students["theta"], atol=1e-8)
    part = ratings.subset(ratings.rater != 0)
    assert again.score(part)["theta"].is_finite().all()


def test_capability_on_an_item_is_that_of_the_severity_there(fit: rl.Fit) -> None:
    plain = fit.calibration.effects["severity"] + fit.calibration.effects["difficulty"][1]
    panel = fit.calibration.panel(str(fit.items["item"][1]))
    on_item = fit.interactions.filter(level=fit.items["item"][1])["severity"].to_numpy()
    np.testing.assert_allclose(panel.severity, plain + on_item)
    whole = np.asarray(panel.covariance)
    assert (np.diag(whole)[4:] > 0).all()


def test_the_error_of_a_severity_on_an_item_covers_it() -> None:
    """Errors of severity + interaction + difficulty, over draws: the truth is within two standard errors about 95
    times in 100. 48 of them; fewer than 39 would come by chance once in 1,000 times."""
    within = []
    for seed in range(3):
        ratings, added = planted(0.7, 30 + seed, students=80, raters=4, items=4)
        random = np.random.default_rng(30 + seed)
        severity, difficulty = random.normal(0, 0.6, 4), random.normal(0, 0.7, 4)
        found = rl.fit(ratings, "tfm", interactions="rater:item", halo="none", ability="normal")
        for i in range(4):
            panel = found.calibration.panel(f"i{i}")
            truth = severity + difficulty[i] + added[:, i]
            order = [int(str(name)[1:]) for name in found.raters["rater"]]
            error = np.sqrt(np.diag(np.asarray(panel.covariance))[4:])
            within += (np.abs(panel.severity - truth[order]) < 1.96 * error).tolist()
    assert sum(within) >= 39


def test_fair_averages_and_residuals_know_them(ratings: rl.Ratings, fit: rl.Fit) -> None:
    plain = rl.fit(ratings, model="gmf", halo="none", ability="normal")
    left = [
        one.diagnose(ratings).tables["bias item"]["severity"].drop_nans().abs().mean() for one in (plain, fit)
    ]
    assert left[1] < 0.6 * left[0]
    before, after = (one.diagnose(ratings).tables["students"]["fair_average"] for one in (plain, fit))
    assert (before - after).abs().max() > 0.01


def test_what_does_not_know_them_says_so(ratings: rl.Ratings, fit: rl.Fit) -> None:
    with pytest.raises(rl.RaterlensError, match="profile does not know interactions"):
        fit.profile(ratings)
    with pytest.raises(rl.RaterlensError, match="a plan cannot rest on a fit with interactions"):
        rl.plan(students=50, raters=4, fit=fit)


def test_b_in_a_control_file(ratings: rl.Ratings, fit: rl.Fit, tmp_path: Path) -> None:
    path = tmp_path / "study.txt"
    rl.write_facets(ratings, path)
    text = path.read_text()
    path.write_text(text.replace("Models = ?,?,?,", "Models = ?,?B,?B,"))
    study = rl.read_facets(path)
    assert study.interactions == ("rater:item",)
    assert not any("interaction" in note for note in study.ratings.notes)
    assert any("asks for interactions" in note for note in rl.read(path).notes)
    assert main(["fit", str(path), "--halo", "none", "--quiet", "--out", str(tmp_path / "out")]) == DONE
    found = rl.load(tmp_path / "out" / "fit.json")
    assert found.loglik == pytest.approx(fit.loglik, abs=1e-6)
    assert "interactions=study.interactions" in (tmp_path / "out" / "report.html").read_text()
    path.write_text(text.replace("Models = ?,?,?,", "Models = ?B,?,?B,"))
    other = rl.read_facets(path)
    assert other.interactions == ()
    assert any(note.startswith("an interaction of") for note in other.ratings.notes)
