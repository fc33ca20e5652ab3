"""The paper's two simulation studies.

Study 1: 20 raters, 50 students, 40 items, every student rated by every rater on every item. Ratings come from the GMF.
GMF and TFM are fitted by hierarchical likelihood (the paper's method), the Laplace approximation and marginal maximum
likelihood. The page has the paper's tables in its layout, with our number next to each printed one.

Study 2: how a rater's capability changes with severity, on the design of the writing assessment. True values are the
paper's estimates, except for the severities, which run from -2.5 to 2.5 in steps of 0.1. In each of 51 conditions every
rater has a different one of the 51 values, so 51 fits (not 16 times as many) give every rater every value. Raters are
paired with opposite severities, so the average rater, the origin of severity, does not move.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy import special

from raterlens import capability
from raterlens.base.arrays import Array
from raterlens.base.layers import LIMIT, Axis, Layer, Line, Marks, Segments, Stroke, rule
from raterlens.base.picture import Panel, Picture
from raterlens.base.style import Mark, mark
from raterlens.base.text import number
from raterlens.config import FitConfig, Method
from raterlens.fitting.fit import fitted
from raterlens.ratings.coded import Ratings
from raterlens.simulation import example as writing
from raterlens.studies import paper
from raterlens.studies.paper import ABILITY, REPLICATIONS, simulate_study1, simulate_writing
from raterlens.studies.study import (
    Results,
    Study,
    Task,
    accuracy,
    around,
    compare,
    kinds,
    page_of,
    rows,
    statistic,
    table,
    with_error,
)
from raterlens.studies.study import page as join

_STEPS = 200
_SETTLED = 1e-9


class Joint(NamedTuple):
    """Effects in logits, each kind with mean 0."""

    ability: Array
    severity: Array
    difficulty: Array


def joint_tfm(ratings: Ratings) -> Joint:
    """Joint maximum likelihood of the three-facets model: a logistic regression with an effect for every student.

    This is the paper's first step (`glm()` in R). Its student effects, in logits and not shrunk towards a population,
    are what the paper prints for the TFM. Newton's method on students, raters and items in turn, for a complete design
    without extreme scores.
    """
    sizes = (ratings.n_students, ratings.n_raters, ratings.n_items)
    assert ratings.n_ratings == np.prod(sizes)
    score = np.empty(sizes)
    score[ratings.student, ratings.rater, ratings.item] = ratings.score
    effects = [np.zeros((size, *[1] * (2 - axis))) for axis, size in enumerate(sizes)]
    for _ in range(_STEPS):
        largest = 0.0
        for effect, sign, others in zip(effects, (1, -1, -1), ((1, 2), (0, 2), (0, 1)), strict=True):
            chance = special.expit(effects[0] - effects[1] - effects[2])
            step = sign * (score - chance).sum(others) / (chance * (1 - chance)).sum(others)
            effect += step.reshape(effect.shape)
            largest = max(largest, float(np.abs(step).max()))
        if largest < _SETTLED:
            break
    return Joint(*(effect.ravel() - effect.mean() for effect in effects))


METHODS: tuple[Method, ...] = ("hl", "laplace", "mml")

# Conventions of the paper's TFM columns, found by comparison with its tables (docs/paper.md).
KAPPA_AT_ONE = "kappa at sigma 1"
LOGITS = "theta in logits"

TOLERANCE = 0.03
"""How close ours should be to the printed numbers of raters."""

ROUNDING = 0.005
CHANCE = 2.576
"""A difference beyond rounding and this many standard errors occurs by chance 1 time in 100."""

MARK = "*"

TITLES = {
    "hl": "Hierarchical likelihood (`hl`), the paper's method",
    "laplace": "Laplace approximation (`laplace`)",
    "mml": "Marginal maximum likelihood (`mml`)",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A printed number and ours."""

    model: str
    parameter: str
    level: str
    statistic: str
    printed: float
    ours: float
    error: float
    """Standard error of ours, from the number of replications."""
    replications: int

    @property
    def near(self) -> bool:
        return abs(self.ours - self.printed) <= TOLERANCE + 1e-12

    @property
    def beyond_chance(self) -> bool:
        """The paper's number has chance error too, that of its own 200 replications."""
        error = self.error * math.sqrt(1 + self.replications / paper.REPLICATIONS)
        return abs(self.ours - self.printed) > ROUNDING + CHANCE * error

    def __str__(self) -> str:
        return with_error(self.ours, self.error) + (MARK if self.beyond_chance else "")


