"""Marks on a continuous scale: the likelihood against a closed form and lme4, and what people read of it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.capability.curves import MarkCurve
from raterlens.capability.index import Index
from raterlens.capability.links import get_link
from raterlens.capability.population import Histogram, Normal
from raterlens.inference.covariance import Inverse, covariance, in_full
from raterlens.inference.spreads import _Curve
from raterlens.likelihood.marginal import marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import DrawnPrior, Pseudo
from raterlens.models.build import build
from raterlens.models.facets import centre, redundancy
from raterlens.models.marks import Marks
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from raterlens.ratings.coded import Ratings

RATERS = 6
SLOPE = np.array([14.0, 12.0, 10.0, 12.0, 9.0, 13.0])
SEVERITY = np.array([-5.0, 3.0, 0.0, 2.0, -2.0, 2.0])
NOISE = np.array([4.0, 7.0, 5.0, 6.0, 8.0, 5.0])
# lme4 1.1-31 on table(): m <- lmer(mark ~ 0 + rater + (1 | student), d, REML = FALSE); logLik(m); f <- -fixef(m);
# f - mean(f)
LME4_LOGLIK = -1288.15618981
LME4_SEVERITY = np.array([-4.16462970, 1.55880182, -1.11822980, 1.32332827, -0.47781046, 2.87853986])


def table(students: int = 120, items: int = 1, seed: int = 1) -> pl.DataFrame:
    """Three marks out of 100 for every student and item."""
    random = np.random.default_rng(seed)
    ability = random.standard_normal(students)
    student = np.repeat(np.arange(students), 3)
    rater = np.concatenate([random.choice(RATERS, 3, replace=False) for _ in range(students)])
    student, rater = np.repeat(student, items), np.repeat(rater, items)
    item = np.tile(np.arange(items), 3 * students)
    mean = 55 + SLOPE[rater] * ability[student] - SEVERITY[rater] - 4.0 * item
    mark = np.clip(np.round(mean + NOISE[rater] * random.standard_normal(len(mean))), 0, 100)
    return pl.DataFrame(
        {
            "student": student,
            "rater": [f"R{r}" for r in rater],
            "item": [f"Q{i}" for i in item],
            "mark": mark.astype(int),
        }
    )


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return rl.read(table(), score="mark")


@pytest.fixture(scope="module")
def fit(ratings: Ratings) -> rl.Fit:
    return rl.fit(ratings, model="gmf")


def normal_loglik(ratings: Ratings, marks: Marks, x: np.ndarray) -> float:
    """Each student's marks are multivariate normal."""
    n, items = ratings.n_raters, ratings.n_items
    slope, severity, difficulty, usual, own = np.split(x, [n, 2 * n, 2 * n + items, 2 * n + items + 1])
    log_noise = usual + own
    value, total = marks.values[ratings.score], 0.0
    for student in range(ratings.n_students):
        rows = ratings.student == student
        rater, item = ratings.rater[rows], ratings.item[rows]
        covariance = np.outer(slope[rater], slope[rater]) + np.diag(np.exp(2 * log_noise[rater]))
        off = value[rows] + severity[rater] + difficulty[item]
        total -= (np.linalg.slogdet(2 * np.pi * covariance)[1] + off @ np.linalg.solve(covariance, off)) / 2
    return float(total - ratings.n_ratings * np.log(marks.unit))


@pytest.fixture(scope="module")
def small() -> Ratings:
    return rl.read(table(40, items=2), score="mark")


def test_likelihood_gradient_and_information_are_those_of_a_normal_distribution(small: Ratings) -> None:
    model, response = build(small, Options(MODELS["gmf"], get_link("logit"), "continuous", own_noise=True))
    assert isinstance(response, Marks)
    random = np.random.default_rng(0)
    noise = np.append(np.log(0.4), random.normal(0, 0.3, RATERS))
    x = np.concatenate([random.uniform(0.5, 1.2, RATERS), random.normal(0, 0.3, RATERS), [0.1, -0.1], noise])
    nobody = Pseudo(np.zeros((len(model.contexts), response.n_categories)))
    problem, nodes = marginal(small, model, response, nobody), Nodes.equally_spaced(-8, 8, 0.05)
    found, steps = problem.value(x, nodes), 1e-5 * np.eye(len(x))
    assert found.loglik == pytest.approx(normal_loglik(small, response, x), abs=1e-8)
    rise = [normal_loglik(small, response, x + h) - normal_loglik(small, response, x - h) for h in steps]
    assert found.gradient == pytest.approx(np.array(rise) / 2e-5, rel=1e-5, abs=1e-4)
    bend = [problem.value(x - h, nodes).gradient - problem.value(x + h, nodes).gradient for h in steps]
    information = problem.information(x, nodes)
    full = information if isinstance(information, np.ndarray) else information.toarray()
    assert full == pytest.approx(np.array(bend) / 2e-5, rel=1e-6, abs=1e-4)


