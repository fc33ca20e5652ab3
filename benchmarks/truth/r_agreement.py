"""Do R's packages find what Raterlens finds? `python -m benchmarks.truth.r_agreement 7k "TAM tfm" "sirt tfm"`.

One line per package, all of them unless some are named: its log-likelihood and how far it is above ours, and for
severities, both centred, the correlation, the largest difference and the slope of theirs on ours. lme4 and glmmTMB are
compared with Laplace's approximation here. Two are other estimators: lme4 with `nAGQ = 0` shrinks severities, and
fixest, which estimates abilities jointly with them, stretches them.

`python -m benchmarks.truth.r_agreement thresholds` and `... marks` compare raters' own thresholds with TAM's partial
credit model of raters and items, and marks out of 100 with lme4's normal model, on ratings that are drawn for it.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import raterlens as rl
from benchmarks.say import say
from benchmarks.speed.cases import IN_R, SIZES
from benchmarks.speed.programs import PROGRAMS

# Each reads ratings.csv (student, rater, item, score) and prints JSON: the log-likelihood, and what each rater has.
THRESHOLDS_IN_R = """
d <- read.csv("ratings.csv")
wide <- reshape(d, direction = "wide", idvar = c("student", "rater"), timevar = "item", v.names = "score")
rater <- as.integer(factor(wide$rater))
m <- TAM::tam.mml.mfr(
  wide[, -(1:2)], facets = data.frame(rater), pid = wide$student, formulaA = ~ item + rater * step, verbose = FALSE,
  control = list(nodes = seq(-8, 8, len = 161), conv = 1e-9, convD = 1e-9, convM = 1e-9, maxiter = 5000, Msteps = 20)
)
x <- split(m$xsi.facets$xsi, m$xsi.facets$facet)
# Steps of one rater after the other.
own <- rep(x$rater, each = length(x$step)) + x$step + x[["step:rater"]]
cat(sprintf('{"loglik": %.9f, "raters": [%s]}', logLik(m), paste(sprintf("%.9f", own), collapse = ", ")))
"""
MARKS_IN_R = """
d <- read.csv("ratings.csv")
m <- lme4::lmer(score ~ 0 + rater + (1 | student), d, REML = FALSE)
own <- -lme4::fixef(m)
cat(sprintf('{"loglik": %.9f, "raters": [%s]}', logLik(m), paste(sprintf("%.9f", own), collapse = ", ")))
"""


def drawn(kind: str) -> None:
    """On ratings that are drawn: a complete design of scores 0 to 3, or 300 students with three marks each."""
    if kind == "thresholds":
        ratings = rl.simulate(
            students=300, raters=5, items=3, thresholds=[-1, 0, 1], threshold_spread=0.5, seed=45
        ).ratings
        fit = rl.fit(ratings, "tfm", scale="rater free", prior="none", assumptions="ignore")
    else:
        ratings = rl.simulate(
            students=300, raters=8, items=1, raters_per_student=3, model="tfm", scale="continuous", seed=45
        ).ratings
        fit = rl.fit(ratings, "tfm", prior="none", assumptions="ignore")
    assert fit.calibration is not None
    known, ours = fit.calibration.effects, fit.raters["eta"].to_numpy()
    if kind == "thresholds":
        ours = (ours[:, None] + known["threshold"] + known["rater threshold"]).ravel()
    with tempfile.TemporaryDirectory() as folder:
        ratings.table().select("student", "rater", "item", "score").write_csv(Path(folder) / "ratings.csv")
        code = THRESHOLDS_IN_R if kind == "thresholds" else MARKS_IN_R
        done = subprocess.run(["Rscript", "-e", code], cwd=folder, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout[done.stdout.index("{") :])
    theirs = np.array(found["raters"])
    off = (theirs - theirs.mean()) - (ours - ours.mean())
    say(
        ratings=kind,
        loglik=found["loglik"],
        above_ours=found["loglik"] - fit.loglik,
        largest_difference=float(np.abs(off).max()),
    )


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
    if sys.argv[1] in ("thresholds", "marks"):
        drawn(sys.argv[1])
    else:
        main(sys.argv[1], tuple(sys.argv[2:]) or IN_R)
