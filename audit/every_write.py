"""`python -m audit.every_write`: each command with its k-th change to a file failing, for every k; then killed there.

As the subject `interrupted runs`, but all places in turn, with and without earlier results.
"""

import sys
from collections import Counter
from itertools import count, product
from pathlib import Path
from tempfile import TemporaryDirectory

from audit.interrupted_runs import RUNS, check


def main() -> None:
    total: Counter[str] = Counter()
    for run in sys.argv[1:] or RUNS:
        found: Counter[str] = Counter()
        for fault, earlier in product(("fail", "kill"), (False, True)):
            for place in count(1):
                with TemporaryDirectory() as folder:
                    case = {"run": run, "fault": [fault, place], "earlier": earlier}
                    outcome = check(case, Path(folder))
                if outcome == "done":  # there is no such change
                    break
                found[outcome] += 1
        print(f"{run}: {found['failed']} failed writes, {found['killed']} kills", flush=True)
        total += found
    print(
        f"{total['failed']} failed writes, {total['killed']} kills: nothing lost, the same bytes afterwards"
    )


if __name__ == "__main__":
    main()
