"""Control files of FACETS: facets, labels, models and data, read as that program reads them, or refused by line."""

from raterlens.reading.facets.control_data import read_control
from raterlens.reading.facets.control_file import Control, is_control, parse_control

__all__ = ["Control", "is_control", "parse_control", "read_control"]
