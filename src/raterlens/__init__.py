"""Raterlens: how capable is each rater?

>>> import raterlens as rl
>>> fit = rl.fit(rl.load_example())
>>> best = fit.raters.sort("kappa", descending=True)["rater"][0]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from raterlens import capability, charts
    from raterlens.anchoring import Anchors
    from raterlens.comparing import Comparison, compare
    from raterlens.diagnostics.diagnosis import diagnose
    from raterlens.diagnostics.shared_bias import check_shared_bias
    from raterlens.errors import RaterlensError
    from raterlens.facets_files import facets_tables, read_facets, write_facets
    from raterlens.fitting import fit
    from raterlens.gating import Gate, gate
    from raterlens.packing import pack
    from raterlens.population import Window
    from raterlens.ratings import Ratings
    from raterlens.reading import read
    from raterlens.results import Fit, load
    from raterlens.several import fit_models
    from raterlens.studies.example import load_example
    from raterlens.studies.simulate import simulate
    from raterlens.uncertainty.bootstrap import bootstrap
    from raterlens.uncertainty.profile import profile
    from raterlens.uncertainty.raters import compare_raters

# Imported on first use: `import raterlens` and `raterlens --help` cost nothing.
_WHERE = {
    "read": "raterlens.reading",
    "pack": "raterlens.packing",
    "Ratings": "raterlens.ratings",
    "fit": "raterlens.fitting",
    "fit_models": "raterlens.several",
    "Fit": "raterlens.results",
    "load": "raterlens.results",
    "Anchors": "raterlens.anchoring",
    "Window": "raterlens.population",
    "compare": "raterlens.comparing",
    "Comparison": "raterlens.comparing",
    "bootstrap": "raterlens.uncertainty.bootstrap",
    "compare_raters": "raterlens.uncertainty.raters",
    "profile": "raterlens.uncertainty.profile",
    "Gate": "raterlens.gating",
    "gate": "raterlens.gating",
    "check_shared_bias": "raterlens.diagnostics.shared_bias",
    "diagnose": "raterlens.diagnostics.diagnosis",
    "facets_tables": "raterlens.facets_files",
    "read_facets": "raterlens.facets_files",
    "write_facets": "raterlens.facets_files",
    "load_example": "raterlens.studies.example",
    "simulate": "raterlens.studies.simulate",
    "RaterlensError": "raterlens.errors",
}

__all__ = [
    "Anchors",
    "Comparison",
    "Fit",
    "Gate",
    "RaterlensError",
    "Ratings",
    "Window",
    "bootstrap",
    "capability",
    "charts",
    "check_shared_bias",
    "compare",
    "compare_raters",
    "diagnose",
    "facets_tables",
    "fit",
    "fit_models",
    "gate",
    "load",
    "load_example",
    "pack",
    "profile",
    "read",
    "read_facets",
    "simulate",
    "write_facets",
]


def __getattr__(name: str) -> Any:
    if name in ("capability", "charts"):
        return import_module(f"raterlens.{name}")
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'raterlens' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
