"""Journeys with every kind of ratings: draws, facets, little data, latent classes and ordered scores."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import optimize, special

import raterlens as rl
from benchmarks.truth.recorded_designs import found, moved, recorded
from raterlens.app.cli.main import DONE, main
from raterlens.base.errors import InputError, OptionError
from raterlens.capability.population import Normal
from raterlens.capability.yardstick import LARGEST_ITEM_SLOPE
from raterlens.diagnostics.residuals import residuals
from raterlens.likelihood.nodes import MOST_NODES
from raterlens.ratings.groupings import inconsistent_raters
from raterlens.ratings.packed import StoredRatings, open_packed, open_ratings, write_ratings
from tests.support.interaction_ratings import planted
from tests.support.latent_class import annotations, as_ratings, fitted, long
from tests.support.latent_class_panels import panel
from tests.support.repeated_verdicts import verdicts

# --------------------------------------------------- raters who answer the same question several times


NUMBERS = [
    "kappa",
    "kappa_low",
    "kappa_high",
    "sharpness",
    "sharpness_low",
    "sharpness_high",
    "eta",
    "eta_low",
]


def numbers(fit) -> np.ndarray:
    return fit.raters.select(name for name in NUMBERS if name in fit.raters.columns).to_numpy()


def copied(table, rater, times, flips=0.0) -> pl.DataFrame:
    own, random = table.filter(pl.col("rater") == rater), np.random.default_rng(0)
    copies = []
    for k in range(1, times + 1):
        flip = random.random(own.height) < flips
        score = np.where(flip, 1 - own["score"].to_numpy(), own["score"].to_numpy())
        copies.append(own.with_columns(score=score, epoch=pl.lit(k, pl.Int64)))
    return pl.concat([table, *copies])


def test_copies_of_a_judges_verdicts_change_nothing():
    table = verdicts(0.0, 1)
    once = rl.fit(rl.read(table.drop("epoch")), model="gmf")
    often = rl.fit(rl.read(copied(table, "j3", 5), draw="epoch"), model="gmf")
    np.testing.assert_allclose(numbers(often), numbers(once), rtol=0, atol=1e-6)
    assert often.raters.filter(pl.col("rater") == "j3")["n"].item() == 900


def test_near_copies_change_little_where_separate_ratings_change_much():
    table = verdicts(0.0, 1)
    once = rl.fit(rl.read(table.drop("epoch")), model="gmf", reference="perfect")
    ratings = rl.read(copied(table, "j3", 4, flips=0.001), draw="epoch")
    assert inconsistent_raters(ratings).sum() == 1
    often = rl.fit(ratings, model="gmf", reference="perfect")
    separate = rl.fit(ratings, model="gmf", reference="perfect", repeats="separate")
    np.testing.assert_allclose(often.raters["sharpness"], once.raters["sharpness"], rtol=0.02)
    np.testing.assert_allclose(often.raters["kappa"], once.raters["kappa"], rtol=0.02)
    assert (separate.raters["sharpness"] / once.raters["sharpness"] - 1).abs().max() > 0.2


def test_slopes_are_those_of_single_answers_whatever_the_spread():
    ratings = rl.read(verdicts([0.0, 1.0, 1.0, 3.0, 3.0], 4, students=400), draw="epoch")
    fit = rl.fit(ratings, model="gmf")
    assert fit.calibration is not None
    assert fit.calibration.covariance is not None
    error = np.sqrt(fit.calibration.covariance.diagonal()[:5])
    assert np.abs((fit.calibration.effects["slope"] - np.linspace(0.9, 2.0, 5)) / error).max() < 3
    stretch = np.exp(fit.calibration.effects["draw"])
    np.testing.assert_allclose(np.sqrt((stretch**2 - 1) / 0.346), [0, 1, 1, 3, 3], atol=0.6)
    of_items = fit.calibration.covariance.diagonal()[10:]
    np.testing.assert_allclose(np.sqrt(of_items), fit.items["delta_se"], atol=1e-12)


def test_a_saved_fit_scores_the_same_ratings_alike(tmp_path):
    ratings = rl.read(verdicts(2.0, 3, students=60), draw="epoch")
    fit = rl.fit(ratings, model="gmf")
    fit.save(tmp_path / "fit.json")
    again = rl.load(tmp_path / "fit.json").score(ratings)
    np.testing.assert_allclose(again["theta"], fit.students["theta"], atol=1e-6)


def test_methods_that_know_no_draws_say_so():
    ratings = rl.read(verdicts(1.0, 3, students=60), draw="epoch")
    fit = rl.fit(ratings, model="gmf", method="laplace")
    assert any("count as independent" in str(warning) for warning in fit.warnings)
    with pytest.raises(OptionError, match="shared"):
        rl.fit(ratings, model="gmf", shared="yes", trusted=["j1"])


def test_draws_go_with_known_answers():
    right = pl.when(pl.col("student") < 30).then(pl.col("student") % 2)
    table = verdicts([0.0, 1.0, 2.0, 3.0, 3.0], 3, students=60).with_columns(gold=right)
    fit = rl.fit(rl.read(table, draw="epoch", known="gold"), model="gmf")
    assert fit.converged
    assert fit.table("draws").height == 5


def test_draws_in_a_packed_file_give_the_same_fit(tmp_path):
    ratings = rl.read(verdicts(2.0, 3, students=60), draw="epoch")
    write_ratings(ratings, tmp_path / "draws.rlpack", None)
    stored = open_ratings(open_packed(tmp_path / "draws.rlpack"), in_memory=0)
    assert isinstance(stored, StoredRatings)
    assert rl.fit(stored, model="gmf").loglik == pytest.approx(rl.fit(ratings, model="gmf").loglik, abs=1e-9)


def test_a_report_of_repeated_ordered_scores(tmp_path):
    """The use of the scale is that of single answers."""
    drawn = rl.simulate(students=60, raters=4, items=2, thresholds=[-0.8, 0.8], seed=5).ratings
    table = drawn.table()
    again = table.filter(pl.col("rater") == "R1").with_columns((pl.col("score") + 1) % 3, run=2)
    ratings = rl.read(pl.concat([table.with_columns(run=1), again]), draw="run")
    fit = rl.fit(ratings, model="gmf", scale="rater", assumptions="ignore")
    fit.report(tmp_path / "report.html")
    assert "category use" in fit.diagnose().tables


CLASS_MODELS = pytest.mark.parametrize("model", ["dawid-skene", "hrm"])


def of_classes(
    correlation: float, draws: int, seed: int = 1, judges: int = 6
) -> tuple[pl.DataFrame, np.ndarray]:
    """Draws of 150 students x 2 items whose pass rates given the true category vary by a beta distribution, and J."""
    random = np.random.default_rng(seed)
    good = random.random((150, 2, 1)) < special.expit(1.5 * random.standard_normal((150, 1, 1)))
    right = random.uniform(0.7, 0.95, (2, judges))
    rate = np.where(good, right[1], 1 - right[0])
    if correlation:
        rate = random.beta(rate * (1 / correlation - 1), (1 - rate) * (1 / correlation - 1))
    passed = random.random((*rate.shape, draws)) < rate[..., None]
    student, item, rater, draw = (each.ravel() for each in np.indices(passed.shape))
    columns = {"student": student, "item": item, "epoch": draw, "score": passed.ravel().astype(int)}
    return pl.DataFrame(columns | {"rater": [f"j{each}" for each in rater]}), right.sum(axis=0) - 1


@CLASS_MODELS
def test_copies_change_nothing_given_the_true_category(model):
    table = of_classes(0.0, 1)[0]
    once = rl.fit(rl.read(table.drop("epoch")), model=model)
    often = rl.fit(rl.read(copied(table, "j3", 5), draw="epoch"), model=model)
    np.testing.assert_allclose(numbers(often)[:, :6], numbers(once)[:, :6], rtol=0, atol=1e-6)
    # another path of the optimiser
    np.testing.assert_allclose(often.raters["eta"], once.raters["eta"], rtol=0, atol=1e-5)
    near = rl.fit(rl.read(copied(table, "j3", 4, flips=0.001), draw="epoch"), model=model)
    np.testing.assert_allclose(near.raters["kappa"], once.raters["kappa"], rtol=0.02)


@CLASS_MODELS
@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_draws_are_as_correlated_as_they_were_drawn(model, correlation):
    table, capability = of_classes(correlation, 5)
    fit = rl.fit(rl.read(table, draw="epoch"), model=model)
    separate = rl.fit(rl.read(table, draw="epoch"), model=model, repeats="separate")
    # moments of 300 student-items: off by up to .03 here
    assert fit.raters["draw_correlation"].mean() == pytest.approx(correlation, abs=0.06)
    width, narrow = (
        (each.raters["kappa_high"] - each.raters["kappa_low"]).mean() for each in (fit, separate)
    )
    # a mean of 5 draws has the variance 1 + 4 c of that of independent ones
    assert width / narrow == pytest.approx(np.sqrt(1 + 4 * correlation), rel=0.15)
    low, high = fit.raters.sort("rater").select("kappa_low", "kappa_high").to_numpy().T
    assert ((low <= capability) & (capability <= high)).sum() >= 5


# -------- further facets and interactions on their way: command, files, report, a saved fit, diagnosis


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


# ------------------- little data: every fit ends soon, in finite numbers, and says what ran to a limit


# --- few ratings and many parameters: every fit ends soon, in finite numbers, and says what ran to a limit


# Centring after the fit moves log item slopes by what rounding and a weak hold leave.
CENTRED = 1.05


def at_random(seed: int, students: int, raters: int, items: int) -> pl.DataFrame:
    """Everybody rates everything by tossing a coin."""
    score = np.random.default_rng(seed).integers(2, size=(students, raters, items))
    rows = [(s, f"r{r}", f"i{i}", int(score[s, r, i])) for s, r, i in np.ndindex(score.shape)]
    return pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")


@pytest.mark.parametrize(
    ("seed", "items", "link"),
    [
        (2, 3, "logit"),
        pytest.param(0, 3, "logit", marks=pytest.mark.nightly),
        pytest.param(0, 4, "cauchit", marks=pytest.mark.nightly),
        pytest.param(2, 4, "cauchit", marks=pytest.mark.nightly),
    ],
)
def test_item_slopes_stay_within_their_bounds(seed, items, link):
    """Without bounds these took minutes, or asked for 198 GiB of ability nodes."""
    fit = rl.fit(at_random(seed, 4, 3, items), model="gmf", item_slopes=True, link=link)
    slope = fit.items["slope"].to_numpy()
    assert np.isfinite(fit.loglik)
    assert fit.loglik < 0
    assert (slope < CENTRED * LARGEST_ITEM_SLOPE).all()
    assert (slope > 1 / CENTRED / LARGEST_ITEM_SLOPE).all()
    np.testing.assert_allclose(np.log(slope).mean(), 0, atol=1e-9)
    assert np.isfinite(fit.raters["kappa"].to_numpy()).all()
    assert fit.optimiser.n_nodes <= MOST_NODES + 2


def test_an_item_slope_at_its_limit_is_flagged_and_explained():
    """All pass on the first item and all fail on the second but for the ablest: they differ as much as may be."""
    rows = [
        (s, f"r{r}", f"i{i}", int(s >= (1 + 2 * i))) for s in range(6) for r in range(2) for i in range(2)
    ]
    rows += [(s, f"r{r}", "i2", (s * 5 + r * 3) % 2) for s in range(6) for r in range(2)]
    table = pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")
    fit = rl.fit(table, model="gmf", item_slopes=True)
    limited = fit.items.filter(pl.col("flag") == "slope at limit")
    assert len(limited)
    assert limited["slope_se"].is_nan().all()
    (told,) = [str(warning) for warning in fit.warnings if "ran to its limit, 20 times" in warning]
    assert all(repr(item) in told for item in limited["item"])
    assert "item_slopes=False" in told


# ------------------- next to no data: every command still answers, and without a warning from the numerics


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


# --- some of the recorded small designs: all of them are compared by `python -m benchmarks.truth.recorded_designs`


# One for each way of fitting, and two more of ordered scores; quick ones.
SOME = (2, 3, 10, 12, 16, 22, 24, 34, 35, 36, 38, 45)


@pytest.fixture(scope="module")
def known():
    return recorded()


@pytest.mark.parametrize("number", SOME)
def test_small_designs_give_the_recorded_numbers(known, number):
    assert moved(known[number], found(number)) == []


def test_a_number_that_moved_is_named():
    old = {"loglik": [-10.0], "kappa": [0.5, None]}
    assert moved(old, {"loglik": [-10.0], "kappa": [0.5, None]}) == []
    assert moved(old, {"loglik": [-10.1], "kappa": [0.5, 0.2]}) == [
        "loglik[0] -10.0 -> -10.1",
        "kappa[1] None -> 0.2",
    ]


# --------------------- latent class models from the command line, diagnosed, and beside other programs


# -------------------------------------------- latent class models from the command line, beside the others


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


# --------------------------- latent class models diagnosed: planted faults, clean panels, drift and advice


MODELS = ("hrm", "dawid-skene")

# The fit's own grid of abilities is a little coarser.
GRID = 1e-4


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("fault", ["reversed", "random", "alternating"])
def test_planted_faults_are_flagged(model, fault):
    ratings = panel(3, fault, items=5)
    found = rl.fit(ratings, model=model, starts=2, standard_errors=False).diagnose(ratings)
    assert found.flags["rater"].to_list() == [str(ratings.raters[0])]
    assert found.flags["effect"].to_list() == [fault]


@pytest.mark.parametrize("model", MODELS)
def test_clean_panels_are_left_alone_and_mean_squares_average_one(model):
    ratings = panel(4, students=400)
    fit = rl.fit(ratings, model=model, starts=2)
    found = fit.diagnose(ratings, time=np.arange(ratings.n_ratings))
    assert found.flags.height == 0
    got = residuals(fit, ratings)
    assert got.squared.sum() / got.variance.sum() == pytest.approx(1, abs=0.01)
    assert found.table("raters")["infit"].is_nan().all()
    assert found.table("items")["infit"].to_numpy() == pytest.approx(1, abs=0.2)


def test_a_rater_who_becomes_severe_is_found_in_time():
    ratings = panel(5, students=400)
    mine = np.flatnonzero(ratings.rater == 0)
    score = ratings.score.copy()
    late = mine[len(mine) // 2 :]
    score[late] &= np.random.default_rng(5).random(len(late)) < 0.5
    ratings = replace(ratings, score=score)
    found = rl.fit(ratings, model="hrm", starts=2).diagnose(ratings, time=np.arange(ratings.n_ratings))
    row = found.flags.row(0, named=True)
    assert (row["rater"], row["effect"]) == (str(ratings.raters[0]), "drift")
    first = found.drift().filter(pl.col("rater") == row["rater"])
    assert first["eta"][-1] > first["eta"][0]


@pytest.mark.parametrize("model", MODELS)
def test_fair_averages_and_advice(model):
    ratings = panel(6)
    fit = rl.fit(ratings, model=model, starts=2)
    found = fit.diagnose(ratings)
    truth = fit.table("truth").group_by("student", maintain_order=True).agg(pl.col("probability").mean())
    fair = found.table("students")["fair_average"].to_numpy()
    assert fair == pytest.approx(truth["probability"].to_numpy(), abs=GRID)
    advice = fit.advice()
    causes = dict(fit.verdicts().select("rater", "costs_most").iter_rows())
    assert dict(advice.select("rater", "costs_most").iter_rows()) == causes
    first = fit.table("raters").row(0, named=True)
    assert f"passed about {100 * first['sensitivity']:.0f} %" in advice["feedback"][0]


# ---------------- latent class estimates beside those of other programs, and of the definition written out


ITEMS = ["spe", "coh", "str", "gra", "con"]


# PyPI crowd-kit 1.4.2 (left out of the dev tools for its 800 MB of dependencies) on `annotations`:
#   frame = pd.DataFrame({"task": ..., "worker": ..., "label": ...})
#   fitted = crowdkit.aggregation.DawidSkene(n_iter=100000, tol=1e-14).fit(frame)
#   fitted.errors_.loc[(worker, 1), 1], fitted.errors_.loc[(worker, 0), 0], fitted.priors_[1], fitted.probas_[1]
CROWD_KIT = {
    "sensitivity": [0.9476430620, 0.8541828504, 0.7796486500, 0.9125183109, 0.6884779727],
    "specificity": [0.8359599445, 0.8872302734, 0.7394255478, 0.6005770130, 0.6345486471],
    "prevalence": [0.36493],
}
CROWD_KIT_TASKS = [0.000126, 0.007529, 0.000126, 0.646750, 0.083506]


def test_dawid_skene_agrees_with_crowd_kit():
    fit = fitted(as_ratings(annotations()), rasch=False)
    for name, expected in CROWD_KIT.items():
        np.testing.assert_allclose(getattr(fit, name), expected, atol=1e-5)
    np.testing.assert_allclose(fit.truth["probability"][:5], CROWD_KIT_TASKS, atol=2e-6)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_dawid_skene_agrees_with_a_few_lines_of_em(link):
    labels = annotations()
    seen = np.random.default_rng(0).random(labels.shape) < 0.7
    seen[:, 0] = True
    probability = (labels * seen).sum(axis=1) / seen.sum(axis=1)
    for _ in range(3000):
        weights = np.stack([1 - probability, probability])
        rate = weights @ (labels * seen) / (weights @ seen)
        prior = weights.mean(axis=1)
        given = np.where(seen, np.where(labels == 1, rate[:, None], 1 - rate[:, None]), 1.0).prod(axis=2)
        joint = prior[:, None] * given
        probability = joint[1] / joint.sum(axis=0)
    task, annotator = np.nonzero(seen)
    rows = zip(task.tolist(), annotator.tolist(), ["all"] * len(task), labels[seen].tolist(), strict=True)
    fit = fitted(long(list(rows)), rasch=False, link=link)
    assert fit.loglik == pytest.approx(np.log(joint.sum(axis=0)).sum(), abs=1e-7)
    np.testing.assert_allclose(fit.sensitivity, rate[1], atol=1e-5)
    np.testing.assert_allclose(fit.specificity, 1 - rate[0], atol=1e-5)
    np.testing.assert_allclose(fit.kappa, rate[1] - rate[0], atol=1e-5)
    np.testing.assert_allclose(fit.truth["probability"], probability, atol=1e-5)


@pytest.fixture(scope="module")
def first_essays(writing_path) -> rl.Ratings:
    """The writing data with only the first of repeated (student, rater, topic) rows."""
    rows = pl.read_csv(writing_path).unique(["pid", "rater", "topic"], keep="first", maintain_order=True)
    return rl.read(rows, student="pid", rater=["rater", "topic"], items=ITEMS, cut=3)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_writing_data_above_sirt_and_equal_to_an_independent_fit(first_essays, link):
    """rater = rater:topic, item = criterion, so that the essays of a student on several topics share a true category.

    R: sirt::rm.sdt(dat, pid, rater, est.c.rater = "r", est.d.rater = "r") stops at -2636.85. A direct maximisation
    with SciPy, apart from this package (81 nodes on [-8, 8]), reaches -2627.1339 and sigma 7.857 from every start.
    """
    assert first_essays.n_ratings == 5355
    fit = fitted(first_essays, link=link)
    assert fit.loglik > -2636.85
    assert fit.loglik == pytest.approx(-2627.1339, abs=1e-3)
    assert fit.sigma == pytest.approx(7.857, abs=2e-3)
    assert fit.optimiser.converged
    assert fit.n_parameters == 16 + 16 + 5 + 1
    assert fit.flag.tolist() == [""] * 16
    single, *several = fit.warnings
    assert single.startswith("145 of 1,815 student-items (8%) have a single rating")
    # With the probit link some starts end at another maximum, 0.62 lower, which Newton's method confirms.
    assert [text[:35] for text in several] == ["the likelihood has several maxima: "] * (link == "probit")
    assert all("3 reached the best" in text for text in several)
    assert np.nanmax(fit.kappa_se) < 0.07
    assert len(fit.truth) == 1815


# --- ordered scores and partial credit against other programs on the same data, and scores that nobody gave


# --------------------- ordered scores against other programs on the same data, and scores that nobody gave


# Both programs reach the maximum to about 1e-5.
SAME_MAXIMUM = 0.001

# PyPI mirt 1.2.0, with ratings r = rl.read(..., items=ITEMS) without a cut, laid out one row per student (Y = -1 where
# there is no further rating, I and R the item and rater of each):
#   model = mirt.models.PolytomousMFRM(5, 4, [mirt.models.Facet("rater", 16)], category_structure)
#   mirt.estimation.fit_mfrm(model, Y, {"rater": R}, item_indices=I, n_quadpts=161).log_likelihood
MIRT = {"rating scale": -6307.896618, "partial credit": -6243.809915}

# R 4.2, ordinal: long <- score, rater = rater:topic, item, pid as factors of all 7260 ratings
#   logLik(clmm(factor(score) ~ rater + item + (1 | pid), data = long, nAGQ = 15, link = "logit"))
CLMM = {"logit": -6385.543757, "probit": -6376.304481}


@pytest.mark.parametrize("scale", MIRT)
def test_adjacent_categories_agree_with_mirt(writing_scores, scale):
    fit = rl.fit(writing_scores, model="tfm", scale=scale, standard_errors=False)
    assert fit.loglik == pytest.approx(MIRT[scale], abs=SAME_MAXIMUM)
    # One slope, 16 severities, 5 difficulties less their origin, and 3 thresholds of mean 0, once or for each item.
    assert fit.n_parameters == 1 + 16 + 4 + (2 if scale == "rating scale" else 10)


@pytest.mark.parametrize("link", CLMM)
def test_graded_scores_agree_with_clmm(writing_scores, link):
    fit = rl.fit(writing_scores, model="tfm", scale="graded", link=link, standard_errors=False)
    assert fit.loglik == pytest.approx(CLMM[link], abs=SAME_MAXIMUM)
    assert fit.n_parameters == 23


@pytest.mark.parametrize("scale", ["rating scale", "partial credit", "graded"])
def test_kappa_is_the_expected_scores_slope(writing_scores, scale):
    """Every kappa from E[y | theta] by differences, at the fit's own estimates."""
    fit = rl.fit(writing_scores, model="gmf", scale=scale)
    assert fit.converged
    effects = fit.calibration.effects
    t = np.linspace(-8, 8, 1601)
    slope, eta = effects["slope"], fit.raters["eta"].to_numpy()
    predictor = np.multiply.outer(slope, t) - eta[:, None]
    mean = np.mean([expected(predictor, tau, scale) for tau in effects["threshold"]], axis=0)
    between = (t[1:] + t[:-1]) / 2
    rate = np.diff(mean) @ (np.exp(-(between**2) / 2) / np.sqrt(2 * np.pi))
    best = float(Normal().best(fit.calibration.curve(), np.array(fit.sigma)))
    np.testing.assert_allclose(fit.raters["kappa"], rate / best, rtol=1e-4)
    assert fit.raters["kappa"].max() <= 1
    assert (fit.raters["kappa_se"] > 0).all()


