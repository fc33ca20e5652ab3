"""The paper's empirical study, from the real file: essays of 363 students, four raters, four topics, five criteria.

Fitted by hierarchical likelihood, which gives the paper's numbers, and by marginal maximum likelihood with intervals.
The first replication is the data; the others resample students, which gives intervals for quantities that combine
several raters.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from raterlens.base.arrays import Array, Mask
from raterlens.base.errors import InputError, OptionError
from raterlens.base.layers import Axis, Layer, Marks, Segments, Stroke
from raterlens.base.picture import Panel, Picture
from raterlens.base.text import Message, Option, number
from raterlens.config import FitConfig, ReadConfig
from raterlens.fitting.fit import Fit, fitted
from raterlens.ratings.coded import Ratings
from raterlens.reading.formats.sources import open_table
from raterlens.reading.read import read
from raterlens.simulation import example as writing
from raterlens.studies import paper
from raterlens.studies.study import Results, Study, Task, kinds, label_rows, rows_axis, rows_height, table
from raterlens.studies.study import page as join

RATERS = writing.RATERS
_GMF_PARAMETERS_MORE = len(RATERS) - 1
"""Slopes of the GMF beyond the single one of the TFM."""


class _Numbers:
    """Estimates by (how, parameter) in the order of the printed tables, and those of the resamples."""

    def __init__(self, rows: pl.DataFrame) -> None:
        first = rows.filter(pl.col("replication") == 0)
        self._rows = first.rows_by_key(["how", "parameter", "level"], named=True, unique=True)
        resampled = rows.filter(pl.col("replication") > 0, pl.col("parameter").is_in(["kappa", "rho"]))
        self.resamples = resampled["replication"].n_unique()
        self._resampled = {}
        for name in ("kappa", "rho"):
            wide = resampled.filter(parameter=name).pivot("level", index="replication", values="estimate")
            empty = np.empty((0, len(RATERS)))
            self._resampled[name] = (
                wide.sort("replication").select(RATERS).to_numpy() if wide.height else empty
            )

    def one(self, how: str, parameter: str, level: str = "all", column: str = "estimate") -> float:
        return float(self._rows[how, parameter, level][column])

    def raters(self, how: str, parameter: str, column: str = "estimate") -> Array:
        return np.array([self.one(how, parameter, rater, column) for rater in RATERS])

    def resampled(self, parameter: str) -> Array:
        """(resamples, raters)"""
        return self._resampled[parameter]


def page(rows: pl.DataFrame) -> Results:
    found = _Numbers(rows)
    frame = _rater_frame(found)
    text = join(
        "# The writing assessment",
        "`raterlens study writing --data PATH --out DIR` wrote this page from `data.cqc04` of the R package TAM: 363 "
        "students, 1,452 essays, 7,260 ratings; pass is the highest score; a rater on a topic is a rater of its own. "
        "The paper's numbers beside those by hierarchical likelihood (`hl`) and marginal maximum likelihood (`mml`, "
        f"with 95 % intervals). Intervals and shares marked ° are from {found.resamples} resamples of the students.",
        "![Capability of each rater: the paper's estimate, and ours with its interval](writing.png)",
        "## Raters",
        _raters(frame),
        _distance(frame),
        "## Topics, items, scale",
        _topics(found),
        _items(found),
        "## Point-biserial check",
        "Correlation of the ratings with the students' estimated abilities, by criterion:",
        _point_biserial(found),
        "## What becomes of the paper's conclusions",
        _conclusions(found),
    )
    return Results(text, {"raters": frame})


def _rater_frame(found: _Numbers) -> pl.DataFrame:
    columns: dict[str, object] = {
        "rater": RATERS,
        **{name: found.raters("data", name) for name in ("n", "sum")},
    }
    for name, printed in (("rho", writing.RHO), ("eta", writing.ETA), ("kappa", writing.KAPPA)):
        columns |= {
            f"{name}_paper": printed,
            **{f"{name}_{how}": found.raters(how, name) for how in ("hl", "mml")},
        }
    columns |= {f"kappa_{end}": found.raters("mml", "kappa", end) for end in ("low", "high")}
    return pl.DataFrame(columns)


def _raters(frame: pl.DataFrame) -> str:
    columns = [f"{name}_{how}" for name in ("rho", "eta", "kappa") for how in ("paper", "hl", "mml")]
    heading = [f"{name} {how}" for name in ("ρ", "η", "κ̄") for how in ("paper", "hl", "mml")]
    rows = []
    for row in frame.iter_rows(named=True):
        cells = [
            row["rater"],
            number(row["n"], 0),
            number(row["sum"], 0),
            *(number(row[name]) for name in columns),
        ]
        cells[-1] += f" ({number(row['kappa_low'])} to {number(row['kappa_high'])})"
        rows.append(cells)
    return table(["Rater", "ratings", "sum", *heading], rows)


def _distance(frame: pl.DataFrame) -> str:
    same = frame.select("n", "sum").rows() == [(row.n, row.total) for row in writing.TABLE]
    names = {"rho": "ρ", "eta": "η", "kappa": "κ̄"}
    largest = frame.select(
        (pl.col(f"{name}_hl") - pl.col(f"{name}_paper")).abs().max().alias(name) for name in names
    )
    apart = ", ".join(f"{names[name]} {number(far, 3)}" for name, far in largest.row(0, named=True).items())
    return (
        f"{'All' if same else 'NOT all'} 16 numbers of ratings and sums are the printed ones. Largest difference of "
        f"`hl` from the printed estimates: {apart}."
    )


def _topics(found: _Numbers) -> str:
    resampled = found.resampled("kappa")
    rows = []
    for topic, printed in paper.TOPIC_KAPPA.items():
        own = [rater.endswith(topic) for rater in RATERS]
        means = [number(float(found.raters(how, "kappa")[own].mean())) for how in ("hl", "mml")]
        here = found.raters("mml", "kappa")
        relative = f"{number(float(here[own].mean() / here.mean()))} ({_interval(_relative(resampled, own))})"
        rows.append([topic, number(printed), *means, relative])
    return join(
        table(["Mean κ̄ on", "paper", "hl", "mml", "mml, relative to the mean of all (95 % interval°)"], rows),
        "Relative to the mean of all, because κ̄ itself hangs on the largest of sixteen noisy slopes, which every "
        "resample makes larger; the yardstick cancels in a ratio.",
    )


def _items(found: _Numbers) -> str:
    rows = [
        [f"δ {item}", number(printed), *(number(found.one(how, "delta", item)) for how in ("hl", "mml"))]
        for item, printed in writing.DELTA.items()
    ]
    rows.append(["σ", number(writing.SIGMA), *(number(found.one(how, "sigma")) for how in ("hl", "mml"))])
    rows.append(["log-likelihood", "", *(number(found.one(how, "loglik"), 4) for how in ("hl", "mml"))])
    return table(["", "paper", "hl", "mml"], rows)


def _point_biserial(found: _Numbers) -> str:
    rows = []
    for rater, printed in paper.POINT_BISERIAL.items():
        for item, value in zip(writing.DELTA, printed, strict=True):
            ours = [number(found.one(how, "point-biserial", f"{rater} {item}")) for how in ("hl", "mml")]
            rows.append([rater, item, number(value), *ours])
    return table(["Rater", "criterion", "paper", "hl", "mml"], rows)


def _conclusions(found: _Numbers) -> str:
    kappa, rho, topics = found.resampled("kappa"), found.resampled("rho"), list(paper.TOPIC_KAPPA)
    behind = found.one("mml", "loglik") - found.one("hl", "loglik")
    ratio = 2 * (found.one("mml", "loglik") - found.one("tfm mml", "loglik"))
    chance = float(stats.chi2.sf(ratio, _GMF_PARAMETERS_MORE))
    mean = np.column_stack([kappa[:, [r.endswith(topic) for r in RATERS]].mean(axis=1) for topic in topics])
    family, sport = topics.index("Family"), topics.index("Sport")
    ordered = (mean.argmax(axis=1) == family) & (mean.argmin(axis=1) == sport)
    extremes = (
        kappa.argmax(axis=1) == RATERS.index("CO:School"),
        kappa.argmin(axis=1) == RATERS.index("AM:Sport"),
    )
    low, high = found.raters("mml", "kappa", "low"), found.raters("mml", "kappa", "high")
    of_am = {topic: kappa[:, RATERS.index(f"AM:{topic}")] for topic in topics}
    ahead = np.all([of_am["Family"] > other for topic, other in of_am.items() if topic != "Family"], axis=0)
    names = ("AM", "BE", "CO", "DA")
    printed = {n: float(np.mean([row.rho for row in writing.TABLE if row.rater == n])) for n in names}
    ours = {n: _interval(_relative(rho, [r.startswith(n) for r in RATERS])) for n in names}
    points = (
        f"*The estimates.* The paper's (`hl`) lie {number(behind, 1)} log-likelihood units below the maximum (`mml`), "
        f"with σ = {number(found.one('hl', 'sigma'))} in place of {number(found.one('mml', 'sigma'))}. GMF against "
        f"TFM: likelihood ratio {number(ratio, 1)} on {_GMF_PARAMETERS_MORE} degrees of freedom, p = "
        f"{number(chance, 3)}: much of the printed spread in discrimination is noise.",
        "*Raters are most capable on Family and least on Sport.* The ratio of the two means has the interval° "
        f"{_interval(mean[:, family] / mean[:, sport])}; Family is first and Sport last of the four topics in "
        f"{_share(ordered)} of resamples°.",
        "*CO:School is the most capable, AM:Sport the least.* So it is in the estimates by both methods; in "
        f"{_share(extremes[0])} and {_share(extremes[1])} of resamples°. Of {math.comb(len(RATERS), 2)} pairs of "
        f"raters, the intervals of {int(np.sum(high[:, None] < low))} do not overlap.",
        f"*AM is more capable on Family than on the other topics.* In {_share(ahead)} of resamples°.",
        "*AM and DA have relatively low discrimination.* Not DA in the paper's own table, whose means of ρ are "
        + ", ".join(f"{name} {number(value)}" for name, value in printed.items())
        + "; intervals° by `mml`, relative to the mean of all: "
        + ", ".join(f"{name} {value}" for name, value in ours.items())
        + ".",
        "*AM on Sport is relatively unbiased* (the text of Study 2). The printed severity there is -1.77; by `mml` it "
        f"is {number(found.one('mml', 'eta', 'AM:Sport'))}: as lenient as on the other topics.",
    )
    return "\n".join(f"- {point}" for point in points)


def _relative(resampled: Array, own: list[bool]) -> Array:
    return np.asarray(resampled[:, own].mean(axis=1) / resampled.mean(axis=1))


def _interval(values: Array) -> str:
    if len(values) < 2:
        return "–"
    low, high = np.quantile(values, [0.025, 0.975])
    return f"{number(float(low))} to {number(float(high))}"


def _share(true: Mask | np.bool_) -> str:
    return f"{np.mean(true):.0%}" if np.size(true) else "–"


ITEMS = {"spe": "specificity", "coh": "coherence", "str": "structure", "gra": "grammar", "con": "content"}
TOPICS = {"Fami": "Family", "Scho": "School", "Spor": "Sport"}
"""As the R package spells them."""

MML, HL = FitConfig(), FitConfig(method="hl", standard_errors=False)
TFM = FitConfig(model="tfm", standard_errors=False)

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
        what = f"'{path}' has {table.height:,} essays by {len(counts)} raters on topics, not the paper's 1,452 by 16"
        raise InputError(what, _GET, value=path, option="data")
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
    names = ratings.raters.to_list()
    frames = [
        _frame("data", "n", names, np.bincount(ratings.rater)),
        _frame("data", "sum", names, np.bincount(ratings.rater, ratings.score)),
        _rows(by_hl, "hl"),
        _rows(by_mml, "mml", intervals=True),
        _frame("tfm mml", "loglik", ["all"], [tfm.loglik]),
    ]
    frames += [_correlations(ratings, found, how) for found, how in ((by_hl, "hl"), (by_mml, "mml"))]
    return pl.concat(frames)


def _rows(found: Fit, how: str, *, intervals: bool = False) -> pl.DataFrame:
    raters, items = found.table("raters"), found.table("items")
    names = raters["rater"].to_list()
    low, high = (raters["kappa_low"], raters["kappa_high"]) if intervals else (None, None)
    frames = [_frame(how, name, names, raters[name]) for name in ("rho", "eta")]
    frames.append(_frame(how, "kappa", names, raters["kappa"], low, high))
    frames.append(_frame(how, "delta", [ITEMS[item] for item in items["item"]], items["delta"]))
    frames += [_frame(how, name, ["all"], [getattr(found, name)]) for name in ("sigma", "loglik")]
    return pl.concat(frames)


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
    values = {"estimate": estimate, "low": low, "high": high}
    columns = {
        name: np.full(len(level), np.nan) if v is None else np.asarray(v, float) for name, v in values.items()
    }
    return label_rows(pl.DataFrame({"level": level, **columns}), how=how, parameter=parameter)


def draw(results: Results) -> Picture:
    data = results.tables["raters"].with_columns(row=pl.int_range(pl.len()) + 0.5)
    layers: list[Layer] = [
        Segments(data, "kappa_low", "row", "kappa_high", "row", Stroke("accent", 1.6, opacity=0.6))
    ]
    layers += [
        Marks(data, f"kappa_{how}", "row", look, tooltip="") for how, look in kinds(["mml", "paper"]).items()
    ]
    x = Axis(0.3, 1.0, "Mean capability κ̄ (95 % interval)", (7, 7), grid=True)
    panel = Panel(x, rows_axis(data["rater"].to_list()), tuple(layers))
    description = "Capability of each rater: the paper's estimate, and ours with its interval."
    return Picture((panel,), description, rows_height(RATERS))


STUDY = Study("writing", 200, replicate, page, draw, check_data)
