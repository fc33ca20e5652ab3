"""Tables of estimates as one labelled xarray Dataset."""

from typing import TYPE_CHECKING

import polars as pl

from raterlens.base.errors import OptionError
from raterlens.inference.result import Result

if TYPE_CHECKING:
    import xarray as xr

DIMENSIONS = {"raters": "rater", "items": "item", "students": "student"}
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
    for name, dimension in DIMENSIONS.items():
        table = fit.tables[name]
        coordinates[dimension] = table[dimension].cast(pl.String).to_numpy().astype(str)
        for column in table.drop(dimension):
            key = f"{column.name}_{dimension}" if column.name in _SHARED else column.name
            values = column.to_numpy()
            variables[key] = (dimension, values.astype(str) if column.dtype == pl.String else values)
    return xr.Dataset(variables, coordinates, {name: getattr(fit, name) for name in _ATTRIBUTES})
