"""Measurements as lines of JSON."""

import json
from typing import Any


def least(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The smallest of each measure."""
    return {what: min(run[what] for run in runs) for what in runs[0]}


def say(**found: Any) -> None:
    """One line; numbers to four significant digits, except what has to agree to the last."""
    exact = ("loglik", "kappa_sum")
    short = {
        name: float(f"{value:.4g}") if isinstance(value, float) and name not in exact else value
        for name, value in found.items()
    }
    print(json.dumps(short), flush=True)
