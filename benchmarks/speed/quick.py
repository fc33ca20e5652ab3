"""Is this commit slower than another? `python -m benchmarks.speed.quick BASE`, or `make bench-quick BASE=commit`.

Both fit the same files in turn, in fresh processes. The best CPU times of the fits, and of the whole command on 7,000
ratings, are compared; the exit code is 1 if any takes more than 15 % longer than at the base. `--only TEXT` takes the
cases whose name has it.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.speed.cases import COMMAND, ROOT, SIZES
from benchmarks.speed.measure import measure

CASES = (
    ("7k", COMMAND),
    ("80k", "raterlens gmf"),
    ("800k", "raterlens gmf"),
    ("80k", "raterlens hrm"),
    ("80k", "raterlens probit"),
    ("80k", "raterlens gmf, halo"),
    ("80k", "raterlens gmf, on disk"),
    ("80k", "raterlens gmf, uneven exam"),
    ("5000-raters", "raterlens gmf"),
)
SLOWDOWN = 1.15
# A hundredth of a second is within the noise of starting threads.
NOISE = 0.02


def seconds(size: str, program: str, source: Path) -> float:
    found = measure(program, SIZES[size].file(), limit=600, source=source)
    if "failed" in found:
        sys.exit(f"{program} on {size}, code in {source}: {found['failed']}")
    return float(found["process_cpu"] if program == COMMAND else found["fit_cpu"])


def compile_base(root: Path) -> None:
    """Compile a checkout's kernels in place, with its own build script: it was never installed."""
    build = (
        "from pathlib import Path; from hatch_build import *; compile_kernels(Path(SOURCES), Path(LIBRARY))"
    )
    subprocess.run([sys.executable, "-c", build], cwd=root, check=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.quick", description=__doc__)
    parser.add_argument("base", help="the commit to compare with")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", default="", help="take the cases whose name has this text")
    asked = parser.parse_args()
    slower = 0
    with tempfile.TemporaryDirectory() as folder:
        base, here = Path(folder) / "base", ROOT
        git = ["git", "-C", str(here), "worktree"]
        subprocess.run([*git, "add", "--detach", "--quiet", str(base), asked.base], check=True)
        try:
            compile_base(base)
            for size, program in (case for case in CASES if asked.only in " ".join(case)):
                times: dict[Path, list[float]] = {base: [], here: []}
                for turn in range(asked.repeat + 1):
                    for root, taken in times.items():
                        spent = seconds(size, program, root / "src")
                        if turn:  # the first run may compile
                            taken.append(spent)
                before, now = min(times[base]), min(times[here])
                worse = now > SLOWDOWN * before + NOISE
                slower += worse
                verdict = "SLOWER" if worse else "as fast" if now > before / SLOWDOWN else "faster"
                print(f"{size:>5} {program}: {before:.2f} -> {now:.2f} CPU s, {now / before:.2f}x, {verdict}")
        finally:
            subprocess.run([*git, "remove", "--force", str(base)], check=True)
    return int(slower > 0)


if __name__ == "__main__":
    raise SystemExit(main())
