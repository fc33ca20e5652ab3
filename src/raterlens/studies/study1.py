"""The paper's Study 1: 20 raters, 50 students, 40 items, every student rated by every rater on every item.

Ratings come from the GMF. GMF and TFM are fitted by hierarchical likelihood (the paper's method), the Laplace
approximation and marginal maximum likelihood. The page has the paper's tables in its layout, with our number next to
each printed one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy import special

from raterlens import capability
from raterlens.base.arrays import Array
from raterlens.base.layers import Axis, Layer, Line, Marks, Segments, Stroke
from raterlens.base.picture import Panel, Picture
from raterlens.base.style import Mark, mark
from raterlens.base.text import number
from raterlens.config import FitConfig, Method
from raterlens.fitting.fit import fitted
from raterlens.ratings.coded import Ratings
from raterlens.studies import paper
from raterlens.studies.figures import around, kinds
from raterlens.studies.paper import ABILITY, REPLICATIONS, simulate_study1
from raterlens.studies.study import (
    Results,
    Study,
    Task,
    accuracy,
    compare,
    page_of,
    rows,
    table,
    with_error,
)
from raterlens.studies.study import page as join

_STEPS = 50
_SETTLED = 1e-9


@dataclass(frozen=True, slots=True)
class Joint:
    """Effects in logits, each kind with mean 0."""

    ability: Array
    severity: Array
    difficulty: Array


def joint_tfm(ratings: Ratings) -> Joint:
    """Joint maximum likelihood of the three-facets model: a logistic regression with an effect for every student.

    This is the paper's first step (`glm()` in R). Its student effects, in logits and not shrunk towards a population,
    are what the paper prints for the TFM. Newton's method on all effects at once, for a complete design without extreme
    scores.
    """
    sizes = (ratings.n_students, ratings.n_raters, ratings.n_items)
    assert ratings.n_ratings == np.prod(sizes)
    score = np.empty(sizes)
    score[ratings.student, ratings.rater, ratings.item] = ratings.score
    effects = [np.zeros(size) for size in sizes]
    signs = (1.0, -1.0, -1.0)
    others = ((1, 2), (0, 2), (0, 1))
    for _ in range(_STEPS):
        ability, severity, difficulty = effects
        chance = special.expit(ability[:, None, None] - severity[:, None] - difficulty)
        weight = chance * (1 - chance)
        gradient = np.concatenate(
            [sign * (score - chance).sum(axis) for sign, axis in zip(signs, others, strict=True)]
        )
        by = [weight.sum(axis) for axis in others]
        crossed = {(0, 1): -weight.sum(2), (0, 2): -weight.sum(1), (1, 2): weight.sum(0)}
        information = np.block(
            [
                [np.diag(by[i]) if i == j else crossed[i, j] if i < j else crossed[j, i].T for j in range(3)]
                for i in range(3)
            ]
        )
        # Two shifts change no probability; the shortest step leaves them alone.
        step = np.linalg.lstsq(information, gradient)[0]
        parts = np.split(step, np.cumsum(sizes)[:-1])
        effects = [effect + part for effect, part in zip(effects, parts, strict=True)]
        if np.abs(step).max() < _SETTLED:
            break
    return Joint(*(effect - effect.mean() for effect in effects))


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
    have = {
        (row["model"], row["method"], row["parameter"], row["level"]): row
        for row in found.iter_rows(named=True)
    }

    return [
        Cell(
            *(model, parameter, level, statistic, printed[statistic]),
            *(ours[statistic], ours[f"{statistic}_se"], ours["replications"]),
        )
        for printed in paper.PRINTED.iter_rows(named=True)
        for parameter, model, level in [(printed["parameter"], printed["model"], printed["level"])]
        if (ours := have.get((model, *_source(model, parameter, method), level))) is not None
        for statistic in ("bias", "rmse")
    ]


def _source(model: str, parameter: str, method: str) -> tuple[str, str]:
    """Method and parameter behind a printed column: the paper has its own conventions for the TFM."""
    if model == "tfm" and parameter == "kappa":
        return method, KAPPA_AT_ONE
    if model == "tfm" and parameter == "theta":
        return ("glm" if method == "hl" else method), LOGITS
    return method, parameter


def page(found: pl.DataFrame) -> str:
    """The whole comparison in markdown."""
    by_method = {method: cells(found, method) for method in METHODS if _has(found, method)}
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
        _methods(found),
        *(_tables(by_method[method], method) for method in by_method),
    )


def _has(found: pl.DataFrame, method: str) -> bool:
    return bool((found["method"] == method).any())


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
    heading = [
        "Printed cells (bias and RMSE)",
        "number",
        f"within {TOLERANCE}",
        "largest difference",
        f"marked {MARK}",
    ]
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
        [
            f"{cell.parameter}, {cell.model.upper()}, {cell.level}",
            cell.statistic,
            number(cell.printed),
            str(cell),
        ]
        for cell in far
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


def _methods(found: pl.DataFrame) -> str:
    """Root mean square over levels of bias and RMSE, by method: which one should a user choose?"""
    pooled = (
        found.filter(pl.col("method") != "glm", pl.col("parameter") != LOGITS)
        .group_by("parameter", "model", "method")
        .agg(
            (pl.col("bias") ** 2).mean().sqrt().alias("bias"),
            (pl.col("rmse") ** 2).mean().sqrt().alias("rmse"),
        )
    )
    have = {
        (parameter, model, method): (bias, rmse)
        for parameter, model, method, bias, rmse in pooled.select(
            "parameter", "model", "method", "bias", "rmse"
        ).iter_rows()
    }
    methods = [method for method in METHODS if _has(found, method)]
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
        *(f"{name} {method}" for method in methods for name in ("bias", "RMSE")),
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
    columns = [(model, statistic) for model in ("tfm", "gmf") for statistic in ("bias", "rmse")]
    head = [heading]
    for model, statistic in columns:
        head += [f"{model.upper()} {statistic if statistic == 'bias' else 'RMSE'}, paper", "ours"]
    rows = []
    for level in levels:
        row = [name(level)]
        for model, statistic in columns:
            cell = have[level, model, statistic]
            row += [number(cell.printed), str(cell)]
        rows.append(row)
    return table(head, rows)


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


def draw(results: Results) -> Picture:
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


def replicate(task: Task, methods: tuple[str, ...] = METHODS) -> pl.DataFrame:
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


def summarise(rows: pl.DataFrame) -> Results:
    """Bias and RMSE of everything, beside the paper's tables."""
    found = accuracy(rows, ["model", "method", "parameter", "level"])
    return Results(page(found), {"accuracy": found})


STUDY = Study(
    "study1", "The paper's Study 1: recovery of parameters", REPLICATIONS, replicate, summarise, draw
)
