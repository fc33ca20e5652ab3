"""Small problems with every effect and with combinations of them, and their likelihood written out in plain loops."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import linalg, special, stats

import raterlens as rl
from raterlens.base.arrays import Array
from raterlens.capability.links import get_link
from raterlens.capability.population import AbilityShape
from raterlens.likelihood.marginal import FacetsMarginal, marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import Pseudo, pseudo_ratings
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from raterlens.ratings.coded import Facet, KnownAnswers
from tests.support.pairs import Order, Tie, as_pairs


@dataclass(frozen=True)
class Case:
    """A model, and the number of scores that its ratings have."""

    model: str = "gmf"
    link: str = "logit"
    scale: str = "rating scale"
    categories: int = 2
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def asked(self) -> dict[str, Any]:
        return dict(self.options)

    @property
    def graded(self) -> bool:
        return self.scale == "graded" and self.categories > 2


def case(model="gmf", link="logit", scale="rating scale", categories=2, **options) -> Case:
    return Case(model, link, scale, categories, tuple(sorted(options.items())))


CASES = {
    "gmf": case(),
    "tfm": case("tfm"),
    "probit link": case(link="probit"),
    "cauchit": case(link="cauchit"),
    "cloglog": case(link="cloglog"),
    "probit rater model": case("probit", "probit"),
    "item slopes": case(item_slopes=True),
    "rating scale": case(categories=4),
    "partial credit": case(scale="partial credit", categories=3),
    "graded": case(link="probit", scale="graded", categories=4),
    "interactions": case(interactions=("item",)),
    "shape": case(smooth=True),
    "halo": case(halo="common"),
    "halo per rater": case(halo="rater"),
    "pieces": case(pieces=True),
    "ordered, halo": case(categories=4, halo="rater"),
    "ordered, halo, pieces": case(categories=4, halo="rater", pieces=True),
    "graded, halo, pieces": case("tfm", "probit", "graded", 3, halo="common", pieces=True),
    "groups": case(groups="each"),
    "groups, halo": case(groups="each", halo="common"),
    "groups, probit": case(link="probit", groups="each"),
    "shape, halo": case(smooth=True, halo="common"),
    "shape, probit": case(link="probit", smooth=True),
    "item slopes, halo": case(item_slopes=True, halo="rater", scale="partial credit", categories=3),
    "item slopes, pieces": case(item_slopes=True, pieces=True),
    "item slopes, probit, pieces": case(link="probit", item_slopes=True, pieces=True),
    "probit rater model, halo": case("probit", "probit", halo="common"),
    "known": case(known=True),
    "known, probit, groups": case(link="probit", known=True, groups="each"),
    "known, graded": case(link="probit", scale="graded", categories=3, known=True),
    "known, partial credit": case(scale="partial credit", categories=3, known=True),
    "rater thresholds": case(categories=4, rater_thresholds="free"),
    "rater thresholds, graded, groups": case(
        link="probit", scale="graded", categories=4, rater_thresholds="drawn", groups="each"
    ),
    "pairs": case(pairs=True),
    "pairs, halo": case(pairs=True, halo="rater"),
    "pairs, probit, pieces": case(link="probit", pairs=True, pieces=True),
    "ties": case(categories=3, pairs=True),
    "ties, halo, groups": case(categories=3, pairs=True, halo="common", groups="each"),
    "rater thresholds, halo, pieces": case(categories=3, rater_thresholds="drawn", halo="rater", pieces=True),
}
NODES = Nodes.equally_spaced(-9.0, 9.0, 0.15)
# What a piece's spread and a shape are at, and the slope of known answers.
OMEGA, SHAPE, ANSWERS = 0.7, (0.15, -0.02), 2.5
# Where items are pairs: of which objects.
PAIRS = (0, 1), (1, 2), (2, 0)


def ratings_of(known: Case, students: int = 7, seed: int = 3) -> rl.Ratings:
    """Students with a piece of work, or two or three, each read by two of three raters on three items."""
    random, pieces = np.random.default_rng(seed), bool(known.asked.get("pieces"))
    rows = [
        (student, piece, rater, item)
        for student in range(students - 3 * pieces)
        for piece in range(2 + student % 2 if pieces else 1)
        for rater in random.choice(3, 2, replace=False).tolist()
        for item in range(3)
    ]
    # A student lacks one rating and has another twice.
    rows = sorted([*rows[1:], rows[1]])
    student, piece, rater, item = np.array(rows, dtype=np.int32).T
    return rl.Ratings(
        student,
        rater,
        item,
        random.integers(known.categories, size=len(rows)).astype(np.int16),
        pl.Series("student", np.arange(int(student[-1]) + 1)),
        pl.Series("rater", np.arange(3)),
        pl.Series("item", np.arange(3)),
        piece=Facet("piece", piece, pl.Series("piece", ["a", "b", "c"])) if pieces else None,
        group=Facet("group", student % 2, pl.Series("group", ["a", "b"]))
        if known.asked.get("groups")
        else None,
        known=_answers(random, known.categories) if known.asked.get("known") else None,
    )


def _answers(random: np.random.Generator, categories: int) -> KnownAnswers:
    """Answers of four students, on the first and the last item."""
    student, item = np.repeat(np.array([0, 2, 3, 5], np.int32), 2), np.tile(np.array([0, 2], np.int32), 4)
    return KnownAnswers(student, item, random.integers(categories, size=8).astype(np.int16))


def problem_of(
    known: Case, ratings: rl.Ratings, *, pseudo: bool = True, client: Any = None
) -> tuple[FacetsMarginal, Array]:
    """The likelihood of the ratings, and parameters somewhere."""
    asked = {name: value for name, value in known.options if name not in ("known", "pairs")}
    slope = None if ratings.known is None else ANSWERS
    options = Options(MODELS[known.model], get_link(known.link), known.scale, known_slope=slope, **asked)
    model, response = build(ratings, options, known.categories)
    if known.asked.get("pairs"):
        model = as_pairs(model, PAIRS, Order(), *([Tie()] if known.categories > 2 else []))
    nobody = Pseudo(np.zeros((len(model.contexts), response.n_categories)))
    given = pseudo_ratings(model, response.n_categories) if pseudo else nobody
    problem = marginal(ratings, model, response, given, client)
    random = np.random.default_rng(5)
    x = random.normal(0.0, 0.4, model.blocks.size)
    x[model.blocks["slope"]] = random.uniform(0.7, 1.6, model.blocks.sizes["slope"])
    for name in ("threshold", "known") if known.graded else ():
        if name in model.blocks:
            x[model.blocks[name]] = np.abs(x[model.blocks[name]]) + 0.3
    if known.graded and "rater threshold" in model.blocks:  # so small that thresholds keep their order
        x[model.blocks["rater threshold"]] *= 0.2
    for name, value in (("halo", None), ("piece", OMEGA**2), ("ability", SHAPE)):
        if name in model.blocks:
            at = model.blocks[name]
            x[at] = random.uniform(0.4, 1.5, model.blocks.sizes[name]) if value is None else value
    return problem, x


def written_out(known: Case, ratings: rl.Ratings, problem: FacetsMarginal, x: Array) -> float:
    """The log-likelihood: for every student a sum over abilities, for every piece one over what it is worth, for every
    reading one over the impression that its scores share."""
    blocks = problem.model.blocks
    of = {name: x[blocks[name]] for name in blocks.sizes}
    theta = np.linspace(-9, 9, 145)
    prior = stats.norm.logpdf(theta) + np.log(theta[1] - theta[0])
    if "ability" in of:
        prior = AbilityShape.of(*of["ability"]).log_density(theta) + np.log(theta[1] - theta[0])
    u, u_weight = np.array([0.0]), np.array([0.0])
    if "halo" in of:
        u = np.linspace(-8, 8, 41)
        u_weight = stats.norm.logpdf(u) + np.log(u[1] - u[0])
    v, v_weight = np.array([0.0]), np.array([0.0])
    if "piece" in of:
        v = np.linspace(-8, 8, 41)
        v_weight = stats.norm.logpdf(v) + np.log(v[1] - v[0])
    omega = float(np.sqrt(of["piece"][0])) if "piece" in of else 0.0
    total = 0.0
    for student in range(ratings.n_students):
        joint = prior.copy()
        if "group" in of:
            joint += stats.norm.logpdf(theta - of["group"][student % 2]) - stats.norm.logpdf(theta)
        for worth in _pieces(ratings, student):
            psi = np.add.outer(theta, omega * v)
            inside = np.zeros_like(psi)
            for reading in worth:
                at = np.add.outer(psi, np.zeros_like(u))
                logs = sum(_log_prob(known, of, ratings, row, at, u) for row in reading)
                inside += special.logsumexp(logs + u_weight, axis=-1)
            joint += special.logsumexp(inside + v_weight, axis=-1)
        joint += _answered(known, of, ratings, student, theta)
        total += special.logsumexp(joint)
    return float(total)


def _answered(known: Case, of: dict[str, Array], ratings: rl.Ratings, student: int, theta: Array) -> Array:
    """Log-probability of a student's known answers."""
    total = np.zeros_like(theta)
    if ratings.known is None:
        return total
    for place in np.flatnonzero(ratings.known.student == student):
        tau = of["known"].reshape(2, -1)[0 if ratings.known.item[place] == 0 else 1]
        total += _of_steps(known, int(ratings.known.answer[place]), ANSWERS * theta, tau)
    return total


