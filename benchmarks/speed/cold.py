"""The first command in a fresh environment: `python -m benchmarks.speed.cold [SIZE]`, in `make bench`.

Kernels are compiled when Raterlens is installed, so all that a first run can find missing is Python's own bytecode,
which some installers leave to it. The whole command twice, with a folder of its own for that: empty, and as the first
run left it; and a process of mirt, which only fits.
"""

import os
import sys
import tempfile

from benchmarks.speed.cases import COMMAND, PEER, SIZES
from benchmarks.speed.measure import measure

_LIMIT = 600


def main() -> None:
    size = SIZES[sys.argv[1] if len(sys.argv) > 1 else "800k"]
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["PYTHONPYCACHEPREFIX"] = cache
        cold, warm = (measure(COMMAND, size.file(), _LIMIT) for _ in range(2))
    for name, run in (("nothing kept", cold), ("as it was left", warm)):
        print(
            f"{size.ratings:,} ratings, {name}: {run['process_wall']:.1f} s, {run['process_cpu']:.1f} CPU s"
        )
    peer = measure(PEER, size.file(), _LIMIT)
    if "failed" not in peer:
        ratio = peer["process_wall"] / cold["process_wall"]
        print(f"{PEER}: {peer['process_wall']:.1f} s, {ratio:.1f} times the first run")
    wall, cpu = (cold[name] - warm[name] for name in ("process_wall", "process_cpu"))
    print(f"the first run: {wall:.1f} s more, {cpu:.1f} CPU s; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
