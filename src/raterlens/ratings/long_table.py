"""Ratings back as a table: one row a rating."""

import polars as pl

from raterlens.ratings.coded import Ratings


def long_table(ratings: Ratings) -> pl.DataFrame:
    """Columns student, rater, item, score, and one for each further facet; `rl.read` of it gives the same ratings."""
    coded = {
        "student": (ratings.students, ratings.student),
        "rater": (ratings.raters, ratings.rater),
        "item": (ratings.items, ratings.item),
    }
    columns = [labels.gather(codes).alias(name) for name, (labels, codes) in coded.items()]
    facets = [facet.labels.gather(facet.codes).alias(facet.name) for facet in ratings.facets]
    return pl.DataFrame([*columns, pl.Series("score", ratings.score), *facets])
