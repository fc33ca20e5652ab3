"""What a whole `raterlens fit` of the bundled example costs, against importing scipy.optimize and polars.

    python -m benchmarks.startup

Both are fresh processes in the same run, in turn; the middle of several is taken. The fit reads a csv, estimates,
computes standard errors, prints its table and writes all results with the report.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 7
MOST = 3.0
"""The promise: a fit costs at most this many times the imports alone."""

IMPORTS = "import scipy.optimize, polars"
FIT = "from raterlens.app.cli import main; raise SystemExit(main())"


def seconds(code: str, *arguments: str) -> float:
    """Wall time of a fresh Python."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> int:
    """Print the ratio; fail where the promise is not kept."""
    from raterlens.studies.example import example_table

    with tempfile.TemporaryDirectory() as folder:
        essays = Path(folder) / "essays.csv"
        example_table().write_csv(essays)
        items = ",".join(example_table().columns[3:])
        arguments = (
            "fit",
            str(essays),
            "--rater",
            "rater,topic",
            "--items",
            items,
            "--out",
            f"{folder}/results",
        )
        seconds(IMPORTS), seconds(FIT, *arguments)  # the first ones fill the disk cache
        pairs = [(seconds(IMPORTS), seconds(FIT, *arguments)) for _ in range(RUNS)]
    imports, fit = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(f"import scipy.optimize, polars: {imports:.2f} s")
    print(f"raterlens fit of the example:  {fit:.2f} s")
    print(f"ratio: {fit / imports:.2f} (at most {MOST:g})")
    return int(fit > MOST * imports)


if __name__ == "__main__":
    raise SystemExit(main())
