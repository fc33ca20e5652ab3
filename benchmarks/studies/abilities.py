"""The students' distribution: severities and capabilities where abilities are skewed or normal, and a fit takes them
for normal, estimates their shape, or leaves it to the test.

Truth is on the scale of the fits: median 0, and half the distance between the quantiles at one standard deviation 1.
"""

from itertools import product

import numpy as np
import polars as pl
from scipy import special

from benchmarks.studies import means, named_rows, opening, percent
from raterlens.base.arrays import Array
from raterlens.base.layers import Axis
from raterlens.base.picture import Picture
from raterlens.capability.curves import PassCurve
from raterlens.capability.index import Index
from raterlens.capability.links import get_link
from raterlens.capability.population import Histogram, Normal, Population
from raterlens.config import FitConfig
from raterlens.fitting.assumptions import p_of_ratio
from raterlens.fitting.fit import fitted
from raterlens.models.requested import CLEAR
from raterlens.simulation.simulate import simulate
from raterlens.studies.study import Results, Study, Task, label_rows, page, rows_height, table

STUDENTS = 500
ITEMS = (1, 2, 4)
"""Panels of this many items: the more is known of each student, the more their distribution matters."""
SLOPE = np.array([0.8, 1.0, 1.3, 1.6, 2.0, 2.4])
SEVERITY = np.array([0.8, -0.6, 0.3, -0.9, 0.9, -0.5])
DISTRIBUTIONS = {"chi-squared, 3 df": 3, "normal": None}
NORMAL, SMOOTH, TESTED = "normal", "smooth", "by the test"
MEASURES = {"eta": "severity", "kappa": "capability κ̄", "best": "capability κ̄ of the best rater"}
_CELL = 0.02


def draw_abilities(df: int | None, seed: list[int]) -> Array:
    """Mean 0 and standard deviation 1."""
    random = np.random.default_rng([*seed, 1])
    if df is None:
        return random.standard_normal(STUDENTS)
    return np.asarray((random.chisquare(df, STUDENTS) - df) / np.sqrt(2 * df))


def truth(df: int | None) -> tuple[Array, Array]:
    """Severities and kappa-bar on the scale of the fits."""
    low, median, high = special.ndtr([-1.0, 0.0, 1.0]) if df is None else _standardised(df)
    half = 1.0 if df is None else (high - low) / 2
    middle = 0.0 if df is None else median
    slope, severity = half * SLOPE, SEVERITY - middle * SLOPE
    severity = severity - severity.mean()
    students: Population = Normal() if df is None else _population(df, middle, half)
    index = Index(PassCurve(get_link("logit")), students)
    return severity, index.kappa(slope, severity, np.full_like(slope, slope.max()))


def _standardised(df: int) -> Array:
    quantiles = 2 * special.gammaincinv(df / 2, special.ndtr([-1.0, 0.0, 1.0]))
    return np.asarray((quantiles - df) / np.sqrt(2 * df))


def _population(df: int, middle: float, half: float) -> Histogram:
    lowest = (-np.sqrt(df / 2) - middle) / half
    edges = lowest + _CELL * np.arange(round(12 / _CELL))
    below = special.gammainc(df / 2, (df + np.sqrt(2 * df) * (middle + half * edges)) / 2)
    share = np.diff(np.maximum(below, 0.0))
    return Histogram(edges, share / share.sum(), "chi-squared")


