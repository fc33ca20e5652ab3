"""May a judge stand in for a person? How often `rl.can_replace` says yes: at the margin (it should not) and above.

Four people of whom two judge each answer on two criteria, and one judge who judges all. Its slope is chosen so that its
capability is below the people's mean by the margin, by half of it, or not at all.
"""

from functools import cache

import numpy as np
import polars as pl
from scipy import optimize

from benchmarks.studies import means, opening, percent
from raterlens.base.layers import Axis
from raterlens.base.picture import Picture
from raterlens.capability.integrals import moments
from raterlens.capability.links import LINKS
from raterlens.judging.replacement import can_replace
from raterlens.ratings.coded import Ratings
from raterlens.reading.read import read
from raterlens.studies.study import HEIGHT, Results, Study, Task, around, curves, page, table

PEOPLE = {"Ana": (2.0, 0.2), "Ben": (1.7, -0.2), "Cho": (1.9, 0.3), "Dee": (1.6, -0.3)}
"""Slope and severity."""
ITEMS = {"accuracy": -0.5, "tone": 0.5}
SEVERITY = 0.3
"""Severity of the judge."""
MARGIN = 0.1
SHORT = (0.1, 0.05, 0.0)
"""By how much the judge's capability is below the people's mean."""
SIZES = (200, 500)
"""Answers."""
KINDS = {"can_replace": "rl.can_replace", "alt_test": "alt-test"}


def capability(slope: float, severity: float) -> float:
    """Against a rater without noise."""
    mean_density = moments(np.array([slope]), np.array([severity]), LINKS["logit"])
    return float(np.sqrt(2 * np.pi) * slope * mean_density[0, 0])


@cache
def judge_slope(short: float) -> float:
    """Slope of a judge who is this far below the people's mean."""
    origin = float(np.mean([severity for _, severity in PEOPLE.values()]))
    people = np.mean([capability(slope, severity - origin) for slope, severity in PEOPLE.values()])
    return float(optimize.brentq(lambda a: capability(a, SEVERITY - origin) - people + short, 0.05, 9.0))


def draw_verdicts(short: float, size: int, seed: list[int]) -> Ratings:
    rng = np.random.default_rng(seed)
    quality = rng.standard_normal(size)
    asked = np.argsort(rng.random((size, len(PEOPLE))), axis=1)[:, :2]
    raters = {**PEOPLE, "judge": (judge_slope(short), SEVERITY)}
    frames = []
    for code, (rater, (slope, severity)) in enumerate(raters.items()):
        answers = np.arange(size) if rater == "judge" else np.flatnonzero((asked == code).any(axis=1))
        for item, difficulty in ITEMS.items():
            logit = slope * quality[answers] - severity - difficulty
            passes = rng.random(len(answers)) < 1 / (1 + np.exp(-logit))
            columns = {"student": answers, "rater": rater, "item": item, "score": passes.astype(int)}
            frames.append(pl.DataFrame(columns))
    return read(pl.concat(frames))


def replicate(task: Task) -> pl.DataFrame:
    rows = []
    for which, size in enumerate(SIZES):
        for place, short in enumerate(SHORT):
            ratings = draw_verdicts(short, size, [*task.entropy, which, place])
            found = can_replace(ratings, "judge", people=list(PEOPLE), margin=MARGIN)
            inside = found.low <= -short <= found.high
            rows.append((size, short, found.verdict, inside, found.alt_test.passed))
    return pl.DataFrame(rows, schema=["size", "short", "verdict", "inside", "alt_test"], orient="row")


def summarise(rows: pl.DataFrame) -> Results:
    verdict = pl.col("verdict")
    rows = rows.with_columns(can_replace=(verdict == "yes").cast(pl.Float64))
    found = rows.group_by("size", "short", maintain_order=True).agg(
        *means("can_replace"),
        (verdict == "no").mean().alias("no"),
        pl.col("inside").mean(),
        pl.col("alt_test").mean(),
        pl.len().alias("replications"),
    )
    lines = [
        [
            str(row["size"]),
            f"{row['short']:g}",
            percent(row, "can_replace"),
            f"{100 * row['no']:.1f}",
            f"{100 * row['inside']:.1f}",
            f"{100 * row['alt_test']:.1f}",
        ]
        for row in found.iter_rows(named=True)
    ]
    text = page(
        "# Replacement: how often a judge is said to be as good as a person",
        opening("replacement", int(found["replications"].max())),  # type: ignore[arg-type]
        "Four people, two per answer, and a judge on two criteria. The judge's capability (against a rater without "
        f"noise) is below the people's mean by the second column; the margin is {MARGIN:g}. So the first row of each "
        "size is false replacement, which should be at most 5 %, and the others are power. Within: how often the two "
        "one-sided limits hold the true difference (90 % is expected). All in percent, with Monte-Carlo standard "
        "errors. The alt-test (epsilon 0.2) asks another question: whether the judge agrees with people about as well "
        "as they agree with each other.",
        "![How often yes](replacement.png)",
        table(["Answers", "Below by", "Yes", "No", "Within", "Alt-test passes"], lines),
    )
    return Results(text, {"verdicts": found})


def draw(results: Results) -> Picture:
    data = results.tables["verdicts"].unpivot(
        list(KINDS), index=["size", "short"], variable_name="test", value_name="yes"
    )
    data = data.with_columns(pl.col("test").replace(KINDS), yes=100 * pl.col("yes"))
    reach, labels = around(data["short"], ""), tuple((short, f"{short:g}") for short in SHORT)
    x = Axis(reach.high, reach.low, "Capability below the people's mean", labels=labels)
    y = Axis(0.0, 100.0, "May stand in, %", (5, 5), grid=True)
    panels = tuple(
        curves(data.filter(size=size), ("short", "yes", "test"), x, y, title=f"{size} answers", points=True)
        for size in data["size"].unique(maintain_order=True)
    )
    return Picture(panels, "How often a judge may stand in for a person.", HEIGHT, (len(panels), 1))


STUDY = Study("replacement", 400, replicate, summarise, draw)
