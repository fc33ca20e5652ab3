"""Entry point of the command. An interrupt while modules are loaded gives one line, not a traceback."""

import gc
import sys


def command() -> int:
    """Run the command that the shell gave; return its exit code."""
    # A command soon ends, and little of what it makes is cyclic. Python looks for cycles after every 700 objects, which
    # takes 0.05 s of the 0.75 s (processor time) of a fit of 7,000 ratings.
    gc.set_threshold(20_000)
    try:
        from raterlens.app.cli.main import main

        return main()
    except KeyboardInterrupt:
        print("raterlens: interrupted", file=sys.stderr)
        return 130
