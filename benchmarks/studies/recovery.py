"""Every model and link: are estimates unbiased, and does their error fall with the square root of the sample size?

Ratings are drawn from a model, and the same model is fitted by marginal maximum likelihood at three sample sizes.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from benchmarks.studies import named_rows, opening
from raterlens.base.arrays import Array
from raterlens.base.layers import LIMIT, rule
from raterlens.base.picture import Picture
from raterlens.base.text import number
from raterlens.config import FitConfig
from raterlens.fitting.fit import Fit, fitted
from raterlens.simulation.simulate import Truth, simulate
from raterlens.studies.study import (
    Results,
    Study,
    Task,
    accuracy,
    around,
    label_rows,
    page,
    replications,
    rows,
    rows_height,
    statistic,
    table,
)

SIZES = (200, 800, 3200)
RATERS, ITEMS = 8, 4
_SLOPE: Array = np.array([0.6, 1.0, 1.4, 1.8, 1.8, 1.4, 1.0, 0.6])
_SEVERITY: Array = np.linspace(-0.7, 0.7, RATERS)
_DIFFICULTY: Array = np.linspace(-0.6, 0.6, ITEMS)
_TAU = [-1.0, 0.1, 0.9]


@dataclass(frozen=True, slots=True)
class Case:
    """A model, with parameters under which both outcomes are common."""

    truth: dict[str, Any]
    config: FitConfig


def _case(truth: dict[str, Any], **options: Any) -> Case:
    return Case(truth, FitConfig(**options, standard_errors=False))


def _facets(shrink: float = 1.0, **more: Any) -> dict[str, Any]:
    return {
        "slope": _SLOPE * shrink,
        "severity": _SEVERITY * shrink,
        "difficulty": _DIFFICULTY * shrink,
        **more,
    }


def _common(shrink: float = 1.0, **more: Any) -> dict[str, Any]:
    return _facets(shrink, **more) | {"model": "tfm", "slope": 1.3 * shrink}


# Factors and intercepts make the links' probabilities alike. With the log link they stay away from 1.
_LINKS: dict[str, dict[str, Any]] = {
    "logit": {},
    "probit": {"shrink": 0.6},
    "cauchit": {},
    "cloglog": {"shrink": 0.7, "alpha": -0.4},
    "log": {"shrink": 0.4, "alpha": -1.8},
}

CASES = {
    **{f"GMF {link}": _case(_facets(**more, link=link), link=link) for link, more in _LINKS.items()},
    **{
        f"TFM {link}": _case(_common(**more, link=link), link=link, model="tfm")
        for link, more in _LINKS.items()
    },
    "GMF rating scale": _case(_facets(thresholds=_TAU)),
    "GMF partial credit": _case(
        _facets(thresholds=[_TAU, [-0.6, -0.4, 1.0], _TAU, [-1.2, 0.3, 0.9]], scale="partial credit"),
        scale="partial credit",
    ),
    "GMF graded, logit": _case(_facets(thresholds=_TAU, scale="graded"), scale="graded"),
    "GMF graded, probit": _case(
        _facets(0.6, thresholds=[-0.6, 0.06, 0.54], scale="graded", link="probit"),
        scale="graded",
        link="probit",
    ),
    "probit raters": _case(
        {
            "model": "probit",
            "noise": 1.5 / _SLOPE,
            "threshold": _SEVERITY,
            "difficulty": _DIFFICULTY,
        },
        model="probit",
    ),
    **{
        f"hierarchical raters, {link}": _case(
            {
                "model": "hrm",
                "link": link,
                "slope": shrink * np.linspace(2.0, 4.0, RATERS),
                "criterion": shrink * (np.linspace(1.0, 2.0, RATERS) + np.tile([-0.5, 0.5], RATERS // 2)),
                "difficulty": _DIFFICULTY,
                "sigma": 1.5,
            },
            model="hrm",
            link=link,
        )
        for link, shrink in (("logit", 1.0), ("probit", 0.6))
    },
}


def replicate(task: Task, sizes: tuple[int, ...] = SIZES) -> pl.DataFrame:
    frames = []
    for which, (name, case) in enumerate(CASES.items()):
        for size in sizes:
            drawn = simulate(
                students=size,
                raters=RATERS,
                items=ITEMS,
                raters_per_student=RATERS // 2,
                **case.truth,
                seed=[*task.entropy, which, size],
            )
            found = fitted(drawn.ratings, case.config)
            frames.append(label_rows(_parameters(found, drawn.truth), case=name, size=size))
    return pl.concat(frames)


def _parameters(found: Fit, truth: Truth) -> pl.DataFrame:
    """Slopes rather than rho: relative to the largest of noisy slopes, rho and kappa are biased at any size."""
    raters, items = found.table("raters"), found.table("items")
    rho = raters["rho"].to_numpy()
    severity = raters["eta"]
    if found.model == "hrm":
        slope, severity = raters["slope"].to_numpy(), raters["criterion"]
    else:
        slope = rho / np.sqrt(1 - rho**2) if found.model == "probit" else rho * found.sigma
    return pl.concat(
        [
            rows("slope", raters["rater"], truth.slope, slope),
            rows("severity", raters["rater"], truth.severity, severity),
            rows("difficulty", items["item"], truth.difficulty, items["delta"]),
            rows("kappa", raters["rater"], truth.kappa, raters["kappa"]),
        ]
    )


def summarise(rows: pl.DataFrame) -> Results:
    found = accuracy(rows, ["case", "parameter", "size"])
    have = found.rows_by_key(["case", "parameter", "size"], named=True, unique=True)
    single = accuracy(rows, ["case", "parameter", "level", "size"])
    sizes = found["size"].unique().sort().to_list()
    largest = sizes[-1]
    inside = single.filter(pl.col("size") == largest, pl.col("bias_se") > 0).with_columns(
        inside=pl.col("bias").abs() <= 2 * pl.col("bias_se")
    )
    near = (
        inside.group_by("case", "parameter").agg(pl.col("inside").mean()).rows_by_key(["case", "parameter"])
    )
    free = inside.filter(pl.col("parameter") != "kappa")["inside"].to_numpy()
    share = np.mean(free) if len(free) else np.nan  # one replication has no Monte-Carlo error
    bias, error, powers = [], [], []
    for name in CASES:
        for parameter in ("slope", "severity", "difficulty", "kappa"):
            own = [have[name, parameter, size] for size in sizes]
            last = own[-1]
            # Severities and difficulties sum to 0, and so do their errors: only single ones can be biased.
            pooled = statistic(last, "bias", 4) if parameter in ("slope", "kappa") else "–"
            within = near.get((name, parameter))
            bias.append([name, parameter, pooled, f"{within[0][0]:.0%}" if within else "–"])
            rmse = [row["rmse"] for row in own]
            power = np.polyfit(np.log(sizes), np.log(rmse), 1)[0] if len(sizes) > 1 else np.nan
            powers.append({"case": name, "parameter": parameter, "power": float(power)})
            error.append([name, parameter, *(number(value, 4) for value in rmse), number(float(power), 2)])
    text = page(
        "# Recovery: every model and link",
        opening("recovery", replications(found)),
        f"{RATERS} raters, {ITEMS} items, {RATERS // 2} raters per student; the model behind the ratings is fitted by "
        "`mml`.",
        "![Power of the number of students that each error follows](recovery.png)",
        f"## Bias at {largest:,} students",
        "Mean error over raters with its Monte-Carlo standard error, and the share of single parameters whose bias is "
        "within two of its own standard errors of 0 (95 % are expected where there is none).",
        f"**Of {len(free):,} slopes, severities and difficulties, {share:.1%} are within two standard errors.** "
        "κ̄ of the GMF is relative to the largest of noisy slopes (here two raters share the true one), so a small "
        "negative bias is inherent; it vanishes as the sample grows, like the errors below.",
        table(["Model", "parameter", "mean bias", "within 2 standard errors"], bias),
        "## Error and sample size",
        "RMSE over levels, and the power of the number of students that it follows: -0.50 if it falls with the square "
        "root.",
        table(["Model", "parameter", *(f"{size:,} students" for size in sizes), "power"], error),
    )
    return Results(text, {"accuracy": found, "powers": pl.DataFrame(powers)})


def draw(results: Results) -> Picture:
    data = results.tables["powers"]
    order = data["case"].unique(maintain_order=True).to_list()
    x = around(np.append(data["power"].to_numpy(), -0.5), "Power of the number of students that RMSE follows")
    panel = named_rows(data, ("case", "power", "parameter"), x, order, title="Model and link")
    panel = replace(panel, layers=(rule((x, panel.y), LIMIT, x=-0.5), *panel.layers))
    return Picture((panel,), "How RMSE falls with the number of students.", rows_height(order))


STUDY = Study("recovery", 100, replicate, summarise, draw)