def expected(s: np.ndarray, tau: np.ndarray, scale: str) -> np.ndarray:
    if scale == "graded":
        return np.mean([1 / (1 + np.exp(-(s - cut))) for cut in tau], axis=0)
    weights = np.exp(np.multiply.outer(s, np.arange(4)) - np.append(0, np.cumsum(tau)))
    return weights @ np.arange(4) / weights.sum(axis=-1) / 3


def test_pass_and_fail_know_no_scale(small):
    fits = [rl.fit(small, model="gmf", scale=scale) for scale in ("rating scale", "partial credit", "graded")]
    for fit in fits[1:]:
        assert fit.loglik == fits[0].loglik
        assert fit.raters["kappa"].to_list() == fits[0].raters["kappa"].to_list()
        assert "thresholds" not in fit.tables


def test_two_scores_of_a_wider_scale_are_pass_and_fail(small):
    fit = rl.fit(replace(small, score=(2 * small.score).astype(np.int16)), model="gmf")
    binary = rl.fit(small, model="gmf")
    assert fit.loglik == binary.loglik
    assert any("a score of 1" in warning and "0, 2 count as 0, 1" in warning for warning in fit.warnings)


@pytest.fixture(scope="module")
def gap() -> rl.Ratings:
    """Scores 0, 1 and 3 of 0 .. 3."""
    made = rl.simulate(students=200, raters=4, items=3, thresholds=[-0.8, 0.8], seed=5).ratings
    return replace(made, score=np.where(made.score == 2, 3, made.score).astype(np.int16))


