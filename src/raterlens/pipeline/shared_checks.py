"""Whether data can tell a dimension that raters share from the truth, and a request asks for it."""

import numpy as np
import polars as pl

from raterlens.base.errors import OptionError
from raterlens.base.records import dataclass
from raterlens.base.text import Message, Option, counted
from raterlens.base.types import Mask
from raterlens.config import FitConfig
from raterlens.pipeline.incompatible import refuse_together
from raterlens.ratings.coded import Ratings
from raterlens.ratings.stored import StoredRatings

FEWEST, FEWEST_SHARING = 5, 3
"""Raters, and raters who are not trusted, below which nothing tells what they share from what each sees."""
ENOUGH_KNOWN = 60
"""Known answers that place the truth in a plane with what raters share. `python -m benchmarks.known_answers --data`
on 65 real judges of 200 answers: with 60 known a fit with a shared dimension ranks them as well as one without, with 30
it may not."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    what: str
    remedy: str
    option: str


def trusted_raters(ratings: Ratings, config: FitConfig) -> Mask:
    """(raters,)"""
    return np.asarray(ratings.raters.cast(pl.String).is_in(list(config.trusted or ())).to_numpy())


def wants_shared(ratings: Ratings, config: FitConfig) -> bool:
    """Whether a shared dimension is to be tried; raises where it is asked for and cannot be had."""
    if config.shared == "no" or (config.shared == "auto" and ratings.known is None and not config.trusted):
        return False
    clashes = _clashes(config)
    if config.shared == "yes":
        refuse_together(Option("shared", "yes"), clashes)
    if any(given for _, given in clashes):
        return False
    found = _of_ratings(ratings, config)
    if config.shared == "auto" and not config.trusted and len(ratings.known or ()) < ENOUGH_KNOWN:
        return False  # what raters share is then as likely to be taken for the truth as the other way round
    if found is not None and config.shared == "yes":
        raise OptionError(
            Message(Option("shared", "yes"), f": {found.what}"),
            found.remedy,
            value="yes",
            option=found.option,
        )
    return found is None


def _clashes(config: FitConfig) -> list[tuple[Option, bool]]:
    """What a shared dimension does not go with, each with whether it is given."""
    return [
        (Option("method", config.method), config.method != "mml"),
        (Option("covariance", config.covariance), config.covariance != "observed"),
        (Option("prior", config.prior), config.prior != "none"),
        (Option("halo", config.halo), config.halo not in (None, "none")),
        (Option("ability", config.ability), config.ability not in (None, "normal")),
        (Option("anchors"), config.anchors is not None),
        (Option("covariates"), config.covariates is not None),
        (Option("item_slopes", config.item_slopes), config.item_slopes),
        (Option("link", config.link), config.link in ("log", "cauchit")),
    ]


def _of_ratings(ratings: Ratings, config: FitConfig) -> Obstacle | None:
    trusted = trusted_raters(ratings, config)
    if ratings.known is None and not trusted.any():
        return Obstacle(
            "no answer is known and no rater trusted, so nothing tells what raters share from the truth",
            Message("give ", Option("known"), " or ", Option("trusted")),
            "known",
        )
    if isinstance(ratings, StoredRatings):
        return Obstacle("packed ratings are not read at once", "read the table itself", "shared")
    if ratings.n_raters < FEWEST or int((~trusted).sum()) < FEWEST_SHARING:
        return Obstacle(
            f"{counted(ratings.n_raters, 'rater')}, {int(trusted.sum())} of them trusted, are too few to tell what "
            "they share from what each sees",
            f"it takes {FEWEST} raters, {FEWEST_SHARING} of whom are not trusted",
            "trusted",
        )
    if ratings.known is None:
        by_trusted = np.zeros(ratings.n_students, dtype=bool)
        by_trusted[ratings.student[trusted[ratings.rater]]] = True
        if not by_trusted[ratings.student[~trusted[ratings.rater]]].any():
            return Obstacle(
                "the trusted raters and the others share no student",
                "have some students rated by both",
                "trusted",
            )
    return None
