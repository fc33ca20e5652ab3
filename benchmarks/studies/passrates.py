"""Shares of good answers per system: does `rl.pass_rate` cover whatever judges do, and what do corrections do?

Three systems with 60, 80 and 90 % good answers; some answers are looked up. The corrections use the first judge.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import special

from benchmarks.studies import means, named_rows, opening, percent
from raterlens.base.arrays import Array, Indices
from raterlens.base.layers import Axis
from raterlens.base.picture import Picture
from raterlens.judging.judges import pass_rate
from raterlens.ratings.coded import Ratings
from raterlens.reading.read import read
from raterlens.studies.study import Results, Study, Task, page, rows_height, table

GOOD = np.array([0.6, 0.8, 0.9])
ANSWERS = 300
"""Number of answers of each system."""
_NORMAL = float(special.ndtri(0.975))
METHODS = {
    "pass_rate": "`rl.pass_rate`",
    "raw": "the judge's verdicts",
    "rogan-gladen": "Rogan and Gladen",
    "prediction-powered": "prediction-powered",
}


@dataclass(frozen=True, slots=True)
class Design:
    """Who judges what."""

    name: str
    judges: tuple[tuple[float, float], ...]
    """Sensitivity and specificity of each."""
    known: int
    liking: float = 0.0
    """How much something that is not quality impresses all judges, in logits."""
    favour: float = 0.0
    """How much all judges favour the last system, in logits."""


_JUDGES = ((0.85, 0.75), (0.8, 0.8), (0.75, 0.8))
DESIGNS = (
    Design("three judges, 60 known", _JUDGES, 60),
    Design("three judges with a shared liking, 120 known", _JUDGES, 120, liking=1.3),
    Design("three judges who favour one system, 120 known", _JUDGES, 120, favour=1.5),
    Design("ten judges who favour one system, 120 known", _JUDGES * 3 + _JUDGES[:1], 120, favour=1.5),
)


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Verdicts and what was drawn."""

    ratings: Ratings
    system: Indices
    """(answers,)"""
    judge: Array
    """(answers,) verdicts of the first judge"""
    label: Array
    """(answers,) the truth; NaN where it was not looked up"""


def draw_verdicts(design: Design, seed: list[int]) -> Drawn:
    rng = np.random.default_rng(seed)
    system = np.repeat(np.arange(len(GOOD)), ANSWERS)
    n = len(system)
    good, liked = rng.random(n) < GOOD[system], rng.standard_normal(n)
    known = rng.permutation(n) < design.known
    said: dict[str, Array] = {}
    for k, (sensitivity, specificity) in enumerate(design.judges):
        logit = np.where(good, special.logit(sensitivity), -special.logit(specificity))
        logit = logit + design.liking * liked + design.favour * (system == len(GOOD) - 1)
        said[f"judge {k + 1}"] = (rng.random(n) < special.expit(logit)).astype(float)
    answer = pl.Series("answer", np.arange(n))
    gold = pl.Series("gold", np.where(known, good, np.nan)).fill_nan(None).cast(pl.Int64)
    frames = [
        pl.DataFrame({"answer": answer, "rater": rater, "system": system, "verdict": verdict, "gold": gold})
        for rater, verdict in said.items()
    ]
    ratings = read(
        pl.concat(frames), student="answer", rater="rater", score="verdict", facets="system", known="gold"
    )
    return Drawn(ratings, system, said["judge 1"], np.where(known, good, np.nan))


def replicate(task: Task) -> pl.DataFrame:
    frames = []
    for which, design in enumerate(DESIGNS):
        drawn = draw_verdicts(design, [*task.entropy, which])
        found = pass_rate(drawn.ratings, by="system")
        rates = found.tables["systems"].sort("system")
        rows = _covers("pass_rate", *(rates[name].to_numpy() for name in ("rate", "low", "high")))
        differences = found.tables["differences"].cast({"system": pl.Int64, "other": pl.Int64})
        truth = GOOD[differences["system"].to_numpy()] - GOOD[differences["other"].to_numpy()]
        low, high = (differences[end].to_numpy() for end in ("low", "high"))
        inside = float(np.mean((low <= truth) & (truth <= high)))
        rows.append(("differences", None, inside, float(np.mean(high - low)), None))
        for name, correct in _NAIVE.items():
            estimate, se = correct(drawn)
            rows += _covers(name, estimate, estimate - _NORMAL * se, estimate + _NORMAL * se)
        frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
        frames.append(frame.with_columns(design=pl.lit(design.name)))
    return pl.concat(frames)


_SCHEMA = {
    "method": pl.String, "good": pl.Float64, "covered": pl.Float64, "width": pl.Float64, "error": pl.Float64
}  # fmt: skip
_Row = tuple[str, float | None, float, float, float | None]


