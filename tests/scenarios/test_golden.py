"""Every model, link, scale, method and option on small data gives the numbers it gave before.

The golden file says nothing about which numbers are right (the tests of each estimator do that); it shows at once what
a change that should change nothing has changed. After an intended change, regenerate it and read the difference:

    python -m tests.scenarios.test_golden ["option pieces" ...]
"""

import json
import math
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from tests.support.golden_panels import PANELS
from tests.support.nightly import mostly_nightly

GOLDEN = Path(__file__).parent / "golden.json"

# The optimiser stops within 3e-6 standard errors of the optimum, and sums over threads differ in their last digits.
LOGLIK, ESTIMATE = 1e-6, 2e-4

LINKS = ("logit", "probit", "cauchit", "cloglog", "log")
DIAGNOSED = ("raters", "items", "students", "effects", "reliability", "agreement", "bias item")
CASES: dict[str, dict[str, object]] = {
    **{f"gmf {link}": {"model": "gmf", "link": link} for link in LINKS},
    **{f"tfm {link}": {"model": "tfm", "link": link} for link in LINKS},
    **{
        f"{model} {method} {link}": {"model": model, "method": method, "link": link}
        for model in ("gmf", "tfm")
        for method in ("laplace", "hl")
        for link in ("logit", "probit", "cloglog")
    },
    **{f"probit {method}": {"model": "probit", "method": method} for method in ("mml", "laplace", "hl")},
    **{f"hrm {link}": {"model": "hrm", "link": link} for link in ("logit", "probit")},
    "dawid-skene": {"model": "dawid-skene"},
    **{f"covariance {kind}": {"covariance": kind} for kind in ("expected", "sandwich", "opg")},
    "item slopes": {"item_slopes": True},
    "reversed": {"allow_reversed": True},
    "quantile": {"reference": "quantile 0.75", "population": (0.3, 1.2), "origin": "absolute"},
    "corrected": {"reference": "max corrected", "population": "estimated"},
    "named": {"reference": "r2", "population": rl.Window(0.5, 0.25)},
}
ORDERED: dict[str, dict[str, object]] = {
    **{
        f"{model} {scale}": {"model": model, "scale": scale}
        for model in ("gmf", "tfm")
        for scale in ("rating scale", "partial credit", "graded")
    },
    "graded cloglog": {"link": "cloglog", "scale": "graded"},
    "item slopes ordered": {"item_slopes": True},
}


def ratings(categories: int = 2) -> rl.Ratings:
    """120 students, each rated by three of six raters on four items."""
    rng = np.random.default_rng(5)
    ability, slope = rng.normal(size=120), np.array([2.0, 1.4, 1.0, 0.5, 1.6, 1.2])
    severity, difficulty = np.array([-1.0, 0.0, 0.8, 0.3, -0.4, 0.2]), np.array([-0.8, -0.2, 0.3, 0.7])
    rows = []
    for student in range(120):
        for rater in rng.choice(6, 3, replace=False):
            for item in range(4):
                predictor = slope[rater] * ability[student] - severity[rater] - difficulty[item]
                steps = predictor - np.linspace(-0.8, 0.8, categories - 1) * (categories > 2)
                score = int((rng.random(categories - 1) < 1 / (1 + np.exp(-steps))).sum())
                rows.append((f"s{student}", f"r{rater}", f"i{item}", score))
    return rl.read(
        pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row"),
        student="student",
        rater="rater",
        item="item",
        score="score",
    )


def plain(table: pl.DataFrame) -> dict[str, list[object]]:
    """Numbers and words of a table; not-a-number is null."""

    def value(x: object) -> object:
        if not isinstance(x, float):
            return x
        return float(f"{x:.9g}") if math.isfinite(x) else None

    return {
        name: [value(x) for x in table[name].to_list()]
        for name in table.columns
        if table[name].dtype != pl.Object
    }


def is_diagnosed(case: dict[str, object]) -> bool:
    """A diagnosis depends on the model and the link, hardly on how they were estimated: half of the cases show it."""
    return not {"covariance", "reference"} & set(case) and case.get("method", "mml") == "mml"


