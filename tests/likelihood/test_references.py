"""Log-likelihoods of public data by an independent program, a likelihood of plain sums and a general optimiser.

The data are not part of this project: they are read where they lie beside it.
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import optimize, special

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.estimation.methods import estimate
from raterlens.estimation.optimiser import Space, maximise
from raterlens.inference.covariance import in_full
from raterlens.likelihood.density import Cells, Essays
from raterlens.likelihood.marginal import bound, marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import Pseudo, pseudo_ratings
from raterlens.likelihood.readings import Readings
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from raterlens.models.term import Term
from tests.support.facets_models import assert_gradient, make, ratings_of, setting, somewhere
from tests.support.pairs import NoAbility, Order, Tie, as_pairs

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


# ----------------------------------------------------------------------------------------------------
# Bradley-Terry models and ties as lists of terms, against independent programs.


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
PAIRS_CLOSE = 1e-4


def pairs_of(file: str) -> tuple[rl.Ratings, list[str], list[tuple[int, int]]]:
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
def test_the_maximum_is_that_of_an_independent_program_in_pairs(name):
    file, more, loglik, expected = CASES[name]
    if not (DATA / f"pairs-{file}.csv").exists():
        pytest.skip(f"pairs-{file}.csv is not part of this project")
    ratings, objects, pairs = pairs_of(file)
    k = ratings.n_categories
    plain, response = build(ratings, Options(MODELS["tfm"], get_link("logit")), k)
    model = as_pairs(plain, pairs, NoAbility(), *more)
    held = np.arange(model.blocks.size) == model.blocks["severity"].start  # whom nobody is compared with
    problem = marginal(ratings, model, response, Pseudo(np.zeros((len(model.contexts), k))))
    bounds = np.where(held, 0.0, -9.0), np.where(held, 0.0, 9.0)
    nodes, space = Nodes.equally_spaced(-6.0, 6.0, 0.5), Space(np.full(len(held), 50.0), bounds)
    top = maximise(lambda x: problem.value(x, nodes), np.zeros(len(held)), space, stage="pairs")
    assert top.value.loglik == pytest.approx(loglik, abs=PAIRS_CLOSE)
    found: dict[str, Any] = {term.name: top.parameters[model.blocks[term.name]][0] for term in more}
    worth = (k - 1) * top.parameters[model.blocks["worth"]]  # a tie is half of a win
    found["worth"] = dict(zip(objects, worth - worth[objects.index(LAST[file])], strict=True))
    if "order" in model:
        information = in_full(problem.information(top.parameters, nodes))[np.ix_(~held, ~held)]
        found["error of order"] = np.sqrt(np.linalg.pinv(information)[-1, -1])
    assert {each: found[each] for each in expected} == {
        each: pytest.approx(value, abs=PAIRS_CLOSE) for each, value in expected.items()
    }


# ----------------------------------------------------------------------------------------------------
# Thresholds per rater against a rater-specific partial credit model in a few lines of its own, and against R's
# TAM.


@pytest.mark.parametrize("model", ["gmf", "tfm"])
def test_free_thresholds_are_a_partial_credit_model_of_raters(model: str) -> None:
    drawn = rl.simulate(
        students=150,
        raters=4,
        items=1,
        thresholds=[-1.0, 0.0, 1.0],
        threshold_spread=0.6,
        model=model,
        seed=2,
    ).ratings
    n, score = drawn.n_raters, np.zeros((drawn.n_students, drawn.n_raters), dtype=int)
    score[drawn.student, drawn.rater] = drawn.score
    t, weight = np.polynomial.hermite_e.hermegauss(61)

    def steps(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.broadcast_to(x[: -3 * n], n), x[-3 * n :].reshape(n, 3)

    def minus_loglik(x: np.ndarray) -> float:
        slope, threshold = steps(x)
        rises = slope[:, None, None] * t[:, None] - threshold[:, None]  # (raters, nodes, steps)
        log = np.concatenate([np.zeros((n, len(t), 1)), np.cumsum(rises, axis=2)], axis=2)
        log -= special.logsumexp(log, axis=2, keepdims=True)
        each = sum(log[r][:, score[:, r]] for r in range(n))  # (nodes, students)
        return -float(special.logsumexp(each + np.log(weight / weight.sum())[:, None], axis=0).sum())

    start = np.concatenate([np.ones(n if model == "gmf" else 1), np.tile([-1.0, 0.0, 1.0], n)])
    best = optimize.minimize(minus_loglik, start, method="BFGS", options={"gtol": 1e-4})
    fit = rl.fit(drawn, model, scale="rater free", halo="none", ability="normal", assumptions="ignore")
    assert fit.loglik == pytest.approx(-best.fun, abs=1e-3)
    slope, threshold = steps(best.x)
    effects = fit.calibration.effects
    np.testing.assert_allclose(effects["slope"], slope, atol=2e-3)
    np.testing.assert_allclose(effects["severity"] + effects["difficulty"], threshold.mean(axis=1), atol=2e-3)
    own = effects["threshold"] + effects["rater threshold"]
    np.testing.assert_allclose(own, threshold - threshold.mean(axis=1, keepdims=True), atol=5e-3)


RATERS, ITEMS = ["A", "B", "C", "D"], ["x", "y", "z"]


def complete(seed: int = 45) -> pl.DataFrame:
    """200 students, whose three items four raters score from 0 to 3, each in its own way."""
    random = np.random.default_rng(seed)
    severity, difficulty = np.array([0.8, -0.2, 0.1, -0.7]), np.array([0.2, -0.5, 0.3])
    own = 0.5 * random.standard_normal((4, 3))
    threshold = np.array([-1.0, 0.0, 1.0]) + own - own.mean(axis=1, keepdims=True)
    student, rater, item = (code.ravel() for code in np.indices((200, 4, 3)))
    level = 1.2 * random.standard_normal(200)[student] - severity[rater] - difficulty[item]
    log = np.cumsum(level[:, None] - threshold[rater], axis=1)
    chance = special.softmax(np.concatenate([np.zeros((len(log), 1)), log], axis=1), axis=1)
    score = np.sum(random.random((len(log), 1)) > np.cumsum(chance, axis=1)[:, :-1], axis=1)
    labels = {"student": student, "rater": np.array(RATERS)[rater], "item": np.array(ITEMS)[item]}
    return pl.DataFrame(labels | {"score": score})


# R 4.2.2, TAM 4.4-2; `python -m benchmarks.truth.r_agreement thresholds` runs the same on ratings of its own:
#   d <- read.csv("complete.csv")  # complete().write_csv("complete.csv")
#   control <- list(nodes = seq(-8, 8, len = 161), conv = 1e-9, convD = 1e-9, convM = 1e-9, maxiter = 5000, Msteps = 20)
#   wide <- reshape(d, direction = "wide", idvar = c("student", "rater"), timevar = "item", v.names = "score")
#   m <- tam.mml.mfr(wide[, 3:5], facets = data.frame(rater = as.integer(factor(wide$rater))), pid = wide$student,
#                    formulaA = ~ item + rater * step, control = control, verbose = FALSE)
#   logLik(m); sqrt(m$variance); m$xsi.facets
TAM_LOGLIK, TAM_SLOPE = -2668.61354764, np.sqrt(1.475020801)
TAM_SEVERITY = [0.78106747, -0.20572842, 0.17106878, -0.74640784]
TAM_DIFFICULTY = [0.25272939, -0.40464819, 0.45981011]
TAM_STEP = np.array([-0.82187317, -0.02307596, 0.84494913])
TAM_OWN_STEP = np.array(
    [
        [-0.17999056, -0.18022336, 0.36021392],
        [0.18852750, -0.34698634, 0.15845884],
        [0.00473836, 0.40220604, -0.40694440],
        [-0.01327530, 0.12500366, -0.11172837],
    ]
)
#   one <- reshape(d[d$item == "x", -3], direction = "wide", idvar = "student", timevar = "rater")
#   m <- tam.mml.2pl(one[, -1], irtmodel = "GPCM", control = control); logLik(m); m$B[, 2, 1]; m$xsi
TAM_ONE_ITEM = -961.909232425
TAM_SLOPES = [1.13516654, 0.89212584, 1.41533957, 1.31125787]
TAM_STEPS = [
    [0.15059544, 0.76386105, 2.17860079],
    [-0.38153646, -0.56815618, 0.99564607],
    [-0.37767102, 0.83041673, 1.22285613],
    [-1.57708417, -0.63550284, 0.37815386],
]
# Both searches end within 1e-5 of the maximum.
SAME = 1e-4


def test_thresholds_of_raters_are_those_of_tam() -> None:
    fit = rl.fit(rl.read(complete()), "tfm", scale="rater free", ability="normal", assumptions="ignore")
    known = fit.calibration.effects
    assert fit.loglik == pytest.approx(TAM_LOGLIK, abs=SAME)
    assert fit.sigma == pytest.approx(TAM_SLOPE, abs=SAME)
    np.testing.assert_allclose(known["severity"] - known["severity"].mean(), TAM_SEVERITY, atol=SAME)
    np.testing.assert_allclose(known["difficulty"], TAM_DIFFICULTY - np.mean(TAM_DIFFICULTY), atol=SAME)
    np.testing.assert_allclose(
        known["threshold"] + known["rater threshold"], TAM_STEP + TAM_OWN_STEP, atol=SAME
    )


def test_raters_with_slopes_and_thresholds_are_a_generalized_partial_credit_model_of_tam() -> None:
    one = rl.read(complete().filter(pl.col("item") == "x"))
    fit = rl.fit(one, "gmf", scale="rater free", prior="none", ability="normal", assumptions="ignore")
    known = fit.calibration.effects
    assert fit.loglik == pytest.approx(TAM_ONE_ITEM, abs=SAME)
    np.testing.assert_allclose(known["slope"], TAM_SLOPES, atol=SAME)
    steps = known["threshold"] + known["rater threshold"] + known["severity"][:, None]
    np.testing.assert_allclose(steps, TAM_STEPS, atol=SAME)


# ----------------------------------------------------------------------------------------------------
# Which form the likelihood takes, and that forms agree.


@pytest.mark.parametrize(
    ("link", "halo", "form"),
    [("logit", "none", Essays), ("probit", "none", Cells), ("probit", "common", Readings)],
)
def test_the_cheapest_form_that_will_do(small, link, halo, form):
    model, response = build(small, Options(MODELS["gmf"], get_link(link), halo=halo))
    problem = marginal(small, model, response, Pseudo(np.zeros((len(model.contexts), 2))))
    assert type(problem.density) is form
    assert problem.n_students == small.n_students


def test_compiled_tables_give_the_same_likelihood(small, monkeypatch):
    model, response, pseudo, _, x = setting(small, "logit")
    nodes = Nodes.equally_spaced(-6, 6, 0.25)
    readable = marginal(small, model, response, pseudo).value(x, nodes)
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", 0)
    problem = marginal(small, model, response, pseudo)
    compiled = problem.value(x, nodes)
    assert compiled.loglik == pytest.approx(readable.loglik, rel=1e-13)
    np.testing.assert_allclose(compiled.gradient, readable.gradient, rtol=1e-9, atol=1e-9)
    assert_gradient(lambda p: problem.value(p, nodes), x)


def test_essays_and_cells_give_the_same_likelihood(small):
    model, response, pseudo, _, x = setting(small, "logit")
    nodes = Nodes.equally_spaced(-6, 6, 0.25)
    essays = marginal(small, model, response, pseudo).value(x, nodes)
    cells = bound(small, model, Cells(response, model), pseudo).value(x, nodes)
    assert essays.loglik == pytest.approx(cells.loglik, rel=1e-13)
    np.testing.assert_allclose(essays.gradient, cells.gradient, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["gmf", "rating scale"])
def test_essays_of_many_kinds_are_taken_apart(small, kind, monkeypatch):
    """Where a table of whole essays would be too large, single ratings give the same."""
    ratings = ratings_of(small, kind)
    model, response = make(small, kind)
    problem = marginal(ratings, model, response, pseudo_ratings(model, response.n_categories))
    x, nodes = somewhere(model), Nodes.equally_spaced(-6, 6, 0.2)
    by_essays, scores = in_full(problem.information(x, nodes)), problem.student_scores(x, nodes).toarray()
    monkeypatch.setattr("raterlens.likelihood.density.LARGEST_SCORES", 1)
    by_ratings = in_full(problem.information(x, nodes))
    np.testing.assert_allclose(by_ratings, by_essays, atol=1e-7 * np.abs(by_essays).max())
    np.testing.assert_allclose(problem.student_scores(x, nodes).toarray(), scores, atol=1e-9)
