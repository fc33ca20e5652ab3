"""Requests as frozen records: how to read a table, and what to fit to it.

Every surface (Python, the command line, the web app, scikit-learn, the gate, studies) builds these records, a fit keeps
the one it came from, and `fit.refit(**changes)` fits again by it. Options and their defaults stand here and
nowhere else. What depends on the data (does the rater exist?) or on the model (does it take this option?) is checked
where that is known, before any work.
"""

from raterlens.config.fit_config import (
    FIT_OPTIONS,
    Anchors,
    ColumnOptions,
    CovarianceKind,
    EarlierScale,
    Fair,
    FitConfig,
    FitOptions,
    FurtherOptions,
    GroupMeansKind,
    HaloKind,
    LinkName,
    Method,
    Prior,
    Scale,
    SharedKind,
    fit_config,
)
from raterlens.config.read_config import (
    BESIDES,
    COLUMN_ROLES,
    LARGEST_CUT,
    READ_OPTIONS,
    ROW,
    Columns,
    ReadConfig,
    marker_patterns,
    pattern_fields,
)

__all__ = [
    "BESIDES",
    "COLUMN_ROLES",
    "FIT_OPTIONS",
    "LARGEST_CUT",
    "READ_OPTIONS",
    "ROW",
    "Anchors",
    "ColumnOptions",
    "Columns",
    "CovarianceKind",
    "EarlierScale",
    "Fair",
    "FitConfig",
    "FitOptions",
    "FurtherOptions",
    "GroupMeansKind",
    "HaloKind",
    "LinkName",
    "Method",
    "Prior",
    "ReadConfig",
    "Scale",
    "SharedKind",
    "fit_config",
    "marker_patterns",
    "pattern_fields",
]
