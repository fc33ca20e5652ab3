"""Pieces of work: whether they can be told apart, and what goes with them."""

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option
from raterlens.config import FitConfig
from raterlens.inference.covariance_kinds import OBSERVED
from raterlens.pipeline.incompatible import refuse_together
from raterlens.pipeline.steps import Run
from raterlens.ratings.coded import Ratings
from raterlens.ratings.pieces import one_each, read_once

ONCE = Message(
    "each piece is read by one rater, so what differs between a student's pieces cannot be told from what raters see "
    "in them: no piece effect is estimated. Have some pieces read by a second rater; ",
    Option("halo", "common"),
    " allows for both together, as a reading effect",
)


def piece_effect(ratings: Ratings, config: FitConfig, run: Run) -> bool:
    """Whether pieces differ in the model: wherever they are named and that can be told. Raises where a student has one
    piece only, and on options that do not go with it."""
    if ratings.piece is None:
        return False
    named = repr(ratings.piece.name)
    if one_each(ratings):
        raise InputError(
            f"every student has one piece of work only (column {named}), so what a piece is like cannot be told from "
            "what its student can do",
            Message("leave out ", Option("piece")),
            value=ratings.piece.name,
            option="piece",
        )
    if read_once(ratings):
        return False
    refuse_together(
        Option("piece", ratings.piece.name),
        (
            (Option("method", config.method), config.method != "mml"),
            (Option("link", config.link), config.link == "log"),
            (Option("covariance", config.covariance), config.covariance != OBSERVED),
            (Option("ability", config.ability), config.ability == "smooth"),
            (Option("known"), ratings.known is not None),
            (Option("trusted"), config.trusted is not None),
            (Option("client"), run.client is not None),
        ),
    )
    return True
