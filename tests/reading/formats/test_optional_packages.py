"""Packages that only some formats need are loaded by those, and named where they are missing."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from raterlens.base.errors import InputError
from raterlens.reading.read import read
from tests.support.reading_files import FILES

FRAME = pl.DataFrame({"student": [1, 2], "rater": ["a", "b"], "score": [0, 1]})


@pytest.mark.parametrize(
    ("kind", "package", "extra"),
    [
        ("xlsx", "fastexcel", "excel"),
        ("sav", "pyreadstat", "stats"),
        ("dta", "pyreadstat", "stats"),
        ("rda", "rdata", "rda"),
        ("duckdb", "duckdb", "duckdb"),
        ("csv.zst", "zstandard", "zst"),
    ],
)
def test_a_package_that_is_missing_is_named_with_its_extra(
    kind: str,
    package: str,
    extra: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = FILES[kind](FRAME, tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError) as refused:
        read(path)
    assert f"the package {package} is needed" in refused.value.what
    assert f"pip install 'raterlens[{extra}]'" in refused.value.remedy


def test_reading_imports_no_format_package() -> None:
    packages = ("fastexcel", "pyreadstat", "rdata", "duckdb", "zstandard", "pandas", "pyarrow")
    code = f"import raterlens.reading.read, sys; print(*[m for m in {packages} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
