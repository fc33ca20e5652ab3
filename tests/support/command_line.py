"""The program as its own process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

Captured = pytest.CaptureFixture[str]

RUN = "from raterlens.app.cli.main import main; raise SystemExit(main())"


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """What it did."""
    command = [sys.executable, "-W", "error", "-c", RUN, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, env=os.environ | environment, timeout=120, check=False
    )
