"""Help and mistakes are answered at once: nothing heavy is imported before it is needed."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "arguments", [["--help"], ["fit", "--help"], ["--version"], ["fit", "--modle", "x"], ["fitt"]]
)
def test_help_and_mistakes_are_answered_without_heavy_imports(arguments: list[str]) -> None:
    heavy = ("scipy", "polars", "numpy", "jinja2", "narwhals", "numba", "altair", "pandas", "pyarrow")
    probe = (
        "import sys; from raterlens.app.cli.main import main; main(sys.argv[1:]); "
        f"sys.exit(','.join(m for m in {heavy} if m in sys.modules) or None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe, *arguments], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


SLOW_PARTS = tuple(f"scipy.{part}" for part in ("stats", "optimize", "interpolate", "integrate", "spatial"))


FOR_OTHER_FILES = (
    "sqlite3",
    "xml",
    "raterlens.reading.facets",
    "raterlens.output.excel",
)
FOR_OTHER_MODELS = ("raterlens.pipeline.latent_class_task",)


@pytest.mark.parametrize("command", ["fit", "fit --out", "check"])
def test_a_command_imports_nothing_slow_that_it_does_not_need(
    table: Path, tmp_path: Path, command: str
) -> None:
    name, *out = command.split()
    spare = (
        "pandas",
        "pyarrow",
        "numba",
        "altair",
        "matplotlib",
        *SLOW_PARTS,
        *FOR_OTHER_FILES,
        *FOR_OTHER_MODELS,
    )
    if name == "check":
        spare = (*spare, "scipy", "jinja2", "narwhals")
    probe = (
        "import sys; from raterlens.app.cli.main import main; code = main(sys.argv[1:]); "
        f"sys.exit(code or ','.join(m for m in {spare} if m in sys.modules) or None)"
    )
    arguments = [name, str(table), *out, *[str(tmp_path / "results") for _ in out]]
    done = subprocess.run(
        [sys.executable, "-c", probe, *arguments], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
