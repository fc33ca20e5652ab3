"""Labels that a spreadsheet would take for a formula, made harmless."""

import polars as pl

_RISKY = r"^[=+\-@\t\r\n＝＋－＠]"
"""Characters that make Excel and its kin compute a cell; the wide forms are those of East Asian keyboards."""
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def harmless(table: pl.DataFrame) -> pl.DataFrame:
    """The table with an apostrophe before each text that a spreadsheet would compute; numbers stay as they are.

    Examples
    --------
    >>> harmless(pl.DataFrame({"rater": ["=cmd()", "-3", "AM"]}))["rater"].to_list()
    ["'=cmd()", '-3', 'AM']
    """
    text = pl.col(name for name, kind in table.schema.items() if kind in (pl.String, pl.Categorical)).cast(
        pl.String
    )
    return table.with_columns(
        pl.when(text.str.contains(_RISKY) & ~text.str.contains(_NUMBER))
        .then(pl.lit("'") + text)
        .otherwise(text)
        .name.keep()
    )
