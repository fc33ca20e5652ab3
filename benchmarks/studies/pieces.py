"""Pieces of work: are the piece effect, the reading effect and capability found where some pieces are read twice?

Students with several pieces, each scored on a few items by one rater, a fifth of them by two. Fitted with both effects,
with a reading effect alone, and with neither; and with four times the students, to see what is left of the bias that
spreads have by maximum likelihood.
"""

from dataclasses import replace

import numpy as np
import polars as pl

from benchmarks.studies import means, named_rows, opening, percent
from raterlens.base.arrays import Array
from raterlens.base.layers import Axis
from raterlens.base.picture import Picture
from raterlens.capability.curves import PassCurve
from raterlens.capability.index import Index
from raterlens.capability.links import get_link
from raterlens.capability.population import Normal
from raterlens.config import FitConfig
from raterlens.fitting.fit import Fit, fitted
from raterlens.ratings.coded import Ratings
from raterlens.reading.read import read
from raterlens.studies.study import Results, Study, Task, label_rows, page, rows_height, table, with_error

SIZES = (400, 1600)
"""Students; the larger panel is fitted with both effects only."""
PIECES, ITEMS, TWICE = 3, 4, 0.2
OMEGA, TAU = 0.6, 0.8
SLOPE = np.linspace(1.0, 2.0, 8)
SEVERITY = np.array([0.8, -0.6, 0.3, -0.9, 0.9, -0.5, 0.2, -0.2])
KINDS = {"pieces and halo": (True, "common"), "halo": (False, "common"), "neither": (False, "none")}


def draw_ratings(students: int, seed: list[int]) -> Ratings:
    random, n = np.random.default_rng(seed), students * PIECES
    student, piece = np.divmod(np.arange(n), PIECES)
    quality = random.standard_normal(students)[student] + OMEGA * random.standard_normal(n)
    order = np.argsort(random.random((n, len(SLOPE))), axis=1)
    again = np.flatnonzero(random.random(n) < TWICE)
    read_piece = np.concatenate([np.arange(n), again])
    rater = np.concatenate([order[:, 0], order[again, 1]])
    impression = TAU * random.standard_normal(len(rater))
    shared = SLOPE[rater] * quality[read_piece] - SEVERITY[rater] + impression
    passed = random.random((len(rater), ITEMS)) < 1 / (
        1 + np.exp(np.linspace(-1, 1, ITEMS) - shared[:, None])
    )
    frame = pl.DataFrame({"student": student[read_piece], "piece": piece[read_piece], "rater": rater})
    scores = {f"item{i}": passed[:, i].astype(int) for i in range(ITEMS)}
    columns = [pl.Series(name, values) for name, values in scores.items()]
    return read(
        frame.with_columns(columns), student="student", rater="rater", piece="piece", items=list(scores)
    )


def truth() -> tuple[Array, Array]:
    """Severities, and kappa-bar over the quality of pieces."""
    severity = SEVERITY - SEVERITY.mean()
    index = Index(PassCurve(get_link("logit")), Normal(0.0, float(np.sqrt(1 + OMEGA**2))))
    halo = np.full_like(SLOPE, TAU**2)
    return severity, index.kappa(SLOPE, severity, np.full_like(SLOPE, SLOPE.max()), halo)


def replicate(task: Task) -> pl.DataFrame:
    frames = []
    for which, students in enumerate(SIZES):
        ratings = draw_ratings(students, [*task.entropy, which])
        for name, (pieces, halo) in KINDS.items():
            if which and not pieces:
                continue
            given = ratings if pieces else replace(ratings, piece=None)
            fit = fitted(given, FitConfig(halo=halo, ability="normal"))  # type: ignore[arg-type]
            frames.append(label_rows(_covered(fit), students=students, fitted=name))
    return pl.concat(frames)


def _covered(fit: Fit) -> pl.DataFrame:
    severity, kappa = truth()
    raters = fit.table("raters")
    eta, error, low, high = raters.select("eta", "eta_se", "kappa_low", "kappa_high").to_numpy().T
    rows = [
        ("severity", float(np.mean(np.abs(eta - severity) <= 1.96 * error)), np.nan),
        ("capability κ̄", float(np.mean((low <= kappa + 1e-9) & (kappa - 1e-9 <= high))), np.nan),
    ]
    if "halo" in raters.columns:
        own = raters.row(0, named=True)
        inside = own["halo_low"] <= TAU <= own["halo_high"]
        rows.append(("reading effect τ", float(inside), own["halo"]))
    if "piece effect" in fit.tables:
        own = fit.table("piece effect").row(0, named=True)
        rows.append(("piece effect ω", float(own["low"] <= OMEGA <= own["high"]), own["spread"]))
    schema = {"measure": pl.String, "covered": pl.Float64, "estimate": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def summarise(rows: pl.DataFrame) -> Results:
    found = rows.group_by("students", "fitted", "measure", maintain_order=True).agg(
        *means("covered", "estimate"),
        pl.len().alias("replications"),
    )
    lines = [
        [
            f"{row['students']:,}",
            row["fitted"],
            row["measure"],
            percent(row),
            "" if np.isnan(row["estimate"]) else with_error(row["estimate"], row["estimate_se"], 3),
        ]
        for row in found.iter_rows(named=True)
    ]
    text = page(
        "# Pieces of work: the text or the rater?",
        opening("pieces", int(found["replications"].max())),  # type: ignore[arg-type]
        f"{SIZES[0]} or {SIZES[1]:,} students with {PIECES} pieces each, {len(SLOPE)} raters, {ITEMS} items scored "
        f"pass or fail; {TWICE:.0%} of the pieces are read by two raters, others by one. Pieces differ by "
        f"ω = {OMEGA:g}, readings by τ = {TAU:g}. Covered: percent of 95 % intervals that hold the truth; estimate: "
        "their mean, with Monte-Carlo standard errors. Maximum likelihood takes τ for too small where there is "
        "little to tell it by, here the pieces read twice; that bias falls with the number of students.",
        "![Coverage](pieces.png)",
        table(["Students", "Fitted", "Of", "Covered", "Estimate"], lines),
    )
    return Results(text, {"coverage": found})


def draw(results: Results) -> Picture:
    data = results.tables["coverage"].filter(students=SIZES[0]).with_columns(covered=100 * pl.col("covered"))
    x, order = (
        Axis(0.0, 100.0, "Covered, %", (10, 5), grid=True),
        data["measure"].unique(maintain_order=True).to_list(),
    )
    panel = named_rows(data, ("measure", "covered", "fitted"), x, order)
    return Picture((panel,), "Coverage of intervals, by what was fitted.", rows_height(order))


STUDY = Study("pieces", 200, replicate, summarise, draw)
