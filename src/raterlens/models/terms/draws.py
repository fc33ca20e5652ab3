"""Draws: what all answers of a rater to one question share besides ability, the rater's reading of it.

    S = q_r (a_r theta - eta_r - delta_i) + tau_r u,      u ~ N(0, 1), one for each student, rater and item

q = sqrt(1 + c tau^2) makes a and eta those of a single answer, whatever tau: averaged over u, an answer follows its
predictor about as it would with tau = 0. So raters who were asked once are compared with raters who were asked often,
and what is known of a and eta hardly depends on tau. The parameters are log q: like tau^2 near 0, and like log tau far
from it.

All answers of a rater to one question are one outcome, whose probability is averaged over the rater's reading of it.
With eta_j the predictor of each step and x = log q, an outcome is a pattern of scores with

    P = E_u[ prod_d p(y_d | q eta + tau u lever) ],      u ~ N(0, 1)

and depends on eta and x alone. So outcomes are the scores of a response with one intercept more, x, on which ability
has no lever, and of a model that adds it: any likelihood takes them as it takes single scores.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.base.text import Message, Option
from raterlens.config import FitConfig
from raterlens.models.facets import FacetsModel
from raterlens.models.requested import Part, Setting, of_ratings
from raterlens.models.responses import Predictor, Response
from raterlens.models.term import RATING_INFORMATION, Effect, LevelTerm, Redrawn, Term
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import inconsistent_raters, questions

DRAW = "draw"
LARGEST_SPREAD = 64.0
"""At 64, two answers to a question differ in about one per cent of the cases."""
FLATTENING = {"logit": 0.346, "probit": 1.0, "cloglog": 0.6, "cauchit": 0.3}
"""c, by link; exact for the probit, 1 / 1.7^2 for the logit."""
# Away from 0, where the likelihood is level in tau.
_START = 0.5


def _told(config: FitConfig) -> bool:
    """Whether the method and the link can tell what answers to a question share."""
    return config.method == "mml" and config.link != "log"


def drawing_raters(ratings: Ratings, config: FitConfig) -> Mask | None:
    """(raters,): whose answers to the same question differ, and share the rater's reading of it; None: nobody's."""
    some = inconsistent_raters(ratings)
    return some if _told(config) and some.any() else None


@dataclass(frozen=True, slots=True, eq=False)
class Draws(LevelTerm):
    """log q_r of the raters who were asked several times and did not always answer the same."""

    flattening: float
    name = DRAW
    predictor = "draw"
    variance = True
    begin = _START
    parts = (
        Part("draw", of_ratings("repeats", lambda ratings: "draws" if ratings.draw is not None else None)),
        Part(
            "draws",
            of_ratings("repeats", lambda ratings: "draws" if inconsistent_raters(ratings).any() else None),
            ("shared",),
        ),
    )

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        if (some := at.options.draws) is not None and some.any():
            yield cls(Effect.of_some(some), FLATTENING[at.options.link.name])

    @classmethod
    def cautions(cls, ratings: Ratings, config: FitConfig) -> Iterator[str]:
        if inconsistent_raters(ratings).any() and not _told(config):
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


# Of the rule in u: how far it goes, and its step for a posterior as wide as the prior.
_REACH, _WIDEST = 9.0, 0.72
# Bounds of the information of a rating about u: of adjacent logits (for each unit of score, squared), and of any link.
_LOGISTIC, _ANY = 0.25, 0.65
# The least tau: nearer to 0, derivatives are differences that lose all digits.
_LEAST = 1e-4
# A score less likely than this is as good as impossible.
_IMPOSSIBLE = -1e5
# Numbers at a time.
_BLOCK = 2**21


class _Averaged(NamedTuple):
    """Some contexts (c), at values of u and nodes q, with patterns p and scores k."""

    rows: Indices
    """(c,)"""
    u: Array
    at: Predictor
    """(c x u,): given u."""
    stretch: Array
    """(c,): q"""
    rise: Array
    """(c,): derivative of tau in x"""
    bend: Array
    """(c,): second derivative"""
    table: Array
    """(c, p, q): log-probabilities of the patterns."""
    share: Array
    """(c, u, p, q): probability of u, given the pattern and ability."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes(Response):
    """Patterns of scores as scores of their own."""

    answer: Response
    """Response of a single one."""
    flattening: float
    patterns: Array
    """(contexts, outcomes, scores): how often a score is among the answers; none at all where a context has fewer
    outcomes than others."""
    drawn: Mask
    """(contexts,): whose raters have a spread."""

    @property
    def single(self) -> Response:
        return self.answer

    def taken(self, contexts: Indices) -> "Outcomes":
        return replace(self, patterns=self.patterns[contexts], drawn=self.drawn[contexts])

    @property
    def n_categories(self) -> int:
        return int(self.patterns.shape[1])

    @property
    def lever(self) -> Array:
        return np.append(self.answer.lever, 0.0)

    @property
    def steepness(self) -> float:
        return self.answer.steepness

    @property
    def bounded_turns(self) -> bool:
        return self.answer.bounded_turns

    @property
    def longest(self) -> int:
        return int(self.patterns.sum(axis=2).max())

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        found = np.zeros((*self.patterns.shape[:2], len(t)))
        for some in self._averaged(predictor, t):
            found[some.rows] = some.table
        return found

    def scores(self, predictor: Predictor, t: Array) -> Array:
        found = np.zeros((len(self.lever), *self.patterns.shape[:2], len(t)))
        for some in self._averaged(predictor, t):
            for place, own in enumerate(self._own_scores(some, predictor, t)):
                found[place, some.rows] = np.einsum("cupq,cupq->cpq", some.share, own)
        return found

    def curvature(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        """E_u[d2 log p] + Cov_u[d log p], with what bends in the map from (eta, x) to what is given u."""
        size, lever = len(self.lever), self.answer.lever
        found = np.zeros((len(self.patterns), len(t), size, size))
        for some in self._averaged(predictor, t):
            n, steps = len(some.rows), len(lever)
            counted = some.share * counts[some.rows][:, None]
            given = self.patterns[some.rows][:, None].transpose(0, 1, 3, 2) @ counted  # (c, u, k, q)
            bent = self.answer.curvature(some.at, t, given.reshape(-1, *given.shape[2:]))
            eta = self._predicted(predictor, t)[some.rows]  # (c, q, steps)
            through = np.zeros((n, len(some.u), len(t), steps, size))
            through[..., np.arange(steps), np.arange(steps)] = some.stretch[:, None, None, None]
            through[..., -1] = (some.stretch[:, None, None] * eta)[:, None]
            through[..., -1] += np.multiply.outer(np.outer(some.rise, some.u), lever)[:, :, None]
            bent = bent.reshape(n, len(some.u), len(t), steps, steps)
            own = (through.swapaxes(-1, -2) @ bent @ through).sum(axis=1)
            scores = np.stack(self._own_scores(some, predictor, t), axis=-1)  # (c, u, p, q, size)
            mean = np.einsum("cupq,cupqi->cpqi", some.share, scores)
            own += np.einsum("cupq,cupqi,cupqj->cqij", counted, scores, scores, optimize=True)
            own -= np.einsum("cpq,cpqi,cpqj->cqij", counts[some.rows], mean, mean, optimize=True)
            # Of the map: d2 (q eta) / dx deta = q, d2 (q eta + tau u) / dx2 = q eta + tau'' u.
            plain = np.einsum("cpq,cpqi->cqi", counts[some.rows], mean)
            own[..., -1, :-1] += plain[..., :-1]
            own[..., :-1, -1] += plain[..., :-1]
            shifted = scores[..., :-1] @ lever  # q times the derivative as the predictor is shifted
            by_u = np.einsum("cupq,cupq,u->cq", counted, shifted, some.u, optimize=True)
            own[..., -1, -1] += np.einsum("cqi,cqi->cq", plain[..., :-1], eta)
            own[..., -1, -1] += (some.bend / some.stretch)[:, None] * by_u
            found[some.rows] = own
        return found

    def _own_scores(self, some: _Averaged, predictor: Predictor, t: Array) -> list[Array]:
        """(c, u, p, q), each: derivatives of a pattern's log-probability given u in eta, then in x."""
        patterns, shape = self.patterns[some.rows][:, None], (len(some.rows), len(some.u))
        own = [patterns @ each.reshape(*shape, *each.shape[1:]) for each in self.answer.scores(some.at, t)]
        eta, stretch = self._predicted(predictor, t)[some.rows], some.stretch[:, None, None, None]
        moved = (some.rise[:, None] * some.u)[..., None, None]
        by_stretch = sum(
            each * (stretch * eta[:, None, None, :, step] + moved * lever)
            for step, (each, lever) in enumerate(zip(own, self.answer.lever, strict=True))
        )
        return [*(stretch * each for each in own), np.asarray(by_stretch)]

    def _predicted(self, predictor: Predictor, t: Array) -> Array:
        """(contexts, q, steps): eta"""
        reach = np.multiply.outer(np.multiply.outer(predictor.slope, t), self.answer.lever)
        return np.asarray(reach + predictor.intercepts[:, None, :-1])

    def _averaged(self, predictor: Predictor, t: Array) -> Iterator[_Averaged]:
        """Contexts with the same rule in u, a block at a time."""
        x, tau, rise, bend = self._spreads(predictor)
        steps = np.where(self.drawn, self._steps(tau), 0.0)
        for step in np.unique(steps):
            alike, (u, weights) = np.flatnonzero(steps == step), _rule(float(step))
            block = max(1, _BLOCK // (len(u) * len(t) * self.patterns.shape[1] * (1 + len(self.lever))))
            for begin in range(0, len(alike), block):
                rows = alike[begin : begin + block]
                q = np.exp(x[rows])
                at = _given(predictor, rows, q, np.outer(tau[rows], u), self.answer.lever)
                table, share = self._shares(at, t, rows, weights)
                yield _Averaged(rows, u, at, q, rise[rows], bend[rows], table, share)

    def _spreads(self, predictor: Predictor) -> tuple[Array, Array, Array, Array]:
        """(contexts,): x, tau, and its first and second derivative in x."""
        least = 0.5 * np.log1p(self.flattening * _LEAST**2)
        x = np.where(self.drawn, np.maximum(predictor.intercepts[:, -1], least), 0.0)
        tau, square = np.sqrt(np.expm1(2 * x) / self.flattening), np.exp(2 * x) / self.flattening
        rise = np.divide(square, tau, out=np.zeros_like(tau), where=tau > 0)
        return x, tau, rise, np.divide(2 * square - rise**2, tau, out=np.zeros_like(tau), where=tau > 0)

    def _steps(self, tau: Array) -> Array:
        """(contexts,): powers of the square root of 2, so that a rule stays as it is where tau changes a little."""
        most = self.answer.n_categories - 1
        each = _LOGISTIC * most**2 if self.answer.by_sums else _ANY
        told = each * self.patterns.sum(axis=2).max(axis=1)
        width = np.minimum(1 / np.sqrt(1 + tau**2 * told), 1 / np.maximum(most * tau, 1.0))
        return np.asarray(_WIDEST * 2 ** (-np.ceil(-2 * np.log2(width) - 1e-9) / 2))

    def _shares(self, at: Predictor, t: Array, rows: Indices, log_weights: Array) -> tuple[Array, Array]:
        log_prob = np.maximum(self.answer.log_prob(at, t), _IMPOSSIBLE)
        log_prob = log_prob.reshape(len(rows), len(log_weights), *log_prob.shape[1:])
        log = self.patterns[rows][:, None] @ log_prob + log_weights[:, None, None]
        top = log.max(axis=1)
        log -= top[:, None]
        np.exp(log, out=log)
        total = log.sum(axis=1)
        log /= total[:, None]
        return top + np.log(total), log


def _rule(step: float) -> tuple[Array, Array]:
    """Nodes and log weights in u; 0 alone where there is no spread."""
    if not step:
        return np.zeros(1), np.zeros(1)
    u = np.arange(-np.ceil(_REACH / step), np.ceil(_REACH / step) + 1) * step
    return u, -0.5 * u**2 - 0.5 * np.log(2 * np.pi) + np.log(step)


def _given(predictor: Predictor, rows: Indices, stretch: Array, shift: Array, lever: Array) -> Predictor:
    """(rows x u,): the predictor of one answer, given u."""
    intercepts = (stretch[:, None] * predictor.intercepts[rows, :-1])[:, None] + np.multiply.outer(
        shift, lever
    )
    slope = np.repeat(stretch * predictor.slope[rows], shift.shape[1])
    return Predictor(slope, intercepts.reshape(-1, len(lever)))


def with_outcomes(
    ratings: Ratings, model: FacetsModel, response: Response
) -> tuple[Ratings, FacetsModel, Outcomes]:
    """One rating for all answers to a question, with the model and the response that it has."""
    term, contexts, k = model.term(DRAW, Draws), model.contexts, response.n_categories
    asked = questions(ratings)
    given = np.bincount(asked.of * k + ratings.score, minlength=len(asked.first) * k).reshape(-1, k)
    context = contexts.places(ratings)[asked.first].astype(np.int64)
    patterns, outcome = _patterns(given, context, len(contexts))
    one_each = replace(
        ratings.subset(asked.first, keep_levels=True), score=outcome.astype(np.int16), draw=None
    )
    drawn = np.append(term.some, False)[contexts.rater]  # known answers are of a rater beyond all others
    return (one_each, model.widened("draw"), Outcomes(response, term.flattening, patterns, drawn))


def _patterns(given: NDArray[np.integer], context: Indices, n_contexts: int) -> tuple[Array, Indices]:
    """(contexts, outcomes, scores) the distinct patterns of each context, and which of them each question has."""
    random = np.random.default_rng(0).integers(2**62, size=given.shape[1], dtype=np.int64)
    key = given @ random
    order = np.lexsort((key, context))
    new = np.append(True, (np.diff(context[order]) != 0) | (np.diff(key[order]) != 0))
    which = np.cumsum(new) - 1
    of, shown = context[order][new], given[order][new]
    first = np.searchsorted(of, np.arange(n_contexts))
    place = np.arange(len(of)) - first[of]
    patterns = np.zeros((n_contexts, int(place.max()) + 1, given.shape[1]))
    patterns[of, place] = shown
    outcome = np.empty(len(context), dtype=np.int64)
    outcome[order] = place[which]
    return patterns, outcome
