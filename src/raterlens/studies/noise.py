"""A share of the ratings replaced by coin flips.

Where a share s of a rater's ratings is noise, the pass rate is (1 - s) mu + s / 2: its sensitivity to ability, and so
the true capability, is (1 - s) times what it was. Noise spread over all raters alike lowers everybody's: the index,
whose yardstick is the best of the panel, hardly shows it. Noise of a few raters shows as theirs.
"""

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens import capability
from raterlens.fitting import fit
from raterlens.ratings.coded import Ratings
from raterlens.simulation.simulate import simulate
from raterlens.studies.accuracy import accuracy, label_rows, replications, rows
from raterlens.studies.markdown import number, opening, page, table, with_error
from raterlens.studies.study import Results, Study, Task

SHARES = (0.0, 0.05, 0.1, 0.2, 0.4)
EVERYONE, FEW = "all raters", "three of twelve raters"
RATERS, NOISY, SIGMA = 12, 3, 2.0
PANEL, FIXED = "best rater", "fixed"
"""Yardsticks: the most discriminating rater's slope, as in the paper, or the true one without noise."""


def replicate(task: Task) -> pl.DataFrame:
    drawn = simulate(
        students=300,
        raters=RATERS,
        items=5,
        raters_per_student=4,
        slope=np.tile(SIGMA * np.array([0.5, 0.75, 1.0]), 4),
        severity=np.repeat([-0.9, -0.3, 0.3, 0.9], 3),
        seed=task.entropy,
    )
    frames = []
    for where in (EVERYONE, FEW):
        noisy = np.ones(RATERS, bool) if where == EVERYONE else np.arange(RATERS) % (RATERS // NOISY) == 0
        for share in SHARES:
            # The same coins for every share: conditions differ by nothing but the share.
            random = np.random.default_rng([*task.entropy, 1])
            found = fit(
                flip(drawn.ratings, noisy, share, random), reference=SIGMA, standard_errors=False
            ).table("raters")
            sigma = SIGMA * float(found["rho"].to_numpy().max())
            # kappa-bar is a sensitivity over that of the yardstick, so another yardstick is another divisor.
            fixed = found["kappa"].to_numpy()
            panel = fixed * float(capability.delta(SIGMA) / capability.delta(sigma))
            truth = drawn.truth.kappa * np.where(noisy, 1 - share, 1.0)
            for group, chosen in (("noisy", noisy), ("clean", ~noisy)):
                for yardstick, estimate in ((PANEL, panel), (FIXED, fixed)):
                    levels = drawn.ratings.raters.filter(pl.Series(chosen))
                    labels = {
                        "where": where,
                        "group": group,
                        "yardstick": yardstick,
                        "share": share,
                        "sigma": sigma,
                    }
                    frames.append(
                        label_rows(rows("kappa", levels, truth[chosen], estimate[chosen]), **labels)
                    )
    return pl.concat(frames)


def flip(ratings: Ratings, noisy: NDArray[np.bool_], share: float, random: np.random.Generator) -> Ratings:
    """The ratings with a share of those by `noisy` raters decided by a coin."""
    chosen = (random.random(ratings.n_ratings) < share) & noisy[ratings.rater]
    coin = random.integers(0, 2, ratings.n_ratings, dtype=np.int16)
    return replace(ratings, score=np.where(chosen, coin, ratings.score))


def summarise(rows: pl.DataFrame) -> Results:
    found = accuracy(rows, ["where", "group", "yardstick", "share"])
    have = found.rows_by_key(["where", "group", "yardstick", "share"], named=True, unique=True)
    sigma = rows.group_by("where", "share").agg(pl.col("sigma").mean()).rows_by_key(["where", "share"])
    lines = []
    for where, group in ((EVERYONE, "noisy"), (FEW, "noisy"), (FEW, "clean")):
        for share in SHARES:
            own = [have[where, group, yardstick, share] for yardstick in (PANEL, FIXED)]
            lines.append(
                [
                    where
                    if where == EVERYONE
                    else f"{where}: {'theirs' if group == 'noisy' else 'the others'}",
                    f"{share:.0%}",
                    number(sigma[where, share][0][0]),
                    number(own[0]["truth"], 3),
                    *(with_error(row["truth"] + row["bias"], row["bias_se"]) for row in own),
                    *(with_error(row["rmse"], row["rmse_se"]) for row in own),
                ]
            )
    text = page(
        "# Noise: a share of the ratings decided by a coin",
        opening("noise", replications(found)),
        "GMF by `mml`; 300 students, 12 raters, 4 raters a student, 5 items. A share s of coin flips leaves a rater "
        "(1 - s) of the capability: that is the true κ̄ below, on the scale of the panel without noise. κ̄ is estimated "
        f"with the best rater as the yardstick (the paper's way) and with a fixed one (`reference={SIGMA:g}`).",
        "![Estimated capability against the share of noise](noise.png)",
        table(
            ["Noise in", "share", "σ̂", "true κ̄", "κ̄", "κ̄, fixed yardstick", "RMSE", "RMSE, fixed yardstick"],
            lines,
        ),
        "Noise of three raters is found as theirs, and the others keep their values. Noise of everybody lowers σ̂ "
        "instead, and κ̄ by a fraction of what capability lost, because the yardstick is the best rater of the panel: "
        "an index relative to the panel hardly sees what befalls the whole panel. A fixed yardstick does.",
    )
    return Results(text, {"accuracy": found})


STUDY = Study("noise", "A share of the ratings replaced by coin flips", 100, replicate, summarise)
