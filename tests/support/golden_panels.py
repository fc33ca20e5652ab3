"""Small ratings for every option of a fit: 300 to 1,000 of them, drawn from known seeds."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl

import raterlens as rl
from tests.support import interaction_ratings, piece_ratings, shared_panels

Case = tuple[rl.Ratings, dict[str, Any]]
"""Ratings, and the options of their fit."""


def plain(raters: int = 6, categories: int = 2, **drawn: Any) -> rl.Ratings:
    """80 students by two raters each on three items."""
    thresholds = np.linspace(-1, 1, categories - 1) if categories > 2 else None
    options = {"students": 80, "items": 3, "raters_per_student": min(2, raters), "seed": 11, **drawn}
    return rl.simulate(raters=raters, thresholds=thresholds, **options).ratings


def table(ratings: rl.Ratings) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "student": ratings.students.gather(ratings.student),
            "rater": ratings.raters.gather(ratings.rater),
            "item": ratings.items.gather(ratings.item),
            "score": ratings.score,
        }
    )


def impressed(**drawn: Any) -> rl.Ratings:
    """Ratings with impressions: what a rater sees in a student besides ability, three raters per student, four
    items."""
    return plain(items=4, raters_per_student=3, halo=0.9, **drawn)


def few_impressed() -> rl.Ratings:
    """For fits that go over every pair of scores, or search for a shape besides."""
    return plain(4, students=60, slope=[1.0, 1.4, 1.2, 1.6], halo=0.9)


def skewed(categories: int = 2) -> rl.Ratings:
    ability = np.random.default_rng(3).exponential(size=120) - 1
    return plain(5, categories, students=120, raters_per_student=3, ability=ability)


def of_pieces(**drawn: float) -> rl.Ratings:
    return piece_ratings.ratings_of(students=40, pieces=3, **drawn)


def answered(known: int = 40, bias: float = 0.0) -> rl.Ratings:
    return shared_panels.panel(students=120, raters=5, known=known, bias=bias, seed=3).ratings


def by_topic() -> rl.Ratings:
    made = table(plain(students=100))
    topic = np.random.default_rng(1).integers(3, size=made.height)
    return rl.read(made.with_columns(topic=pl.Series(list("abc")).gather(topic)), facets=["topic"])


def apart(*, items_apart: bool) -> rl.Ratings:
    """Two panels that share no student and no rater, and perhaps no item."""
    names = ["student", "rater", *["item"] * items_apart]
    other = table(plain(4, seed=12)).with_columns(pl.col(names) + "x")
    return rl.read(pl.concat([table(plain(4)), other]))


def unequal() -> rl.Ratings:
    """Items scored 0-1, 0-2 and 0-3."""
    highest = {"I1": 1, "I2": 2, "I3": 3}
    made = table(plain(categories=4, students=120))
    return rl.read(made.with_columns(pl.min_horizontal("score", pl.col("item").replace_strict(highest))))


def lenient() -> rl.Ratings:
    """R1 passes everybody, R2 nobody."""
    sure = pl.when(rater="R1").then(1).when(rater="R2").then(0).otherwise("score")
    return rl.read(table(plain(students=120, raters_per_student=3)).with_columns(score=sure))


def experience(ratings: rl.Ratings) -> pl.DataFrame:
    years = np.linspace(-1, 1, ratings.n_raters) ** 2
    return pl.DataFrame({"rater": ratings.raters, "years": years})


def anchored(categories: int) -> Case:
    """Other students of the same raters and items, held at the fit of the earlier ones."""
    made = table(plain(categories=categories, students=160))
    number = pl.col("student").str.slice(1).cast(int)
    earlier, now = (rl.read(made.filter(which)) for which in (number <= 80, number > 80))
    return now, {"anchors": rl.fit(earlier, model="gmf")}


def item_slopes(link: str) -> Case:
    return plain(items=4), {"link": link, "item_slopes": True}


HELD = rl.Anchors(raters={"R1": (1.2, 0.3), "R2": (None, -0.2)}, items={"I1": 0.4})

PANELS: dict[str, Callable[[], Case]] = {
    "halo common": lambda: (impressed(), {"halo": "common"}),
    "halo per rater": lambda: (impressed(), {"halo": "rater"}),
    "halo not asked for": lambda: (impressed(students=150), {}),
    "halo, ordered, partial credit": lambda: (
        impressed(categories=4),
        {"halo": "common", "scale": "partial credit"},
    ),
    "halo, graded": lambda: (impressed(categories=3), {"halo": "common", "scale": "graded"}),
    "halo, item slopes": lambda: (few_impressed(), {"halo": "common", "starts": 1, "item_slopes": True}),
    "halo, probit": lambda: (few_impressed(), {"halo": "common", "starts": 1, "model": "probit"}),
    "halo, cauchit": lambda: (few_impressed(), {"halo": "common", "starts": 1, "link": "cauchit"}),
    "halo, panel prior": lambda: (impressed(), {"halo": "common", "prior": "panel"}),
    "halo, smooth": lambda: (
        few_impressed(),
        {"halo": "common", "starts": 1, "ability": "smooth", "standard_errors": False},
    ),
    "halo, interactions": lambda: (impressed(), {"halo": "common", "interactions": "rater:item"}),
    "pieces": lambda: (of_pieces(tau=0.0), {"halo": "none"}),
    "pieces, halo": lambda: (of_pieces(), {"halo": "common"}),
    "pieces, item slopes": lambda: (of_pieces(tau=0.0), {"halo": "none", "item_slopes": True}),
    "smooth": lambda: (skewed(), {"ability": "smooth"}),
    "smooth, ordered": lambda: (skewed(4), {"ability": "smooth"}),
    "smooth, probit link": lambda: (skewed(), {"ability": "smooth", "link": "probit"}),
    "smooth, not asked for": lambda: (skewed(), {}),
    "known answers": lambda: (answered(), {"shared": False}),
    "known answers, slope 10": lambda: (answered(), {"shared": False, "known_slope": 10.0}),
    "known answers, smooth": lambda: (answered(), {"shared": False, "ability": "smooth"}),
    "shared bias, trusted": lambda: (answered(10, 2.0), {"shared": True, "trusted": ["r03", "r04"]}),
    "shared bias, known": lambda: (answered(60, 2.0), {"shared": True}),
    "interactions": lambda: (
        interaction_ratings.planted(0.8, students=60)[0],
        {"interactions": "rater:item"},
    ),
    "interactions, topic": lambda: (by_topic(), {"interactions": "rater:topic"}),
    "prior, 2 raters": lambda: (plain(2), {"prior": "panel"}),
    "prior, 6 raters": lambda: (plain(6), {"prior": "panel"}),
    "prior, 30 raters": lambda: (plain(30, students=150), {"prior": "panel"}),
    "prior, covariates": lambda: (
        made := plain(12, students=120),
        {"prior": "panel", "covariates": experience(made).to_dict(as_series=False)},
    ),
    "anchors, whole": lambda: anchored(2),
    "anchors, ordered": lambda: anchored(4),
    "anchors, partial": lambda: (plain(), {"anchors": HELD}),
    "anchors, laplace": lambda: (plain(), {"anchors": HELD, "method": "laplace"}),
    "covariates": lambda: (
        made := plain(8),
        {"covariates": experience(made).to_dict(as_series=False)},
    ),
    "facet": lambda: (by_topic(), {}),
    "components": lambda: (apart(items_apart=False), {}),
    "components, items apart": lambda: (apart(items_apart=True), {}),
    "components, prior": lambda: (apart(items_apart=False), {"prior": "panel"}),
    "unequal items": lambda: (unequal(), {"scale": "partial credit"}),
    "unequal items, rating scale": lambda: (unequal(), {}),
    "extreme raters": lambda: (lenient(), {}),
    "extreme raters, prior": lambda: (lenient(), {"prior": "panel"}),
    "extreme raters, tfm": lambda: (lenient(), {"model": "tfm"}),
    "extreme raters, cloglog": lambda: (lenient(), {"link": "cloglog"}),
    **{
        f"item slopes, {link}": partial(item_slopes, link) for link in ("probit", "cauchit", "cloglog", "log")
    },
    "no errors": lambda: (plain(), {"standard_errors": False}),
    "conditional errors": lambda: (plain(), {"method": "hl", "covariance": "conditional"}),
    "reversed": lambda: (plain(slope=[1.5, 1.0, 1.2, -0.8, 2.0, 0.7]), {"allow_reversed": True}),
}