@pytest.mark.parametrize("scale", ["rating scale", "partial credit", "graded"])
def test_a_score_that_nobody_gave_is_left_out_of_the_scale(gap, scale):
    fit = rl.fit(gap, model="gmf", scale=scale)
    (warning,) = fit.warnings
    assert "nobody ever gave a score of 2" in warning
    assert "0, 1, 3 count as 0, 1, 2" in warning
    assert fit.calibration.scores == (0, 1, 3)
    assert fit.table("thresholds").filter(pl.col("step") > 2).is_empty()
    assert fit.table("thresholds")["threshold"].abs().max() < 3
    closed = replace(gap, score=np.where(gap.score == 3, 2, gap.score).astype(np.int16))
    assert rl.fit(closed, model="gmf", scale=scale).loglik == fit.loglik
    # Scoring knows the scale, and what is not on it.
    np.testing.assert_allclose(fit.score(gap)["theta"], fit.students["theta"], atol=1e-8)
    with pytest.raises(InputError, match="scores of 2 occur, but the fit knows only 0, 1, 3"):
        fit.score(closed)


def test_an_item_that_never_got_a_score_keeps_finite_thresholds(gap):
    """Item 2 is never given the lowest score: warned about, and nothing explodes. Item 1 never got the top score, so
    that it ends below."""
    score = gap.score.copy()
    score[(gap.item == 0) & (score == 3)] = 1
    score[(gap.item == 1) & (score == 0)] = 1
    score = np.where(score == 3, 2, score).astype(np.int16)
    fit = rl.fit(replace(gap, score=score), model="gmf", scale="partial credit")
    assert fit.converged
    numbers = fit.table("thresholds").select("threshold", "threshold_se").to_numpy()
    assert np.isfinite(numbers).all()
    assert np.abs(numbers).max() < 12
    (warning,) = fit.warnings
    assert "nobody ever gave item 'I2' a score of 0. " in warning
    assert fit.table("thresholds")["item"].to_list() == ["I1", "I2", "I2", "I3", "I3"]
    assert "'rating scale'" in warning
    for scale in ("rating scale", "graded"):  # whose thresholds the items share
        shared = rl.fit(replace(gap, score=score), model="gmf", scale=scale, ability="normal")
        assert shared.table("thresholds")["threshold"].abs().max() < 5
        assert shared.warnings == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"link": "probit"}, "link 'probit' needs scale 'graded'"),
        ({"link": "cloglog", "scale": "partial credit"}, "needs scale 'graded'"),
        ({"method": "laplace"}, "use method='mml'"),
        ({"model": "probit"}, "or use model='gmf'"),
        ({"link": "log", "scale": "graded"}, "link='cloglog' with scale='graded'"),
    ],
)
def test_wrong_combinations_say_what_to_do(gap, options, message):
    with pytest.raises(InputError, match=message):
        rl.fit(gap, **{"model": "gmf"} | options)


