"""Entry point of the command. An interrupt while modules are loaded gives one line, not a traceback."""

import sys

RARELY = 50_000
"""Objects between two searches for garbage: loading the libraries makes half a million that all stay."""


def command() -> int:
    """Run the command that the shell gave; return its exit code."""
    try:
        import gc

        gc.set_threshold(RARELY)
        from raterlens.app.cli.main import main

        return main()
    except KeyboardInterrupt:
        print("raterlens: interrupted", file=sys.stderr)
        return 130
