"""Large families of cases: a few of them in `make test`, all of them in `make test-all`."""

from collections.abc import Iterable
from typing import Any

import pytest


def mostly_nightly(cases: Iterable[Any], keep: int) -> list[Any]:
    """Parameters for `pytest.mark.parametrize`: `keep` of the cases, evenly spread, run every time."""
    listed = list(cases)
    every = max(len(listed) // keep, 1)
    return [
        case if place % every == 0 else pytest.param(case, marks=pytest.mark.nightly)
        for place, case in enumerate(listed)
    ]
