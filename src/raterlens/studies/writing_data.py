"""The paper's empirical study, from the real file: 363 students' essays, four raters, four topics, five criteria.

By hierarchical likelihood, which gives the paper's numbers, and by marginal maximum likelihood with intervals. The
first replication is the data; the others resample students, which gives intervals to everything that is
computed from several raters at once.
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.errors import InputError, OptionError
from raterlens.fitting import fit
from raterlens.ratings.coded import Ratings
from raterlens.reading.formats.registry import Opening, open_table
from raterlens.reading.reader import read
from raterlens.result.record import Fit
from raterlens.simulation import published as paper
from raterlens.studies.study import Results, Study, Task
from raterlens.studies.writing_page import page

ITEMS = {"spe": "specificity", "coh": "coherence", "str": "structure", "gra": "grammar", "con": "content"}
TOPICS = {"Fami": "Family", "Scho": "School", "Spor": "Sport"}
"""As the R package spells them."""

_GET = (
    "it is the dataset data.cqc04 of the R package TAM (https://cran.r-project.org/package=TAM): take "
    "data/data.cqc04.rda from the package's source, or in R run "
    'data(data.cqc04, package = "TAM"); write.csv(data.cqc04, "writing.csv", row.names = FALSE)'
)


def check_data(path: Path | None) -> None:
    """Raise, saying how to get the file, unless it is the paper's data."""
    if path is None:
        raise OptionError(f"the study 'writing' needs --data PATH; {_GET}")
    load(path)


def load(path: Path) -> pl.DataFrame:
    """The table with topics spelled out, from .rda or a delimited file."""
    if not path.is_file():
        raise InputError(f"no such file: '{path}'; {_GET}")
    wanted = ["pid", "rater", "topic", *ITEMS]
    with open_table(path, Opening()) as opened:
        missing = [name for name in wanted if name not in opened.columns]
        if missing:
            raise InputError(
                f"'{path}' has no column {missing[0]!r} among {', '.join(opened.columns)}; {_GET}"
            )
        table = opened.take(wanted).frame
    table = table.with_columns(
        pl.col("pid", *ITEMS).cast(pl.Int64), pl.col("topic").cast(pl.String).replace(TOPICS)
    )
    counts = dict(table.group_by(pl.format("{}:{}", "rater", "topic")).len().iter_rows())
    printed = {f"{rater}:{topic}": n // len(ITEMS) for rater, topic, n, *_ in paper.WRITING_TABLE}
    if counts != printed:
        raise InputError(
            f"'{path}' has {table.height:,} essays by {len(counts)} raters on topics, not the paper's 1,452 by 16, or "
            f"other numbers for some of them; {_GET}"
        )
    return table


def ratings_of(table: pl.DataFrame) -> Ratings:
    """As the paper has it: pass is the highest score, a rater on a topic is a rater of its own."""
    return read(table, student="pid", rater=["rater", "topic"], items=list(ITEMS), cut=3)


def resample(table: pl.DataFrame, random: np.random.Generator) -> pl.DataFrame:
    """As many students, drawn with replacement; one drawn twice is two students."""
    essays = table.with_row_index("row").group_by("pid", maintain_order=True).agg("row")["row"].to_list()
    drawn = random.integers(0, len(essays), len(essays))
    rows: list[int] = []
    student: list[int] = []
    for place, which in enumerate(drawn):
        rows += essays[which]
        student += [place] * len(essays[which])
    return table[rows].with_columns(pid=pl.Series(student))


def replicate(task: Task) -> pl.DataFrame:
    assert task.data is not None
    table = load(task.data)
    if task.index > 0:
        resampled = resample(table, np.random.default_rng(task.entropy))
        return _rows(fit(ratings_of(resampled), standard_errors=False), "mml")
    ratings = ratings_of(table)
    by_hl = fit(ratings, method="hl", standard_errors=False)
    by_mml = fit(ratings)
    tfm = fit(ratings, model="tfm", standard_errors=False)
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
    nothing: NDArray[np.float64] = np.full(len(level), np.nan)
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


def summarise(rows: pl.DataFrame) -> Results:
    return page(rows)


STUDY = Study("writing", "The paper's empirical study", 200, replicate, summarise, check_data)
