"""Which terms predict ratings that were held out? `python -m benchmarks.truth.held_out_terms FOLDER [--sets ...]`.

FOLDER has public rating data: writing.csv (data.cqc04 of the R package TAM) and data.*.rda of the R packages immer and
sirt. Each model is fitted to what is left, and predicts what was held out, by its log-probability:

students  folds of students; log p(all ratings of a student)
readings  folds of readings of students with several; log p(reading | the student's other readings)

Terms alone and together against plain GMF; `adapt` decides anew in every fold. Lines of JSON: gain in log score per
held-out student or reading, times 1,000, with the standard error over folds.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import raterlens as rl
from raterlens.base.errors import RaterlensError
from raterlens.estimation.scoring import place

MODELS: dict[str, dict[str, Any]] = {
    "plain GMF": {"model": "gmf"},
    "TFM": {"model": "tfm"},
    "partial credit": {"model": "gmf", "scale": "partial credit"},
    "rater thresholds": {"model": "gmf", "scale": "rater"},
    "panel prior": {"model": "gmf", "prior": "panel"},
    "rater x item": {"model": "gmf", "interactions": "rater:item"},
    "halo in logits": {"model": "gmf", "halo": "common"},
    "halo on ability": {"model": "gmf", "halo": "ability"},
    "item slopes": {"model": "gmf", "item_slopes": True},
    "shape": {"model": "gmf", "ability": "smooth"},
    "from the start": {
        "model": "gmf",
        "scale": "partial credit, rater",
        "prior": "panel",
        "interactions": "rater:item",
    },
    "adapt": {"model": None},
}
FEWEST_READINGS, MOST_READINGS = 15, 8
"""Readings of a rater, below which it is left out; of a student, beyond which the rest is."""


@dataclass(frozen=True)
class Source:
    """Where a set of ratings is, and what of it is used."""

    file: str
    student: str
    rater: tuple[str, ...]
    items: tuple[str, ...]
    students: int
    """At most, those with several readings first."""
    only: tuple[str, str] | None = None


SOURCES = {
    "writing": Source("writing.csv", "pid", ("rater", "topic"), ("spe", "coh", "str", "gra", "con"), 363),
    "ptam4": Source("data.ptam4.rda", "idstud", ("rater",), ("crit2", "crit3", "crit4"), 209),
    "ratings2": Source("data.ratings2.rda", "idstud", ("rater",), ("k1", "k2", "k3", "k4", "k5"), 600),
    "ratings3": Source("data.ratings3.rda", "idstud", ("rater",), ("crit2", "crit3", "crit4"), 600),
    "essays": Source("data.immer02.rda", "idstud", ("rater",), ("a1", "a2", "a3", "a4"), 1000),
    "immer01a": Source(
        "data.immer01a.rda", "idstud", ("rater",), ("k1", "k2", "k3", "k4", "k5"), 500, ("type", "E")
    ),
    "immer04a": Source(
        "data.immer04a.rda", "idstud", ("rater",), ("TA", "CC", "GR", "VOC"), 400, ("task", "l1")
    ),
    "immer05": Source(
        "data.immer05.rda", "idstud", ("rater",), ("TA", "CC", "GR", "VO"), 400, ("task", "l4")
    ),
}


def table_of(source: Source, folder: Path) -> pl.DataFrame:
    """One row per complete reading: student, rater, reading and the items."""
    path = folder / source.file
    if path.suffix == ".rda":
        import rdata  # the extra that reads such files

        (found,) = rdata.read_rda(path).values()
        table = pl.from_pandas(found.reset_index(drop=True))
    else:
        table = pl.read_csv(path)
    if source.only is not None:
        table = table.filter(pl.col(source.only[0]).cast(pl.String) == source.only[1])
    labels = pl.concat_str([pl.col(name).cast(pl.String) for name in source.rater], separator=":")
    table = table.select(
        pl.col(source.student).cast(pl.String).alias("student"),
        labels.alias("rater"),
        *(pl.col(name).cast(pl.Int64) for name in source.items),
    ).drop_nulls()
    table = table.filter(pl.int_range(pl.len()).shuffle(1).over("student") < MOST_READINGS)
    several = table.group_by("student").len().sort("len", "student", descending=[True, False])
    chosen = several.head(source.students)["student"]
    table = table.filter(pl.col("student").is_in(chosen.to_list()))
    return table.filter(pl.len().over("rater") >= FEWEST_READINGS).with_row_index("reading")


def ratings_of(table: pl.DataFrame, source: Source) -> rl.Ratings:
    return rl.read(table.drop("reading"), student="student", rater="rater", items=list(source.items))


def log_score(fit: rl.Fit, table: pl.DataFrame, source: Source) -> float:
    """The log-probability of all ratings of these students under a fit."""
    assert fit.calibration is not None
    long = table.unpivot(
        list(source.items), index=["student", "rater"], variable_name="item", value_name="score"
    )
    ratings = rl.read(long, student="student", rater="rater", item="item", score="score")
    return place(fit.calibration, ratings).loglik()


def folds(
    table: pl.DataFrame, kind: str, n: int
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame | None]]:
    """Readings to fit, readings to predict, and for readings the same students' other readings."""
    random = np.random.default_rng(7)
    if kind == "students":
        students = table["student"].unique().sort()
        fold = dict(zip(students, random.permutation(len(students)) % n, strict=True))
        of_row = np.array([fold[student] for student in table["student"]])
        for one in range(n):
            yield table.filter(of_row != one), table.filter(of_row == one), None
        return
    # Every fold takes one reading of some of the students who have several.
    count = dict(table.group_by("student").len().iter_rows())
    rows = random.permutation(len(table))
    place_of: dict[str, int] = {}
    of_row = np.full(len(table), -1)
    for row in rows:
        student = table["student"][int(row)]
        place = place_of.get(student, 0)
        if count[student] > 1 and place < n:
            of_row[row] = (place + hash_of(student)) % n
        place_of[student] = place + 1
    for one in range(n):
        held = table.filter(of_row == one)
        same = table.filter((of_row != one) & table["student"].is_in(held["student"].to_list()).to_numpy())
        yield table.filter(of_row != one), pl.concat([held, same]), same