# --- partial credit where items have different highest scores, beside a maximisation written out from the formula


HIGHEST = (1, 2, 4)
N_STUDENTS, N_RATERS = 40, 2
# BFGS by finite differences leaves less than this.
LOGLIK, ESTIMATE = 1e-5, 2e-3


def scores() -> np.ndarray:
    """(students, raters, items): drawn from the model."""
    rng = np.random.default_rng(11)
    ability, severity = rng.normal(size=N_STUDENTS), np.array([-0.4, 0.4])
    found = np.empty((N_STUDENTS, N_RATERS, len(HIGHEST)), dtype=int)
    for s, r, i in np.ndindex(found.shape):
        k = np.arange(HIGHEST[i] + 1)
        p = special.softmax(k * (1.3 * ability[s] - severity[r]) - 0.3 * k * (k - HIGHEST[i]))
        found[s, r, i] = rng.choice(k, p=p)
    return found


def table(given: np.ndarray) -> pl.DataFrame:
    rows = [(s, f"r{r}", f"i{i}", int(given[s, r, i])) for s, r, i in np.ndindex(given.shape)]
    return pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")


def negative_loglik(x: np.ndarray, given: np.ndarray) -> float:
    """A slope and a severity for each rater, the steps of each item: the product over ratings, integrated."""
    t = np.linspace(-8, 8, 161)
    weight = np.exp(-(t**2) / 2)
    slope, severity, steps = x[:2], x[2:4], np.split(x[4:], np.cumsum(HIGHEST)[:-1])
    log_prob = np.zeros((len(given), len(t)))
    for r in range(N_RATERS):
        for i, top in enumerate(HIGHEST):
            k = np.arange(top + 1)
            reach = np.multiply.outer(k, slope[r] * t - severity[r])
            logits = reach - np.append(0.0, np.cumsum(steps[i]))[:, None]
            log_prob += special.log_softmax(logits, axis=0)[given[:, r, i]]
    # A severity trades against all steps: the penalty of a redundant direction costs nothing.
    return -float(np.log(np.exp(log_prob) @ weight / weight.sum()).sum()) + float(severity.sum() ** 2)


