"""Dataframes of the kind that came in: pandas in, pandas out."""

from typing import Any, Literal

import polars as pl

Backend = Literal["polars", "pandas", "pyarrow"]


def as_came(table: pl.DataFrame, backend: Backend) -> Any:
    """A dataframe of the kind that came in.

    Examples
    --------
    >>> type(as_came(pl.DataFrame({"n": [1]}), "pandas")).__module__.split(".")[0]
    'pandas'
    """
    if backend == "polars":
        return table
    import narwhals as nw  # polars in, polars out needs no other library

    columns = {column: table[column].to_list() for column in table.columns}
    return nw.from_dict(columns, backend=backend).to_native()
