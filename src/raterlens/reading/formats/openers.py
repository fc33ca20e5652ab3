"""What opens a file of each format: a format's module is loaded with its first file, and no other."""

from pathlib import Path

from raterlens.config import ReadConfig
from raterlens.reading.formats.lazy_table import Table


def open_text(path: Path, config: ReadConfig) -> Table:
    from raterlens.reading.formats.delimited import read_delimited

    return read_delimited(path, config)


def open_workbook(path: Path, config: ReadConfig) -> Table:
    from raterlens.reading.formats.workbook import read_workbook

    return read_workbook(path, config)


def open_spss_or_stata(path: Path, config: ReadConfig) -> Table:
    from raterlens.reading.formats.statistical_packages import read_spss_or_stata

    return read_spss_or_stata(path, config)


def open_r(path: Path, config: ReadConfig) -> Table:
    from raterlens.reading.formats.statistical_packages import read_r

    return read_r(path, config)


def open_json(path: Path, config: ReadConfig) -> Table:
    from raterlens.reading.formats.json_records import read_json

    return read_json(path, config)


def open_inspect(path: Path, config: ReadConfig) -> Table:
    from raterlens.reading.formats.inspect_log import read_inspect

    return read_inspect(path, config)


def open_control(path: Path, config: ReadConfig) -> Table:
    from raterlens.reading.facets import read_control

    return read_control(path, config)


def open_sqlite(path: Path, config: ReadConfig) -> Table:
    from raterlens.reading.formats.databases import read_sqlite

    return read_sqlite(path, config)


def open_duckdb(path: Path, config: ReadConfig) -> Table:
    from raterlens.reading.formats.databases import read_duckdb

    return read_duckdb(path, config)


def open_frame(frame: object) -> Table:
    from raterlens.reading.formats.dataframes import read_frame

    return read_frame(frame)
