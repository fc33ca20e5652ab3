"""Where the command begins: while the rest is loaded, an interrupt is answered in one line already."""

import sys


def main() -> int:
    """As `raterlens.app.cli.main.main`."""
    try:
        from raterlens.app.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        print("raterlens: interrupted", file=sys.stderr)
        return 130
