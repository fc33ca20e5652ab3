"""Log-likelihoods of public data by an independent program, a likelihood of plain sums and a general optimiser.

The data are not part of this project: they are read where they lie beside it.
"""

from pathlib import Path

import polars as pl
import pytest

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.estimation.methods import estimate
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options

DATA = Path(__file__).parents[3] / "shared" / "data"
WRITING = {"student": "pid", "rater": ["rater", "topic"], "items": ["spe", "coh", "str", "gra", "con"]}
ESSAYS = {"student": "student", "rater": "rater", "items": ["a1", "a2", "a3", "a4"], "cut": 2}
PTAM4 = {"student": "idstud", "rater": "rater", "items": ["crit2", "crit3", "crit4"]}
# The digits that are given.
CLOSE = 2e-4

REFERENCES = [
    ("writing.csv", WRITING | {"cut": 3}, {"model": "gmf"}, -3297.7409),
    ("writing.csv", WRITING | {"cut": 3}, {"model": "tfm"}, -3310.3655),
    ("writing.csv", WRITING | {"cut": 3}, {"model": "probit"}, -3294.4524),
    ("writing.csv", WRITING | {"cut": 3}, {"item_slopes": True}, -3291.0339),
    ("writing.csv", WRITING | {"cut": 3}, {"halo": "rater"}, -3295.5962),
    ("writing.csv", WRITING | {"cut": 3}, {"ability": "smooth"}, -3295.1243),
    ("writing.csv", WRITING, {"scale": "rating scale"}, -6297.3134),
    ("writing.csv", WRITING, {"scale": "partial credit"}, -6233.1324),
    ("writing.csv", WRITING, {"scale": "graded"}, -6372.9371),
    ("ptam4.csv", PTAM4, {"scale": "rating scale"}, -1708.1802),
    ("ptam4.csv", PTAM4, {"scale": "rating scale", "halo": "common"}, -1691.5308),
    ("ptam4.csv", PTAM4, {"scale": "rater free"}, -1653.0027),
    ("essays.csv", ESSAYS, {}, -14016.2107),
    ("essays.csv", ESSAYS, {"halo": "common"}, -14016.0443),
    ("essays.csv", ESSAYS, {"halo": "rater"}, -13985.8232),
]


@pytest.mark.parametrize(
    ("name", "read", "options", "expected"),
    REFERENCES,
    ids=[f"{name.removesuffix('.csv')} {options}" for name, _, options, _ in REFERENCES],
)
def test_the_maximum_is_that_of_an_independent_program(name, read, options, expected):
    if not (DATA / name).exists():
        pytest.skip(f"{name} is not part of this project")
    fixed = {"halo": "none", "ability": "normal", "prior": None, "standard_errors": False}
    found = rl.fit(rl.read(DATA / name, **read), **({"model": "gmf"} | (fixed | options)))
    assert found.converged
    assert found.loglik == pytest.approx(expected, abs=CLOSE)


def test_two_classes_whose_judges_may_be_reversed():
    """The maximum lies where some judges say the opposite of the truth."""
    if not (DATA / "ducks.csv").exists():
        pytest.skip("ducks.csv is not part of this project")
    ratings = rl.read(DATA / "ducks.csv", student="picture", rater="worker", score="says_duck")
    found = rl.fit(ratings, model="dawid-skene", allow_reversed=True, standard_errors=False)
    assert found.loglik == pytest.approx(-1888.1168, abs=CLOSE)


def test_true_categories_of_essays_that_a_rater_read_once():
    """The first of repeated rows is taken; sirt's rm.sdt stops at -2636.85."""
    if not (DATA / "writing.csv").exists():
        pytest.skip("writing.csv is not part of this project")
    table = pl.read_csv(DATA / "writing.csv")
    once = table.unique(["pid", "rater", "topic"], keep="first", maintain_order=True)
    found = rl.fit(rl.read(once, **WRITING, cut=3), model="hrm", standard_errors=False)
    assert found.loglik == pytest.approx(-2627.1339, abs=CLOSE)


def test_graded_scores_with_free_thresholds_per_rater():
    if not (DATA / "ptam4.csv").exists():
        pytest.skip("ptam4.csv is not part of this project")
    ratings, link = rl.read(DATA / "ptam4.csv", **PTAM4), get_link("logit")
    options = Options(MODELS["gmf"], link, "graded", rater_thresholds="free")
    model, response = build(ratings, options, ratings.n_categories)
    found = estimate(ratings, model, response, link, "mml")
    assert found.loglik == pytest.approx(-1650.2920, abs=CLOSE)
