"""Memory that was given back once is used again."""

import subprocess
import sys

import pytest

# Pages that arrays of 16 MiB take anew, one after the other, the last on another thread.
FAULTS = """
import sys
from resource import RUSAGE_SELF, getrusage
from raterlens.app.cli.kept_memory import keep_memory

if sys.argv[1] == "kept":
    keep_memory()
from threading import Thread

import numpy as np

np.ones(1 << 21)
before = getrusage(RUSAGE_SELF).ru_minflt
for _ in range(20):
    np.ones(1 << 21)
thread = Thread(target=lambda: np.ones(1 << 21))
thread.start()
thread.join()
print(getrusage(RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have allocators of their own")
def test_the_next_array_takes_the_pages_of_the_last() -> None:
    kept, given_back = (
        int(subprocess.run([sys.executable, "-c", FAULTS, how], capture_output=True, check=True).stdout)
        for how in ("kept", "given back")
    )
    assert kept < 100
    assert kept <= given_back
