"""How long is a command silent? `python -m benchmarks.speed.silence 2m`: fits the file on a pseudo-terminal.

Says what the bar showed and when, and the longest time without a byte of output.
"""

import os
import pty
import re
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from time import perf_counter

from benchmarks.say import say
from benchmarks.speed.cases import SIZES

_STAGE = re.compile(r"(reading|fitting|standard errors|testing assumptions|diagnosing|writing)\b")


def watched(command: list[str]) -> tuple[list[tuple[float, str]], int]:
    """A command's terminal output, with times, and its exit code."""
    begun, seen = perf_counter(), [(0.0, "")]
    child, terminal = pty.fork()
    if child == 0:
        os.environ["COLUMNS"] = "100"
        os.execvp(command[0], command)
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        seen.append((perf_counter() - begun, part.decode(errors="replace")))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return [*seen, (perf_counter() - begun, "")], status


def main(size: str) -> int:
    data = SIZES[size].file()
    program = Path(sys.executable).with_name("raterlens")
    with tempfile.TemporaryDirectory() as out:
        seen, status = watched([str(program), "fit", str(data), "--out", f"{out}/results"])
    stages: dict[str, float] = {}
    for at, text in seen:
        for stage in _STAGE.findall(text):
            stages.setdefault(stage, at)
    longest, after = max((later - at, at) for (at, _), (later, _) in pairwise(seen))
    say(
        size=size,
        wall=seen[-1][0],
        first_output=seen[1][0],
        stages={name: round(at, 1) for name, at in stages.items()},
        longest_silence=longest,
        begun_at=after,
        load=os.getloadavg()[0],
    )
    return status


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