def cells(found: pl.DataFrame, method: str) -> list[Cell]:
    """Every printed bias and RMSE of raters, students and items, beside those of one method."""
    have = found.rows_by_key(["model", "method", "parameter", "level"], named=True, unique=True)
    rows = []
    for printed in paper.PRINTED.iter_rows(named=True):
        model, parameter, level = (printed[name] for name in ("model", "parameter", "level"))
        if (ours := have.get((model, *_source(model, parameter, method), level))) is not None:
            for kind in ("bias", "rmse"):
                numbers = printed[kind], ours[kind], ours[f"{kind}_se"], ours["replications"]
                rows.append(Cell(model, parameter, level, kind, *numbers))
    return rows


def _source(model: str, parameter: str, method: str) -> tuple[str, str]:
    """Method and parameter behind a printed column: the paper has its own conventions for the TFM."""
    if model == "tfm" and parameter == "kappa":
        return method, KAPPA_AT_ONE
    if model == "tfm" and parameter == "theta":
        return ("glm" if method == "hl" else method), LOGITS
    return method, parameter


def page(found: pl.DataFrame) -> str:
    """The whole comparison in markdown."""
    methods = [method for method in METHODS if method in found["method"]]
    by_method = {method: cells(found, method) for method in methods}
    first = by_method["hl"]
    return page_of(
        "study1",
        found,
        "# Study 1: recovery of parameters",
        "20 raters, 50 students (the paper's 50 abilities), 40 items, complete design; ratings from the GMF. Ours have "
        f"Monte-Carlo standard errors. A {MARK} marks a difference from the printed number that rounding and chance "
        "(in both, at the 1 % level) do not explain.",
        "![Estimates against true values](study1.png)",
        "## Agreement with the paper",
        _agreement(first),
        _large(first),
        "## The three methods",
        _methods(found, methods),
        *(_tables(own, method) for method, own in by_method.items()),
    )


def _agreement(first: list[Cell]) -> str:
    rows = []
    names = {"kappa": "κ̄ of raters", "rho": "ρ of raters", "eta": "η of raters", "theta": "θ of students"}
    names |= {"delta": "δ of items", "sigma": "σ"}
    for parameter, name in names.items():
        for model in ("tfm", "gmf"):
            own = [cell for cell in first if (cell.parameter, cell.model) == (parameter, model)]
            if own:
                rows.append([f"{name}, {model.upper()}", *_counts(own)])
    raters = [cell for cell in first if cell.parameter in ("kappa", "rho", "eta")]
    rows.append(["**κ̄, ρ, η together**", *_counts(raters)])
    near = f"within {TOLERANCE}"
    heading = ["Printed cells (bias and RMSE)", "number", near, "largest difference", f"marked {MARK}"]
    return table(heading, rows)


def _counts(own: list[Cell]) -> list[str]:
    near = sum(cell.near for cell in own)
    furthest = max(abs(cell.ours - cell.printed) for cell in own)
    marked = sum(cell.beyond_chance for cell in own)
    return [str(len(own)), f"{near} ({near / len(own):.0%})", number(furthest, 3), str(marked)]


def _large(first: list[Cell]) -> str:
    far = [cell for cell in first if not cell.near]
    if not far:
        return f"No printed number differs from ours by more than {TOLERANCE}."
    rows = [
        [f"{one.parameter}, {one.model.upper()}, {one.level}", one.statistic, number(one.printed), str(one)]
        for one in far
    ]
    marked = sum(cell.beyond_chance for cell in far)
    why = (
        f"{marked} of them are beyond chance; docs/paper.md says where they come from."
        if marked
        else "None is beyond chance, given the standard errors of both."
    )
    return join(
        f"Every difference of more than {TOLERANCE}. {why}",
        table(["Cell", "statistic", "printed", "ours"], rows),
    )


