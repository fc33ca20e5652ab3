"""Thresholds between ordered scores: shared by all, each item's own, or each rater's own.

    adjacent:  e_k = k base - (tau_1 + .. + tau_k)       graded:  e_k = base - tau_k

An item with thresholds of its own has as many as its highest score: where others get up to 4 points and it gets 2,
scores of 3 and 4 are impossible rather than rare.

Thresholds are written as a first one and increments for graded scores, so that their order is a simple bound.

Around them, each rater may use the scale in its own way:

    tau_rk = tau_k + e_rk,      sum_k e_rk = 0,      e_r ~ N(0, s²)

What a rater adds to all thresholds alike is its severity. A rater whose outer thresholds are far apart keeps to the
middle of the scale; one whose are close uses its ends.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy import linalg, sparse

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, listed, shortened
from raterlens.capability.yardstick import LARGEST_EFFECT
from raterlens.config import FitConfig
from raterlens.config.limits import ADAPTED_PARAMETERS
from raterlens.models.requested import Candidate, Setting, unsaid
from raterlens.models.term import (
    Beginning,
    Contexts,
    Designs,
    Estimated,
    Tables,
    Term,
    at_answers,
    one_per_row,
)
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.models.calibration import Calibration
    from raterlens.models.facets import FacetsModel

THRESHOLD = "threshold"
# Graded thresholds stay this far apart, so that every score keeps a probability.
SMALLEST_GAP = 1e-4
# Between graded thresholds at the start, at least.
_GAP = 0.01


def _ordered(ratings: Ratings) -> bool:
    return int(np.count_nonzero(ratings.score_counts)) > 2


@dataclass(frozen=True, slots=True, eq=False)
class Thresholds(Term):
    """tau, the part of the intercepts that orders the scores."""

    n_steps: int
    graded: bool
    highest: Indices
    """(scales,): the highest score of each item; a single number for thresholds shared by all."""
    per_item: bool = False
    name = THRESHOLD
    candidates = (
        Candidate(
            "partial credit",
            {"scale": "partial credit"},
            lambda ratings, config: (
                unsaid(config, "scale", "anchors") and _ordered(ratings) and ratings.n_items > 1
            ),
            name,
            "Items use the scale differently: their thresholds are not the same ({p})",
            "Shared thresholds bias severities and abilities",
            order=2,
            spread="Each item has thresholds of its own.",
            there=lambda config: config.shared_scale == "partial credit",
            possible=_ordered,
        ),
    )

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        n_steps, scale = at.response.n_categories - 1, at.options.scale
        if n_steps < 2 or at.response.least_noise:
            return
        if scale == "partial credit":
            highest = highest_scores(at.rows, n_steps + 1, at.known_highest)
            yield cls(n_steps, graded=False, highest=highest, per_item=True)
        else:
            yield cls(n_steps, scale == "graded", np.array([n_steps]))

    @property
    def n_scales(self) -> int:
        return len(self.highest)

    @property
    def size(self) -> int:
        return int(self.highest.sum())

    @property
    def exists(self) -> Mask:
        """(scales, steps)"""
        return np.asarray(np.arange(self.n_steps) < self.highest[:, None])

    # -- in the predictor -----------------------------------------------------------------------------------

    def scales(self, rows: Contexts) -> Indices:
        """(rows,): the scale of each; beyond all where it has none."""
        return rows.item if self.per_item else np.where(at_answers(rows), 1, 0)

    def designs(self, rows: Contexts) -> Designs:
        return {"steps": step_sums(self.scales(rows), self.highest, self.n_steps)}

    def beyond(self, rows: Contexts) -> Mask:
        """(rows, steps): scores that the item or rater of a row cannot get or give."""
        scale = self.scales(rows)
        top = np.append(self.highest, self.n_steps)[np.minimum(scale, self.n_scales)]
        return np.asarray(np.arange(self.n_steps) >= top[:, None])

    # -- estimation -----------------------------------------------------------------------------------------

    def start(self, given: Beginning) -> Array:
        """Half a unit apart, around zero; graded ones where each score is reached as often as ratings do."""
        steps = np.arange(self.n_steps)
        if not self.graded:
            return self.parameters(0.5 * (steps - (self.highest[:, None] - 1) / 2))
        counts = given.contexts.counts(self.n_steps + 1)[: given.contexts.n_rated].sum(axis=0)
        reached = np.cumsum(counts[::-1])[::-1][1:]
        values = -given.stretch * given.predictor((reached + 0.5) / (counts.sum() + 1))
        # A score that nobody gave would leave no room between its thresholds.
        return self.parameters(np.tile(values - values.mean() + _GAP * steps, (self.n_scales, 1)))

    def bounds(self, *, allow_reversed: bool) -> tuple[Array, Array]:
        lower, upper = Term.bounds(self, allow_reversed=allow_reversed)
        if self.graded:
            later = np.ones(self.size, dtype=bool)
            later[np.cumsum(self.highest) - self.highest] = False
            lower[later] = SMALLEST_GAP
        return lower, upper

    def at_limit(self, x: Array) -> Mask:
        """Graded thresholds that meet are not at a limit in this sense."""
        return np.asarray(np.abs(x) >= LARGEST_EFFECT)

    def redundancies(self, model: "FacetsModel", parameters: Array) -> Iterator[tuple[Array, Array]]:
        """The mean threshold of a scale, and all its thresholds raised by one: against the severity of all raters, or
        the difficulty of the item."""
        scale, step = np.nonzero(self.exists)
        for own, highest in enumerate(self.highest.tolist()):
            weight = (scale == own) * (highest - step if self.graded else 1.0) / highest
            shift = (scale == own) & (step == 0 if self.graded else True)
            direction = model.vector(**{self.name: shift})
            if self.per_item:
                direction[model.blocks["difficulty"].start + own] = -1.0
            else:
                direction[model.blocks["severity"]] = -model.severity.invert(np.ones(model.n_raters))
            yield model.vector(**{self.name: weight}), direction

    # -- in reports ------------------------------------------------------------------------------------------

    def effect_of(self, x: Array) -> Array:
        """The thresholds themselves, scale by scale."""
        return self.table(x)[self.exists]

    def effect_jacobian(self, x: Array) -> sparse.csr_array:
        sums = [np.tri(n) if self.graded else np.eye(n) for n in self.highest.tolist()]
        return sparse.csr_array(sparse.block_diag(sums, format="csr"))

    def tables(self, found: Estimated) -> Tables:
        """item (`all` where they are shared), step, threshold, threshold_se"""
        scale, step = np.nonzero(self.exists)
        threshold, error = found.of(self.name)
        labels = found.ratings.items.cast(pl.String) if self.n_scales > 1 else pl.Series(["all"])
        columns = {"threshold": threshold, "threshold_se": error}
        return {"thresholds": pl.DataFrame({"item": labels.gather(scale), "step": step + 1, **columns})}

    def warnings(self, found: Estimated) -> Iterator[str]:
        """Scores that an item with thresholds of its own never got."""
        if self.n_scales == 1:
            return
        rows, k, n = found.model.contexts, self.n_steps + 1, found.model.n_rated
        given = np.zeros((self.n_scales, k))
        np.add.at(given, rows.item[:n], rows.counts(k)[:n])
        labels = found.ratings.items.cast(pl.String)
        missing = [
            f"{shortened(label)} a score of {listed(np.flatnonzero(row[: top + 1] == 0))}"
            for label, row, top in zip(labels, given, self.highest, strict=True)
            if (row[: top + 1] == 0).any()
        ]
        if missing:
            yield Message(
                f"nobody ever gave item {'; item '.join(missing)}. Half a rating of each keeps those thresholds "
                "finite, but they say little; use ",
                Option("scale", "rating scale"),
                ", whose thresholds all items share, or combine scores",
            )

    @classmethod
    def null(cls, known: "Calibration", ratings: Ratings) -> Array | None:
        """The shared ones, of each item. Where some item never got the highest scores, it would have no threshold for
        them."""
        shared = known.effects.get(cls.name)
        if shared is None or len(shared) > 1:
            return None
        highest = np.zeros(ratings.n_items, dtype=np.int64)
        np.maximum.at(highest, ratings.item, ratings.score)
        every = (np.searchsorted(known.scores, highest) == shared.shape[1]).all()
        return np.repeat(shared, len(known.labels["item"]), axis=0) if every else None

    # -- as kept --------------------------------------------------------------------------------------------

    @property
    def levels(self) -> tuple[str, ...]:  # type: ignore[override]  # of this scale
        return ("item",) if self.per_item else ()

    def table(self, x: Array) -> Array:
        """(scales, steps): the thresholds themselves; NaN beyond an item's highest score."""
        table = np.full((self.n_scales, self.n_steps), np.nan)
        table[self.exists] = x
        return np.cumsum(table, axis=1) if self.graded else table

    def parameters(self, table: Array) -> Array:
        return np.asarray((np.diff(table, axis=1, prepend=0.0) if self.graded else table)[self.exists])

    def check_known(self, table: Array, items: pl.Series, scores: tuple[int, ...]) -> None:
        known = np.isfinite(table).sum(axis=1)
        for place in np.flatnonzero(self.highest > known):
            item, score = items[int(place)], scores[int(self.highest[place])]
            raise InputError(
                f"item {item!r} has a score of {score}, but the fit knows it only up to "
                f"{scores[int(known[place])]}",
                "correct it, or fit again with these ratings",
                value=score,
            )