@pytest.fixture(scope="module")
def given() -> np.ndarray:
    found = scores()
    assert tuple(found.max(axis=(0, 1))) == HIGHEST
    assert all(set(range(top + 1)) == set(found[..., i].ravel()) for i, top in enumerate(HIGHEST))
    return found


def test_the_likelihood_is_that_of_the_scores_that_items_have(given):
    fit = rl.fit(table(given), model="gmf", scale="partial credit")
    start = np.concatenate([np.ones(2), np.zeros(2 + sum(HIGHEST))])
    best = optimize.minimize(negative_loglik, start, args=(given,), method="BFGS", options={"gtol": 1e-6})
    assert fit.loglik == pytest.approx(-best.fun, abs=LOGLIK)
    # Two slopes, two severities and seven steps, less what severities trade against steps.
    assert fit.n_parameters == 2 + 2 + sum(HIGHEST) - 1
    slopes = fit.raters["rho"].to_numpy() * fit.sigma
    np.testing.assert_allclose(slopes, best.x[:2], atol=ESTIMATE)
    steps = fit.table("thresholds").join(fit.items, on="item")
    assert steps["step"].to_list() == [k for top in HIGHEST for k in range(1, top + 1)]
    found = (steps["threshold"] + steps["delta"]).to_numpy()
    np.testing.assert_allclose(found - found.mean(), best.x[4:] - best.x[4:].mean(), atol=ESTIMATE)
    assert not [warning for warning in fit.warnings if "Half a rating" in warning]


