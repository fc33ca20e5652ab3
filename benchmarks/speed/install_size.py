"""Size of an installation: `python -m benchmarks.speed.install_size [EXTRA ...]`, in MB, each in a fresh environment.

Also names the heaviest packages. Without arguments: the base, `charts` and `all`.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from benchmarks.say import say

HERE = Path(__file__).parents[2]
MB = 1_000_000
# Folders from this size on are named.
_HEAVY = 5 * MB


def size(folder: Path) -> int:
    return sum(file.lstat().st_size for file in folder.rglob("*") if not file.is_dir())


def installed(extra: str, folder: Path) -> dict[str, float]:
    """MB of each of the heavy packages, and of all together; pip, which installs them, is left out."""
    venv.create(folder, with_pip=True)
    what = f"{HERE}[{extra}]" if extra else str(HERE)
    subprocess.run(
        [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", what],
        check=True,
    )
    packages = next(folder.glob("lib/python*/site-packages"))
    own = {path.name: size(path) for path in packages.iterdir() if path.is_dir()}
    total = size(folder) - sum(own.get(name, 0) for name in ("pip", "setuptools"))
    heavy = {
        name: found for name, found in own.items() if found >= _HEAVY and name not in ("pip", "setuptools")
    }
    return {
        "all": round(total / MB),
        **{name: round(found / MB) for name, found in sorted(heavy.items(), key=lambda one: -one[1])},
    }


if __name__ == "__main__":
    for extra in sys.argv[1:] or ("", "charts", "all"):
        with tempfile.TemporaryDirectory() as folder:
            say(extra=extra or "none", megabytes=installed(extra, Path(folder)))
