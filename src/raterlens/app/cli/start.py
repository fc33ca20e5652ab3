"""Where the command begins: while the rest is loaded, an interrupt is answered in one line already."""

import gc
import sys

ALLOCATIONS = 300_000
"""After so many new objects Python looks for unused ones. By itself it does so after 700, and goes again and again over
the modules that a command loads, which stay: a tenth of the time of a short command. They are half as many as these."""
SPIN = "16"
"""How long a thread of linear algebra keeps a core busy while it waits for work: 2^16 cycles. By itself it takes 2^26,
25 ms, and so long does every library of linear algebra at its start."""


def command() -> int:
    """The command as a shell starts it: `main`, and no more after it than has to be.

    Python would take every module and object apart before it ends, a fortieth of a short command. Here threads are
    waited for, what libraries registered for the end is done and everything is printed; the system takes back the rest.
    """
    code = main()
    _leave(code)
    return code


def _leave(code: int) -> None:
    import atexit
    import os
    import threading

    # As Python does, and multiprocessing where it leaves a process in this way.
    threading._shutdown()  # type: ignore[attr-defined]  # known to it, not to its types
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):  # nobody is reading any more
            pass
    os._exit(code)


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