def test_tfm_is_a_mixed_model(ratings: Ratings) -> None:
    fit = rl.fit(ratings, model="tfm")
    assert fit.config.scale == "continuous"
    assert fit.n_parameters == 8
    assert fit.loglik == pytest.approx(LME4_LOGLIK, abs=1e-3)
    assert fit.table("raters")["eta"].to_numpy() == pytest.approx(LME4_SEVERITY, abs=2e-3)


def test_severity_noise_and_sharpness_are_in_marks(fit: rl.Fit) -> None:
    raters, slope = fit.table("raters"), fit.table("raters")["rho"].to_numpy() * fit.sigma
    for name, truth in (("eta", SEVERITY), ("noise", NOISE)):
        off = (raters[name].to_numpy() - truth) / raters[f"{name}_se"].to_numpy()
        assert np.abs(off).max() < 3.5, name
    correlation = slope / np.hypot(slope, raters["noise"].to_numpy())
    assert raters["sharpness"].to_numpy() == pytest.approx(correlation, abs=1e-6)
    assert raters["kappa"].to_numpy() == pytest.approx(raters["rho"].to_numpy(), abs=1e-6)
    assert fit.alpha == pytest.approx(55, abs=4)
    assert (fit.link, fit.ordered) == ("identity", True)


def test_the_report_shows_noise_and_how_far_marks_are_apart(fit: rl.Fit, tmp_path: Path) -> None:
    page = fit.report(tmp_path / "report.html").read_text(encoding="utf-8")
    for words in ("Noise", "Mean difference", "furthest apart first"):
        assert words in page


def test_fair_results_and_decisions_are_in_marks(fit: rl.Fit, ratings: Ratings) -> None:
    decided = fit.decisions(cut=50)
    students = decided.students
    assert students["fair"].is_between(0, 100).all()
    moved = (students["raw"] - students["fair"]).to_numpy()
    assert 0.5 < np.abs(moved).mean() < np.abs(SEVERITY).max()
    assert students["grade"].n_unique() == 2
    words = fit.consequences().words()
    assert "mean scores would move by" in words[0]
    assert "can expect a score of" in words[1], "no pass mark is invented"


def test_the_headline_counts_moves_that_matter_and_no_equal_marks(fit: rl.Fit) -> None:
    meaning = fit.consequences()
    assert meaning.observed_agreement is None
    assert meaning.far in (2.0, 5.0)
    assert not [words for words in meaning.words() if "agreed" in words]
    assert any(f"by {meaning.far:g} or more" in words for words in meaning.words())
    assert replace(meaning, far=1.0).so_far() == "1 mark or more"
    assert replace(meaning, far=5.0).so_far() == "5 marks or more"


def test_a_fit_is_saved_and_scores_marks_that_it_has_not_seen(
    fit: rl.Fit, ratings: Ratings, tmp_path: object
) -> None:
    loaded = rl.load(fit.save(f"{tmp_path}/fit.json"))
    again = loaded.score(table(), score="mark")
    assert again["theta"].to_numpy() == pytest.approx(fit.table("students")["theta"].to_numpy(), abs=1e-5)
    new = pl.DataFrame({"student": ["x", "x"], "rater": ["R0", "R1"], "item": ["Q0"] * 2, "mark": [100, 99]})
    highest = ratings.n_categories - 1
    assert highest < 99
    lattice = pl.DataFrame(
        {"student": [f"y{k}" for k in range(25)], "rater": ["R0"] * 25, "item": ["Q0"] * 25}
    )
    lattice = lattice.with_columns(mark=pl.Series(range(75, 100)))
    scored = loaded.score(pl.concat([new.with_columns(pl.col("mark").cast(pl.Int64)), lattice]), score="mark")
    assert scored.row(0, named=True)["theta"] > 2


