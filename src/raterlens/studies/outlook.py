"""Outlook of the paper: noise in the ratings, common students between raters, and covariates of raters."""

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl

from raterlens import capability
from raterlens.base.arrays import Array, Indices, Mask
from raterlens.base.layers import Axis
from raterlens.base.picture import Picture
from raterlens.base.text import number
from raterlens.config import FitConfig
from raterlens.fitting.fit import fitted
from raterlens.ratings.coded import Ratings
from raterlens.simulation.simulate import simulate
from raterlens.studies.study import (
    HEIGHT,
    Results,
    Study,
    Task,
    accuracy,
    around,
    compare,
    curves,
    from_zero,
    page_of,
    rows,
    statistic,
    table,
    with_error,
)

CONFIG = FitConfig(standard_errors=False)
NAMES = {"kappa": "κ̄", "eta": "η", "slope": "slope"}


# --------------------------------------------------------------------------------------------------------- noise

# A share of the ratings replaced by coin flips.
#
# If a share s of a rater's ratings is noise, the pass rate is (1 - s) mu + s / 2: its sensitivity to ability, and so
# the true capability, is (1 - s) times what it was. Noise in all raters lowers everyone's capability, which the index
# hardly shows because its yardstick is the best rater of the panel. Noise in a few raters shows up as theirs.

SHARES = (0.0, 0.05, 0.1, 0.2, 0.4)
EVERYONE, FEW = "all raters", "three of twelve raters"
NOISY_OF, NOISY, SIGMA = 12, 3, 2.0
PANEL, FIXED = "best rater", "fixed"
"""Yardsticks: the largest slope of the panel, as in the paper, or the true one without noise."""
_OF_NOISE = ("where", "group", "yardstick", "share")


