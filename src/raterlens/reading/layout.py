"""How a table is laid out: one row per rating, and which column plays which role."""

from dataclasses import replace

from raterlens.config import ReadConfig
from raterlens.reading.columns import Roles, as_told, assign_roles
from raterlens.reading.formats.lazy_table import Table
from raterlens.reading.wide import to_long, two_rows_to_long


def laid_out(table: Table, config: ReadConfig) -> tuple[Table, Roles]:
    """The table, made long where raters have columns of their own, and its roles: as the user says, else as the file
    does, else by the usual names."""
    if config.wide is not None:
        others = (*config.names("student"), *config.names("facets"))
        table = to_long(table, config.wide, config.names("items"), others)
        config = config.changed(items=None)
    elif not (config.rater or config.score or config.items):
        table = two_rows_to_long(table)
    config, notes = as_told(table.roles, config)
    return replace(table, notes=(*table.notes, *notes)), assign_roles(table.columns, config)
