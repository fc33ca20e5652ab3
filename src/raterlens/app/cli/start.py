"""Entry point of the command. An interrupt while modules are loaded gives one line, not a traceback."""

import sys


def command() -> int:
    """Run the command that the shell gave; return its exit code."""
    try:
        from raterlens.app.cli.main import main

        return main()
    except KeyboardInterrupt:
        print("raterlens: interrupted", file=sys.stderr)
        return 130