def test_noise_is_told_apart_where_ratings_show_no_difference() -> None:
    """Raters who are alike: nobody's noise is known as well as that of all."""
    drawn = rl.simulate(
        scale="continuous", students=100, raters=8, items=1, raters_per_student=2, noise=6, seed=5
    )
    fit = rl.fit(drawn.ratings, "gmf", assumptions="ignore")
    noise, error = (fit.table("raters")[name].to_numpy() for name in ("noise", "noise_se"))
    # The common noise of 200 marks, half of which abilities take, would be known to 7 %.
    assert (error / noise).min() > 0.1
    assert fit.table("spreads")["spread"].item() > 0.02


def test_estimates_move_with_the_spread_of_noise_as_said(small: Ratings) -> None:
    apart = 0.02
    moved = (fitted_at(small, apart)[0] - fitted_at(small, -apart)[0]) / (2 * apart)
    assert fitted_at(small, 0.0)[1] == pytest.approx(moved, abs=2e-3)


def fitted_at(ratings: Ratings, logarithm: float) -> tuple[np.ndarray, np.ndarray]:
    """Estimates at a spread of noise of 0.3 and so much more of its logarithm, and how they move with it."""
    options = Options(MODELS["gmf"], get_link("logit"), "continuous", own_noise=True)
    model, response = build(ratings, options)
    nobody = Pseudo(np.zeros((len(model.contexts), response.n_categories)))
    at = np.array([0.3 * np.exp(logarithm)])
    prior = DrawnPrior.of(model, at)
    problem = replace(marginal(ratings, model, response, nobody), drawn=prior)
    nodes, x = Nodes.equally_spaced(-6, 6, 0.2), np.zeros(model.blocks.size)
    x[model.blocks["slope"]], x[model.blocks["noise"]] = 0.7, -0.8
    for _ in range(20):
        redundant = redundancy(model, x)
        information = in_full(problem.information(x, nodes))
        inverse = covariance(information, redundant, np.zeros(len(x), bool))
        x = centre(model, x + np.clip(in_full(inverse.matrix) @ problem.value(x, nodes).gradient, -0.3, 0.3))
    own = model.blocks["rater noise"]
    plain = in_full(replace(problem, drawn=None).information(x, nodes))
    more = np.zeros(len(x))
    more[prior.at] = 1 / prior.spread**2
    factors = Inverse.of(plain, redundancy(model, x), np.zeros(len(x), bool), more, model.of_drawn)
    return x, _Curve.of(x[own], float(at[0]), factors, own, 0.0).drift


def test_noise_allows_for_what_is_estimated_of_each_rater(ratings: Ratings) -> None:
    model, _ = build(ratings, Options(MODELS["gmf"], get_link("logit"), "continuous", own_noise=True))
    tilt = DrawnPrior.of(model, np.array([0.3])).restricted
    assert tilt is not None
    assert tilt[model.blocks["noise"]].tolist() == [2 * RATERS], "a slope and a severity each"
    assert tilt[model.blocks["rater noise"]].tolist() == [2.0] * RATERS


@pytest.mark.nightly
def test_noise_is_not_too_low_on_average() -> None:
    """Noise by the likelihood alone would be some 5 % too low, of 30 marks each."""
    off = []
    for seed in range(6):
        drawn = rl.simulate(
            scale="continuous", students=100, raters=10, items=1, raters_per_student=3, noise=6, seed=seed
        )
        fit = rl.fit(drawn.ratings, "gmf", assumptions="ignore", standard_errors=False)
        off.append(np.log(fit.table("raters")["noise"].to_numpy() / 6).mean())
    assert abs(np.mean(off)) < 0.025


