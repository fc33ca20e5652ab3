"""Shares of good answers per system: does `rl.pass_rate` cover where people err, and what do naive corrections do?

Three systems with 60, 80 and 90 % good answers. People are right on 90 % of good and of bad ones. The corrections take
a person's verdict for the truth, as their authors assume.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from scipy import special

from benchmarks.studies import opening
from raterlens.base.arrays import Array, Indices
from raterlens.judging.system_rates import pass_rate
from raterlens.ratings.coded import Ratings
from raterlens.reading.read import read
from raterlens.studies.figures import COLOURS
from raterlens.studies.study import Results, Study, Task
from raterlens.studies.study_summary import page, table, with_error

GOOD = np.array([0.6, 0.8, 0.9])
ANSWERS = 300
"""Of each system."""
RIGHT = 0.9
"""Sensitivity and specificity of people."""
_NORMAL = float(special.ndtri(0.975))
METHODS = {
    "pass_rate": "`rl.pass_rate`",
    "raw": "the judge's verdicts",
    "rogan-gladen": "Rogan and Gladen, people as truth",
    "prediction-powered": "prediction-powered, people as truth",
}


@dataclass(frozen=True, slots=True)
class Design:
    """Who judges what."""

    name: str
    people: int
    part: float
    """Of the answers that each person judges."""
    judges: tuple[tuple[float, float], ...]
    """Sensitivity and specificity of each."""
    liking: float = 0.0
    """How much something that is not quality impresses all judges, in logits."""
    known: int = 0


_LIKING = ((0.85, 0.75), (0.8, 0.8), (0.75, 0.8))
DESIGNS = (
    Design("three people who err, one judge", 3, 0.5, ((0.85, 0.7),)),
    Design("two people, three judges with a shared liking, 60 known", 2, 0.4, _LIKING, 1.3, 60),
    Design("three judges with a shared liking, 120 known", 0, 0.0, _LIKING, 1.3, 120),
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
    """(answers,) verdict of the first person who looked; NaN where nobody did"""


def draw_verdicts(design: Design, seed: list[int]) -> Drawn:
    rng = np.random.default_rng(seed)
    system = np.repeat(np.arange(len(GOOD)), ANSWERS)
    n = len(system)
    good, liked = rng.random(n) < GOOD[system], rng.standard_normal(n)
    known = rng.permutation(n) < design.known
    said: dict[str, Array] = {}
    for k in range(design.people):
        verdict = np.where(rng.random(n) < RIGHT, good, ~good).astype(float)
        said[f"person {k + 1}"] = np.where(rng.random(n) < design.part, verdict, np.nan)
    for k, (sensitivity, specificity) in enumerate(design.judges):
        logit = np.where(good, special.logit(sensitivity), -special.logit(specificity))
        said[f"judge {k + 1}"] = (rng.random(n) < special.expit(logit + design.liking * liked)).astype(float)
    answer = pl.Series("answer", np.arange(n))
    gold = pl.Series("gold", np.where(known, good, np.nan)).fill_nan(None).cast(pl.Int64)
    frames = [
        pl.DataFrame(
            {"answer": answer, "rater": rater, "system": system, "verdict": verdict, "gold": gold}
        ).filter(pl.col("verdict").is_not_nan())
        for rater, verdict in said.items()
    ]
    known_column = "gold" if design.known else None
    ratings = read(
        pl.concat(frames),
        student="answer",
        rater="rater",
        score="verdict",
        facets="system",
        known=known_column,
    )
    label = np.full(n, np.nan)
    for k in range(design.people):
        label = np.where(np.isnan(label), said[f"person {k + 1}"], label)
    return Drawn(ratings, system, said["judge 1"], label)


def replicate(task: Task) -> pl.DataFrame:
    frames = []
    for which, design in enumerate(DESIGNS):
        drawn = draw_verdicts(design, [*task.entropy, which])
        people = [f"person {k + 1}" for k in range(design.people)]
        found = pass_rate(drawn.ratings, by="system", people=people)
        rates = found.tables["rates"].sort("system")
        rows = _covers("pass_rate", *(rates[name].to_numpy() for name in ("rate", "low", "high")))
        differences = found.tables["differences"].cast({"system": pl.Int64, "other": pl.Int64})
        truth = GOOD[differences["system"].to_numpy()] - GOOD[differences["other"].to_numpy()]
        low, high = (differences[end].to_numpy() for end in ("low", "high"))
        inside = float(np.mean((low <= truth) & (truth <= high)))
        rows.append(("differences", None, inside, float(np.mean(high - low)), None))
        for name, correct in _NAIVE.items():
            if design.people or name == "raw":
                estimate, se = correct(drawn)
                rows += _covers(name, estimate, estimate - _NORMAL * se, estimate + _NORMAL * se)
        frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
        frames.append(frame.with_columns(design=pl.lit(design.name), shared=pl.lit(found.shared)))
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
    """The judge's share, corrected by its sensitivity and specificity against people's labels (delta method)."""
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
    """The judge's share plus the mean of label - judge where people looked."""
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
    n = pl.len().sqrt()
    once = rows.group_by("replication", "design", "method", maintain_order=True).agg(
        pl.col("covered", "width", "error", "shared").mean()
    )
    of_system = (
        rows.drop_nulls("good")
        .group_by("design", "method", "good", maintain_order=True)
        .agg(lowest=pl.col("covered").mean(), lowest_se=pl.col("covered").std() / n)
    )
    worst = of_system.sort("lowest").unique(["design", "method"], keep="first")
    found = once.group_by("design", "method", maintain_order=True).agg(
        pl.col("covered").mean(),
        (pl.col("covered").std() / n).alias("covered_se"),
        pl.col("width", "error", "shared").mean(),
        pl.len().alias("replications"),
    )
    found = found.join(worst, on=["design", "method"], how="left", maintain_order="left")
    names = METHODS | {"differences": "differences by `rl.pass_rate`"}
    lines = [
        [
            row["design"],
            names[row["method"]],
            with_error(100 * row["covered"], 100 * row["covered_se"], 1),
            "" if row["lowest"] is None else with_error(100 * row["lowest"], 100 * row["lowest_se"], 1),
            f"{row['width']:.2f}",
            "" if row["error"] is None else f"{row['error']:.3f}",
        ]
        for row in found.iter_rows(named=True)
    ]
    shares = ", ".join(f"{100 * share:.0f}" for share in GOOD)
    own = found.filter(pl.col("method") == "pass_rate").select("design", "shared").iter_rows()
    allowed = ", ".join(f"{100 * share:.0f} % ({design})" for design, share in own)
    text = page(
        "# Pass rates: the share of good answers where people err, too",
        opening("passrates", int(found["replications"].max())),  # type: ignore[arg-type]
        f"{len(GOOD)} systems with {ANSWERS} answers each, of which {shares} % are good. People are right on "
        f"{100 * RIGHT:.0f} % of good answers and of bad ones. Covered: percent of 95 % intervals that hold the truth, "
        "with Monte-Carlo standard errors, of all systems and of the one that is covered least; error: mean distance "
        "from the truth. The corrections use the first judge, and take the verdict of the first person who looked for "
        "the truth.",
        "![Coverage by method](passrates.png)",
        table(["Design", "Method", "Covered", "Lowest", "Width", "Error"], lines),
        "Judges with a shared liking pass or fail the same answers for another reason than quality. `rl.pass_rate` "
        f"found it, and allowed for it, in {allowed} of the replications.",
    )
    return Results(text, {"coverage": found, "systems": of_system})


def draw(results: Results) -> Any:
    data = results.tables["coverage"].filter(pl.col("method") != "differences")
    data = data.with_columns(
        pl.col("method").replace(METHODS).str.replace_all("`", ""), covered=100 * pl.col("covered")
    )
    return (
        alt.Chart(data)
        .mark_point(filled=True, size=80)
        .encode(
            x=alt.X(
                "covered:Q", title="Covered (the system covered least), %", scale=alt.Scale(domain=[0, 100])
            ),
            y=alt.Y("design:N", title=None, sort=None, axis=alt.Axis(labelLimit=420)),
            color=alt.Color("method:N", title=None, scale=alt.Scale(range=list(COLOURS[:4]))),
            shape=alt.Shape("method:N", title=None),
        )
        .properties(width=300, height=130)
    )


STUDY = Study("passrates", "Pass rates as if nobody erred", 1000, replicate, summarise, draw)
