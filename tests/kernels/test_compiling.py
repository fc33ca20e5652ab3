"""Compiled code is kept, also where the install cannot be written to."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = """
from raterlens.kernels.compiling import compiled

@compiled()
def twice(x):
    return x + x
"""


def cached(folder: Path) -> list[Path]:
    return list(folder.rglob("*.nbi"))


@pytest.mark.parametrize("home_is_writable", [True, False])
def test_an_install_that_cannot_be_written_to(tmp_path, home_is_writable):
    install, home = tmp_path / "install", tmp_path / "home"
    install.mkdir()
    (install / "kernel.py").write_text(SOURCE)
    # A file where the folder should be: nobody can write there, not even an administrator.
    (install / "__pycache__").write_text("")
    home.mkdir() if home_is_writable else home.write_text("")
    environment = {
        **os.environ,
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "LOCALAPPDATA": str(home),
        "PYTHONPATH": str(install),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    code = "import kernel; print(kernel.twice(21))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "42"
    assert bool(cached(tmp_path)) == home_is_writable