def test_a_fit_with_different_highest_scores_is_kept_and_scores_students(given, tmp_path):
    fit = rl.fit(table(given), model="gmf", scale="partial credit")
    fit.save(tmp_path / "fit.json")
    again = rl.load(tmp_path / "fit.json")
    few = table(given[:3])
    np.testing.assert_allclose(
        again.score(few)["theta"].to_numpy(), fit.students["theta"].to_numpy()[:3], atol=1e-6
    )
    assert again.capability(item="i0")["kappa"].is_finite().all()
    with pytest.raises(InputError, match="item 'i0' has a score of 2, but the fit knows it only up to 1"):
        fit.score(few.with_columns(score=pl.lit(2)))


# ------------------------------- partial credit, items of different highest scores, against R's TAM 4.3-25


def drawn() -> pl.DataFrame:
    random, rows = np.random.default_rng(11), []
    for student, ability in enumerate(random.standard_normal(300) * 1.4):
        for rater, severity in enumerate((-0.5, 0.0, 0.5)):
            for item, highest in enumerate((2, 3, 2)):
                steps = np.linspace(-0.8, 0.8, highest) + 0.2 * item
                p = special.softmax(np.append(0.0, np.cumsum(ability - severity - steps)))
                rows.append((student, rater, f"i{item}", int(random.choice(highest + 1, p=p))))
    return pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")


def test_items_of_different_highest_scores() -> None:
    fit = rl.fit(drawn(), model="tfm", scale="partial credit", halo="none", ability="normal")
    assert fit.loglik == pytest.approx(-2656.28318, abs=1e-4)
    assert fit.sigma**2 == pytest.approx(2.01388, abs=2e-4)
    assert fit.raters["eta"].to_numpy()[:2] == pytest.approx([-0.57666, 0.01522], abs=1e-4)
