"""Studies with known truth: their list and command, their truths, and each from draw to page and figure."""

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from benchmarks.studies import (
    STUDIES,
    abilities,
    misspecified,
    passrates,
    pieces,
    priors,
    ratings,
    recovery,
    replacement,
)
from raterlens import capability
from raterlens.base.arrays import Array
from raterlens.studies.study import WIDTH, Task
from tests.support.replications import replicated


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_of_the_list_is_in_the_module_of_its_name(name):
    assert import_module(f"benchmarks.studies.{name}").STUDY.name == name


def test_an_unknown_study_is_refused(tmp_path):
    command = [sys.executable, "-m", "benchmarks.studies", "prior", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 2
    assert "unknown study 'prior'; did you mean 'priors'?" in done.stderr
    assert not (tmp_path / "out").exists()


# ------------------------------------------------------------------------------------- from draw to page and figure


def _abilities(rows: pl.DataFrame) -> None:
    assert rows.filter(abilities="chi-squared, 3 df", measure="eta", items=4)["p"][0] < 0.001


def _dependence(rows: pl.DataFrame) -> None:
    by = rows.rows_by_key(["fitted", "measure"], named=True, unique=True)
    assert by["halo common", "eta"]["width"] > by["without halo", "eta"]["width"]
    assert by["halo common", "kappa"]["p"] < 1e-3
    assert 0.6 < by["halo common", "kappa"]["estimate"] < 1.4


def _misspecified(rows: pl.DataFrame) -> None:
    assert set(rows["source"]) == set(misspecified.SOURCES)


def _passrates(rows: pl.DataFrame) -> None:
    by = rows.rows_by_key(["design", "method", "good"], named=True, unique=True)
    assert len(by) == 2 * (4 * 3 + 1)
    first, best = passrates.DESIGNS[0].name, passrates.GOOD[-1]
    # The judge alone is off by ten points, whatever its interval says.
    assert by[first, "raw", best]["error"] > 1.5 * by[first, "pass_rate", best]["error"]


def _pieces(rows: pl.DataFrame) -> None:
    assert set(rows.filter(students=60)["fitted"]) == set(pieces.KINDS)
    assert set(rows.filter(students=80)["fitted"]) == {"pieces and halo"}


def _replacement(rows: pl.DataFrame) -> None:
    assert rows["short"].to_list() == [0.1, 0.05, 0.0]
    assert set(rows["verdict"]) <= {"yes", "no", "unclear"}


class Small(NamedTuple):
    """A study made small, with what its rows and its figure must have."""

    settings: dict[str, Any]
    check: Callable[[pl.DataFrame], None]
    shown: str
    seed: int = 1


SMALL = {
    "abilities": Small({}, _abilities, "capability", 2),
    "dependence": Small({"SPREADS": (1.0,)}, _dependence, "reading effect"),
    "misspecified": Small({}, _misspecified, "Ratings from"),
    "passrates": Small({"DESIGNS": passrates.DESIGNS[:2]}, _passrates, "Rogan and Gladen"),
    "pieces": Small({"SIZES": (60, 80)}, _pieces, "Covered"),
    "replacement": Small({"SIZES": (150,)}, _replacement, "May stand in"),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", SMALL)
def test_from_draw_to_page_and_figure(name, monkeypatch):
    module, small = import_module(f"benchmarks.studies.{name}"), SMALL[name]
    for setting, value in small.settings.items():
        monkeypatch.setattr(module, setting, value)
    rows = module.STUDY.replicate(Task(small.seed, 0))
    small.check(rows)
    results = module.STUDY.summarise(replicated(rows))
    assert results.markdown.startswith("# ")
    assert f"python -m benchmarks.studies {name} --replications 2" in results.markdown
    assert small.shown in module.STUDY.draw(results).svg(WIDTH)


@pytest.mark.nightly
def test_priors_from_draw_to_page_and_figure():
    few = tuple(priors.CONDITIONS[place] for place in (0, 8))
    results = priors.STUDY.summarise(replicated(priors.replicate(Task(1, 0), few)))
    assert "python -m benchmarks.studies priors --replications 2" in results.markdown
    assert "one with slope 0" in results.markdown
    shown = priors.errors_by_panel(results)
    assert set(shown["prior"]) == {"each by its own ratings", "panel prior"}
    assert "RMSE of κ̄" in priors.STUDY.draw(results).svg(WIDTH)


@pytest.mark.nightly
def test_fewer_ratings_per_student_make_hierarchical_likelihood_overstate_severities():
    designs = {200: ratings.DESIGNS[200], 10: ratings.DESIGNS[10]}
    rows = ratings.replicate(Task(1, 0), designs, total=8_000)
    spread = {
        (method, each): estimate
        for method, each, estimate in rows.filter(pl.col("level") == ratings.SEVERITY)
        .select("method", "each", "estimate")
        .iter_rows()
    }
    assert spread["hl", 10] > spread["mml", 10] + 0.15
    assert abs(spread["hl", 200] - spread["mml", 200]) < 0.03
    assert abs(spread["laplace", 200] - spread["mml", 200]) < 0.01
    results = ratings.summarise(replicated(rows))
    assert "Estimated over true" in results.markdown
    assert "Spread of severities, estimated / true" in ratings.draw(results).svg(WIDTH)


@pytest.mark.nightly
def test_recovery_of_every_model_from_draw_to_page():
    rows = recovery.replicate(Task(1, 0), sizes=(100, 400))
    assert set(rows["case"]) == set(recovery.CASES)
    results = recovery.summarise(replicated(rows))
    assert "| GMF log | slope |" in results.markdown
    assert "Model and link" in recovery.draw(results).svg(WIDTH)


# ----------------------------------------------------------------------------------------------------------- abilities


@pytest.mark.nightly
def test_truth_of_normal_abilities_is_the_formulas():
    severity, kappa = abilities.truth(None)
    rho = abilities.SLOPE / abilities.SLOPE.max()
    np.testing.assert_allclose(
        kappa, capability.gmf(rho=rho, eta=severity, sigma=abilities.SLOPE.max()), atol=1e-9
    )


@pytest.mark.nightly
def test_truth_of_skewed_abilities_by_draws():
    """Where half of the students are below 0 and half-widths are 1, from the slopes that follow."""
    low, median, high = abilities._standardised(3)
    drawn = (np.random.default_rng(1).chisquare(3, 400_000) - 3) / np.sqrt(6)
    np.testing.assert_allclose(np.quantile(drawn, [0.158655, 0.5, 0.841345]), [low, median, high], atol=0.01)
    severity, kappa = abilities.truth(3)
    assert kappa.argmax() == abilities.SLOPE.argmax()
    assert severity.mean() == pytest.approx(0, abs=1e-12)
    slope = abilities.SLOPE * (high - low) / 2
    theta = (drawn - median) / ((high - low) / 2)
    rate = [np.mean(a / (2 + 2 * np.cosh(a * theta - b))) for a, b in zip(slope, severity, strict=True)]
    best = max(
        np.mean(slope.max() / (2 + 2 * np.cosh(slope.max() * theta - b))) for b in np.linspace(-2, 1, 61)
    )
    np.testing.assert_allclose(kappa, np.array(rate) / best, rtol=0.01)


# -------------------------------------------------------------------------------------------------------- misspecified


@pytest.mark.nightly
@pytest.mark.parametrize("source", misspecified.SOURCES)
def test_misspecified_sources_pass_and_fail_often(source):
    drawn = misspecified.simulate_source(source, [1, 2])
    rate = np.bincount(drawn.ratings.rater, drawn.ratings.score) / np.bincount(drawn.ratings.rater)
    assert 0.1 < rate.min() < rate.max() < 0.9
    assert drawn.truth.ability.std() == pytest.approx(1, abs=0.15)


# ----------------------------------------------------------------------------------------------------------- passrates


@pytest.mark.nightly
def test_corrections_are_right_where_labels_are():
    """With people's labels replaced by the truth, both corrections are unbiased: mean of 300 draws."""
    rng = np.random.default_rng(1)
    system = np.repeat(np.arange(3), passrates.ANSWERS)
    found: dict[str, list[Array]] = {"rogan_gladen": [], "prediction_powered": []}
    for _ in range(300):
        good = rng.random(len(system)) < passrates.GOOD[system]
        judge = np.where(rng.random(len(system)) < np.where(good, 0.85, 0.3), 1.0, 0.0)
        label = np.where(rng.random(len(system)) < 0.5, good, np.nan)
        drawn = passrates.Drawn(None, system, judge, label)
        for name, estimates in found.items():
            estimates.append(getattr(passrates, name)(drawn)[0])
    for estimates in found.values():
        np.testing.assert_allclose(np.mean(estimates, axis=0), passrates.GOOD, atol=0.012)


@pytest.mark.nightly
def test_a_design_has_its_known_answers():
    drawn = passrates.draw_verdicts(passrates.DESIGNS[2], [1])
    assert drawn.ratings.known is not None
    assert len(drawn.ratings.known) == np.isfinite(drawn.label).sum() == 120


# -------------------------------------------------------------------------------------------------------------- pieces


@pytest.mark.nightly
def test_truth_is_averaged_over_readings_and_pieces():
    """Against draws of both."""
    severity, kappa = pieces.truth()
    random = np.random.default_rng(1)
    quality = np.sqrt(1 + pieces.OMEGA**2) * random.standard_normal(400_000)
    shared = pieces.TAU * random.standard_normal(400_000)

    def rate(a, b, u):
        return float(np.mean(a / (2 + 2 * np.cosh(a * quality - b + u))))

    best = rate(pieces.SLOPE[-1], 0.0, 0.0)
    own = [rate(a, b, shared) / best for a, b in zip(pieces.SLOPE, severity, strict=True)]
    np.testing.assert_allclose(kappa, own, rtol=0.01)


@pytest.mark.nightly
def test_a_fifth_of_the_pieces_is_read_twice():
    ratings = pieces.draw_ratings(400, [1])
    readings = ratings.n_ratings / pieces.ITEMS
    assert readings == pytest.approx(1.2 * 400 * pieces.PIECES, rel=0.05)
    assert ratings.piece is not None


# -------------------------------------------------------------------------------------------------------------- priors


@pytest.mark.nightly
def test_capability_against_a_perfect_rater_is_the_limit_of_steep_yardsticks():
    slope, severity = np.array([0.4, 1.5, 3.0]), np.array([0.0, -1.0, 0.5])
    steep = 4000.0
    expected = capability.gmf(rho=slope / steep, eta=severity, sigma=steep)
    np.testing.assert_allclose(priors._perfect(slope, severity), expected, rtol=1e-4)


@pytest.mark.nightly
@pytest.mark.parametrize("truth", ["normal", "heavy-tailed", "log-normal", "0.3"])
def test_slopes_of_every_kind(truth):
    slopes = priors._slopes(2000, truth, np.random.default_rng(0))
    assert (slopes >= 0).all()
    assert np.median(slopes) == pytest.approx(1.5, abs=0.06)


# --------------------------------------------------------------------------------------------------------- replacement


@pytest.mark.nightly
@pytest.mark.parametrize("short", [0.1, 0.0])
def test_the_judge_is_as_far_below_people_as_it_says(short):
    """By adding up capability on a fine grid of abilities."""
    theta = np.linspace(-8, 8, 3201)
    weight = np.exp(-(theta**2) / 2) / np.sqrt(2 * np.pi) * (theta[1] - theta[0])

    def capability(slope: float, severity: float) -> float:
        rate = 1 / (1 + np.exp(severity - slope * theta))
        return float(np.sqrt(2 * np.pi) * np.sum(slope * rate * (1 - rate) * weight))

    origin = np.mean([severity for _, severity in replacement.PEOPLE.values()])
    people = np.mean([capability(a, b - origin) for a, b in replacement.PEOPLE.values()])
    judge = capability(replacement.judge_slope(short), replacement.SEVERITY - origin)
    assert judge == pytest.approx(people - short, abs=1e-6)


@pytest.mark.nightly
def test_two_people_and_the_judge_per_answer():
    ratings = replacement.draw_verdicts(0.0, 100, [1])
    assert isinstance(ratings, rl.Ratings)
    assert ratings.n_ratings == 100 * 3 * 2
