"""Ratings as a control file of FACETS, to compare."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from raterlens.base.atomic_files import atomic_write
from raterlens.base.errors import choose
from raterlens.ratings.coded import Ratings

_SEPARATORS = str.maketrans({",": " ", "=": " ", ";": " ", "\t": " ", "\n": " ", "\r": " ", '"': "'"})
SCALES = {"rating scale": "?", "partial credit": "#"}


def write_facets(
    ratings: Ratings, path: str | Path, *, title: str = "Ratings", scale: str = "rating scale"
) -> None:
    """Write ratings as a control file that FACETS can run: the three-facets model, students positive and not centred.

    Parameters
    ----------
    ratings
        From `rl.read`.
    path
        The file to write; one that is there is replaced.
    title
        Of FACETS' tables.
    scale
        `rating scale`, or `partial credit` for thresholds of each item's own.
    """
    path = Path(path)
    choose("scale", scale, SCALES)
    text = "\n".join(_lines(ratings, title.translate(_SEPARATORS), SCALES[scale])) + "\n"
    atomic_write(path, lambda draft: draft.write_text(text, encoding="utf-8"))


def _lines(ratings: Ratings, title: str, item_sign: str) -> Iterator[str]:
    facets = [
        ("Students", ratings.student, ratings.students),
        ("Raters", ratings.rater, ratings.raters),
        ("Items", ratings.item, ratings.items),
        *((facet.name.translate(_SEPARATORS), facet.codes, facet.labels) for facet in ratings.facets),
    ]
    highest = ratings.n_categories - 1
    scale = "D" if highest == 1 else f"R{highest}"
    signs = ["?", "?", item_sign if highest > 1 else "?", *["?"] * len(ratings.facets)]
    yield f"Title = {title}"
    yield f"Facets = {len(facets)}"
    yield "Positive = 1"
    yield "Non-centered = 1"
    yield "Inter-rater = 2"
    yield f"Models = {','.join(signs)},{scale}"
    yield "Labels ="
    for number, (name, _, labels) in enumerate(facets, 1):
        yield f"{number}, {name}"
        yield from (f"{place} = {label}" for place, label in enumerate(_labels(labels), 1))
        yield "*"
    yield "Data ="
    rows = np.column_stack([*(codes + 1 for _, codes, _ in facets), ratings.score])
    yield from (",".join(map(str, row)) for row in rows.tolist())


def _labels(labels: pl.Series) -> list[str]:
    """Labels without the characters that separate; those that then look alike get their number."""
    plain = [text.translate(_SEPARATORS).strip() for text in labels.cast(pl.String)]
    times = Counter(plain)
    return [text if times[text] == 1 else f"{text} ({place})" for place, text in enumerate(plain, 1)]