def step_sums(scale: Indices, highest: Indices, n_steps: int) -> sparse.csr_array:
    """(rows x steps, parameters): row (context, k) sums the parameters 1 .. k of its scale, as far as these go."""
    first = np.cumsum(highest) - highest
    known = scale < len(highest)
    top = np.where(known, np.append(highest, 0)[np.minimum(scale, len(highest))], 0)
    inside = np.arange(n_steps) < top[:, None]
    context, k, j = np.nonzero(np.tri(n_steps) * inside[..., None])
    return sparse.csr_array(
        (np.ones(len(k)), (context * n_steps + k, first[scale[context]] + j)),
        shape=(len(scale) * n_steps, int(highest.sum())),
    )


def highest_scores(contexts: Contexts, n_categories: int, known: Indices | None = None) -> Indices:
    """(items,): the highest score that anybody gave each item, or is `known` to; one step at least, or it would have no
    thresholds."""
    given = np.zeros((contexts.n_items, n_categories))
    rated = (np.arange(len(contexts)) < contexts.n_rated) & (contexts.item < contexts.n_items)
    np.add.at(given, contexts.item[rated], contexts.counts(n_categories)[rated])
    top = np.maximum(n_categories - 1 - np.argmax(given[:, ::-1] > 0, axis=1), 1)
    # Of an item without ratings here, what is known of it counts.
    return np.asarray(top if known is None else np.where(given.any(axis=1), np.maximum(top, known), known))


