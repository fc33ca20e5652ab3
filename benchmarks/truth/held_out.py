"""Do raters agree with decisions as often as foreseen? `python -m benchmarks.truth.held_out [--panels 20] [--data
writing.csv]`.

Students are dealt into two halves. A model fitted to one half foresees, in the other, whether each reading gives the
grade that the student's other readings decide. Simulated panels: 300 students, 8 raters, 4 criteria scored 0 to 3,
three raters per student; without and with halo. With `--data`, a file of ratings as well, by both halves in turn: the
paper's writing data are read with `--student pid --rater rater,topic`, its items are `--items`, the cut is on the
mean score.
"""

import argparse
from itertools import pairwise

import numpy as np
import polars as pl

import raterlens as rl
from benchmarks.truth.held_out_agreement import held_out_agreement
from raterlens.grading.grades import cuts_of, readings_of


def agreements(ratings: rl.Ratings, cut: float | None, seed: int, halo: str) -> pl.DataFrame:
    """Both halves in turn, every reading held out once."""
    half = np.random.default_rng(seed).permutation(ratings.n_students) % 2
    found = []
    for one in (0, 1):
        chosen = half[ratings.student] == one
        fit = rl.fit(ratings.subset(chosen, keep_levels=True), model="gmf", halo=halo)
        assert fit.calibration is not None
        cuts = cuts_of(fit.calibration, 0.0, "ability") if cut is None else cuts_of(fit.calibration, cut)
        others = ratings.subset(~chosen, keep_levels=True)
        readings = len(readings_of(ratings, np.array([0]))[0])
        found += [held_out_agreement(fit.calibration, others, cuts, k) for k in range(readings)]
    return pl.concat(found)


def said(name: str, rows: pl.DataFrame) -> None:
    """Foreseen and seen agreement over all readings and by how sure it was, with standard errors over students."""
    edges = (0.0, 0.6, 0.8, 0.9, 1.0)
    groups = [("all", rows)]
    for low, high in pairwise(edges):
        groups.append(
            (f"{low:g} to {high:g}", rows.filter(pl.col("foreseen").is_between(low, high, closed="left")))
        )
    for name_, own in groups:
        each = own.group_by("student").agg(
            (pl.col("agreed").cast(pl.Float64) - pl.col("foreseen")).sum().alias("off"), pl.len()
        )
        off, n = float(each["off"].sum()), own.height
        error = float(np.sqrt((each["off"].to_numpy() ** 2).sum()))
        print(
            f"{name:<26} {name_:<12} {n:>6} readings  foreseen {own['foreseen'].to_numpy().mean():.3f}  "
            f"seen {own['agreed'].to_numpy().mean():.3f}  difference {off / n:+.3f} (s.e. {error / n:.3f})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--panels", type=int, default=20)
    parser.add_argument("--students", type=int, default=300)
    parser.add_argument("--seed", type=int, default=25)
    parser.add_argument("--data")
    parser.add_argument("--student", default="pid")
    parser.add_argument("--rater", default="rater,topic")
    parser.add_argument("--items", default="spe,coh,str,gra,con")
    parser.add_argument("--cut", type=float, default=1.5)
    options = parser.parse_args()
    for halo, spread in (("none", 0.0), ("common", 1.0)):
        found = []
        for k in range(options.panels):
            drawn = rl.simulate(
                students=options.students,
                raters=8,
                items=4,
                raters_per_student=3,
                thresholds=[-1.2, 0.0, 1.2],
                halo=spread,
                seed=[options.seed, k],
            )
            rows = agreements(drawn.ratings, None, k, halo)
            found.append(rows.with_columns(pl.format("{} {}", pl.lit(k), "student").alias("student")))
        said(f"simulated, halo {spread:g}", pl.concat(found))
    if options.data:
        columns = {
            "student": options.student,
            "rater": options.rater.split(","),
            "items": options.items.split(","),
        }
        ratings = rl.read(options.data, **columns)
        said(
            f"{options.data.rsplit('/', 1)[-1]}, cut {options.cut:g}",
            agreements(ratings, options.cut, 0, "none"),
        )


if __name__ == "__main__":
    main()
