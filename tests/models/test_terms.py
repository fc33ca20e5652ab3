"""Terms: designs, bounds, tables, and directions that change no probability."""

import ast
import io
import re
from dataclasses import replace
from pathlib import Path
from tokenize import COMMENT, DEDENT, ENDMARKER, INDENT, NEWLINE, NL, generate_tokens
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from raterlens import read, simulate
from raterlens.capability.links import get_link
from raterlens.inference.covariance import in_full
from raterlens.likelihood.marginal import marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import pseudo_ratings
from raterlens.models.build import build
from raterlens.models.facets import centre, placed, redundancy
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from raterlens.models.term import Contexts, Effect
from raterlens.models.terms.rater_interactions import interacting_facets
from raterlens.models.terms.shared_bias import BIAS, SharedBias
from raterlens.models.terms.thresholds import Thresholds, highest_scores
from raterlens.ratings.coded import Facet
from tests.support.check_term import check_term
from tests.support.facets_models import (
    INTERACTING,
    KINDS,
    SHIFTED,
    by_differences,
    flat,
    make,
    ordered,
    somewhere,
    with_facet,
)

# -- every term ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*KINDS, *SHIFTED, *INTERACTING])
def test_a_table_by_level_gives_the_parameters_back(small, kind):
    model, _ = make(small, kind)
    x = somewhere(model)
    sizes = {"rater": model.n_raters, "item": model.n_items}
    sizes |= {f"facet {name}": size for name, size in model.contexts.facet_sizes.items()}
    for term in model.terms:
        own = x[model.blocks[term.name]]
        table = term.table(own)
        assert table.shape[: len(term.levels)] == tuple(sizes[facet] for facet in term.levels)
        np.testing.assert_allclose(term.parameters(table), own, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_redundant_directions_change_nothing_and_all_are_known(small, kind):
    model, _ = make(small, kind)
    x = somewhere(model)
    jacobian, known = model.jacobian(x).toarray(), redundancy(model, x)
    np.testing.assert_allclose(jacobian @ known.directions.T, 0, atol=1e-12)
    assert np.linalg.matrix_rank(jacobian) == model.blocks.size - len(known)


@pytest.mark.parametrize("kind", KINDS)
def test_centring_keeps_the_model_and_meets_its_constraints(small, kind):
    model, _ = make(small, kind)
    x = somewhere(model)
    centred = centre(model, x)
    np.testing.assert_allclose(flat(model.predictor(centred)), flat(model.predictor(x)), atol=1e-11)
    np.testing.assert_allclose(redundancy(model, centred).constraints @ centred, 0, atol=1e-11)


def test_items_that_no_rater_connects_are_centred_apart():
    frame = pl.DataFrame(
        {
            "student": list("aabbccdd"),
            "rater": list("xxxxyyyy"),
            "item": list("ijijklkl"),
            "score": [0, 1, 1, 0, 1, 1, 0, 0],
        }
    )
    model, _ = build(read(frame), Options(MODELS["gmf"], get_link("logit")))
    centred = centre(model, somewhere(model))
    difficulty = centred[model.blocks["difficulty"]]
    np.testing.assert_allclose([difficulty[:2].sum(), difficulty[2:].sum()], 0, atol=1e-12)


def test_a_matrix_is_placed_in_columns_of_a_wider_one():
    own = np.array([[1.0, 2.0], [0.0, 3.0]])
    found = placed(sparse.csr_array(own), slice(1, 3), 4).toarray()
    np.testing.assert_array_equal(found, np.pad(own, [(0, 0), (1, 1)]))


# -- each by the harness that new terms use -------------------------------------------------------------------------

TERMS = {
    "slope": {},
    "severity": {},
    "difficulty": {"model": "probit"},
    "facet topic": {"facet": True},
    "item_slope": {"item_slopes": True},
    "threshold": {"ordered": True, "scale": "partial credit"},
    "interaction item": {"interactions": ("item",)},
    "rater threshold": {"ordered": True, "rater_thresholds": "drawn"},
    "halo": {"halo": "rater"},
    "ability": {"smooth": True},
    "group": {"groups": True},
}


@pytest.mark.parametrize("name", TERMS)
def test_a_term_holds_what_every_term_has_to(tiny, name):
    options = dict(TERMS[name])
    ratings = ordered(tiny) if options.pop("ordered", False) else tiny
    ratings = with_facet(ratings) if options.pop("facet", False) else ratings
    ratings = with_groups(ratings) if "groups" in options else ratings
    spec = MODELS[options.pop("model", "gmf")]
    model, response = build(ratings, Options(spec, get_link(spec.links[0]), **options))
    check_term(name, model, response, ratings)


def test_free_thresholds_of_raters_are_told_apart(tiny):
    ratings = ordered(tiny)
    options = Options(MODELS["tfm"], get_link("logit"), rater_thresholds="free")
    model, response = build(ratings, options)
    check_term("rater threshold", model, response, ratings)


@pytest.fixture(scope="module")
def tiny():
    return simulate(students=14, raters=4, items=3, raters_per_student=3, seed=4).ratings


def with_groups(ratings):
    codes = (ratings.student % 3).astype(np.int32)
    return replace(ratings, group=Facet("school", codes, pl.Series(["a", "b", "c"])))


# -- numbers of raters ---------------------------------------------------------------------------------------------

COVARIATES = np.column_stack([np.ones(6), np.linspace(-1, 2, 6)])
EFFECTS: dict[str, Any] = {
    "own": Effect.each(6),
    "common": Effect.common(6),
    "explained": Effect(sparse.csr_array(COVARIATES)),
    "log": Effect(sparse.csr_array(COVARIATES), by_logarithm=True),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_derivatives_of_effects_agree_with_differences(name):
    effect, step = EFFECTS[name], 1e-6
    x = np.random.default_rng(0).normal(size=effect.size)
    units = step * np.eye(effect.size)
    slope = np.column_stack([(effect(x + h) - effect(x - h)) / (2 * step) for h in units])
    np.testing.assert_allclose(effect.jacobian(x).toarray(), slope, atol=1e-8)


@pytest.mark.parametrize("name", EFFECTS)
def test_inverting_gives_the_parameters_back(name):
    effect = EFFECTS[name]
    x = np.random.default_rng(1).normal(size=effect.size)
    np.testing.assert_allclose(effect.invert(effect(x)), x, atol=1e-10)


@pytest.mark.parametrize("name", EFFECTS)
def test_scaling_moves_all_effects_alike(name):
    effect, step = EFFECTS[name], 1e-6
    x = np.abs(np.random.default_rng(2).normal(size=effect.size)) + 0.1
    change = (effect(x + step * effect.scaling(x)) - effect(x)) / step
    np.testing.assert_allclose(change / effect(x), 1, rtol=1e-4)


def test_biases_are_0_for_those_who_are_trusted(small) -> None:
    model, _ = build(small, Options(MODELS["tfm"], get_link("logit")))
    free = np.arange(small.n_raters) != 2
    shared = model.plus(SharedBias(Effect.of_some(free)))
    x = np.random.default_rng(1).normal(size=shared.blocks.size)
    names = ("slope", "severity", BIAS, "difficulty")
    effects = [shared.effect(name, x) for name in names]
    np.testing.assert_array_equal(effects[2][free], x[shared.blocks[BIAS]])
    np.testing.assert_array_equal(effects[3], x[shared.blocks["difficulty"]])
    assert effects[2][2] == 0.0
    np.testing.assert_allclose(shared.effect_jacobian(x, *names, "halo") @ x, np.concatenate(effects))
    np.testing.assert_array_equal(flat(shared.predictor(x)), flat(model.predictor(x[: model.blocks.size])))


# -- thresholds ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("graded", [True, False])
@pytest.mark.parametrize("per_item", [True, False])
def test_intercepts_fall_by_the_thresholds(small, graded, per_item):
    """adjacent: e_k = -(tau_1 + .. + tau_k); graded: e_k = -tau_k"""
    contexts = Contexts.of(ordered(small))
    scales = contexts.n_items if per_item else 1
    thresholds = Thresholds(3, graded, np.full(scales, 3), per_item)
    values = np.sort(np.random.default_rng(0).normal(size=(scales, 3)), axis=1)
    x = thresholds.parameters(values)
    np.testing.assert_allclose(thresholds.table(x), values)
    of_context = values[thresholds.scales(contexts)]
    expected = of_context if graded else np.cumsum(of_context, axis=1)
    steps = thresholds.designs(contexts)["steps"] @ x
    np.testing.assert_allclose(steps.reshape(len(contexts), 3), expected)


def test_graded_thresholds_are_kept_in_order():
    lower, _ = Thresholds(3, graded=True, highest=np.array([3, 2]), per_item=True).bounds(
        allow_reversed=False
    )
    np.testing.assert_array_equal(lower > 0, [False, True, True, False, True])


def test_an_item_has_as_many_thresholds_as_its_highest_score(small):
    contexts = Contexts.of(ordered(small))
    highest = 1 + np.arange(contexts.n_items) % 3
    thresholds = Thresholds(3, graded=False, highest=highest, per_item=True)
    assert thresholds.size == highest.sum()
    values = thresholds.table(np.arange(1.0, thresholds.size + 1))
    np.testing.assert_array_equal(np.isfinite(values).sum(axis=1), highest)
    np.testing.assert_array_equal((~thresholds.beyond(contexts)).sum(axis=1), highest[contexts.item])


def test_the_highest_score_that_anybody_gave_is_an_item_s_highest(small):
    scores = ordered(small)
    first, second = small.item == 0, small.item == 1
    capped = np.where(first, np.minimum(scores.score, 2), np.where(second, 0, scores.score))
    contexts = Contexts.of(replace(scores, score=capped.astype(np.int16)))
    # An item that only ever got 0 still has a step.
    assert highest_scores(contexts, 4)[:3].tolist() == [2, 1, 3]


# -- interactions --------------------------------------------------------------------------------------------------


def test_a_cell_for_every_rater_and_level_that_occur_together(small):
    model, _ = make(small, "gmf interactions")
    (term,) = model.drawn
    assert term.size == len({*zip(small.rater.tolist(), small.item.tolist(), strict=True)})
    cells = term.cells(model.contexts)
    np.testing.assert_array_equal(term.rater[cells], model.contexts.rater)
    np.testing.assert_array_equal(term.level[cells], model.contexts.item)


def test_interactions_add_to_severity_and_leave_the_slope(small):
    model, _ = make(small, "probit facet interactions")
    x = somewhere(model)
    without = np.where(model.of_drawn, 0.0, x)
    item, topic = (
        term.table(x[model.blocks[term.name]]) for term in sorted(model.drawn, key=lambda t: t.facet)
    )
    contexts = model.contexts
    added = item[contexts.rater, contexts.item] + topic[contexts.rater, contexts.facets[0]]
    found, plain = model.predictor(x), model.predictor(without)
    np.testing.assert_allclose(found.intercepts[:, 0], plain.intercepts[:, 0] - added, atol=1e-12)
    np.testing.assert_array_equal(found.slope, plain.slope)
    assert interacting_facets(model.blocks.sizes) == ("topic", "item")
    assert "interaction topic" in model.blocks


# -- the students of an anchored scale -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SHIFTED)
def test_information_of_a_shifted_model_agrees_with_differences(small, kind):
    ratings = ordered(small) if "partial credit" in kind else with_facet(small) if "probit" in kind else small
    model, response = make(small, kind)
    problem = marginal(ratings, model, response, pseudo_ratings(model, response.n_categories))
    x, nodes = somewhere(model), Nodes.equally_spaced(-6, 6, 0.2)
    expected = by_differences(problem, x, nodes)
    found = in_full(problem.information(x, nodes))
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


# -- the guide -----------------------------------------------------------------------------------------------------


def code_lines(path: Path) -> int:
    """Lines but for docstrings, comments and blanks."""
    text = path.read_text()
    beside = (COMMENT, NL, NEWLINE, INDENT, DEDENT, ENDMARKER)
    tokens = [each for each in generate_tokens(io.StringIO(text).readline) if each.type not in beside]
    found = {line for each in tokens for line in range(each.start[0], each.end[0] + 1)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            found -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(found)


def lines_naming(module: str, text: str) -> int:
    """Lines of a text on which a name stands that was imported from a module."""
    tree = ast.parse(text)
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == module)
    names = {each.asname or each.name for node in imports for each in node.names}
    used = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in names)
    return len({node.lineno for node in used})


def test_the_guide_lists_every_term_with_its_size_and_the_lines_that_name_it():
    root = Path(__file__).parents[2]
    package = root / "src/raterlens"
    guide = (root / "docs/development/guide.md").read_text()
    rows = re.findall(r"^\| [^|]+ \| `(\w+)\.py` \| (\d+) \| [^|]+ \| (\d+) \|$", guide, re.MULTILINE)
    terms = sorted(path for path in (package / "models/terms").glob("*.py") if path.stem != "__init__")
    texts = {path: path.read_text() for path in package.rglob("*.py")}
    assert [name for name, *_ in sorted(rows)] == [path.stem for path in terms]
    for path, (_, lines, elsewhere) in zip(terms, sorted(rows), strict=True):
        assert code_lines(path) == pytest.approx(int(lines), abs=5), path
        module = f"raterlens.models.terms.{path.stem}"
        others = [text for each, text in texts.items() if each != path and module in text]
        assert sum(lines_naming(module, text) for text in others) <= int(elsewhere), path