def replicate(task: Task) -> pl.DataFrame:
    frames = []
    for which, (items, (name, df)) in enumerate(product(ITEMS, DISTRIBUTIONS.items())):
        seed = [*task.entropy, which]
        ratings = simulate(
            students=STUDENTS,
            raters=len(SLOPE),
            items=items,
            slope=SLOPE,
            severity=SEVERITY,
            difficulty=np.linspace(-1, 1, items) if items > 1 else 0.0,
            ability=draw_abilities(df, seed),
            seed=seed,
        ).ratings
        asked = FitConfig(halo="none", starts=1)
        fits = {kind: fitted(ratings, asked.changed(ability=kind)) for kind in (NORMAL, SMOOTH)}
        p = p_of_ratio(2 * (fits[SMOOTH].loglik - fits[NORMAL].loglik), 2)
        fits[TESTED] = fits[SMOOTH if p < CLEAR else NORMAL]
        severity, kappa = truth(df)
        for kind, fit in fits.items():
            found = (
                fit.table("raters").select("eta", "eta_se", "kappa", "kappa_low", "kappa_high").to_numpy().T
            )
            eta, error, own, low, high = found
            inside = (low <= kappa + 1e-9) & (kappa - 1e-9 <= high)
            best = int(SLOPE.argmax())
            rows = [
                ("eta", np.mean(np.abs(eta - severity) <= 1.96 * error), np.mean((eta - severity) ** 2)),
                ("kappa", np.mean(inside), np.mean((own - kappa) ** 2)),
                ("best", float(inside[best]), (own - kappa)[best] ** 2),
            ]
            frame = pl.DataFrame(rows, schema=["measure", "covered", "squared"], orient="row")
            frames.append(label_rows(frame, items=items, abilities=name, fitted=kind, p=p))
    return pl.concat(frames)


def summarise(rows: pl.DataFrame) -> Results:
    found = rows.group_by("items", "abilities", "fitted", "measure", maintain_order=True).agg(
        *means("covered"),
        pl.col("squared").mean().sqrt().alias("rmse"),
        pl.len().alias("replications"),
    )
    plain = found.filter(fitted=NORMAL).select("items", "abilities", "measure", plain="rmse")
    found = found.join(plain, on=["items", "abilities", "measure"], maintain_order="left").with_columns(
        ratio=pl.col("rmse") / pl.col("plain")
    )
    tests = (
        rows.filter(fitted=NORMAL, measure="eta")
        .group_by("items", "abilities", maintain_order=True)
        .agg((pl.col("p") <= CLEAR).mean().alias("clear"), (pl.col("p") <= 0.05).mean().alias("usual"))
    )
    lines = [
        [
            str(row["items"]),
            row["abilities"],
            row["fitted"],
            MEASURES[row["measure"]],
            percent(row),
            f"{row['rmse']:.3f}",
            f"{row['ratio']:.2f}",
        ]
        for row in found.iter_rows(named=True)
    ]
    power = [
        [str(items), name, f"{100 * clear:.1f}", f"{100 * usual:.1f}"]
        for items, name, clear, usual in tests.iter_rows()
    ]
    text = page(
        "# The students' distribution: skewed and normal abilities",
        opening("abilities", int(found["replications"].max())),  # type: ignore[arg-type]
        f"{STUDENTS} students and {len(SLOPE)} raters who rate all of them on {', '.join(map(str, ITEMS))} "
        "items, pass or fail; raters' parameters begin from one place only. Abilities are drawn from a chi-squared "
        "distribution with 3 degrees of freedom, or a normal one. Fitted as normal, with a smooth shape, or with a "
        f"smooth shape only where the likelihood ratio has p ≤ {CLEAR:g}. Covered: percent of 95 % intervals that hold "
        "the truth, with Monte-Carlo standard errors; RMSE, and relative to the normal fit's.",
        f"![Coverage with {ITEMS[-1]} items](abilities.png)",
        table(["Items", "Abilities", "Fitted", "Intervals of", "Covered", "RMSE", "Relative"], lines),
        "How often the test rejects a normal distribution, in percent:",
        table(["Items", "Abilities", f"p ≤ {CLEAR:g}", "p ≤ 0.05"], power),
    )
    return Results(text, {"coverage": found, "tests": tests})


def draw(results: Results) -> Picture:
    data = results.tables["coverage"].filter(pl.col("fitted") != TESTED, items=ITEMS[-1])
    data = data.with_columns(pl.col("measure").replace(MEASURES), covered=100 * pl.col("covered"))
    x, order = Axis(0.0, 100.0, "Covered, %", (10, 5), grid=True), list(MEASURES.values())
    panels = tuple(
        named_rows(data.filter(abilities=name), ("measure", "covered", "fitted"), x, order, title=name)
        for name in DISTRIBUTIONS
    )
    return Picture(panels, "Coverage of intervals, by the students' distribution.", rows_height(order))


STUDY = Study("abilities", 100, replicate, summarise, draw)
