"""The paper's empirical study, from the real file: essays of 363 students, four raters, four topics, five criteria.

Fitted by hierarchical likelihood, which gives the paper's numbers, and by marginal maximum likelihood with intervals.
The first replication is the data; the others resample students, which gives intervals for quantities that combine
several raters.
"""

from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import Message, Option
from raterlens.config import FitConfig, ReadConfig
from raterlens.facade import Fit, fitted
from raterlens.ratings.coded import Ratings
from raterlens.reading.formats.file_formats import open_table
from raterlens.reading.reader import read
from raterlens.simulation import writing_assessment as writing
from raterlens.studies import paper_tables as paper
from raterlens.studies.print_figures import BLUE, two_kinds
from raterlens.studies.study import Results, Study, Task
from raterlens.studies.writing_page import page

ITEMS = {"spe": "specificity", "coh": "coherence", "str": "structure", "gra": "grammar", "con": "content"}
TOPICS = {"Fami": "Family", "Scho": "School", "Spor": "Sport"}
"""As the R package spells them."""

MML, HL, TFM = (
    FitConfig(),
    FitConfig(method="hl", standard_errors=False),
    FitConfig(model="tfm", standard_errors=False),
)

_GET = (
    "get data/data.cqc04.rda from the source of the R package TAM (cran.r-project.org/package=TAM), or in R run "
    'data(data.cqc04, package = "TAM"); write.csv(data.cqc04, "writing.csv", row.names = FALSE)'
)


def check_data(path: Path | None) -> None:
    """Raise, saying how to get the file, unless it is the paper's data."""
    if path is None:
        remedy = Message("name the file with ", Option("data"), ": ", _GET)
        raise OptionError("the study 'writing' needs the dataset data.cqc04", remedy, option="data")
    load(path)


