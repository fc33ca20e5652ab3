"""A share of the ratings replaced by coin flips.

Where a share s of a rater's ratings is noise, the pass rate is (1 - s) mu + s / 2: its sensitivity to ability, and so
the true capability, is (1 - s) times what it was. Noise spread over all raters alike lowers everybody's: the index,
whose yardstick is the best of the panel, hardly shows it. Noise of a few raters shows as theirs.
"""

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.fitting import fit
from raterlens.ratings import Ratings
from raterlens.studies.accuracy import accuracy, label_rows, replications, rows
from raterlens.studies.markdown import number, opening, page, table, with_error
from raterlens.studies.simulate import simulate
from raterlens.studies.study import Results, Study, Task

SHARES = (0.0, 0.05, 0.1, 0.2, 0.4)
EVERYONE, FEW = "all raters", "three of twelve raters"
RATERS, NOISY = 12, 3


def replicate(task: Task) -> pl.DataFrame:
    drawn = simulate(
        students=300,
        raters=RATERS,
        items=5,
        raters_per_student=4,
        slope=np.tile([1.0, 1.5, 2.0], 4),
        severity=np.repeat([-0.9, -0.3, 0.3, 0.9], 3),
        seed=task.entropy,
    )
    kappa = drawn.truth.kappa
    frames = []
    for where in (EVERYONE, FEW):
        noisy = np.ones(RATERS, bool) if where == EVERYONE else np.arange(RATERS) % (RATERS // NOISY) == 0
        for share in SHARES:
            # The same coins for every share: conditions differ by nothing but the share.
            random = np.random.default_rng([*task.entropy, 1])
            found = fit(flip(drawn.ratings, noisy, share, random), standard_errors=False)
            estimate = found.table("raters")["kappa"].to_numpy()
            truth = kappa * np.where(noisy, 1 - share, 1.0)
            labels = {"where": where, "share": share, "sigma": found.sigma}
            for group, chosen in (("noisy", noisy), ("clean", ~noisy)):
                if chosen.any():
                    levels = drawn.ratings.raters.filter(pl.Series(chosen))
                    part = rows("kappa", levels, truth[chosen], estimate[chosen])
                    frames.append(label_rows(part, **labels, group=group))
    return pl.concat(frames)


def flip(ratings: Ratings, noisy: NDArray[np.bool_], share: float, random: np.random.Generator) -> Ratings:
    """The ratings with a share of those by `noisy` raters decided by a coin."""
    chosen = (random.random(ratings.n_ratings) < share) & noisy[ratings.rater]
    coin = random.integers(0, 2, ratings.n_ratings, dtype=np.int16)
    return replace(ratings, score=np.where(chosen, coin, ratings.score))


def summarise(rows: pl.DataFrame) -> Results:
    found = accuracy(rows, ["where", "group", "share"])
    sigma = rows.group_by("where", "share").agg(pl.col("sigma").mean()).rows_by_key(["where", "share"])
    mean = rows.group_by("where", "group", "share").agg(pl.col("estimate").mean())
    estimate = mean.rows_by_key(["where", "group", "share"])
    lines = []
    for row in found.sort(pl.col("where") != EVERYONE, "group", "share").iter_rows(named=True):
        key = (row["where"], row["group"], row["share"])
        lines.append(
            [
                f"{row['where']}: {row['group']} ones",
                f"{row['share']:.0%}",
                number(sigma[key[0], key[2]][0][0]),
                number(row["truth"], 3),
                number(estimate[key][0][0], 3),
                with_error(row["bias"], row["bias_se"]),
                with_error(row["rmse"], row["rmse_se"]),
            ]
        )
    text = page(
        "# Noise: a share of the ratings decided by a coin",
        opening("noise", replications(found)),
        "GMF by `mml`; 300 students, 12 raters, 4 raters a student, 5 items. A "
        "share s of coin flips leaves a rater (1 - s) of the capability: that is the true κ̄ below, on the scale of the "
        "panel without noise.",
        "![Estimated capability against the share of noise](noise.png)",
        table(["Noise in", "share", "σ̂", "true κ̄", "mean κ̄ estimated", "bias", "RMSE"], lines),
        "Noise of three raters is found as theirs, and the others keep their values. Noise of everybody lowers σ̂ and "
        "leaves κ̄ nearly where it was, because the yardstick is the best rater of the panel: an index relative to the "
        "panel cannot see what befalls the whole panel. Watch σ̂, or choose a fixed yardstick.",
    )
    return Results(text, {"accuracy": found, "means": mean.sort("where", "group", "share")})


STUDY = Study("noise", "A share of the ratings replaced by coin flips", 100, replicate, summarise)
