"""Bradley-Terry models and ties as lists of terms, against independent programs."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.estimation.optimiser import Space, maximise
from raterlens.inference.covariance import in_full
from raterlens.likelihood.forms import marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import Pseudo
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from raterlens.models.term import Term
from tests.support.pairs import NoAbility, Order, Tie, as_pairs

DATA = Path(__file__).parents[3] / "shared" / "data"
# Worths against the last one, as an independent program finds them: they lie with the data.
PARTIES = {"none": -0.3756, "Linke": -0.6161, "Gruene": 1.1858, "SPD": 0.8131, "CDU/CSU": 0.1756, "FDP": 0.0}
SCHOOLS = {
    "Barcelona": 0.6129,
    "London": 1.8228,
    "Milano": 0.4420,
    "Paris": 1.0325,
    "StGallen": 0.5983,
    "Stockholm": 0.0,
}
LAST = {"germanparties2009": "FDP", "cemschoice": "Stockholm"}
CASES: dict[str, tuple[str, tuple[Term, ...], float, dict[str, Any]]] = {
    "parties": ("germanparties2009", (), -1716.8073, {"worth": PARTIES}),
    "parties, order": (
        "germanparties2009",
        (Order(),),
        -1716.6638,
        {"order": -0.0221, "error of order": 0.0412},
    ),
    "schools, ties": ("cemschoice", (Tie(),), -3964.3781, {"worth": SCHOOLS, "tie": -1.3172}),
}
# The digits that are given.
CLOSE = 1e-4


def ratings_of(file: str) -> tuple[rl.Ratings, list[str], list[tuple[int, int]]]:
    """Choices, the objects, and the pairs of these that are items."""
    judge, *shown, wins = pl.read_csv(DATA / f"pairs-{file}.csv").get_columns()
    objects = sorted(set().union(*shown))
    chosen = [(objects.index(a), objects.index(b)) for a, b in zip(*shown, strict=True)]
    pairs = sorted(set(chosen))
    ratings = rl.Ratings(
        judge.rank("dense").cast(pl.Int32).to_numpy() - 1,
        np.zeros(len(wins), np.int32),
        np.array([pairs.index(pair) for pair in chosen], np.int32),
        np.rint((wins.n_unique() - 1) * wins.to_numpy()).astype(np.int16),
        judge.unique().sort().rename("student"),
        pl.Series("rater", ["all"]),
        pl.Series("item", [f"{objects[a]} - {objects[b]}" for a, b in pairs]),
    )
    return ratings, objects, pairs


@pytest.mark.parametrize("name", CASES)
def test_the_maximum_is_that_of_an_independent_program(name):
    file, more, loglik, expected = CASES[name]
    if not (DATA / f"pairs-{file}.csv").exists():
        pytest.skip(f"pairs-{file}.csv is not part of this project")
    ratings, objects, pairs = ratings_of(file)
    k = ratings.n_categories
    plain, response = build(ratings, Options(MODELS["tfm"], get_link("logit")), k)
    model = as_pairs(plain, pairs, NoAbility(), *more)
    held = np.arange(model.blocks.size) == model.blocks["severity"].start  # whom nobody is compared with
    problem = marginal(ratings, model, response, Pseudo(np.zeros((len(model.contexts), k))))
    bounds = np.where(held, 0.0, -9.0), np.where(held, 0.0, 9.0)
    nodes, space = Nodes.equally_spaced(-6.0, 6.0, 0.5), Space(np.full(len(held), 50.0), bounds)
    top = maximise(lambda x: problem.value(x, nodes), np.zeros(len(held)), space, stage="pairs")
    assert top.value.loglik == pytest.approx(loglik, abs=CLOSE)
    found: dict[str, Any] = {term.name: top.parameters[model.blocks[term.name]][0] for term in more}
    worth = (k - 1) * top.parameters[model.blocks["worth"]]  # a tie is half of a win
    found["worth"] = dict(zip(objects, worth - worth[objects.index(LAST[file])], strict=True))
    if "order" in model:
        information = in_full(problem.information(top.parameters, nodes))[np.ix_(~held, ~held)]
        found["error of order"] = np.sqrt(np.linalg.pinv(information)[-1, -1])
    assert {each: found[each] for each in expected} == {
        each: pytest.approx(value, abs=CLOSE) for each, value in expected.items()
    }
