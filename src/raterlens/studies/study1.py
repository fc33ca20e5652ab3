"""The paper's Study 1: 20 raters, 50 students, 40 items, every student rated by every rater on every item.

Ratings come from the GMF. GMF and TFM are fitted by hierarchical likelihood (the paper's method), the Laplace
approximation and marginal maximum likelihood.
"""

import polars as pl

from raterlens import capability
from raterlens.config import FitConfig
from raterlens.facade import fitted
from raterlens.studies.accuracy import accuracy, compare, label_rows, rows
from raterlens.studies.joint_tfm import joint_tfm
from raterlens.studies.paper_designs import simulate_study1
from raterlens.studies.paper_tables import ABILITY, REPLICATIONS
from raterlens.studies.study import Results, Study, Task
from raterlens.studies.study1_figure import draw
from raterlens.studies.study1_page import KAPPA_AT_ONE, LOGITS, METHODS, page

# The paper does not keep slopes above 0, whatever its text says (docs/paper.md).
CONFIGS = {
    (model, method): FitConfig(
        model=model, method=method, allow_reversed=method == "hl", standard_errors=False
    )
    for model in ("tfm", "gmf")
    for method in METHODS
}


def replicate(task: Task, methods: tuple[str, ...] = METHODS) -> pl.DataFrame:
    """A row per estimate, with its true value."""
    drawn = simulate_study1(task.entropy, ability=ABILITY)
    truth = drawn.truth
    frames = []
    for (model, method), config in CONFIGS.items():
        if method not in methods:
            continue
        found = fitted(drawn.ratings, config)
        labels = {"model": model, "method": method}
        frames.append(compare(found, truth, ("kappa", "rho", "eta", "theta", "delta", "sigma"), **labels))
        if model == "tfm":
            raters, students = found.table("raters"), found.table("students")
            at_one = capability.tfm(eta=raters["eta"].to_numpy())
            logits = found.sigma * students["theta"].to_numpy()
            frames += [
                label_rows(rows(KAPPA_AT_ONE, raters["rater"], truth.kappa, at_one), **labels),
                label_rows(rows(LOGITS, students["student"], truth.ability, logits), **labels),
            ]
    joint = joint_tfm(drawn.ratings)
    frames.append(
        label_rows(
            pl.concat(
                [
                    rows(KAPPA_AT_ONE, drawn.ratings.raters, truth.kappa, capability.tfm(eta=joint.severity)),
                    rows("eta", drawn.ratings.raters, truth.severity, joint.severity),
                    rows(LOGITS, drawn.ratings.students, truth.ability, joint.ability),
                    rows("delta", drawn.ratings.items, truth.difficulty, joint.difficulty),
                ]
            ),
            model="tfm",
            method="glm",
        )
    )
    return pl.concat(frames)


def summarise(rows: pl.DataFrame) -> Results:
    """Bias and RMSE of everything, beside the paper's tables."""
    found = accuracy(rows, ["model", "method", "parameter", "level"])
    return Results(page(found), {"accuracy": found})


STUDY = Study(
    "study1", "The paper's Study 1: recovery of parameters", REPLICATIONS, replicate, summarise, draw
)
