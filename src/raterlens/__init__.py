"""Raterlens: how capable is each rater?

>>> import raterlens as rl
>>> fit = rl.fit(rl.load_example())
>>> best = fit.raters.sort("kappa", descending=True)["rater"][0]
"""

# Nothing is loaded here: until the command has begun, Python answers an interrupt with a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from raterlens import capability, charts
    from raterlens.base.errors import RaterlensError
    from raterlens.capability.population import Window
    from raterlens.config import Anchors, FitConfig
    from raterlens.diagnostics.comparison import Comparison, compare
    from raterlens.fitting.api import fit, fit_models, load
    from raterlens.fitting.fit import Fit
    from raterlens.judging.gate import Gate, gate
    from raterlens.judging.judge import JudgeReport, judge
    from raterlens.judging.replacement import Replacement, can_replace
    from raterlens.judging.system_rates import PassRates, pass_rate
    from raterlens.output.data_check import DataCheck, check
    from raterlens.output.facets_tables import facets_tables
    from raterlens.planning.next_marks import NextMarks, next_marks
    from raterlens.planning.plan import MarkingPlan, plan
    from raterlens.ratings.coded import Ratings
    from raterlens.ratings.design import examine_links
    from raterlens.reading.facets_study import read_facets, write_facets
    from raterlens.reading.pack import pack
    from raterlens.reading.read import read
    from raterlens.simulation.example import load_example
    from raterlens.simulation.simulate import simulate
    from raterlens.version import __version__ as __version__

# Imported on first use: `import raterlens` and `raterlens --help` cost nothing.
_WHERE = {
    "read": "raterlens.reading.read",
    "pack": "raterlens.reading.pack",
    "Ratings": "raterlens.ratings.coded",
    "examine_links": "raterlens.ratings.design",
    "fit": "raterlens.fitting.api",
    "fit_models": "raterlens.fitting.api",
    "Fit": "raterlens.fitting.fit",
    "load": "raterlens.fitting.api",
    "judge": "raterlens.judging.judge",
    "JudgeReport": "raterlens.judging.judge",
    "FitConfig": "raterlens.config",
    "Anchors": "raterlens.config",
    "Window": "raterlens.capability.population",
    "compare": "raterlens.diagnostics.comparison",
    "Comparison": "raterlens.diagnostics.comparison",
    "Replacement": "raterlens.judging.replacement",
    "can_replace": "raterlens.judging.replacement",
    "PassRates": "raterlens.judging.system_rates",
    "pass_rate": "raterlens.judging.system_rates",
    "Gate": "raterlens.judging.gate",
    "gate": "raterlens.judging.gate",
    "check": "raterlens.output.data_check",
    "DataCheck": "raterlens.output.data_check",
    "facets_tables": "raterlens.output.facets_tables",
    "read_facets": "raterlens.reading.facets_study",
    "write_facets": "raterlens.reading.facets_study",
    "load_example": "raterlens.simulation.example",
    "simulate": "raterlens.simulation.simulate",
    "next_marks": "raterlens.planning.next_marks",
    "NextMarks": "raterlens.planning.next_marks",
    "plan": "raterlens.planning.plan",
    "MarkingPlan": "raterlens.planning.plan",
    "RaterlensError": "raterlens.base.errors",
    "__version__": "raterlens.version",
}

__all__ = [
    "Anchors",
    "Comparison",
    "DataCheck",
    "Fit",
    "FitConfig",
    "Gate",
    "JudgeReport",
    "MarkingPlan",
    "NextMarks",
    "PassRates",
    "RaterlensError",
    "Ratings",
    "Replacement",
    "Window",
    "can_replace",
    "capability",
    "charts",
    "check",
    "compare",
    "examine_links",
    "facets_tables",
    "fit",
    "fit_models",
    "gate",
    "judge",
    "load",
    "load_example",
    "next_marks",
    "pack",
    "pass_rate",
    "plan",
    "read",
    "read_facets",
    "simulate",
    "write_facets",
]


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name in ("capability", "charts"):
        return import_module(f"raterlens.{name}")
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'raterlens' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
