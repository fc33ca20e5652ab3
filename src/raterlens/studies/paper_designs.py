"""The designs and true values of the paper's studies, as simulations."""

from functools import cache

from raterlens.base.types import Array
from raterlens.ratings.coded import Ratings
from raterlens.simulation import writing_assessment as writing
from raterlens.simulation.example import load_example
from raterlens.simulation.simulate import Simulated, simulate
from raterlens.studies import paper_tables as paper


def simulate_study1(
    seed: list[int], *, severity: Array = paper.ETA, ability: Array | None = None
) -> Simulated:
    """Study 1: every student rated by every rater on every item; abilities drawn unless given."""
    return simulate(
        students=paper.STUDENTS,
        raters=paper.RATERS,
        items=paper.ITEMS,
        slope=paper.SIGMA * paper.RHO,
        severity=severity,
        difficulty=paper.DELTA,
        alpha=paper.ALPHA,
        ability=ability,
        seed=seed,
    )


def simulate_writing(seed: list[int], *, severity: Array = writing.ETA) -> Simulated:
    """The writing assessment on the bundled design, which has the published number of ratings per rater and topic."""
    design = _example()
    return simulate(
        design=(design.student, design.raters.gather(design.rater), design.items.gather(design.item)),
        slope=writing.RHO * writing.SIGMA,
        severity=severity,
        difficulty=[writing.DELTA[item] for item in design.items],
        alpha=writing.ALPHA,
        seed=seed,
    )


@cache
def _example() -> Ratings:
    return load_example()
