"""Rater covariates: severity and log-discrimination as linear functions of experience, with few ratings per rater.

The paper leaves this for later. If a covariate explains the raters, borrowing strength through it beats estimating
each rater alone; if raters also differ for other reasons, it hides those.
"""

import numpy as np
import polars as pl

from raterlens.base.picture import Picture
from raterlens.base.text import number
from raterlens.config import FitConfig
from raterlens.fitting.fit import fitted
from raterlens.simulation.simulate import simulate
from raterlens.studies.figures import HEIGHT, around, curves, from_zero
from raterlens.studies.study import (
    Results,
    Study,
    Task,
    accuracy,
    compare,
    opening,
    page,
    replications,
    rows,
    statistic,
    table,
)

RATERS = 40
YEARS = np.linspace(0, 20, RATERS)
# eta = 0.6 - 0.06 years (centred by the simulation), log a = -0.2 + 0.04 years.
BY_SEVERITY, BY_SLOPE = -0.06, 0.04
SCATTER = (0.0, 0.3, 0.6)
"""Standard deviation of what experience does not explain, in severity; a third of it in log-discrimination."""

OWN, EXPLAINED = "each rater's own", "explained by experience"

CONFIG = FitConfig(standard_errors=False)


def replicate(task: Task) -> pl.DataFrame:
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
            found = fitted(drawn.ratings, config)
            labels = {"how": how, "scatter": scatter}
            frames.append(compare(found, drawn.truth, ("kappa", "eta", "slope"), **labels))
            if how == EXPLAINED:
                raters = found.table("raters")
                logs = np.log(raters["rho"].to_numpy() * found.sigma)
                by = np.polyfit(YEARS, np.column_stack([raters["eta"], logs]), 1)[0]
                truth = [BY_SEVERITY, BY_SLOPE]
                frames.append(rows("coefficient", ["severity", "log slope"], truth, by, **labels))
    return pl.concat(frames)


def summarise(rows: pl.DataFrame) -> Results:
    raters = accuracy(rows.filter(pl.col("parameter") != "coefficient"), ["parameter", "how", "scatter"])
    have = raters.rows_by_key(["parameter", "how", "scatter"], named=True, unique=True)
    by = accuracy(rows.filter(pl.col("parameter") == "coefficient"), ["level", "scatter"])
    effect = by.rows_by_key(["level", "scatter"], named=True, unique=True)
    cells = [
        [
            f"{scatter:g}",
            *(
                statistic(have[p, how, scatter], "rmse")
                for p in ("kappa", "eta", "slope")
                for how in (OWN, EXPLAINED)
            ),
        ]
        for scatter in SCATTER
    ]
    effects = [
        [
            f"{scatter:g}",
            *(statistic(effect[level, scatter], "bias", 4) for level in ("severity", "log slope")),
        ]
        for scatter in SCATTER
    ]
    names = {"kappa": "κ̄", "eta": "η", "slope": "slope"}

    def error(parameter: str, how: str, scatter: float) -> str:
        return number(have[parameter, how, scatter]["rmse"])

    text = page(
        "# Rater covariates: experience explains severity and discrimination",
        opening("covariates", replications(raters)),
        f"{RATERS} raters with 0 to 20 years of experience; 200 students, 4 raters per student, 3 items (60 ratings "
        "per rater). Severity falls by 0.06 per year, log-discrimination rises by 0.04; what experience does not "
        "explain has the standard deviation in the first column (a third of it for log-discrimination).",
        "![Error of capability with and without the covariate](covariates.png)",
        "RMSE over raters:",
        table(
            [
                "Unexplained",
                *(f"{names[p]}, {how}" for p in ("kappa", "eta", "slope") for how in (OWN, EXPLAINED)),
            ],
            cells,
        ),
        f"Sixty ratings per rater are few: the RMSE of κ̄ is {error('kappa', OWN, 0.0)} from each rater's own "
        f"parameters, and {error('kappa', EXPLAINED, 0.0)} if experience explains everything. It stays lower if much "
        f"is left unexplained ({error('kappa', EXPLAINED, 0.6)} against {error('kappa', OWN, 0.6)}), though severities "
        f"are then better estimated one by one ({error('eta', EXPLAINED, 0.6)} against {error('eta', OWN, 0.6)}).",
        "Bias of the effect of one year:",
        table(["Unexplained", "on severity (true -0.06)", "on log-discrimination (true 0.04)"], effects),
    )
    return Results(text, {"accuracy": raters})


def draw(results: Results) -> Picture:
    data = results.tables["accuracy"].filter(parameter="kappa").sort("how", "scatter")
    x = around(data["scatter"], "What experience does not explain (sd of severity)")
    y = from_zero(data["rmse"], "RMSE of mean capability κ̄")
    panel = curves(data, ("scatter", "rmse", "how"), x, y, points=True)
    return Picture((panel,), "Error of capability with and without the covariate.", HEIGHT)


STUDY = Study("covariates", "Rater covariates", 100, replicate, summarise, draw)