def _methods(found: pl.DataFrame, methods: list[Method]) -> str:
    """Root mean square over levels of bias and RMSE, by method: which one should a user choose?"""
    by = ("parameter", "model", "method")
    pooled = found.group_by(by).agg((pl.col("bias", "rmse") ** 2).mean().sqrt())
    have = {row[:3]: row[3:] for row in pooled.select(*by, "bias", "rmse").iter_rows()}
    rows = []
    for parameter in ("kappa", KAPPA_AT_ONE, "rho", "eta", "theta", "delta", "sigma"):
        for model in ("gmf", "tfm"):
            if (parameter, model, methods[0]) in have:
                values = [have[parameter, model, method] for method in methods]
                rows.append(
                    [f"{parameter}, {model.upper()}", *(number(v, 3) for pair in values for v in pair)]
                )
    heading = [
        "Root mean square over levels",
        *(f"{name} {how}" for how in methods for name in ("bias", "RMSE")),
    ]
    return join(
        table(heading, rows),
        "σ is the largest of twenty noisy slopes: every method overstates it, and so understates ρ and κ̄. Under the "
        "TFM ρ is 1 for every rater, and θ and σ are on the scale of one common slope: their errors are those of a "
        "wrong model.",
    )


def _tables(own: list[Cell], method: str) -> str:
    levels = {name: paper.printed(name, "gmf")["level"].to_list() for name in ("kappa", "delta")}
    abilities = paper.printed("theta", "gmf").sort("truth", descending=True, maintain_order=True)
    ability = dict(abilities.select("level", "truth").iter_rows())
    sigma = {cell.statistic: cell for cell in own if cell.parameter == "sigma"}
    theta = "TFM: effects of students in logits"
    theta += " by the paper's first step, `glm()`" if method == "hl" else ""
    return join(
        f"## {TITLES[method]}",
        f"σ (true {paper.SIGMA}): bias printed {sigma['bias'].printed}, ours {sigma['bias']}; RMSE printed "
        f"{sigma['rmse'].printed}, ours {sigma['rmse']}.",
        "### Capability κ̄ of raters (TFM: at σ = 1)",
        _layout(own, "kappa", "Rater", levels["kappa"]),
        "### Discrimination ρ of raters",
        _layout(own, "rho", "Rater", levels["kappa"]),
        "### Severity η of raters",
        _layout(own, "eta", "Rater", levels["kappa"]),
        f"### Ability θ of students ({theta})",
        _layout(own, "theta", "Student (θ)", list(ability), lambda level: f"{level} ({ability[level]:.2f})"),
        "### Difficulty δ of items",
        _layout(own, "delta", "Item", levels["delta"]),
    )


def _layout(
    own: list[Cell], parameter: str, heading: str, levels: list[str], name: Callable[[str], str] = str
) -> str:
    have = {(c.level, c.model, c.statistic): c for c in own if c.parameter == parameter}
    columns = [(model, kind) for model in ("tfm", "gmf") for kind in ("bias", "rmse")]
    heads = [f"{model.upper()} {'RMSE' if kind == 'rmse' else kind}, paper" for model, kind in columns]
    rows = []
    for level in levels:
        own_cells = [have[level, *column] for column in columns]
        rows.append(
            [name(level), *(text for cell in own_cells for text in (number(cell.printed), str(cell)))]
        )
    return table([heading, *(text for head in heads for text in (head, "ours"))], rows)


_PANELS = {
    "kappa": "Mean capability κ̄",
    "rho": "Discrimination ρ",
    "eta": "Severity η",
    "theta": "Ability θ",
    "delta": "Difficulty δ",
}


def recovery_data(results: Results, method: str = "hl") -> pl.DataFrame:
    """Mean estimate of every rater, student and item, with one standard deviation each way."""
    own = results.tables["accuracy"].filter(pl.col("parameter").is_in(list(_PANELS)), method=method)
    return own.select("parameter", "level", "truth", pl.col("model").str.to_uppercase(), *_with_sd())


def scale_data(results: Results) -> pl.DataFrame:
    """Mean and standard deviation of the GMF's sigma, by method."""
    own = results.tables["accuracy"].filter(model="gmf", parameter="sigma")
    return own.select("method", "truth", *_with_sd())


def _with_sd() -> tuple[pl.Expr, ...]:
    """Mean estimate, and one standard deviation of the estimates below and above it."""
    mean = pl.col("truth") + pl.col("bias")
    sd = (pl.col("rmse") ** 2 - pl.col("bias") ** 2).clip(0).sqrt()
    return mean.alias("mean"), (mean - sd).alias("low"), (mean + sd).alias("high")


def draw_study1(results: Results) -> Picture:
    data = recovery_data(results)
    panels = [_against_truth(data.filter(parameter=name), title) for name, title in _PANELS.items()]
    panels.append(_scale(scale_data(results)))
    return Picture(tuple(panels), "Estimates against true values.", (190, 190), (3, 1))


_GUIDE = Stroke("faint", dash="4 3")


