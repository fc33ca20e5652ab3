"""The page of the empirical study: what is reproduced, and what becomes of the paper's conclusions."""

import numpy as np
import polars as pl
from scipy import stats

from raterlens.base.text import number
from raterlens.base.types import Array, Mask
from raterlens.simulation import writing_assessment as writing
from raterlens.studies import paper_tables as paper
from raterlens.studies.markdown import page as join
from raterlens.studies.markdown import table
from raterlens.studies.study import Results

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
        wide = {
            name: resampled.filter(pl.col("parameter") == name)
            .pivot("level", index="replication", values="estimate")
            .sort("replication")
            for name in ("kappa", "rho")
        }
        self._resampled = {
            name: frame.select(RATERS).to_numpy() if frame.height else np.empty((0, len(RATERS)))
            for name, frame in wide.items()
        }

    def one(self, how: str, parameter: str, level: str = "all", column: str = "estimate") -> float:
        return float(self._rows[how, parameter, level][column])

    def raters(self, how: str, parameter: str, column: str = "estimate") -> Array:
        return np.array([self.one(how, parameter, rater, column) for rater in RATERS])

    def resampled(self, parameter: str) -> Array:
        """(resamples, raters)"""
        return self._resampled[parameter]


def page(rows: pl.DataFrame) -> Results:
    found = _Numbers(rows)
    text = join(
        "# The writing assessment",
        "`raterlens study writing --data PATH --out DIR` wrote this page from `data.cqc04` of the R package TAM: 363 "
        "students, 1,452 essays, 7,260 ratings; pass is the highest score; a rater on a topic is a rater of its own. "
        "The paper's numbers beside those by hierarchical likelihood (`hl`) and marginal maximum likelihood (`mml`, "
        f"with 95 % intervals). Intervals and shares marked ° are from {found.resamples} resamples of the students.",
        "![Capability of each rater: the paper's estimate, and ours with its interval](writing.png)",
        "## Raters",
        _raters(found),
        _distance(found),
        "## Topics, items, scale",
        _topics(found),
        _items(found),
        "## Point-biserial check",
        "Correlation of the ratings with the students' estimated abilities, by criterion:",
        _point_biserial(found),
        "## What becomes of the paper's conclusions",
        _conclusions(found),
    )
    return Results(text, {"raters": _rater_frame(found)})


def _rater_frame(found: _Numbers) -> pl.DataFrame:
    columns: dict[str, object] = {
        "rater": RATERS,
        "n": found.raters("data", "n"),
        "sum": found.raters("data", "sum"),
    }
    for name, printed in (("rho", writing.RHO), ("eta", writing.ETA), ("kappa", writing.KAPPA)):
        columns[f"{name}_paper"] = printed
        for how in ("hl", "mml"):
            columns[f"{name}_{how}"] = found.raters(how, name)
    columns["kappa_low"] = found.raters("mml", "kappa", "low")
    columns["kappa_high"] = found.raters("mml", "kappa", "high")
    return pl.DataFrame(columns)


def _raters(found: _Numbers) -> str:
    heading = [
        "Rater",
        "ratings",
        "sum",
        *(f"{n} {h}" for n in ("ρ", "η", "κ̄") for h in ("paper", "hl", "mml")),
    ]
    rows = []
    for row in _rater_frame(found).iter_rows(named=True):
        cells = [row["rater"], number(row["n"], 0), number(row["sum"], 0)]
        for name in ("rho", "eta", "kappa"):
            cells += [number(row[f"{name}_{how}"]) for how in ("paper", "hl", "mml")]
        cells[-1] += f" ({number(row['kappa_low'])} to {number(row['kappa_high'])})"
        rows.append(cells)
    return table(heading, rows)


