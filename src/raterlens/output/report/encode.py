"""Plain data for a page: compact JSON that no label can break out of."""

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup
from numpy.typing import NDArray

# Inside a script element only these could end it or start a comment; JSON may write them as escapes.
_RISKY = {
    character: f"\\u{ord(character):04x}" for character in ("<", ">", "&", "\N{LINE SEPARATOR}", "\u2029")
}


def embedded(data: Any) -> Markup:
    """JSON for a `<script type="application/json">`.

    Examples
    --------
    >>> embedded({"rater": "</script>"})
    Markup('{"rater":"\\\\u003c/script\\\\u003e"}')
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in _RISKY.items():
        text = text.replace(character, escape)
    return Markup(text)


def rounded(values: pl.Series | NDArray[np.float64], digits: int = 4) -> list[float | int | None]:
    """Numbers for JSON: rounded, and null where there is none."""
    array = values.cast(pl.Float64).to_numpy() if isinstance(values, pl.Series) else values
    return [
        None if value != value else value for value in np.round(array.astype(np.float64), digits).tolist()
    ]


def thousandths(rows: NDArray[np.float64]) -> list[list[int | None]]:
    """Curves in whole thousandths: a third of the size, and finer than any screen."""
    whole = np.rint(1000 * rows)
    if not np.isnan(whole).any():
        found: list[list[int | None]] = whole.astype(np.int64).tolist()
        return found
    return [[None if value != value else int(value) for value in row] for row in whole.tolist()]


def coded(values: Iterable[str]) -> tuple[list[str], list[int]]:
    """Repeated texts: each once, and the place of each value among them."""
    places: dict[str, int] = {}
    codes = [places.setdefault(value, len(places)) for value in values]
    return list(places), codes