def load(path: Path) -> pl.DataFrame:
    """The table with topics spelled out, from .rda or a delimited file."""
    if not path.is_file():
        raise InputError(f"no such file: '{path}'", _GET, value=path, option="data")
    wanted = ["pid", "rater", "topic", *ITEMS]
    with open_table(path, ReadConfig()) as opened:
        missing = [name for name in wanted if name not in opened.columns]
        if missing:
            columns = ", ".join(opened.columns)
            raise InputError(
                f"'{path}' has no column {missing[0]!r} among {columns}", _GET, value=path, option="data"
            )
        table = opened.take(wanted).frame
    table = table.with_columns(
        pl.col("pid", *ITEMS).cast(pl.Int64), pl.col("topic").cast(pl.String).replace(TOPICS)
    )
    counts = dict(table.group_by(pl.format("{}:{}", "rater", "topic")).len().iter_rows())
    if counts != {row.label: row.n // len(ITEMS) for row in writing.TABLE}:
        raise InputError(
            f"'{path}' has {table.height:,} essays by {len(counts)} raters on topics, which are not the paper's 1,452 "
            "essays by 16",
            _GET,
            value=path,
            option="data",
        )
    return table


def ratings_of(table: pl.DataFrame) -> Ratings:
    """As in the paper: only the highest score is a pass, and a rater on one topic counts as a rater of its own."""
    return read(table, student="pid", rater=["rater", "topic"], items=list(ITEMS), cut=3)


def resample(table: pl.DataFrame, random: np.random.Generator) -> pl.DataFrame:
    """As many students, drawn with replacement; one drawn twice is two students."""
    essays = table.with_row_index("row").group_by("pid", maintain_order=True).agg("row")["row"]
    drawn = essays.gather(random.integers(0, len(essays), len(essays)))
    student = np.repeat(np.arange(len(drawn)), drawn.list.len())
    return table[drawn.explode()].with_columns(pid=pl.Series(student))


def replicate(task: Task) -> pl.DataFrame:
    assert task.data is not None
    table = load(task.data)
    if task.index > 0:
        resampled = resample(table, np.random.default_rng(task.entropy))
        return _rows(fitted(ratings_of(resampled), MML.changed(standard_errors=False)), "mml")
    ratings = ratings_of(table)
    by_hl, by_mml, tfm = (fitted(ratings, config) for config in (HL, MML, TFM))
    n = np.bincount(ratings.rater)
    total = np.bincount(ratings.rater, ratings.score)
    names = ratings.raters.to_list()
    return pl.concat(
        [
            _frame("data", "n", names, n),
            _frame("data", "sum", names, total),
            _rows(by_hl, "hl"),
            _rows(by_mml, "mml", intervals=True),
            _frame("tfm mml", "loglik", ["all"], [tfm.loglik]),
            *(_correlations(ratings, found, how) for found, how in ((by_hl, "hl"), (by_mml, "mml"))),
        ]
    )


def _rows(found: Fit, how: str, *, intervals: bool = False) -> pl.DataFrame:
    raters, items = found.table("raters"), found.table("items")
    names = raters["rater"].to_list()
    low, high = (raters["kappa_low"], raters["kappa_high"]) if intervals else (None, None)
    return pl.concat(
        [
            _frame(how, "rho", names, raters["rho"]),
            _frame(how, "eta", names, raters["eta"]),
            _frame(how, "kappa", names, raters["kappa"], low, high),
            _frame(how, "delta", [ITEMS[item] for item in items["item"]], items["delta"]),
            _frame(how, "sigma", ["all"], [found.sigma]),
            _frame(how, "loglik", ["all"], [found.loglik]),
        ]
    )


def _correlations(ratings: Ratings, found: Fit, how: str) -> pl.DataFrame:
    """Point-biserial correlation of each criterion's ratings with the students' estimated abilities."""
    theta = found.table("students")["theta"].to_numpy()
    items = ratings.items.to_list()
    levels, values = [], []
    for rater in paper.POINT_BISERIAL:
        by = ratings.rater == ratings.raters.to_list().index(rater)
        for item in ITEMS:
            chosen = by & (ratings.item == items.index(item))
            ability, score = theta[ratings.student[chosen]], ratings.score[chosen]
            levels.append(f"{rater} {ITEMS[item]}")
            values.append(np.corrcoef(ability, score)[0, 1])
    return _frame(how, "point-biserial", levels, values)


def _frame(
    how: str, parameter: str, level: list[str], estimate: Any, low: Any = None, high: Any = None
) -> pl.DataFrame:
    nothing = np.full(len(level), np.nan)
    return pl.DataFrame(
        {
            "how": [how] * len(level),
            "parameter": [parameter] * len(level),
            "level": level,
            "estimate": np.asarray(estimate, float),
            "low": nothing if low is None else np.asarray(low, float),
            "high": nothing if high is None else np.asarray(high, float),
        }
    )


def draw(results: Results) -> Any:
    data = results.tables["raters"]
    order = data["rater"].to_list()
    y = alt.Y("rater:N", title="Rater and topic", sort=order, axis=alt.Axis(grid=True))
    x = alt.Scale(domain=[0.3, 1], nice=False)
    long = data.unpivot(["kappa_paper", "kappa_mml"], index="rater").with_columns(
        pl.col("variable").str.strip_prefix("kappa_")
    )
    bars = (
        alt.Chart(data)
        .mark_rule(strokeWidth=1.6, color=BLUE, opacity=0.6)
        .encode(y=y, x=alt.X("kappa_low:Q", scale=x), x2="kappa_high:Q")
    )
    points = (
        alt.Chart(long)
        .mark_point(filled=True, size=60, opacity=1)
        .encode(
            y=y,
            x=alt.X("value:Q", title="Mean capability κ̄ (95 % interval)", scale=x),
            **two_kinds("variable", ["paper", "mml"], "Estimate", blue_first=False),
        )
    )
    return (bars + points).properties(width=300, height=alt.Step(18))


STUDY = Study("writing", "The paper's empirical study", 200, replicate, page, draw, check_data)