RATER_THRESHOLD = "rater threshold"


def _may_have_own_scales(ratings: Ratings, config: FitConfig, *, items: bool) -> bool:
    thresholds = ratings.n_raters * (int(np.count_nonzero(ratings.score_counts)) - 2)
    plain = unsaid(config, "scale", "anchors") and config.link in (None, "logit") and ratings.known is None
    return plain and 0 < thresholds <= ADAPTED_PARAMETERS and items == (ratings.n_items > 1)


_OF_ITEMS = Candidate(
    "thresholds per rater",
    {"scale": "partial credit, rater"},
    lambda ratings, config: _may_have_own_scales(ratings, config, items=True),
    RATER_THRESHOLD,
    missed="Raters use the scale alike.",
    order=3,
    spread="Raters' thresholds vary around the shared ones by {size}.",
)


@dataclass(frozen=True, slots=True, eq=False)
class RaterThresholds(Term):
    """e_r, written in contrasts between the steps of the scale."""

    n_raters: int
    n_steps: int
    graded: bool
    drawn: bool = True
    """Free where not: each rater's by its own ratings alone, which takes some hundred of them."""
    name = RATER_THRESHOLD
    uses_scale = True
    levels = ("rater",)
    asks = (("rater_thresholds", "drawn"),)
    candidates = (
        _OF_ITEMS,
        replace(
            _OF_ITEMS,
            options={"scale": "rater"},
            applies=lambda ratings, config: _may_have_own_scales(ratings, config, items=False),
        ),
    )

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        n_steps, kind = at.response.n_categories - 1, at.options.rater_thresholds
        if kind != "none" and n_steps > 1:
            yield cls(at.rows.n_raters, n_steps, at.options.scale == "graded", kind == "drawn")

    @property
    def size(self) -> int:
        return self.n_raters * (self.n_steps - 1)

    @property
    def contrasts(self) -> Array:
        """(steps, steps - 1): orthonormal, each with sum 0."""
        return np.asarray(linalg.helmert(self.n_steps).T)

    def designs(self, rows: Contexts) -> Designs:
        own = self.contrasts if self.graded else np.cumsum(self.contrasts, axis=0)
        return {"steps": sparse.csr_array(sparse.kron(one_per_row(rows.rater, self.n_raters), own))}

    def redundancies(self, model: "FacetsModel", parameters: Array) -> Iterator[tuple[Array, Array]]:
        """Redundancy of free thresholds: all raters' against those that they share."""
        thresholds = model.thresholds
        if self.drawn or thresholds is None:
            return
        for place, contrast in enumerate(self.contrasts.T):
            alike = np.tile(np.eye(self.n_steps - 1)[place], self.n_raters)
            shared = -thresholds.parameters(np.tile(contrast, (thresholds.n_scales, 1)))
            yield (
                model.vector(**{self.name: alike}),
                model.vector(**{self.name: alike, thresholds.name: shared}),
            )

    def table(self, x: Array) -> Array:
        """(raters, steps)"""
        return np.asarray(x.reshape(self.n_raters, -1) @ self.contrasts.T)

    def parameters(self, table: Array) -> Array:
        return np.asarray(table @ self.contrasts).ravel()


