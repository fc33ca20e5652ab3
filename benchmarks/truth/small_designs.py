"""Random small panels: two to thirty raters, sparse, disconnected and extreme, with pass/fail or ordered scores."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SmallDesign:
    """Ratings by place."""

    student: Codes
    rater: Codes
    item: Codes
    score: Codes

    @property
    def highest(self) -> int:
        return int(self.score.max())

    def frame(self) -> pl.DataFrame:
        names = {"student": self.student, "rater": self.rater, "item": self.item}
        table = pl.DataFrame(
            {name: [f"{name[0]}{code:03}" for code in codes] for name, codes in names.items()}
        )
        return table.with_columns(score=self.score)


def drawn(seed: int, *, ordered: bool, most_raters: int = 30) -> SmallDesign:
    """A design with ratings of raters who differ."""
    random = np.random.default_rng(seed)
    raters, students, items = (
        int(random.integers(2, most_raters + 1)),
        int(random.integers(5, 26)),
        int(random.integers(1, 4)),
    )
    per_student = int(random.integers(1, 4))
    apart = random.random() < 0.2  # two halves that share nobody
    highest = int(random.integers(2, 4)) if ordered else 1
    slope, severity = 1.5 * np.exp(0.5 * random.standard_normal(raters)), random.standard_normal(raters)
    severity[random.random(raters) < 0.1] *= 4  # raters who only pass or only fail
    theta, difficulty = random.standard_normal(students), random.standard_normal(items)
    rows = []
    for n in range(students):
        some = np.flatnonzero(np.arange(raters) % 2 == n % 2) if apart and raters > 3 else np.arange(raters)
        for r in random.choice(some, min(per_student, len(some)), replace=False):
            for i in range(items):
                s = slope[r] * theta[n] - severity[r] - difficulty[i]
                steps = s - np.linspace(-1, 1, highest) * (highest > 1)
                rows.append((n, r, i, int((random.logistic(size=1) < steps).sum())))
    return SmallDesign(*(np.unique(each, return_inverse=True)[1] for each in np.array(rows).T))
