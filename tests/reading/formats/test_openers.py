"""A file needs the module of its own format and no other."""

import subprocess
import sys
from pathlib import Path

import pytest

import raterlens as rl

OTHERS = {
    "parquet": ("delimited", "workbook", "databases", "json_records", "statistical_packages", "dataframes"),
    "csv": ("workbook", "databases", "json_records", "statistical_packages", "dataframes"),
}
PROBE = """
import sys
import raterlens as rl

rl.read(sys.argv[1])
print(*(name for name in sys.argv[2:] if name in sys.modules))
"""


@pytest.mark.parametrize("kind", OTHERS)
def test_reading_a_file_loads_no_other_format(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"ratings.{kind}"
    table = rl.load_example().table()
    table.write_parquet(path) if kind == "parquet" else table.write_csv(path)
    others = [f"raterlens.reading.formats.{name}" for name in OTHERS[kind]]
    others += ["raterlens.reading.facets", "sqlite3", "xml.etree"]
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(path), *others], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
