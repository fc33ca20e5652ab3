"""JSON on standard output."""

import sys
from json import dumps, loads


def print_json(text: str) -> None:
    """Characters beyond ASCII are escaped where stdout could not carry them."""
    universal = "utf" in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    print(text if universal else dumps(loads(text)))