def _distance(found: _Numbers) -> str:
    counts = [[row.n, row.total] for row in writing.TABLE]
    same = np.array_equal(np.column_stack([found.raters("data", "n"), found.raters("data", "sum")]), counts)
    frame = _rater_frame(found)
    largest = {
        name: float((frame[f"{name}_hl"] - frame[f"{name}_paper"]).abs().max())  # type: ignore[arg-type]
        for name in ("rho", "eta", "kappa")
    }
    return (
        f"{'All' if same else 'NOT all'} 16 numbers of ratings and sums are the printed ones. Largest difference of "
        f"`hl` from the printed estimates: ρ {number(largest['rho'], 3)}, η {number(largest['eta'], 3)}, "
        f"κ̄ {number(largest['kappa'], 3)}."
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
    rows.append(
        ["log-likelihood", "", *(number(found.one(how, "loglik"), 4) for how in ("hl", "mml"))],
    )
    return table(["", "paper", "hl", "mml"], rows)


def _point_biserial(found: _Numbers) -> str:
    rows = []
    for rater, printed in paper.POINT_BISERIAL.items():
        for item, value in zip(writing.DELTA, printed, strict=True):
            ours = [number(found.one(how, "point-biserial", f"{rater} {item}")) for how in ("hl", "mml")]
            rows.append([rater, item, number(value), *ours])
    return table(["Rater", "criterion", "paper", "hl", "mml"], rows)


def _conclusions(found: _Numbers) -> str:
    points = (_likelihood, _topic_order, _extreme_raters, _am_on_family, _discrimination, _am_on_sport)
    return "\n".join(f"- {point(found)}" for point in points)


def _likelihood(found: _Numbers) -> str:
    behind = found.one("mml", "loglik") - found.one("hl", "loglik")
    ratio = 2 * (found.one("mml", "loglik") - found.one("tfm mml", "loglik"))
    chance = float(stats.chi2.sf(ratio, _GMF_PARAMETERS_MORE))
    return (
        f"*The estimates.* The paper's (`hl`) lie {number(behind, 1)} log-likelihood units below the maximum (`mml`), "
        f"with σ = {number(found.one('hl', 'sigma'))} in place of {number(found.one('mml', 'sigma'))}. GMF against "
        f"TFM: likelihood ratio {number(ratio, 1)} on {_GMF_PARAMETERS_MORE} degrees of freedom, p = "
        f"{number(chance, 3)}: much of the printed spread in discrimination is noise."
    )


def _topic_order(found: _Numbers) -> str:
    kappa, topics = found.resampled("kappa"), list(paper.TOPIC_KAPPA)
    mean = np.column_stack([kappa[:, [r.endswith(topic) for r in RATERS]].mean(axis=1) for topic in topics])
    best, worst = topics.index("Family"), topics.index("Sport")
    ordered = (mean.argmax(axis=1) == best) & (mean.argmin(axis=1) == worst)
    return (
        "*Raters are most capable on Family and least on Sport.* The ratio of the two means has the interval° "
        f"{_interval(mean[:, best] / mean[:, worst])}; Family is first and Sport last of the four topics in "
        f"{_share(ordered)} of resamples°."
    )


def _extreme_raters(found: _Numbers) -> str:
    kappa = found.resampled("kappa")
    low, high = found.raters("mml", "kappa", "low"), found.raters("mml", "kappa", "high")
    apart = int(np.sum(high[:, None] < low))
    pairs = len(RATERS) * (len(RATERS) - 1) // 2
    return (
        "*CO:School is the most capable, AM:Sport the least.* So it is in the estimates by both methods; in "
        f"{_share(kappa.argmax(axis=1) == RATERS.index('CO:School'))} and "
        f"{_share(kappa.argmin(axis=1) == RATERS.index('AM:Sport'))} of resamples°. Of {pairs} pairs of raters, the "
        f"intervals of {apart} do not overlap."
    )


def _am_on_family(found: _Numbers) -> str:
    kappa = found.resampled("kappa")
    others = [RATERS.index(f"AM:{topic}") for topic in ("School", "Sport", "Work")]
    ahead = np.all(kappa[:, [RATERS.index("AM:Family")]] > kappa[:, others], axis=1)
    return f"*AM is more capable on Family than on the other topics.* In {_share(ahead)} of resamples°."


def _discrimination(found: _Numbers) -> str:
    names = ("AM", "BE", "CO", "DA")
    printed = {n: float(np.mean([row.rho for row in writing.TABLE if row.rater == n])) for n in names}
    rho = found.resampled("rho")
    ours = {n: _interval(_relative(rho, [r.startswith(n) for r in RATERS])) for n in names}
    return (
        "*AM and DA have relatively low discrimination.* Not DA in the paper's own table, whose means of ρ are "
        + ", ".join(f"{name} {number(value)}" for name, value in printed.items())
        + "; intervals° by `mml`, relative to the mean of all: "
        + ", ".join(f"{name} {value}" for name, value in ours.items())
        + "."
    )


def _am_on_sport(found: _Numbers) -> str:
    return (
        "*AM on Sport is relatively unbiased* (the text of Study 2). The printed severity there is -1.77; by `mml` it "
        f"is {number(found.one('mml', 'eta', 'AM:Sport'))}: as lenient as on the other topics."
    )


def _relative(resampled: Array, own: list[bool]) -> Array:
    return np.asarray(resampled[:, own].mean(axis=1) / resampled.mean(axis=1))


def _interval(values: Array) -> str:
    if len(values) < 2:
        return "–"
    low, high = np.quantile(values, [0.025, 0.975])
    return f"{number(float(low))} to {number(float(high))}"


def _share(true: Mask | np.bool_) -> str:
    return f"{np.mean(true):.0%}" if np.size(true) else "–"