def test_a_spread_of_abilities_is_no_spread_of_marks() -> None:
    """Sets of raters whose students differ by half a standard deviation of ability."""
    random = np.random.default_rng(3)
    pair, better = np.repeat(np.arange(6) // 2, 60), 0.5 * random.standard_normal(3)
    rater = np.stack([2 * pair, 2 * pair + 1, (2 * pair + 2) % 6], axis=1)
    ability = better[pair] + random.standard_normal(len(pair))
    mark = 55 + 12 * ability[:, None] + 5 * random.standard_normal(rater.shape)
    rows = pl.DataFrame(
        {
            "student": np.repeat(np.arange(len(pair)), 3),
            "rater": rater.ravel(),
            "mark": np.clip(mark.round(), 0, 100).astype(int).ravel(),
        }
    )
    fit = rl.fit(rl.read(rows, score="mark"), "gmf", group_means="raters", assumptions="ignore")
    spread = fit.table("spreads").filter(pl.col("term") == "group")["spread"].item()
    assert 0 < spread < 2


def test_items_interact_with_raters_in_marks() -> None:
    fit = rl.fit(rl.read(table(items=2), score="mark"), model="gmf", interactions="rater:item")
    assert fit.table("items")["delta"].to_numpy() == pytest.approx([-2, 2], abs=1.5)
    assert fit.table("interactions")["severity"].abs().max() < 5


@pytest.mark.parametrize(
    "options",
    [
        {"model": "probit"},
        {"link": "probit"},
        {"halo": "common"},
        {"reference": "perfect"},
        {"trusted": ["R1"]},
    ],
)
def test_options_that_do_not_go_with_it(ratings: Ratings, options: dict[str, object]) -> None:
    with pytest.raises((OptionError, InputError), match="continuous"):
        rl.fit(ratings, scale="continuous", **options)  # type: ignore[arg-type]


def test_a_scale_that_is_cut_off_is_said() -> None:
    marks = table().with_columns(mark=pl.col("mark").clip(38, 62))
    warnings = rl.fit(rl.read(marks, score="mark"), model="tfm", assumptions="ignore").warnings
    assert any("the highest of all: the scale ends there" in warning for warning in warnings)
    assert any("the lowest of all" in warning for warning in warnings)


def test_probabilities_are_taken_as_log_odds() -> None:
    rows = table().with_columns(p=((1 + (-(pl.col("mark") - 55) / 24).exp()) ** -1).round(2))
    ratings = rl.read(rows.drop("mark"), score="p")
    assert ratings.score_step == pytest.approx(0.01)
    fit, marks = rl.fit(ratings, model="gmf"), rl.fit(rl.read(table(), score="mark"), model="gmf")
    assert fit.link == "logit"
    assert fit.table("raters")["eta"].to_numpy() * 24 == pytest.approx(
        marks.table("raters")["eta"].to_numpy(), abs=0.4
    )
    assert fit.table("raters")["sharpness"].to_numpy() == pytest.approx(
        marks.table("raters")["sharpness"].to_numpy(), abs=0.02
    )
    results = fit.decisions(cut=0.5).students
    assert results["fair"].is_between(0, 1).all()
    # Nobody is more capable than the rater whose log-odds rise fastest.
    assert fit.table("raters")["kappa"].to_numpy() == pytest.approx(fit.table("raters")["rho"].to_numpy())
    assert "marks" not in fit.consequences(ratings).words()[0]


@pytest.mark.parametrize(("odds", "step"), [(False, 1.0), (False, 0.5), (True, 0.01), (True, 0.002)])
def test_residuals_are_those_of_the_model(odds: bool, step: float) -> None:
    random = np.random.default_rng(7)
    student, rater = np.repeat(np.arange(400), 3), np.tile(np.arange(3), 400)
    slope, ease, noise = np.array([[1.2, 0.9, 1.1], [-0.4, 0.1, 0.3], [0.4, 0.6, 0.8]])
    ability = random.standard_normal(400)
    predictor = slope[rater] * ((ability - ability.mean()) / ability.std())[student] + ease[rater]
    predictor += noise[rater] * random.standard_normal(1200)
    mark = 1 / (1 + np.exp(-predictor)) if odds else np.clip(50 + 14 * predictor, 0, 100)
    rows = {"student": student, "rater": rater, "mark": step * np.round(mark / step)}
    fit = rl.fit(rl.read(pl.DataFrame(rows), score="mark"), model="gmf", assumptions="ignore")
    tables = fit.diagnose().tables
    raters, surprises = tables["raters"], tables["unexpected"]
    for name in ("infit", "outfit"):
        assert raters[name].to_numpy() == pytest.approx(1, abs=0.12), name
        assert raters[f"{name}_z"].abs().max() < 2.5, name
    assert raters["correlation"].to_numpy() == pytest.approx(
        raters["correlation_expected"].to_numpy(), abs=0.05
    )
    # One in twenty, give or take three standard errors.
    assert 60 - 3 * 57**0.5 < len(surprises) < 60 + 3 * 57**0.5
    off = (surprises["score"] - surprises["expected"]).to_numpy()
    assert (np.sign(off) == np.sign(surprises["z"].to_numpy())).all()
    assert surprises["z"].abs().min() > 1.15
    luck = noise[:, None] * random.standard_normal(20_000)
    usual = np.mean(1 / (1 + np.exp(-ease[:, None] - luck)), axis=1) if odds else 50 + 14 * ease
    assert raters["fair_average"].to_numpy() == pytest.approx(usual, abs=0.03 if odds else 2)
    # Means of 400 marks by each rater.
    spread = np.std(rows["mark"]) / 20
    assert (raters["fair_average_se"].to_numpy() < spread).all()
    assert (raters["fair_average_se"].to_numpy() > spread / 8).all()


@pytest.fixture(scope="module")
def drifting() -> pl.DataFrame:
    """R0 takes off 12 marks on Q0, and R1 15 in the second half of the students."""
    rows = table(400, items=2).with_columns(order=pl.col("student"))
    biased = (pl.col("rater") == "R0") & (pl.col("item") == "Q0")
    late = (pl.col("rater") == "R1") & (pl.col("order") >= 200)
    less = pl.when(biased).then(12).when(late).then(15).otherwise(0)
    return rows.with_columns(mark=(pl.col("mark") - less).clip(0, 100))


def test_bias_and_drift_are_in_marks(drifting: pl.DataFrame) -> None:
    ratings = rl.read(drifting, score="mark", beside=["order"])
    fit = rl.fit(ratings, model="gmf", assumptions="ignore")
    tables = fit.diagnose(time="order").tables
    bias = tables["bias item"].filter(rater="R0", item="Q0").row(0, named=True)
    assert bias["severity"] == pytest.approx(12, abs=4 * bias["severity_se"])
    assert bias["severity_se"] < 3
    drift = tables["change"].filter(rater="R1").row(0, named=True)
    assert drift["shift"] == pytest.approx(15, abs=4 * drift["shift_se"])
    assert drift["shift_se"] < 3
    flags = tables["flags"]
    (biased,) = flags.filter(pl.col("rater") == "R0", pl.col("effect").str.ends_with("on item"))["evidence"]
    assert f"{bias['severity']:.1f} marks more" in biased
    (drifted,) = flags.filter(rater="R1", effect="drift")["evidence"]
    assert f"{drift['shift']:.1f} marks more severe" in drifted
    alarm = fit.monitor(time="order").alarms.filter(rater="R1").row(0, named=True)
    assert alarm["alarm"]
    assert alarm["shift"] == pytest.approx(15, abs=4 * alarm["shift_se"])


def test_an_earlier_fit_tells_of_drift_in_marks(drifting: pl.DataFrame) -> None:
    first, second = (
        rl.fit(rl.read(part.drop("order"), score="mark"), model="gmf", assumptions="ignore")
        for part in (drifting.filter(pl.col("order") < 200), drifting.filter(pl.col("order") >= 200))
    )
    alarm = second.monitor(previous=first).alarms.filter(rater="R1").row(0, named=True)
    assert alarm["alarm"]
    assert alarm["shift"] == pytest.approx(15, abs=4 * alarm["shift_se"] + 2)


def test_the_index_of_marks_against_brute_force() -> None:
    random = np.random.default_rng(4)
    theta, luck = random.standard_normal((2, 400_000))
    slope, severity, noise = np.array([1.2]), np.array([0.4]), 0.7
    curve = MarkCurve(np.linspace(-3, 3, 101), noise, 6.0)
    predictor = slope * theta - severity + noise * luck
    mark = predictor / 6 + 0.5
    index = Index(curve, Normal())
    assert index.rate(slope, severity)[0] == pytest.approx(np.mean(mark * theta), abs=2e-3)
    assert index.sharpness(slope, severity)[0] == pytest.approx(np.corrcoef(predictor, theta)[0, 1], abs=2e-3)
    assert index.standard(slope, severity)[0] == pytest.approx(np.mean(predictor > 0), abs=2e-3)
    assert curve.expected(slope, severity)[0] == pytest.approx(mark.mean(), abs=2e-3)
    histogram = Index(curve, Histogram.smooth(0.0, 0.0))
    assert histogram.rate(slope, severity)[0] == pytest.approx(index.rate(slope, severity)[0], abs=1e-3)
    assert histogram.sharpness(slope, severity)[0] == pytest.approx(
        index.sharpness(slope, severity)[0], abs=1e-3
    )
    assert histogram.standard(slope, severity)[0] == pytest.approx(
        index.standard(slope, severity)[0], abs=1e-3
    )