CLEAR_USE = 2.58
"""Standard errors from which on a rater's use of the scale is named: one in a hundred by chance."""


def uses_of_scale(known: "Calibration") -> list[str]:
    """How each rater uses the scale, in words, where the model has thresholds for each and it is clearly unusual."""
    n = len(known.effects["slope"])
    if RATER_THRESHOLD not in known.effects:
        return [""] * n
    return [_use_of_scale(known, rater) for rater in range(n)]


def _use_of_scale(known: "Calibration", rater: int) -> str:
    """Whether a rater keeps to the middle, uses the ends, or avoids a score, if more than chance shows it.

    The further apart two thresholds are, the more often the score between them is given.
    """
    moved, spread = known.effects[RATER_THRESHOLD][rater], known.curve_covariance
    steps = len(moved)
    if spread is None or steps < 2:
        return ""
    term = RaterThresholds(len(known.effects[RATER_THRESHOLD]), steps, known.scale == "graded")
    variance = term.contrasts @ spread[rater, 2:, 2:] @ term.contrasts.T

    def shown(weights: Array) -> float:
        error = float(np.sqrt(max(float(weights @ variance @ weights), 1e-12)))
        return float(weights @ moved) / error

    gaps = np.diff(np.eye(steps), axis=0)
    of_gaps = np.array([shown(gap) for gap in gaps])
    narrowest = int(of_gaps.argmin())
    width = shown(gaps.sum(axis=0))
    if steps > 2 and of_gaps[narrowest] < -CLEAR_USE and of_gaps[narrowest] < width:
        return f"avoids {known.values[narrowest + 1]:g}"
    if abs(width) > CLEAR_USE:
        return "keeps to the middle" if width > 0 else "uses the ends"
    return ""
