"""The first fit in a fresh environment, nothing compiled yet: `python -m benchmarks.cold [SIZE]`, in `make bench`.

The same process twice, with a cache of compiled code of its own: empty, and as the first run left it. The difference is
what compiling costs, once per environment.
"""

import os
import sys
import tempfile

from benchmarks.cases import SIZES
from benchmarks.measure import measure

_LIMIT = 600


def main() -> None:
    size = SIZES[sys.argv[1] if len(sys.argv) > 1 else "800k"]
    with tempfile.TemporaryDirectory() as cache:
        os.environ["NUMBA_CACHE_DIR"] = cache
        cold, warm = (measure("raterlens gmf", size.file(), _LIMIT) for _ in range(2))
    for name, run in (("empty cache", cold), ("as it was left", warm)):
        print(
            f"{size.ratings:,} ratings, {name}: {run['process_wall']:.1f} s, {run['process_cpu']:.1f} CPU s"
        )
    wall, cpu = (cold[name] - warm[name] for name in ("process_wall", "process_cpu"))
    print(f"compiling: {wall:.1f} s, {cpu:.1f} CPU s; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