def hash_of(label: str) -> int:
    return sum(map(ord, label))


def gains(
    source: Source, table: pl.DataFrame, kind: str, n: int, models: list[str]
) -> Iterator[dict[str, Any]]:
    scores: dict[str, list[float]] = {name: [] for name in models}
    spent, taken, held = dict.fromkeys(models, 0.0), [], []
    for train, test, same in folds(table, kind, n):
        known = train["rater"].unique().to_list()
        test = test.filter(pl.col("rater").is_in(known))
        same = None if same is None else same.filter(pl.col("rater").is_in(known))
        ratings = ratings_of(train, source)
        held.append(test["student"].n_unique() if same is None else len(test) - len(same))
        for name in models:
            begin = time.process_time()
            policy = "adapt" if name == "adapt" else "ignore"
            fit = rl.fit(ratings, standard_errors=False, assumptions=policy, **MODELS[name])
            spent[name] += time.process_time() - begin
            value = log_score(fit, test, source) - (0.0 if same is None else log_score(fit, same, source))
            scores[name].append(value)
            if name == "adapt":
                taken.append(fit.assumptions.filter("taken")["assumption"].to_list())
    plain, weight = np.array(scores["plain GMF"]), np.array(held)
    for name in models:
        gain = (np.array(scores[name]) - plain) / weight
        mean = float((gain * weight).sum() / weight.sum())
        yield {
            "kind": kind,
            "model": name,
            "held": int(weight.sum()),
            "gain": round(1000 * mean, 1),
            "se": round(1000 * float(gain.std(ddof=1) / np.sqrt(n)), 1),
            "seconds": round(spent[name] / n, 2),
            **({"taken": taken} if name == "adapt" else {}),
        }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="*", default=list(SOURCES))
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--folds", type=int, default=5)
    asked = parser.parse_args()
    for name in asked.sets:
        source = SOURCES[name]
        table = table_of(source, asked.folder)
        size = {"set": name, "students": table["student"].n_unique(), "raters": table["rater"].n_unique()}
        for kind in ("students", "readings"):
            try:
                for row in gains(source, table, kind, asked.folds, asked.models):
                    print(json.dumps(size | row), flush=True)
            except RaterlensError as error:
                print(json.dumps(size | {"kind": kind, "error": str(error)}), flush=True)


if __name__ == "__main__":
    main()
