"""The tables of a fit, as files, sheets of a workbook and an xarray Dataset have them."""

from typing import TYPE_CHECKING

import polars as pl

from raterlens.base.errors import OptionError
from raterlens.diagnostics.wording import with_verdicts
from raterlens.inference.result import Result

if TYPE_CHECKING:
    import xarray as xr

    from raterlens.diagnostics.findings import PanelFindings
    from raterlens.fitting.fit import Fit
    from raterlens.output.report.page import Document

MAIN = ("raters", "items", "students")
FURTHER = ("interactions", "groups", "draws")
"""Tables that only some models have."""
OF_GROUPS = {"n": "students", "mean": "theta", "mean_se": "theta_se"}
"""Columns of groups, as pages and sheets head them."""


def result_tables(
    fit: "Fit", found: "PanelFindings | None" = None, document: "Document | None" = None
) -> dict[str, pl.DataFrame]:
    """Every table that there is, by name: those of the fit with verdicts, fair results of students and fit statistics
    where they are known, those of the diagnosis, and decisions and drift alarms as far as asked for."""
    tables = {name: fit.table(name) for name in MAIN}
    tables["raters"] = with_verdicts(fit, None if found is None else found.raters)
    if found is not None and (results := found.consequences.table()) is not None:
        tables["students"] = tables["students"].join(results, on="student", how="left", maintain_order="left")
    diagnosis = None if found is None else found.diagnosis
    if diagnosis is not None:
        tables = {name: diagnosis.beside(name, table) for name, table in tables.items()}
    # Sets of raters only say who marked whom.
    hidden = {"groups"} if fit.config.group_means == "raters" else set()
    tables |= {name: fit.table(name) for name in FURTHER if name in fit.tables and name not in hidden}
    if "truth" in fit.tables:
        tables["labels"] = fit.label_table()
    for files in (diagnosis, document):
        if files is not None:
            tables |= {file.removesuffix(".csv"): table for file, table in files.files().items()}
    if found is not None and found.monitoring is not None and found.monitoring.alarms is not None:
        tables["alarms"] = found.monitoring.alarms
    return tables


# ------------------------------------------------------------------------------------------------------------ xarray

_SHARED = ("n", "mean_score", "flag")
"""Columns that several tables have; in a dataset each says whose it is: n_rater."""
_ATTRIBUTES = ("model", "method", "link", "loglik", "sigma", "sigma_se", "alpha", "n_parameters", "n_ratings")


def dataset(fit: Result) -> "xr.Dataset":
    """Every column of raters, items and students along its own dimension."""
    try:
        import xarray as xr
    except ImportError:
        raise OptionError("xarray is not installed", "pip install 'raterlens[xarray]'") from None
    variables, coordinates = {}, {}
    for name in MAIN:
        table, dimension = fit.tables[name], name.removesuffix("s")
        coordinates[dimension] = table[dimension].cast(pl.String).to_numpy().astype(str)
        for column in table.drop(dimension):
            key = f"{column.name}_{dimension}" if column.name in _SHARED else column.name
            values = column.to_numpy()
            variables[key] = (dimension, values.astype(str) if column.dtype == pl.String else values)
    return xr.Dataset(variables, coordinates, {name: getattr(fit, name) for name in _ATTRIBUTES})