def numbers(case: dict[str, object], data: rl.Ratings, *, diagnosed: bool = True) -> dict[str, object]:
    """Numbers of a case, with the diagnosis of the ratings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = rl.fit(data, **{"model": "gmf"} | case)
        found = fit.diagnose(data).tables if diagnosed and is_diagnosed(case) else {}
    students = fit.table("students").head(12)
    tables = {name: fit.table(name) for name in fit.tables if name not in ("students", "truth")}
    return {
        "loglik": fit.loglik,
        "sigma": fit.sigma,
        "alpha": fit.alpha,
        "n_parameters": fit.n_parameters,
        "warnings": list(fit.warnings),
        "tables": {name: plain(table) for name, table in {**tables, "students": students}.items()},
        "diagnosis": {name: plain(table.head(4)) for name, table in found.items() if name in DIAGNOSED},
    }


def of_option(name: str) -> dict[str, object]:
    """Estimates alone: diagnoses of these models are tested where they are made."""
    data, options = PANELS[name]()
    return numbers(options, data, diagnosed=False)


def further(data: rl.Ratings) -> dict[str, object]:
    """Profile and bootstrap intervals, comparisons of raters, and what other choices would change."""
    fit = rl.fit(data, model="gmf")
    again = fit.bootstrap(data, replicates=4, workers=1)
    time = np.arange(data.n_ratings) % 100
    diagnosis = fit.diagnose(data, time=time)
    return {
        "profile": plain(fit.profile(data, ["r1", "r3"]).raters),
        "bootstrap": plain(again.raters()),
        "pairs": plain(fit.compare_raters().pairs.head(6)),
        "drift": plain(diagnosis.drift()),
        "change": plain(diagnosis.table("change")),
        "capability": plain(fit.capability(reference=1.5, item="i2")),
    }


def everything() -> Mapping[str, Callable[[], dict[str, object]]]:
    """The function that makes the numbers of each case."""
    binary, ordered = ratings(), ratings(4)
    return (
        {"further": partial(further, binary)}
        | {name: partial(numbers, case, binary) for name, case in CASES.items()}
        | {f"ordered {name}": partial(numbers, case, ordered) for name, case in ORDERED.items()}
        | {f"option {name}": partial(of_option, name) for name in PANELS}
    )


def differences(old: object, new: object, where: str = "") -> list[str]:
    """Differences beyond rounding, by path."""
    if isinstance(old, dict) and isinstance(new, dict):
        lost = [f"{where}/{key} is gone" for key in old.keys() - new.keys()]
        return lost + [
            text
            for key in old.keys() & new.keys()
            for text in differences(old[key], new[key], f"{where}/{key}")
        ]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [
            text
            for i, (a, b) in enumerate(zip(old, new, strict=True))
            for text in differences(a, b, f"{where}[{i}]")
        ]
    if isinstance(old, int | float) and isinstance(new, int | float):
        close = LOGLIK if where.endswith("loglik") else ESTIMATE
        return [] if math.isclose(old, new, rel_tol=close, abs_tol=close) else [f"{where}: {old} -> {new}"]
    return [] if old == new else [f"{where}: {old!r} -> {new!r}"]


@pytest.fixture(scope="module")
def golden() -> dict[str, dict[str, object]]:
    return json.loads(GOLDEN.read_text())


@pytest.fixture(scope="module")
def binary() -> rl.Ratings:
    return ratings()


@pytest.fixture(scope="module")
def ordered() -> rl.Ratings:
    return ratings(4)


@pytest.mark.parametrize("name", CASES)
def test_pass_or_fail(name, golden, binary):
    assert differences(golden[name], numbers(CASES[name], binary)) == []


@pytest.mark.parametrize("name", ORDERED)
def test_ordered_scores(name, golden, ordered):
    assert differences(golden[f"ordered {name}"], numbers(ORDERED[name], ordered)) == []


@pytest.mark.parametrize("name", mostly_nightly(PANELS, 16))
def test_options(name, golden):
    assert differences(golden[f"option {name}"], of_option(name)) == []


def test_what_follows_from_a_fit(golden, binary):
    assert differences(golden["further"], further(binary)) == []


if __name__ == "__main__":
    made, known = everything(), json.loads(GOLDEN.read_text())
    again = {name: made[name]() for name in sys.argv[1:] or made}
    GOLDEN.write_text(json.dumps({name: again.get(name) or known[name] for name in made}) + "\n")
    print(f"wrote {len(again)} of {len(made)} cases to {GOLDEN}")