def _scale(data: pl.DataFrame) -> Panel:
    data = data.with_columns(at=pl.int_range(pl.len()).cast(pl.Float64))
    labels = tuple(data.select("at", "method").iter_rows())
    x = Axis(-0.5, data.height - 0.5, "Method", labels=labels)
    y = around(data.select("low", "high", "truth").to_numpy(), "Mean estimate of σ ± sd")
    ends = {"at": [x.low, x.high], "truth": [data["truth"][0]] * 2}
    return Panel(
        x,
        y,
        (Line(pl.DataFrame(ends), "at", "truth", _GUIDE), *_with_bars(data, "at", mark("circle", "accent"))),
    )


def _against_truth(own: pl.DataFrame, title: str) -> Panel:
    y = around(own.select("truth", "low", "high").to_numpy(), "Mean estimate ± sd")
    x = replace(y, title=f"True {title[0].lower()}{title[1:]}")
    diagonal = pl.DataFrame({"x": [y.low, y.high]})
    layers: list[Layer] = [Line(diagonal, "x", "x", _GUIDE)]
    for model, look in kinds(["GMF", "TFM"]).items():
        layers += _with_bars(own.filter(model=model), "truth", look)
    return Panel(x, y, tuple(layers))


def _with_bars(data: pl.DataFrame, x: str, look: Mark) -> tuple[Layer, ...]:
    """Means with a bar to both sides."""
    bars = Segments(data, x, "low", x, "high", Stroke(look.role, opacity=0.5))
    return bars, Marks(data, x, "mean", look, 0.6, tooltip="")


# The paper does not keep slopes above 0, whatever its text says (docs/paper.md).
CONFIGS = {
    (model, method): FitConfig(
        model=model, method=method, allow_reversed=method == "hl", standard_errors=False
    )
    for model in ("tfm", "gmf")
    for method in METHODS
}


def replicate_study1(task: Task, methods: tuple[str, ...] = METHODS) -> pl.DataFrame:
    """A row per estimate, with its true value."""
    drawn = simulate_study1(task.entropy, ability=ABILITY)
    truth = drawn.truth
    frames = []
    for (model, method), config in CONFIGS.items():
        if method not in methods:
            continue
        found = fitted(drawn.ratings, config)
        labels = {"model": model, "method": method}
        frames.append(compare(found, truth, ("kappa", "rho", "eta", "theta", "delta", "sigma"), **labels))
        if model == "tfm":
            raters, students = found.table("raters"), found.table("students")
            at_one = capability.tfm(eta=raters["eta"].to_numpy())
            logits = found.sigma * students["theta"].to_numpy()
            frames += [
                rows(KAPPA_AT_ONE, raters["rater"], truth.kappa, at_one, **labels),
                rows(LOGITS, students["student"], truth.ability, logits, **labels),
            ]
    joint, ratings = joint_tfm(drawn.ratings), drawn.ratings
    for parameter, level, right, estimate in (
        (KAPPA_AT_ONE, ratings.raters, truth.kappa, capability.tfm(eta=joint.severity)),
        ("eta", ratings.raters, truth.severity, joint.severity),
        (LOGITS, ratings.students, truth.ability, joint.ability),
        ("delta", ratings.items, truth.difficulty, joint.difficulty),
    ):
        frames.append(rows(parameter, level, right, estimate, model="tfm", method="glm"))
    return pl.concat(frames)


def summarise_study1(rows: pl.DataFrame) -> Results:
    """Bias and RMSE of everything, beside the paper's tables."""
    found = accuracy(rows, ["model", "method", "parameter", "level"])
    return Results(page(found), {"accuracy": found})


STUDY1 = Study("study1", REPLICATIONS, replicate_study1, summarise_study1, draw_study1)


# --------------------------------------------------------------------------------------------------- Study 2


OF_WRITING: dict[Method, FitConfig] = {
    "hl": FitConfig(method="hl", standard_errors=False),
    "mml": FitConfig(standard_errors=False),
}
GRID: Array = np.round(np.arange(-25, 26) / 10, 1)