def replicate_noise(task: Task) -> pl.DataFrame:
    drawn = simulate(
        students=300,
        raters=NOISY_OF,
        items=5,
        raters_per_student=4,
        slope=np.tile(SIGMA * np.array([0.5, 0.75, 1.0]), 4),
        severity=np.repeat([-0.9, -0.3, 0.3, 0.9], 3),
        seed=task.entropy,
    )
    frames = []
    for where, share in product((EVERYONE, FEW), SHARES):
        noisy = (np.arange(NOISY_OF) % (NOISY_OF // NOISY) == 0) | (where == EVERYONE)
        # The same coins for every share: conditions differ by nothing but the share.
        flipped = flip(drawn.ratings, noisy, share, np.random.default_rng([*task.entropy, 1]))
        found = fitted(flipped, CONFIG.changed(reference=SIGMA)).table("raters")
        sigma = SIGMA * float(found["rho"].to_numpy().max())
        # kappa-bar is a sensitivity over that of the yardstick, so another yardstick is another divisor.
        fixed = found["kappa"].to_numpy()
        panel = fixed * float(capability.delta(SIGMA) / capability.delta(sigma))
        truth = drawn.truth.kappa * np.where(noisy, 1 - share, 1.0)
        for (group, chosen), (yardstick, estimate) in product(
            (("noisy", noisy), ("clean", ~noisy)), ((PANEL, panel), (FIXED, fixed))
        ):
            levels = drawn.ratings.raters.filter(pl.Series(chosen))
            labels = dict(zip(_OF_NOISE, (where, group, yardstick, share), strict=True)) | {"sigma": sigma}
            frames.append(rows("kappa", levels, truth[chosen], estimate[chosen], **labels))
    return pl.concat(frames)


def flip(ratings: Ratings, noisy: Mask, share: float, random: np.random.Generator) -> Ratings:
    """The ratings, with a share of those by `noisy` raters decided by a coin."""
    chosen = (random.random(ratings.n_ratings) < share) & noisy[ratings.rater]
    coin = random.integers(0, 2, ratings.n_ratings, dtype=np.int16)
    return replace(ratings, score=np.where(chosen, coin, ratings.score))


def summarise_noise(rows: pl.DataFrame) -> Results:
    found = accuracy(rows, _OF_NOISE)
    have = found.rows_by_key(_OF_NOISE, named=True, unique=True)
    sigma = (
        rows.group_by("where", "share")
        .agg(pl.col("sigma").mean())
        .rows_by_key(["where", "share"], unique=True)
    )
    cells = []
    for where, group in ((EVERYONE, "noisy"), (FEW, "noisy"), (FEW, "clean")):
        whose = "" if where == EVERYONE else ": theirs" if group == "noisy" else ": the others"
        for share in SHARES:
            own = [have[where, group, yardstick, share] for yardstick in (PANEL, FIXED)]
            means = [with_error(row["truth"] + row["bias"], row["bias_se"]) for row in own]
            truth = [number(sigma[where, share][0]), number(own[0]["truth"], 3)]
            cells.append(
                [where + whose, f"{share:.0%}", *truth, *means, *(statistic(row, "rmse") for row in own)]
            )
    heading = ["Noise in", "share", "σ̂", "true κ̄", "κ̄", "κ̄, fixed yardstick", "RMSE", "RMSE, fixed yardstick"]
    text = page_of(
        "noise",
        found,
        "# Noise: a share of the ratings decided by a coin",
        "GMF by `mml`; 300 students, 12 raters, 4 raters per student, 5 items. With a share s of coin flips a rater "
        "keeps (1 - s) of its capability: the true κ̄ below, on the scale of the panel without noise. κ̄ is estimated "
        f"with the best rater as yardstick (as in the paper) and with a fixed one (`reference={SIGMA:g}`).",
        "![Estimated capability against the share of noise](noise.png)",
        table(heading, cells),
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
    truth = pl.DataFrame({"share": [0.0, 0.4], "relative": [1.0, 0.6]})
    frames = [truth.select(pl.lit("truth for noisy raters: 1 − s").alias("curve"), pl.all())]
    mean = pl.col("truth") + pl.col("bias")
    for (where, group, yardstick), name in names.items():
        own = results.tables["accuracy"].filter(where=where, group=group, yardstick=yardstick).sort("share")
        frames.append(
            own.select(pl.lit(name).alias("curve"), "share", (mean / mean.first()).alias("relative"))
        )
    return pl.concat(frames)


def draw_noise(results: Results) -> Picture:
    data = relative_capability(results)
    labels = tuple((at / 10, f"{10 * at} %") for at in range(5))
    x = Axis(-0.01, 0.41, "Share s of ratings that are noise", labels=labels, grid=True)
    y = around(data["relative"], "Estimated κ̄, relative to no noise")
    panel = curves(data, ("share", "relative", "curve"), x, y, points=True)
    return Picture((panel,), "Estimated capability by the share of noise.", HEIGHT)


NOISE = Study("noise", 100, replicate_noise, summarise_noise, draw_noise)


# ------------------------------------------------------------------------------------------------------- linkage

# Common students between raters, from none to all, with the same workload for every rater.
#
# Every rater rates 48 students, some of them shared: with all raters (a common set) or with the next rater only (a
# chain). The rest are the rater's own, either drawn at random or sorted so that some raters have abler students; then
# only the common students tell severity from ability.

LINKED, ITEMS, WORK = 8, 4, 48
COMMON = (0, 2, 4, 8, 16, 24, 48)
CHAIN, SET = "chain", "common set"
RANDOM, SORTED = "random", "sorted by ability"
_TILT = 0.7
"""How far the mean ability of the first and the last rater's own students is from 0, in standard deviations."""
_OF_LINKS = ("parameter", "design", "students", "common")


def design(kind: str, common: int) -> tuple[Indices, Indices]:
    """Student and rater of every essay: each rater has WORK students, `common` of them shared.

    In the chain a rater shares half of them with the rater before and half with the one after, in a ring.
    """
    half, own = common // 2, WORK - common
    if kind == SET:
        shared, n_shared = list(product(range(common), range(LINKED))), common
    else:
        pairs = ((rater * half + k, rater) for rater, k in product(range(LINKED), range(half)))
        shared = [(student, who) for student, rater in pairs for who in (rater, (rater + 1) % LINKED)]
        n_shared = LINKED * half
    alone = [(n_shared + rater * own + k, rater) for rater, k in product(range(LINKED), range(own))]
    found = np.array(sorted(shared + alone))
    return found[:, 0], found[:, 1]


def abilities(student: Indices, rater: Indices, who: str, random: np.random.Generator) -> Array:
    """Standard normal; where sorted, students with a single rater are shifted by that rater's position."""
    n_raters = np.bincount(student)
    first = np.zeros(len(n_raters), np.int64)
    first[student[::-1]] = rater[::-1]
    shift = np.where(n_raters == 1, np.linspace(-_TILT, _TILT, LINKED)[first], 0.0) if who == SORTED else 0.0
    ability = random.normal(size=len(n_raters)) + shift
    return np.asarray((ability - ability.mean()) / ability.std())


def replicate_linkage(task: Task) -> pl.DataFrame:
    frames = []
    for kind, who, common in product((SET, CHAIN), (RANDOM, SORTED), COMMON):
        student, rater = design(kind, common)
        items = np.tile(np.arange(ITEMS), len(student))
        drawn = simulate(
            design=(np.repeat(student, ITEMS), np.repeat(rater, ITEMS), items),
            slope=np.tile([1.2, 1.8], LINKED // 2),
            # Severities unrelated to the order of the raters.
            severity=[0.6, -0.9, 0.2, 0.9, -0.3, -0.6, 0.3, -0.2],
            difficulty=[-0.6, -0.2, 0.2, 0.6],
            ability=abilities(student, rater, who, np.random.default_rng([*task.entropy, 1])),
            seed=task.entropy,
        )
        found, labels = fitted(drawn.ratings, CONFIG), {"design": kind, "students": who, "common": common}
        frames.append(compare(found, drawn.truth, ("eta", "kappa"), **labels))
    return pl.concat(frames)


def summarise_linkage(rows: pl.DataFrame) -> Results:
    found = accuracy(rows, _OF_LINKS)
    have = found.rows_by_key(_OF_LINKS, named=True, unique=True)
    columns = list(product(("eta", "kappa"), (SET, CHAIN), (RANDOM, SORTED)))
    cells = [
        [str(common), *(statistic(have[(*key, common)], "rmse") for key in columns)] for common in COMMON
    ]

    def error(kind: str, who: str, common: int) -> str:
        return number(have["eta", kind, who, common]["rmse"])

    text = page_of(
        "linkage",
        found,
        "# Linkage: common students between raters",
        f"GMF by `mml`; 8 raters, each with {WORK} students and 4 items, however many of the students are shared: with "
        "all raters (common set) or half with each neighbour in a ring (chain). The others are drawn at random, or "
        "sorted so that some raters have abler students than others (means from "
        f"-{_TILT} to {_TILT} standard deviations).",
        "![Error of severity and capability against the number of common students](linkage.png)",
        "RMSE over raters, with Monte-Carlo standard error:",
        table(["Common students", *(f"{NAMES[p]}, {kind}, {who}" for p, kind, who in columns)], cells),
        "If a rater's own students are a random draw, their mean ability is known well enough, and common students "
        f"matter little: the RMSE of η is {error(SET, RANDOM, 0)} without any and {error(SET, RANDOM, WORK)} with all. "
        "If students are sorted, severity cannot be told apart from the ability of the students rated: "
        f"{error(SET, SORTED, 0)} without common students, {error(SET, SORTED, 8)} with 8 of {WORK}, "
        f"{error(SET, SORTED, 24)} with 24. A set common to all raters does more than a chain of the same size "
        f"({error(CHAIN, SORTED, 24)} with 24).",
    )
    return Results(text, {"accuracy": found})


def draw_linkage(results: Results) -> Picture:
    data = results.tables["accuracy"].with_columns(
        curve=pl.col("design") + ", students " + pl.col("students")
    )
    labels = tuple((float(common), str(common)) for common in COMMON if common % 8 == 0)
    x = Axis(-1, WORK + 1, f"Common students of a rater's {WORK}", labels=labels, grid=True)
    panels = []
    for name, title in (("eta", "RMSE of severity η"), ("kappa", "RMSE of mean capability κ̄")):
        own = data.filter(parameter=name)
        panels.append(curves(own, ("common", "rmse", "curve"), x, from_zero(own["rmse"], title), points=True))
    what = "Error of severity and capability by the number of common students."
    return Picture(tuple(panels), what, HEIGHT, (2, 1))


LINKAGE = Study("linkage", 100, replicate_linkage, summarise_linkage, draw_linkage)


# ---------------------------------------------------------------------------------------------------- covariates

# Severity and log-discrimination as linear functions of experience, with few ratings per rater.
#
# If a covariate explains the raters, borrowing strength through it beats estimating each rater alone; if raters also
# differ for other reasons, it hides those.

RATERS = 40
YEARS = np.linspace(0, 20, RATERS)
# eta = 0.6 - 0.06 years (centred by the simulation), log a = -0.2 + 0.04 years.
BY_SEVERITY, BY_SLOPE = -0.06, 0.04
SCATTER = (0.0, 0.3, 0.6)
"""Standard deviation of what experience does not explain, in severity; a third of it in log-discrimination."""
OWN, EXPLAINED = "each rater's own", "explained by experience"


def replicate_covariates(task: Task) -> pl.DataFrame:
    frames = []
    for scatter in SCATTER:
        random = np.random.default_rng([*task.entropy, 1])
        drawn = simulate(
            students=200,
            raters=RATERS,
            items=3,
            raters_per_student=4,
            severity=0.6 + BY_SEVERITY * YEARS + scatter * random.normal(size=RATERS),
            slope=np.exp(-0.2 + BY_SLOPE * YEARS + scatter / 3 * random.normal(size=RATERS)),
            seed=task.entropy,
        )
        covariates = {"rater": drawn.ratings.raters.to_list(), "years": YEARS.tolist()}
        for how, config in ((OWN, CONFIG), (EXPLAINED, CONFIG.changed(covariates=covariates))):
            found, labels = fitted(drawn.ratings, config), {"how": how, "scatter": scatter}
            frames.append(compare(found, drawn.truth, ("kappa", "eta", "slope"), **labels))
        raters = found.table("raters")
        logs = np.log(raters["rho"].to_numpy() * found.sigma)
        by = np.polyfit(YEARS, np.column_stack([raters["eta"], logs]), 1)[0]
        frames.append(rows("coefficient", ["severity", "log slope"], [BY_SEVERITY, BY_SLOPE], by, **labels))
    return pl.concat(frames)


def summarise_covariates(rows: pl.DataFrame) -> Results:
    of_effect = pl.col("parameter") == "coefficient"
    raters = accuracy(rows.filter(~of_effect), ["parameter", "how", "scatter"])
    have = raters.rows_by_key(["parameter", "how", "scatter"], named=True, unique=True)
    effects_of = ["level", "scatter"]
    effect = accuracy(rows.filter(of_effect), effects_of).rows_by_key(effects_of, named=True, unique=True)
    columns = list(product(("kappa", "eta", "slope"), (OWN, EXPLAINED)))
    cells, effects = [], []
    for scatter in SCATTER:
        cells.append([f"{scatter:g}", *(statistic(have[(*key, scatter)], "rmse") for key in columns)])
        bias = (statistic(effect[level, scatter], "bias", 4) for level in ("severity", "log slope"))
        effects.append([f"{scatter:g}", *bias])

    def error(parameter: str, how: str, scatter: float) -> str:
        return number(have[parameter, how, scatter]["rmse"])

    text = page_of(
        "covariates",
        raters,
        "# Rater covariates: experience explains severity and discrimination",
        f"{RATERS} raters with 0 to 20 years of experience; 200 students, 4 raters per student, 3 items (60 ratings "
        "per rater). Severity falls by 0.06 per year, log-discrimination rises by 0.04; what experience does not "
        "explain has the standard deviation in the first column (a third of it for log-discrimination).",
        "![Error of capability with and without the covariate](covariates.png)",
        "RMSE over raters:",
        table(["Unexplained", *(f"{NAMES[p]}, {how}" for p, how in columns)], cells),
        f"Sixty ratings per rater are few: the RMSE of κ̄ is {error('kappa', OWN, 0.0)} from each rater's own "
        f"parameters, and {error('kappa', EXPLAINED, 0.0)} if experience explains everything. It stays lower if much "
        f"is left unexplained ({error('kappa', EXPLAINED, 0.6)} against {error('kappa', OWN, 0.6)}), though severities "
        f"are then better estimated one by one ({error('eta', EXPLAINED, 0.6)} against {error('eta', OWN, 0.6)}).",
        "Bias of the effect of one year:",
        table(["Unexplained", "on severity (true -0.06)", "on log-discrimination (true 0.04)"], effects),
    )
    return Results(text, {"accuracy": raters})


def draw_covariates(results: Results) -> Picture:
    data = results.tables["accuracy"].filter(parameter="kappa").sort("how", "scatter")
    x = around(data["scatter"], "What experience does not explain (sd of severity)")
    y = from_zero(data["rmse"], "RMSE of mean capability κ̄")
    panel = curves(data, ("scatter", "rmse", "how"), x, y, points=True)
    return Picture((panel,), "Error of capability with and without the covariate.", HEIGHT)


COVARIATES = Study("covariates", 100, replicate_covariates, summarise_covariates, draw_covariates)
