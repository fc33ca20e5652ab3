"""Raterlens: how capable is each rater?

>>> import raterlens as rl
>>> fit = rl.fit(rl.load_example())
>>> best = fit.raters.sort("kappa", descending=True)["rater"][0]
"""

# Nothing is loaded here: until the command has begun, Python answers an interrupt with a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from raterlens import capability as capability
    from raterlens import charts as charts
    from raterlens.base.errors import RaterlensError as RaterlensError
    from raterlens.capability.population import Window as Window
    from raterlens.config import Anchors as Anchors
    from raterlens.config import FitConfig as FitConfig
    from raterlens.diagnostics.comparison import Comparison as Comparison
    from raterlens.diagnostics.comparison import compare as compare
    from raterlens.fitting.api import fit as fit
    from raterlens.fitting.api import fit_models as fit_models
    from raterlens.fitting.api import load as load
    from raterlens.fitting.fit import Fit as Fit
    from raterlens.judging.gate import Gate as Gate
    from raterlens.judging.gate import gate as gate
    from raterlens.judging.judge import JudgeReport as JudgeReport
    from raterlens.judging.judge import judge as judge
    from raterlens.judging.judges import PassRates as PassRates
    from raterlens.judging.judges import pass_rate as pass_rate
    from raterlens.judging.replacement import Replacement as Replacement
    from raterlens.judging.replacement import can_replace as can_replace
    from raterlens.output.data_check import DataCheck as DataCheck
    from raterlens.output.data_check import check as check
    from raterlens.output.facets_tables import facets_tables as facets_tables
    from raterlens.planning.next_marks import NextMarks as NextMarks
    from raterlens.planning.next_marks import next_marks as next_marks
    from raterlens.planning.plan import MarkingPlan as MarkingPlan
    from raterlens.planning.plan import plan as plan
    from raterlens.ratings.coded import Ratings as Ratings
    from raterlens.ratings.design import examine_links as examine_links
    from raterlens.reading.facets_study import read_facets as read_facets
    from raterlens.reading.facets_study import write_facets as write_facets
    from raterlens.reading.pack import pack as pack
    from raterlens.reading.read import read as read
    from raterlens.simulation.example import load_example as load_example
    from raterlens.simulation.simulate import simulate as simulate
    from raterlens.version import __version__ as __version__

# Imported on first use: `import raterlens` and `raterlens --help` cost nothing.
_NAMES = {
    "base.errors": ("RaterlensError",),
    "capability.population": ("Window",),
    "config": ("Anchors", "FitConfig"),
    "diagnostics.comparison": ("Comparison", "compare"),
    "fitting.api": ("fit", "fit_models", "load"),
    "fitting.fit": ("Fit",),
    "judging.gate": ("Gate", "gate"),
    "judging.judge": ("JudgeReport", "judge"),
    "judging.judges": ("PassRates", "pass_rate"),
    "judging.replacement": ("Replacement", "can_replace"),
    "output.data_check": ("DataCheck", "check"),
    "output.facets_tables": ("facets_tables",),
    "planning.next_marks": ("NextMarks", "next_marks"),
    "planning.plan": ("MarkingPlan", "plan"),
    "ratings.coded": ("Ratings",),
    "ratings.design": ("examine_links",),
    "reading.facets_study": ("read_facets", "write_facets"),
    "reading.pack": ("pack",),
    "reading.read": ("read",),
    "simulation.example": ("load_example",),
    "simulation.simulate": ("simulate",),
    "version": ("__version__",),
}
_WHERE = {name: module for module, names in _NAMES.items() for name in names}

__all__ = ["capability", "charts", *sorted(set(_WHERE) - {"__version__"})]


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name in ("capability", "charts"):
        return import_module(f"raterlens.{name}")
    if name in _WHERE:
        return getattr(import_module(f"raterlens.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'raterlens' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
