"""Numbers that a run prints, recomputed from the files that it writes and from the data, by nothing of the package."""

import json
import re
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from scipy import special

from raterlens.simulation.example import example_path, example_table
from tests.support.command_line import run as command

ITEMS = ["specificity", "coherence", "structure", "grammar", "content"]
THETA = np.linspace(-8, 8, 4001)
WEIGHT = np.exp(-(THETA**2) / 2) / np.exp(-(THETA**2) / 2).sum()
PASSED = 0.5


class Run(NamedTuple):
    said: str
    fit: dict[str, Any]
    raters: pl.DataFrame
    items: pl.DataFrame
    decisions: pl.DataFrame

    def number(self, pattern: str) -> list[float]:
        """The numbers of the one place that the pattern describes."""
        (found,) = re.findall(pattern.replace("#", r"(\d+(?:\.\d+)?)"), self.said)
        return [float(one) for one in ([found] if isinstance(found, str) else found)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("written")
    options = ["--rater", "rater,topic", "--items", ",".join(ITEMS), "--decide", str(PASSED)]
    done = command("fit", example_path(), *options, "--out", out, COLUMNS="400")
    assert done.returncode == 0, done.stderr
    tables = (pl.read_csv(out / f"{name}.csv") for name in ("raters", "items", "decisions"))
    return Run(done.stdout.decode(), json.loads((out / "fit.json").read_text()), *tables)


def test_results_that_would_change_lie_on_two_sides_of_the_pass_mark(run: Run) -> None:
    """A fair result passes where its nearest whole number of passes does."""
    n, raw, fair = (run.decisions[name].to_numpy() for name in ("n", "raw", "fair"))
    needed = np.ceil(PASSED * n)
    changed = (np.round(raw * n) >= needed) != (fair * n >= needed - 0.5)
    assert run.number("# of # students would pass or fail differently") == [changed.sum(), len(n)]
    assert run.number("Adjusting for the raters changes the grade of # students") == [changed.sum()]
    total = (
        example_table().group_by("student").agg(score=pl.sum_horizontal(pl.col(ITEMS).sum()), essays=pl.len())
    )
    given = run.decisions.join(total, on="student")
    np.testing.assert_allclose(given["raw"], given["score"] / (5 * given["essays"]))


def test_decisions_are_as_safe_and_as_right_as_their_probabilities_say(run: Run) -> None:
    p_pass = run.decisions["p_pass"].to_numpy()
    likelier = np.maximum(p_pass, 1 - p_pass)
    raw = np.where(run.decisions["raw"].to_numpy() >= PASSED, p_pass, 1 - p_pass)
    assert run.number("Of # decisions, # are safe") == [len(p_pass), (likelier >= 0.9).sum()]
    shares = [round(100 * likelier.mean()), round(100 * raw.mean())]
    assert run.number(r"# % of the most probable grades are expected to be right \(raw: # %\)") == shares


def test_agreement_is_that_of_every_two_ratings_of_the_same_work(run: Run) -> None:
    """Raters on topics are raters of their own: every two of an essay's criterion, one student at a time."""
    long = example_table().with_columns(who=pl.format("{}:{}", "rater", "topic"))
    long = long.unpivot(ITEMS, index=["student", "who"], value_name="score")
    pairs = long.join(long, on=["student", "variable"]).filter(pl.col("who") < pl.col("who_right"))
    same = 100 * (pairs["score"] == pairs["score_right"]).mean()  # type: ignore[operator]
    assert run.number("Two raters agreed on # %") == [round(same)]


def test_an_average_student_passes_as_often_as_the_rater_s_curve_says(run: Run) -> None:
    eta, delta = run.raters["eta"].to_numpy(), run.items["delta"].to_numpy()
    passes = special.expit(run.fit["alpha"] - eta[:, None] - delta).mean(axis=1)
    most, least = run.raters["rater"][int(passes.argmax())], run.raters["rater"][int(passes.argmin())]
    found = run.number(f"An average student passes # % of the time with {most}, but # % with {least}")
    assert found == [round(100 * passes.max()), round(100 * passes.min())]


def test_capability_and_standard_are_averages_over_students(run: Run) -> None:
    """kappa: how fast the curve rises for the students there are, beside the sharpest rater at severity 0; standard:
    who passes of the students of whom the average rater passes half."""
    slope, eta = run.raters["rho"].to_numpy() * run.fit["sigma"], run.raters["eta"].to_numpy()
    chance = special.expit(np.multiply.outer(slope, THETA) - eta[:, None])
    best = special.expit(run.fit["sigma"] * THETA)
    kappa = slope * (chance * (1 - chance) @ WEIGHT) / (run.fit["sigma"] * (best * (1 - best) @ WEIGHT))
    np.testing.assert_allclose(run.raters["kappa"], kappa, atol=1e-9)
    np.testing.assert_allclose(run.raters["passes"], chance @ WEIGHT, atol=1e-9)


def test_reliability_is_the_share_of_variance_that_comes_from_ability(run: Run) -> None:
    slope, eta = run.raters["rho"].to_numpy() * run.fit["sigma"], run.raters["eta"].to_numpy()
    at = (
        np.multiply.outer(slope, THETA)[:, None] - eta[:, None, None] - run.items["delta"].to_numpy()[:, None]
    )
    chance = special.expit(at + run.fit["alpha"])  # (raters, items, abilities)
    own = chance.mean(axis=1)
    mean = own.mean(axis=0)
    true = WEIGHT @ (mean - WEIGHT @ mean) ** 2
    luck = (chance * (1 - chance)).mean(axis=(0, 1)) @ WEIGHT / len(ITEMS)
    reliability = true / (true + (own.var(axis=0) @ WEIGHT + luck) / 4)
    (found,) = run.number("a mean score from 4 raters has a reliability of #;")
    assert found == pytest.approx(reliability, abs=0.0051)


def test_raters_who_need_attention_are_those_beyond_a_limit(run: Run) -> None:
    """Clearly more than 20 of 100 students off, or clearly less sharp than 0.5."""
    low, high, sharp = (
        run.raters[name].to_numpy() for name in ("passes_low", "passes_high", "sharpness_high")
    )
    needing = (low > 0.7) | (high < 0.3) | (sharp < 0.5)
    severe_or_lenient = ((low > 0.65) | (high < 0.35)) & ~needing
    assert run.number("# of # raters need attention") == [needing.sum(), len(low)]
    assert run.number("# are severe or lenient") == [severe_or_lenient.sum()]


def test_information_criteria_count_parameters_and_students(run: Run) -> None:
    fit = run.fit
    aic = 2 * fit["n_parameters"] - 2 * fit["loglik"]
    bic = np.log(fit["n_students"]) * fit["n_parameters"] - 2 * fit["loglik"]
    assert run.number("AIC #, BIC #") == [round(aic, 1), round(bic, 1)]
