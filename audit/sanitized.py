"""`make sanitize`: tests on kernels that end the process where they leave an array, or do what C leaves undefined.

The kernels are compiled with the address and undefined-behaviour sanitizers, in a copy of the package, where they go
over the smallest data, too. Needs gcc, on Linux.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from audit.mutants import HERE
from hatch_build import LIBRARY, SOURCES, compile_kernels

CHECKS = "-g1 -fsanitize=address,undefined -fno-sanitize-recover=all"
TESTS = ("tests/kernels", "tests/likelihood")
ABOUT_SIZE = "test_large_data"
"""How tests begin that ask whether only large data go through compiled code."""


def runtime(name: str) -> str:
    """The path of a library of the compiler's: Python itself was compiled without, so it has to be loaded first."""
    return subprocess.check_output(["gcc", f"-print-file-name={name}"], text=True).strip()


def copied(folder: Path) -> Path:
    """The package with kernels of its own."""
    copy = folder / SOURCES.parent.parent
    shutil.copytree(
        HERE / SOURCES.parent.parent, copy, ignore=shutil.ignore_patterns("__pycache__", LIBRARY.name)
    )
    return copy.parent


def always_used(package: Path) -> None:
    """Let compiled code go over the smallest data, too."""
    rule = package / "raterlens" / "kernels" / "library.py"
    words, found = re.subn(r"(?m)^NUMBERS = [\d_]+$", "NUMBERS = 0", rule.read_text())
    assert found == 1
    rule.write_text(words)


def compile_with_checks(sources: Path, library: Path) -> None:
    usual = os.environ.get("CC")
    os.environ["CC"] = f"gcc {CHECKS}"
    compile_kernels(sources, library)
    os.environ.pop("CC")
    if usual is not None:
        os.environ["CC"] = usual


def with_checks() -> dict[str, str]:
    """Environment that switches the checks on."""
    return {
        "LD_PRELOAD": " ".join(map(runtime, ("libasan.so", "libubsan.so"))),
        "ASAN_OPTIONS": "detect_leaks=0:redzone=2048",  # leaks are Python's own, of which there are many
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def main() -> int:
    with TemporaryDirectory() as folder:
        package = copied(Path(folder))
        always_used(package)
        compile_with_checks(HERE / SOURCES, Path(folder) / LIBRARY)
        environment = os.environ | {"PYTHONPATH": str(package)} | with_checks()
        words = ["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-k", f"not {ABOUT_SIZE}"]
        words += sys.argv[1:] or TESTS
        return subprocess.run([sys.executable, *words], cwd=HERE, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