def _covers(method: str, estimate: Array, low: Array, high: Array) -> list[_Row]:
    """A row per system."""
    inside = (low <= GOOD) & (high >= GOOD)
    numbers = (GOOD, inside.astype(float), high - low, np.abs(estimate - GOOD))
    return [(method, *(float(value) for value in each)) for each in zip(*numbers, strict=True)]  # type: ignore[misc]


# ------------------------------------------------------------------------------------- naive corrections


def raw(drawn: Drawn) -> tuple[Array, Array]:
    """The share that the judge passes."""
    rate = np.array([drawn.judge[drawn.system == s].mean() for s in range(len(GOOD))])
    return rate, np.sqrt(rate * (1 - rate) / ANSWERS)


def rogan_gladen(drawn: Drawn) -> tuple[Array, Array]:
    """The judge's share, corrected by its sensitivity and specificity on the known answers (delta method)."""
    labelled = ~np.isnan(drawn.label)
    good, bad = labelled & (drawn.label == 1), labelled & (drawn.label == 0)
    sensitivity, specificity = drawn.judge[good].mean(), 1 - drawn.judge[bad].mean()
    youden = sensitivity + specificity - 1
    share, se = raw(drawn)
    rate = (share + specificity - 1) / youden
    by_sensitivity, by_specificity = -rate / youden, (1 - rate) / youden
    variance = (se / youden) ** 2
    variance += by_sensitivity**2 * sensitivity * (1 - sensitivity) / good.sum()
    variance += by_specificity**2 * specificity * (1 - specificity) / bad.sum()
    return rate, np.sqrt(variance)


def prediction_powered(drawn: Drawn) -> tuple[Array, Array]:
    """The judge's share plus the mean of truth - judge on the known answers."""
    found = []
    for s in range(len(GOOD)):
        own = drawn.system == s
        away = (drawn.label - drawn.judge)[own & ~np.isnan(drawn.label)]
        judge = drawn.judge[own]
        found.append(
            (
                judge.mean() + away.mean(),
                np.sqrt(judge.var(ddof=1) / len(judge) + away.var(ddof=1) / len(away)),
            )
        )
    rate, se = np.array(found).T
    return rate, se


_NAIVE: dict[str, Callable[[Drawn], tuple[Array, Array]]] = {
    "raw": raw,
    "rogan-gladen": rogan_gladen,
    "prediction-powered": prediction_powered,
}


# ------------------------------------------------------------------------------------------- the page


def summarise(rows: pl.DataFrame) -> Results:
    once = rows.group_by("replication", "design", "method", maintain_order=True).agg(
        pl.col("covered", "width", "error").mean()
    )
    of_system = (
        rows.drop_nulls("good")
        .group_by("design", "method", "good", maintain_order=True)
        .agg(means("covered"))
        .rename({"covered": "lowest", "covered_se": "lowest_se"})
    )
    worst = of_system.sort("lowest").unique(["design", "method"], keep="first")
    found = once.group_by("design", "method", maintain_order=True).agg(
        *means("covered"),
        pl.col("width", "error").mean(),
        pl.len().alias("replications"),
    )
    found = found.join(worst, on=["design", "method"], how="left", maintain_order="left")
    names = METHODS | {"differences": "differences by `rl.pass_rate`"}
    lines = [
        [
            row["design"],
            names[row["method"]],
            percent(row),
            "" if row["lowest"] is None else percent(row, "lowest"),
            f"{row['width']:.2f}",
            "" if row["error"] is None else f"{row['error']:.3f}",
        ]
        for row in found.iter_rows(named=True)
    ]
    shares = ", ".join(f"{100 * share:.0f}" for share in GOOD)
    text = page(
        "# Pass rates: the share of good answers from judges who err",
        opening("passrates", int(found["replications"].max())),  # type: ignore[arg-type]
        f"{len(GOOD)} systems with {ANSWERS} answers each, of which {shares} % are good. Covered: percent of 95 % "
        "intervals that hold the truth, with Monte-Carlo standard errors, of all systems and of the one covered "
        "least; error: mean distance from the truth. The corrections use the first judge and the same known answers.",
        "![Coverage by method](passrates.png)",
        table(["Design", "Method", "Covered", "Lowest", "Width", "Error"], lines),
        "Judges with a shared liking pass or fail the same answers for another reason than quality; judges who favour "
        "one system pass its answers more easily, good or bad.",
    )
    return Results(text, {"coverage": found, "systems": of_system})


def draw(results: Results) -> Picture:
    data = results.tables["coverage"].filter(pl.col("method") != "differences")
    data = data.with_columns(
        pl.col("method").replace(METHODS).str.replace_all("`", ""), covered=100 * pl.col("covered")
    )
    x = Axis(0.0, 100.0, "Covered (the system covered least), %", (10, 5), grid=True)
    order = data["design"].unique(maintain_order=True).to_list()
    panel = named_rows(data, ("design", "covered", "method"), x, order)
    return Picture((panel,), "Coverage by method and design.", rows_height(order))


STUDY = Study("passrates", 1000, replicate, summarise, draw)
