"""Facets models of every kind on given ratings, somewhere in their parameters, and derivatives by differences."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

import raterlens as rl
from raterlens import Ratings
from raterlens.capability.links import get_link
from raterlens.estimation.facets_estimate import starting_values
from raterlens.likelihood.priors import pseudo_ratings
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options, Setting
from raterlens.models.term import Contexts
from raterlens.models.terms.known import KnownAnswers as Known
from raterlens.models.terms.students import Population
from raterlens.ratings.coded import Facet, KnownAnswers


def ordered(ratings: Ratings) -> Ratings:
    scores = np.random.default_rng(1).integers(0, 4, ratings.n_ratings).astype(np.int16)
    return replace(ratings, score=scores)


def with_facet(ratings: Ratings) -> Ratings:
    codes = np.random.default_rng(2).integers(0, 3, ratings.n_ratings).astype(np.int32)
    return replace(ratings, facets=(Facet("topic", codes, pl.Series(["a", "b", "c"])),))


def covariates(ratings: Ratings) -> np.ndarray:
    years = np.random.default_rng(3).normal(size=ratings.n_raters)
    return np.column_stack([np.ones(ratings.n_raters), years])


def with_some_known(ratings: Ratings) -> Ratings:
    """Right answers of every third student on two of the items."""
    random = np.random.default_rng(4)
    student = np.repeat(np.arange(0, ratings.n_students, 3, dtype=np.int32), 2)
    item = np.tile(np.array([0, ratings.n_items - 1], dtype=np.int32), len(student) // 2)
    answer = random.integers(0, ratings.n_categories, len(student)).astype(np.int16)
    return replace(ratings, known=KnownAnswers(student, item, answer))


def make(ratings: Ratings, kind: str):
    if kind.startswith("known "):
        model, response = make(ratings, kind.removeprefix("known "))
        whole = ratings_of(ratings, kind)
        rows = Contexts.of(whole, whole.with_answers())
        asked = Options(MODELS["gmf"], get_link("logit"), "graded" * ("graded" in kind), known_slope=6.0)
        return model.plus(
            *Known.asked_by(Setting(rows, response, asked, None, whole)), contexts=rows
        ), response
    logit, probit = get_link("logit"), get_link("probit")
    gmf, tfm, noisy = (MODELS[name] for name in ("gmf", "tfm", "probit"))
    return {
        "tfm": lambda: build(ratings, Options(tfm, logit)),
        "gmf": lambda: build(ratings, Options(gmf, logit)),
        "probit": lambda: build(ratings, Options(noisy, probit)),
        "gmf item slopes": lambda: build(ratings, Options(gmf, logit, item_slopes=True)),
        "gmf covariates": lambda: build(ratings, Options(gmf, logit, covariates=covariates(ratings))),
        "gmf both": lambda: build(
            ratings, Options(gmf, logit, item_slopes=True, covariates=covariates(ratings))
        ),
        "gmf facet": lambda: build(with_facet(ratings), Options(gmf, logit)),
        "probit facet": lambda: build(with_facet(ratings), Options(noisy, probit)),
        "rating scale": lambda: build(ordered(ratings), Options(gmf, logit, scale="rating scale")),
        "partial credit": lambda: build(ordered(ratings), Options(gmf, logit, scale="partial credit")),
        "graded": lambda: build(ordered(ratings), Options(gmf, probit, scale="graded")),
        "gmf interactions": lambda: build(ratings, Options(gmf, logit, interactions=("item",))),
        "probit facet interactions": lambda: build(
            with_facet(ratings), Options(noisy, probit, interactions=("topic", "item"))
        ),
        "graded interactions": lambda: build(
            ordered(ratings), Options(gmf, probit, scale="graded", interactions=("item",))
        ),
        "shifted gmf": lambda: shifted(build(ratings, Options(gmf, logit, item_slopes=True))),
        "shifted probit": lambda: shifted(build(with_facet(ratings), Options(noisy, probit))),
        "shifted partial credit": lambda: shifted(
            build(ordered(ratings), Options(gmf, logit, scale="partial credit"))
        ),
    }[kind]()


KINDS = [
    "tfm",
    "gmf",
    "probit",
    "gmf item slopes",
    "gmf covariates",
    "gmf both",
    "gmf facet",
    "probit facet",
    "rating scale",
    "partial credit",
    "graded",
    "known tfm",
    "known probit facet",
    "known partial credit",
    "known graded",
]


def shifted(made):
    model, response = made
    return model.plus(Population()), response


def ratings_of(ratings: Ratings, kind: str) -> Ratings:
    """The ratings that a model of this kind is for."""
    if kind.startswith("known "):
        return with_some_known(ratings_of(ratings, kind.removeprefix("known ")))
    if kind.removesuffix(" interactions") in ("rating scale", "partial credit", "graded"):
        return ordered(ratings)
    return with_facet(ratings) if "facet" in kind else ratings


def somewhere(model) -> np.ndarray:
    x = np.random.default_rng(5).normal(scale=0.5, size=model.blocks.size)
    x[model.blocks["slope"]] = 0.3 + np.abs(x[model.blocks["slope"]])
    if model.thresholds is not None and model.thresholds.graded:
        x[model.blocks["threshold"]] = 0.2 + np.abs(x[model.blocks["threshold"]])
        if "known" in model.blocks:
            x[model.blocks["known"]] = 0.2 + np.abs(x[model.blocks["known"]])
    return x


# Without anchors a population's mean and sd trade against severities and slopes: derivatives only.
SHIFTED = ["shifted gmf", "shifted probit", "shifted partial credit"]


# Without a prior, interactions trade against severities and difficulties.
INTERACTING = ["gmf interactions", "probit facet interactions", "graded interactions"]


def by_differences(problem, x, nodes, step=1e-4) -> np.ndarray:
    """Minus the second derivative of the objective."""
    columns = [
        (problem.value(x - d, nodes).gradient - problem.value(x + d, nodes).gradient) / (2 * step)
        for d in step * np.eye(len(x))
    ]
    return np.column_stack(columns)


def setting(ratings, link: str, model: str = "gmf"):
    options = Options(MODELS[model], get_link(link))
    facets, response = build(ratings, options)
    x = starting_values(ratings, facets, options.link)
    x += np.random.default_rng(0).normal(scale=0.1, size=len(x))
    return facets, response, pseudo_ratings(facets, response.n_categories), options.link, x


def assert_gradient(value, x) -> None:
    step = 1e-5
    differences = [
        (value(x + d).objective - value(x - d).objective) / (2 * step) for d in step * np.eye(len(x))
    ]
    np.testing.assert_allclose(value(x).gradient, differences, rtol=1e-6, atol=1e-5)


def flat(predictor) -> np.ndarray:
    return np.concatenate([predictor.slope, predictor.intercepts.ravel()])


def half(ratings: Ratings, first: bool) -> Ratings:
    """The ratings of one half of the students."""
    chosen = (ratings.student < ratings.n_students // 2) == first
    students, student = np.unique(ratings.student[chosen], return_inverse=True)
    return replace(
        ratings,
        student=student.astype(np.int32),
        rater=ratings.rater[chosen],
        item=ratings.item[chosen],
        score=ratings.score[chosen],
        students=ratings.students.gather(students),
    )


def by_hand(rows) -> Ratings:
    """Ratings from (student, rater, item, score)."""
    frame = pl.DataFrame(
        [(student, rater, item, int(score)) for student, rater, item, score in rows],
        schema=["student", "rater", "item", "score"],
        orient="row",
    )
    return rl.read(frame, student="student", rater="rater", item="item", score="score")


FITS: dict[str, tuple[Callable[[rl.Ratings], rl.Ratings], dict[str, Any]]] = {
    "gmf": (lambda r: r, {}),
    "tfm": (lambda r: r, {"model": "tfm"}),
    "probit": (lambda r: r, {"model": "probit"}),
    "cloglog": (lambda r: r, {"link": "cloglog"}),
    "log": (lambda r: r, {"link": "log"}),
    "item slopes": (lambda r: r, {"item_slopes": True}),
    "facet": (with_facet, {}),
    "rating scale": (ordered, {}),
    "partial credit": (ordered, {"scale": "partial credit"}),
    "graded": (ordered, {"scale": "graded", "link": "probit"}),
    "laplace": (lambda r: r, {"method": "laplace"}),
}
"""Ratings made of others, and the options they are fitted with: each kind of facets model."""
