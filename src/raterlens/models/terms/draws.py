"""Draws: what all answers of a rater to one question share besides ability, the rater's reading of it.

    S = q_r (a_r theta - eta_r - delta_i) + tau_r u,      u ~ N(0, 1), one for each student, rater and item

q = sqrt(1 + c tau^2) makes a and eta those of a single answer, whatever tau: averaged over u, an answer follows its
predictor about as it would with tau = 0. So raters who were asked once are compared with raters who were asked often,
and what is known of a and eta hardly depends on tau. The parameters are log q: like tau^2 near 0, and like log tau far
from it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from raterlens.base.arrays import Array, Mask
from raterlens.base.text import Message, Option
from raterlens.config import FitConfig
from raterlens.models.requested import Part, Setting, of_ratings
from raterlens.models.responses import Predictor
from raterlens.models.term import RATING_INFORMATION, Effect, LevelTerm, Redrawn, Term
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import inconsistent_raters, questions

if TYPE_CHECKING:
    from raterlens.models.facets import FacetsModel

DRAW = "draw"
LARGEST_SPREAD = 64.0
"""At 64, two answers to a question differ in about one per cent of the cases."""
FLATTENING = {"logit": 0.346, "probit": 1.0, "cloglog": 0.6, "cauchit": 0.3}
"""c, by link; exact for the probit, 1 / 1.7^2 for the logit."""
# Away from 0, where the likelihood is level in tau.
_START = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Draws(LevelTerm):
    """log q_r of the raters who were asked several times and did not always answer the same."""

    flattening: float
    name = DRAW
    predictor = "draw"
    variance = True
    begin = _START
    parts = (
        Part("draw", "repeats", of_ratings(lambda ratings: "draws" if ratings.draw is not None else None)),
        Part(
            "draws",
            "repeats",
            of_ratings(lambda ratings: "draws" if inconsistent_raters(ratings).any() else None),
            ("shared",),
        ),
    )

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        some = at.options.draws
        if some is not None and some.any():
            yield cls(Effect.of_some(some), FLATTENING[at.options.link.name])

    @classmethod
    def cautions(cls, ratings: Ratings, config: FitConfig) -> Iterator[str]:
        if inconsistent_raters(ratings).any() and not (config.method == "mml" and config.link != "log"):
            yield Message(
                "repeated answers of a rater to the same question count as independent ratings: ",
                Option("method", config.method),
                " and ",
                Option("link", config.link or "logit"),
                " know no draws, so intervals are too narrow. Use ",
                Option("method", "mml"),
                " with another link than log",
            )

    @property
    def some(self) -> Mask:
        """(raters,): who has a spread."""
        return np.asarray(np.diff(self.effect.design.indptr) > 0)

    def redraw(self, x: Array, at: Redrawn) -> Redrawn:
        """With the rater's reading of each question."""
        own, ratings, asked = self.effect(x), at.ratings, questions(at.ratings)
        stretch, tau = np.exp(np.append(own, 0.0)), np.append(self.spread(own), 0.0)
        stretch = stretch[at.rater_of_context]
        reading = tau[ratings.rater] * at.random.standard_normal(len(asked.first))[asked.of]
        plain = at.predictor
        predictor = Predictor(stretch * plain.slope, stretch[:, None] * plain.intercepts)
        return replace(at, predictor=predictor, besides=at.besides + reading)

    def spread(self, log_stretch: Array) -> Array:
        """tau"""
        return np.sqrt(np.maximum(np.expm1(2 * log_stretch), 0.0) / self.flattening)

    def information(self, model: "FacetsModel", parameters: Array, n_students: int) -> Array:
        given = np.bincount(model.contexts.rater, model.contexts.given.sum(axis=1), model.n_raters)
        return np.asarray(RATING_INFORMATION * given[: len(self.some)][self.some], np.float64)

    @property
    def bound(self) -> tuple[float, float]:  # type: ignore[override]  # of this link
        return 0.0, 0.5 * float(np.log1p(self.flattening * LARGEST_SPREAD**2))

    def table(self, x: Array) -> Array:
        """NaN for raters without a spread."""
        return np.where(self.some, self.effect(x), np.nan)

    def parameters(self, table: Array) -> Array:
        return table[self.some]
