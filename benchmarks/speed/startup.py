"""How fast do commands start, and what do they load? `python -m benchmarks.speed.startup [SIZE] [REPEAT]`.

Help, a check, a fit, and a fit with its report, of 7,000 ratings unless told otherwise, each in fresh processes: the
least wall and CPU time, and the packages that `-X importtime` says take longest, in ms of their own modules, on this
machine as busy as it is.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter

from benchmarks.say import least, say
from benchmarks.speed.cases import SIZES

_LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\w+)")
# Packages that are named.
_MOST = 8


def run(arguments: list[str], *flags: str) -> tuple[dict[str, float], str]:
    """Time of a command, and its stderr."""
    code = "from raterlens.app.cli.start import command; command()"
    with tempfile.TemporaryFile("w+") as said:
        begun = perf_counter()
        process = subprocess.Popen(
            [sys.executable, *flags, "-c", code, *arguments], stdout=subprocess.DEVNULL, stderr=said
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed: {text[-300:]}")
    return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime}, text


def main(size: str = "7k", repeat: str = "5") -> None:
    data = str(SIZES[size].file())
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "results")
        for arguments in (["--help"], ["check", data], ["fit", data], ["fit", data, "--out", out]):
            best = least([run(arguments)[0] for _ in range(int(repeat))])
            loaded: Counter[str] = Counter()
            for own, package in _LINE.findall(run(arguments, "-X", "importtime")[1]):
                loaded[package] += int(own)
            heaviest = {name: round(spent / 1000) for name, spent in loaded.most_common(_MOST)}
            say(
                command=" ".join(arguments[:1] + arguments[2:3]),
                **best,
                loaded_ms=heaviest,
                load=os.getloadavg()[0],
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
