"""A share of the ratings replaced by coin flips.

If a share s of a rater's ratings is noise, the pass rate is (1 - s) mu + s / 2: its sensitivity to ability, and so the
true capability, is (1 - s) times what it was. Noise in all raters lowers everyone's capability, which the index hardly
shows because its yardstick is the best rater of the panel. Noise in a few raters shows up as theirs.
"""

from dataclasses import replace

import numpy as np
import polars as pl

from raterlens import capability
from raterlens.base.arrays import Array, Mask
from raterlens.base.layers import Axis
from raterlens.base.picture import Picture
from raterlens.base.text import number
from raterlens.config import FitConfig
from raterlens.fitting.fit import fitted
from raterlens.ratings.coded import Ratings
from raterlens.simulation.simulate import simulate
from raterlens.studies.figures import HEIGHT, around, curves
from raterlens.studies.study import (
    Results,
    Study,
    Task,
    accuracy,
    opening,
    page,
    replications,
    rows,
    statistic,
    table,
    with_error,
)

SHARES = (0.0, 0.05, 0.1, 0.2, 0.4)
EVERYONE, FEW = "all raters", "three of twelve raters"
RATERS, NOISY, SIGMA = 12, 3, 2.0
PANEL, FIXED = "best rater", "fixed"
"""Yardsticks: the largest slope of the panel, as in the paper, or the true one without noise."""

CONFIG = FitConfig(reference=SIGMA, standard_errors=False)


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
            found = fitted(flip(drawn.ratings, noisy, share, random), CONFIG).table("raters")
            sigma = SIGMA * float(found["rho"].to_numpy().max())
            # kappa-bar is a sensitivity over that of the yardstick, so another yardstick is another divisor.
            fixed = found["kappa"].to_numpy()
            panel = fixed * float(capability.delta(SIGMA) / capability.delta(sigma))
            truth = drawn.truth.kappa * np.where(noisy, 1 - share, 1.0)
            for group, chosen in (("noisy", noisy), ("clean", ~noisy)):
                for yardstick, estimate in ((PANEL, panel), (FIXED, fixed)):
                    levels = drawn.ratings.raters.filter(pl.Series(chosen))
                    labels = {"where": where, "group": group, "yardstick": yardstick, "share": share}
                    frames.append(
                        rows("kappa", levels, truth[chosen], estimate[chosen], **labels, sigma=sigma)
                    )
    return pl.concat(frames)


def flip(ratings: Ratings, noisy: Mask, share: float, random: np.random.Generator) -> Ratings:
    """The ratings, with a share of those by `noisy` raters decided by a coin."""
    chosen = (random.random(ratings.n_ratings) < share) & noisy[ratings.rater]
    coin = random.integers(0, 2, ratings.n_ratings, dtype=np.int16)
    return replace(ratings, score=np.where(chosen, coin, ratings.score))


def summarise(rows: pl.DataFrame) -> Results:
    found = accuracy(rows, ["where", "group", "yardstick", "share"])
    have = found.rows_by_key(["where", "group", "yardstick", "share"], named=True, unique=True)
    sigma = rows.group_by("where", "share").agg(pl.col("sigma").mean()).rows_by_key(["where", "share"])
    cells = []
    for where, group in ((EVERYONE, "noisy"), (FEW, "noisy"), (FEW, "clean")):
        for share in SHARES:
            own = [have[where, group, yardstick, share] for yardstick in (PANEL, FIXED)]
            whose = "" if where == EVERYONE else ": theirs" if group == "noisy" else ": the others"
            cells.append(
                [
                    where + whose,
                    f"{share:.0%}",
                    number(sigma[where, share][0][0]),
                    number(own[0]["truth"], 3),
                    *(with_error(row["truth"] + row["bias"], row["bias_se"]) for row in own),
                    *(statistic(row, "rmse") for row in own),
                ]
            )
    text = page(
        "# Noise: a share of the ratings decided by a coin",
        opening("noise", replications(found)),
        "GMF by `mml`; 300 students, 12 raters, 4 raters per student, 5 items. With a share s of coin flips a rater "
        "keeps (1 - s) of its capability: the true κ̄ below, on the scale of the panel without noise. κ̄ is estimated "
        f"with the best rater as yardstick (as in the paper) and with a fixed one (`reference={SIGMA:g}`).",
        "![Estimated capability against the share of noise](noise.png)",
        table(
            ["Noise in", "share", "σ̂", "true κ̄", "κ̄", "κ̄, fixed yardstick", "RMSE", "RMSE, fixed yardstick"],
            cells,
        ),
        "Noise in three raters is attributed to them, and the others keep their values. Noise in all raters lowers σ̂ "
        "instead, and κ̄ by only a fraction of the lost capability: the yardstick is the best rater of the panel, so an "
        "index relative to the panel hardly shows what happens to the whole panel. A fixed yardstick does.",
    )
    return Results(text, {"accuracy": found})


def relative_capability(results: Results) -> pl.DataFrame:
    """Mean estimated capability relative to that without noise: curve, share, relative."""
    names = {
        (FEW, "clean", PANEL): "noise in three raters: the others",
        (FEW, "noisy", PANEL): "noise in three raters: theirs",
        (EVERYONE, "noisy", PANEL): "noise in all raters",
        (EVERYONE, "noisy", FIXED): "noise in all raters, fixed yardstick",
    }
    frames = [_curve("truth for noisy raters: 1 − s", [0.0, 0.4], np.array([1.0, 0.6]))]
    for (where, group, yardstick), name in names.items():
        own = results.tables["accuracy"].filter(where=where, group=group, yardstick=yardstick).sort("share")
        mean = (own["truth"] + own["bias"]).to_numpy()
        frames.append(_curve(name, own["share"], mean / mean[0]))
    return pl.concat(frames)


def _curve(name: str, share: list[float] | pl.Series, relative: Array) -> pl.DataFrame:
    return pl.DataFrame({"curve": [name] * len(relative), "share": share, "relative": relative})


def draw(results: Results) -> Picture:
    data = relative_capability(results)
    labels = tuple((at / 10, f"{10 * at} %") for at in range(5))
    x = Axis(-0.01, 0.41, "Share s of ratings that are noise", labels=labels, grid=True)
    y = around(data["relative"], "Estimated κ̄, relative to no noise")
    panel = curves(data, ("share", "relative", "curve"), x, y, points=True)
    return Picture((panel,), "Estimated capability by the share of noise.", HEIGHT)


STUDY = Study("noise", "A share of the ratings replaced by coin flips", 100, replicate, summarise, draw)
