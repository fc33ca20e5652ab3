"""Do R's packages find what Raterlens finds? `python -m benchmarks.truth.r_agreement 7k "TAM tfm" "sirt tfm"`.

One line per package, all of them unless some are named: its log-likelihood and how far it is above ours, and for
severities, both centred, the correlation, the largest difference and the slope of theirs on ours. lme4 and glmmTMB are
compared with Laplace's approximation here. Two are other estimators: lme4 with `nAGQ = 0` shrinks severities, and
fixest, which estimates abilities jointly with them, stretches them.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import raterlens as rl
from benchmarks.say import say
from benchmarks.speed.cases import IN_R, SIZES
from benchmarks.speed.programs import PROGRAMS


def main(size: str, programs: tuple[str, ...]) -> None:
    data = SIZES[size].file()
    ratings = rl.read(data, student="student", rater="rater", item="item", score="score")
    ours = {method: rl.fit(ratings, model="tfm", method=method) for method in ("mml", "laplace")}
    for program in programs:
        with tempfile.TemporaryDirectory() as folder:
            found = PROGRAMS[program](data, Path(folder))
            theirs = pl.read_csv(Path(folder) / "raters.csv")
        fit = ours["laplace" if found.get("of") == "Laplace" else "mml"]
        eta = fit.raters.select(pl.col("rater").cast(pl.String), "eta")
        both = eta.join(theirs, on="rater", validate="1:1")
        here, there = (both[name].to_numpy() - both[name].mean() for name in ("eta", "severity"))
        say(
            program=program,
            raters=len(both),
            loglik=found["loglik"],
            above_ours=found["loglik"] - fit.loglik,
            correlation=float(np.corrcoef(here, there)[0, 1]),
            largest_difference=float(np.abs(here - there).max()),
            slope=float(here @ there / (here @ here)),
        )


if __name__ == "__main__":
    main(sys.argv[1], tuple(sys.argv[2:]) or IN_R)
