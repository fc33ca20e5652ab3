"""The designs of the calibration study, with known capability."""

from collections.abc import Callable
from typing import Any

import numpy as np

from raterlens.base.records import dataclass
from raterlens.base.types import Array
from raterlens.simulation.simulate import Simulated, simulate
from raterlens.studies import paper_tables as paper
from raterlens.studies.paper_designs import simulate_study1, simulate_writing


@dataclass(frozen=True, slots=True)
class Condition:
    """A design with its truth, and the model fitted to it."""

    design: str
    model: str
    simulate: Callable[[list[int]], Simulated]
    main: bool = False
    """In every replication, with profiles and bootstraps."""


def _paper_abilities(seed: list[int]) -> Simulated:
    return simulate_study1(seed, ability=paper.ABILITY)


def _shuffled(seed: list[int]) -> Simulated:
    """Severity says nothing about discrimination; in Study 1 it determines it."""
    order = np.random.default_rng(5).permutation(paper.RATERS)
    return simulate_study1(seed, severity=paper.ETA[order])


_SLOPES: Array = np.array([0.6, 1.0, 1.4, 1.8, 1.6, 1.4, 1.0, 0.6])


def _small(model: str, students: int) -> Callable[[list[int]], Simulated]:
    """Eight raters, four per student, four items."""
    level = np.linspace(-0.7, 0.7, 8)
    raters: dict[str, dict[str, Any]] = {
        "gmf": {"slope": _SLOPES, "severity": level},
        "tfm": {"slope": 1.3, "severity": level},
        "probit": {"noise": 1.5 / _SLOPES, "threshold": level},
    }

    def draw(seed: list[int]) -> Simulated:
        return simulate(
            students=students,
            raters=8,
            items=4,
            raters_per_student=4,
            model=model,
            difficulty=np.linspace(-0.6, 0.6, 4),
            **raters[model],
            seed=seed,
        )

    return draw


CONDITIONS = (
    Condition("writing", "gmf", simulate_writing, main=True),
    # Students drawn afresh, as standard errors assume.
    Condition("study 1", "gmf", simulate_study1, main=True),
    Condition("study 1, the paper's abilities", "gmf", _paper_abilities),
    Condition("study 1, severity shuffled", "gmf", _shuffled),
    *(
        Condition(f"8 raters, {students} students", model, _small(model, students))
        for model in ("gmf", "tfm", "probit")
        for students in (100, 400)
    ),
)
