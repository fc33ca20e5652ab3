"""Where the command begins: while the rest is loaded, an interrupt is answered in one line already."""

import gc
import sys

ALLOCATIONS = 100_000
"""After so many new objects Python looks for unused ones. By itself it does so after 700, and goes again and again over
the modules that a command loads, which stay: a tenth of the time of a short command."""
SPIN = "16"
"""How long a thread of linear algebra keeps a core busy while it waits for work: 2^16 cycles. By itself it takes 2^26,
25 ms, and so long does every library of linear algebra at its start."""


def main() -> int:
    """As `raterlens.app.cli.main.main`."""
    gc.set_threshold(ALLOCATIONS)
    try:
        import os

        from raterlens.app.cli.main import main as run

        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", SPIN)
        return run()
    except KeyboardInterrupt:
        print("raterlens: interrupted", file=sys.stderr)
        return 130
    finally:
        gc.freeze()  # nor is there anything to look for at the end
