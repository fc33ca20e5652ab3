"""How the log-probability of a rating changes with the intercepts of its context, and with its slope: as few tables of
cells and nodes as hold it."""

from typing import NamedTuple

import numpy as np

from raterlens.base.types import Array, Indices
from raterlens.models.responses import Adjacent, Graded, Predictor, Response


class Term(NamedTuple):
    """The derivative of each cell's log-probability in one of its context's intercepts."""

    through: Indices
    """(cells,): that intercept, as a row of the model's Jacobian: slopes of contexts come first, then intercepts."""
    lever: Array
    """(cells,): how much ability, times the slope, adds to it."""
    table: Array
    """(cells, nodes); a row of zeros counts for nothing."""


class ScoreTerms(NamedTuple):
    """All of a cell's derivatives."""

    context: Indices
    """(cells,): which is the row of its slope, too."""
    terms: list[Term]

    def along(self, t: Array) -> Array:
        """(cells, nodes): the derivative in the slope, which moves every intercept."""
        moved = sum(term.lever[:, None] * term.table for term in self.terms)
        return np.asarray(moved * t, np.float64)


def cell_terms(response: Response, predictor: Predictor, t: Array) -> ScoreTerms:
    """Of every context with every score."""
    contexts, scores, lever = len(predictor.slope), response.n_categories, response.lever
    if isinstance(response, Graded):
        # A score depends on the two steps around it.
        up, down = response.density_ratios(predictor, t)
        step = np.arange(scores)
        parts = [(np.maximum(step - 1, 0), up), (np.minimum(step, scores - 2), -down)]
    else:
        tables = response.scores(predictor, t)
        parts = [(np.full(scores, step), table) for step, table in enumerate(tables)]
    context = np.repeat(np.arange(contexts), scores)
    own = contexts + context * len(lever)
    return ScoreTerms(
        context,
        [
            Term(own + np.tile(step, contexts), np.tile(lever[step], contexts), table.reshape(-1, len(t)))
            for step, table in parts
        ],
    )


def context_terms(response: Adjacent, predictor: Predictor, t: Array) -> ScoreTerms:
    """Of every context alone: its scores differ by no more than constants."""
    tables = -response.probabilities(predictor, t).transpose(1, 0, 2)
    context = np.arange(len(predictor.slope))
    own = len(context) + context * len(tables)
    return ScoreTerms(
        context,
        [
            Term(own + step, np.full(len(context), response.lever[step]), table)
            for step, table in enumerate(tables)
        ],
    )
