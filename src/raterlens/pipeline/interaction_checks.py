"""Interactions of raters with items or facets: whether they can be told from severities and difficulties."""

import numpy as np

from raterlens.base.errors import InputError, OptionError, choose
from raterlens.base.text import Message, Option, counted
from raterlens.config import FitConfig
from raterlens.config.interacting_facets import facets_of
from raterlens.models.contexts import Contexts
from raterlens.models.interaction_terms import ITEM, Interaction
from raterlens.pipeline.incompatible import refuse_together
from raterlens.ratings.coded import Ratings
from raterlens.ratings.components import components

MOST_CELLS = 3_000
"""Their information is a matrix that is inverted some thirty times."""


def check_interactions(ratings: Ratings, config: FitConfig) -> None:
    """Raise where the ratings cannot show the interactions that are asked for, and on what does not go with them."""
    if config.interactions is None:
        return
    names = [ITEM, *(facet.name for facet in ratings.facets)]
    for facet in facets_of(config.interactions):
        choose("facet in interactions", facet, names, option="interactions")
    refuse_together(
        Option("interactions", config.interactions),
        (
            (Option("known"), ratings.known is not None),
            (Option("trusted"), config.trusted is not None),
            (Option("piece"), ratings.piece is not None),
        ),
    )
    if config.covariates is not None and config.prior != "panel":
        raise OptionError(
            Message(
                Option("interactions", config.interactions),
                " with ",
                Option("covariates"),
                ", which take the place of the raters' own severities: what a rater adds on all items alike would be "
                "taken for interactions",
            ),
            Message(
                "use ",
                Option("prior", "panel"),
                ", under which raters keep their own, or leave out one of them",
            ),
            value=config.interactions,
            option="covariates",
        )
    contexts = Contexts.of(ratings)
    terms = [Interaction.of(contexts, facet) for facet in facets_of(config.interactions)]
    cells = sum(term.size for term in terms)
    if cells > MOST_CELLS:
        raise InputError(
            f"{cells:,} interactions are more than the {MOST_CELLS:,} that are estimated together",
            "fit without them: fit.diagnose(ratings) tests each rater on every item",
            value=cells,
            option="interactions",
        )
    for term in terms:
        _check_told(contexts, term)


def _check_told(contexts: Contexts, term: Interaction) -> None:
    """Cells have to be more than raters and levels explain, and ratings more than cells."""
    given = np.bincount(term.cell, contexts.given.sum(axis=1), term.size)
    raters, levels = len(np.unique(term.rater)), len(np.unique(term.level))
    place = np.unique(term.level, return_inverse=True)[1] + contexts.n_raters
    idle = contexts.n_raters - raters
    groups = components(contexts.n_raters + levels, term.rater, place)[0] - idle
    noun = "item" if term.facet == ITEM else f"level of {term.facet}"
    plural = "items" if term.facet == ITEM else f"levels of {term.facet}"
    if term.size <= raters + levels - groups:
        why = (
            f"{counted(raters, 'rater')} on {levels} {noun if levels == 1 else plural}, {term.size} "
            "combinations of which occur, tell no interaction from severities and difficulties"
        )
    elif given.max() < 2:
        why = f"no rater has two ratings on any {noun}, so an interaction cannot be told from chance"
    else:
        return
    raise InputError(
        Message(Option("interactions", f"rater:{term.facet}"), f": {why}"),
        "leave it out; it takes raters who each rate several students on several of them",
        value=f"rater:{term.facet}",
        option="interactions",
    )