def severities(condition: int) -> Array:
    """A value of the grid for each rater: the pairs (first, ninth), (second, tenth) and so on have opposite values."""
    pairs = len(writing.RATERS) // 2
    first = (condition + np.arange(pairs) * len(GRID) // pairs) % len(GRID)
    return np.asarray(GRID[np.concatenate([first, len(GRID) - 1 - first])])


def replicate_study2(task: Task, conditions: range = range(len(GRID))) -> pl.DataFrame:
    """Estimated capability of every rater at every severity."""
    frames = []
    for condition in conditions:
        drawn = simulate_writing([*task.entropy, condition], severity=severities(condition))
        severity = pl.Series("severity", np.round(drawn.truth.severity, 1))
        for method, config in OF_WRITING.items():
            rows = compare(fitted(drawn.ratings, config), drawn.truth, ("kappa",), method=method)
            frames.append(rows.with_columns(severity))
    return pl.concat(frames)


def boxes(rows: pl.DataFrame) -> pl.DataFrame:
    """Quantiles of the estimates by rater, severity and method, with the true capability."""
    by, place = ("method", "level", "severity"), pl.col("level").str.split(":").list
    shares = (0.05, 0.25, 0.5, 0.75, 0.95)
    quantiles = [pl.col("estimate").quantile(q, "linear").alias(f"q{100 * q:02.0f}") for q in shares]
    found = rows.group_by(by).agg(pl.col("truth").first(), *quantiles).sort(by)
    return found.with_columns(rater=place.get(0), topic=place.get(1))


def summarise_study2(rows: pl.DataFrame) -> Results:
    found = accuracy(rows, ["method", "level"])
    have = found.rows_by_key(["method", "level"], named=True, unique=True)
    columns = [(method, name) for method in OF_WRITING for name in ("bias", "rmse")]
    lines = []
    for row in writing.TABLE:
        now, best = capability.gmf(rho=row.rho, eta=[row.eta, 0.0], sigma=writing.SIGMA)
        errors = (statistic(have[method, row.label], name) for method, name in columns)
        numbers = (row.rho, row.eta, float(now), float(best))
        lines.append([row.label, *(number(value) for value in numbers), *errors])
    heading = ["Rater", "ρ", "η", "κ̄", "κ̄ at η = 0"]
    heading += [f"{'RMSE' if name == 'rmse' else name} {method}" for method, name in columns]
    text = page_of(
        "study2",
        found,
        "# Study 2: capability against severity",
        "Four raters on four topics are sixteen raters; true "
        "discriminations, difficulties and σ = 2.51 are the paper's estimates, the design has its numbers of ratings. "
        "Severities run from -2.5 to 2.5 by 0.1.",
        "![Capability against severity, for each rater and topic](study2.png)",
        "Estimates are those by `mml`; dashes mark the severity that the paper estimates.",
        "κ̄ at the paper's severity, and what it would be at severity 0; bias and RMSE of the estimates over all 51 "
        "severities, with Monte-Carlo standard errors:",
        table(heading, lines),
        "Every rater gains by moving to severity 0, AM on Sport as much as on the other topics: the paper's text "
        "calls AM on Sport unbiased, but its table has -1.77 there.",
    )
    return Results(text, {"boxes": boxes(rows), "accuracy": found})


def severity_data(results: Results, method: str = "mml") -> tuple[pl.DataFrame, pl.DataFrame]:
    """Boxes of one method, and the paper's estimated severity of every rater on every topic."""
    own = [(row.rater, row.topic, row.eta) for row in writing.TABLE]
    printed = pl.DataFrame(own, schema=["rater", "topic", "severity"], orient="row")
    return results.tables["boxes"].filter(method=method), printed


def draw_study2(results: Results) -> Picture:
    boxes, own = severity_data(results)
    x, y = Axis(-2.7, 2.7, "Severity η", (5, 5)), Axis(0.0, 1.0, "Mean capability κ̄", (2, 2), grid=True)
    panels = []
    for rater, topic, severity in own.iter_rows():
        rows = boxes.filter(rater=rater, topic=topic)
        layers = (
            Segments(rows, "severity", "q05", "severity", "q95", _MOST),
            Segments(rows, "severity", "q25", "severity", "q75", _HALF),
            Line(rows, "severity", "truth", _TRUTH),
            rule((x, y), LIMIT, x=severity),
        )
        panels.append(Panel(x, y, layers, f"{rater}, {topic}"))
    description = "Capability against severity, for each rater and topic."
    return Picture(tuple(panels), description, (110, 100), (own["topic"].n_unique(), 2))


_MOST = Stroke("accent", 0.8, opacity=0.6, words="middle 90 % of the estimates")
_HALF = Stroke("accent", 2.4, words="middle half of the estimates")
_TRUTH = Stroke("severe", 2.0, words="truth")

STUDY2 = Study("study2", REPLICATIONS, replicate_study2, summarise_study2, draw_study2)