def _pieces(ratings: rl.Ratings, student: int) -> list[list[list[int]]]:
    """For each piece of a student, the rows of its readings: those of a rater, the next one where an item occurs
    again."""
    found: dict[int, dict[tuple[int, int], list[int]]] = {}
    seen: dict[tuple[int, int, int], int] = {}
    for row in np.flatnonzero(ratings.student == student).tolist():
        piece = 0 if ratings.piece is None else int(ratings.piece.codes[row])
        rater, item = int(ratings.rater[row]), int(ratings.item[row])
        again = seen.get((piece, rater, item), 0)
        seen[piece, rater, item] = again + 1
        found.setdefault(piece, {}).setdefault((rater, again), []).append(row)
    return [list(readings.values()) for readings in found.values()]


def _log_prob(
    known: Case, of: dict[str, Array], ratings: rl.Ratings, row: int, psi: Array, u: Array
) -> Array:
    """Log-probability of a rating, where its piece is worth psi and the impression is u."""
    rater, item, score = (int(each[row]) for each in (ratings.rater, ratings.item, ratings.score))
    slope, severity = (each[min(rater, len(each) - 1)] for each in (of["slope"], of["severity"]))
    stretch = np.exp(of["item_slope"][item]) if "item_slope" in of else 1.0
    weight = slope if known.model == "probit" else 1.0
    s = slope * stretch * psi - severity
    if "worth" in of:
        s = s + of["worth"][PAIRS[item][0]] - of["worth"][PAIRS[item][1]] - of["order"][0]
    else:
        s = s - weight * of["difficulty"][item]
    if "interaction item" in of:  # all raters have rated all items
        s = s - of["interaction item"][rater * ratings.n_items + item]
    if "halo" in of:
        s = s + np.sqrt(of["halo"][min(rater, len(of["halo"]) - 1)]) * u
    if known.categories == 2:
        return _of_steps(known, score, s, np.zeros(1))
    if "tie" in of:
        return _of_steps(known, score, s, np.array([-of["tie"][0], of["tie"][0]]))
    steps = known.categories - 1
    own = of["threshold"].reshape(-1, steps)
    tau = own[item if len(own) > 1 else 0]
    if "rater threshold" in of:
        add = of["rater threshold"].reshape(ratings.n_raters, -1)[rater] @ linalg.helmert(steps)
        tau = tau + (np.diff(add, prepend=0.0) if known.graded else add)
    return _of_steps(known, score, s, tau)


def _of_steps(known: Case, score: int, s: Array, tau: Array) -> Array:
    """Log-probability of a score, from its predictor and its thresholds, or a first one and increments."""
    if known.categories == 2:
        passed, failed = _LOGS[known.link]
        return np.asarray(passed(s - tau[0]) if score else failed(s - tau[0]))
    if known.graded:
        above = [np.ones_like(s), *(special.ndtr(s - t) for t in np.cumsum(tau)), np.zeros_like(s)]
        return np.log(np.maximum(above[score] - above[score + 1], 1e-300))
    logits = np.stack([k * s - tau[:k].sum() for k in range(known.categories)])
    return np.asarray(logits[score] - special.logsumexp(logits, axis=0))


# Logarithms of the probabilities of a pass and of a fail.
_LOGS = {
    "logit": (special.log_expit, lambda s: special.log_expit(-s)),
    "probit": (special.log_ndtr, lambda s: special.log_ndtr(-s)),
    "cauchit": (lambda s: stats.cauchy.logcdf(s), lambda s: stats.cauchy.logsf(s)),
    "cloglog": (lambda s: np.log(-np.expm1(-np.exp(s))), lambda s: -np.exp(s)),
}
