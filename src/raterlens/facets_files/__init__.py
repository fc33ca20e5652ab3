"""Between Raterlens and FACETS: its control files read and written, and results in the form of its tables."""

from raterlens.facets_files.control import write_facets
from raterlens.facets_files.study import Study, read_facets
from raterlens.facets_files.tables import facets_tables

__all__ = ["Study", "facets_tables", "read_facets", "write_facets"]
