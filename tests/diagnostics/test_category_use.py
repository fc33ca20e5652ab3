"""How raters use the scale, in words, and what that costs: planted raters, and a formula by hand."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import special

import raterlens as rl
from raterlens.capability.curves import AdjacentCurve
from raterlens.capability.population import Normal
from raterlens.diagnostics.findings import rater_findings
from raterlens.diagnostics.wording import explanation

MOVED = {
    "plain": [0.0, 0.0, 0.0],
    "central": [-1.5, 0.0, 1.5],
    "ends": [1.2, 0.0, -1.2],
    "usual": [0.0, 0.0, 0.0],
    "avoids": [0.8, -1.6, 0.8],
}


@pytest.fixture(scope="module")
def fit() -> rl.Fit:
    random, rows = np.random.default_rng(5), []
    for student, ability in enumerate(random.standard_normal(300)):
        for name, moved in MOVED.items():
            for item in range(2):
                steps = np.cumsum(1.5 * ability - np.array([-1.0, 0.0, 1.0]) - moved)
                chance = special.softmax(np.concatenate([[0.0], steps]))
                rows.append((student, name, f"i{item}", int(random.choice(4, p=chance))))
    table = pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")
    return rl.fit(rl.read(table), model="gmf", scale="rater", assumptions="ignore")


def test_planted_uses_of_the_scale_are_named(fit: rl.Fit) -> None:
    found = {it.rater: it.category_use for it in rater_findings(fit)}
    assert found == {
        "plain": "",
        "central": "keeps to the middle",
        "ends": "uses the ends",
        "usual": "",
        "avoids": "avoids 1",
    }


def test_thresholds_of_raters_that_do_not_vary_are_used_alike(fit: rl.Fit) -> None:
    known = fit.calibration
    assert known is not None
    alike = known.effects | {"rater threshold": np.zeros_like(known.effects["rater threshold"])}
    found = rater_findings(replace(fit, calibration=replace(known, effects=alike)))
    assert {it.category_use for it in found} == {""}


def test_the_cost_is_what_the_panels_thresholds_would_gain(fit: rl.Fit) -> None:
    known, students = fit.calibration, Normal()
    assert known is not None
    severity = known.effects["severity"] - known.effects["severity"].mean()
    shared = AdjacentCurve(known.effects["threshold"])
    for r, it in enumerate(rater_findings(fit)):
        a, eta = known.effects["slope"][[r]], severity[[r]]
        own = AdjacentCurve(known.effects["threshold"] + known.effects["rater threshold"][r])
        gain = students.rate(shared, a, eta) - students.rate(own, a, eta)
        lost = it.lost_to_categories
        assert lost is not None
        assert lost.value == pytest.approx(
            float(gain[0] / students.best(shared, np.array([fit.sigma]))[0]), abs=1e-6
        )
        assert lost.low < lost.value < lost.high


def test_words_and_columns(fit: rl.Fit) -> None:
    said = {it.rater: explanation(it) for it in rater_findings(fit)}
    assert said["central"].endswith("of capability.")
    assert "Keeps to the middle of the scale, which costs 0." in said["central"]
    assert "Avoids 1." in said["avoids"] or "Avoids 1, which" in said["avoids"]
    assert "scale" not in said["plain"]
    assert {"category_use", "lost_to_categories_low"} <= set(fit.advice().columns)
    alike = rl.fit(fit.ratings, model="gmf", scale="rating scale", assumptions="ignore")
    assert "category_use" not in alike.advice().columns
