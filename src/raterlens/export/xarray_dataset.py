"""Tables of estimates as one labelled xarray Dataset."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from raterlens.errors import OptionError

if TYPE_CHECKING:
    import xarray as xr

DIMENSIONS = {"raters": "rater", "items": "item", "students": "student"}
_SHARED = ("n", "mean_score", "flag")
"""Columns that several tables have; in a dataset each says whose it is: n_rater."""


def dataset(tables: Mapping[str, pl.DataFrame], attributes: Mapping[str, Any]) -> "xr.Dataset":
    """Every column of raters, items and students along its own dimension."""
    try:
        import xarray as xr
    except ImportError:
        raise OptionError("xarray is not installed; pip install 'raterlens[xarray]'") from None
    variables, coordinates = {}, {}
    for name, dimension in DIMENSIONS.items():
        table = tables[name]
        coordinates[dimension] = table[dimension].cast(pl.String).to_numpy().astype(str)
        for column in table.drop(dimension):
            key = f"{column.name}_{dimension}" if column.name in _SHARED else column.name
            values = column.to_numpy()
            variables[key] = (dimension, values.astype(str) if column.dtype == pl.String else values)
    return xr.Dataset(variables, coordinates, dict(attributes))
