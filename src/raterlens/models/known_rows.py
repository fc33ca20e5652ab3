"""A facets model with known answers: what is right for a student and item shows ability, too.

A known answer is a rating by somebody who hardly errs, of a slope that is not estimated, with thresholds of each item's
own (a fixed threshold would be wrong wherever most answers are right, or most are wrong):

    log-odds of the answer = slope theta - threshold_i

To an engine these are contexts like the others, which come last. Nobody else sees them: they are no rater, and their
thresholds are a block of parameters at the end.
"""

from dataclasses import dataclass, field, fields, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.capability.yardstick import LARGEST_EFFECT
from raterlens.models.contexts import Blocks, Contexts
from raterlens.models.extended_model import ExtendedModel
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Predictor, Response
from raterlens.models.thresholds import SMALLEST_GAP, Thresholds
from raterlens.ratings.coded import Facet, Ratings

KNOWN = "known"


@dataclass(frozen=True)
class KnownModel(ExtendedModel):
    """A facets model whose last contexts are known answers, and whose last parameters are their thresholds."""

    known: Thresholds = field(kw_only=True)
    fixed: float = field(kw_only=True)
    """The slope of the known answers."""

    @staticmethod
    def of(model: FacetsModel, ratings: Ratings, response: Response, slope: float) -> "KnownModel":
        """`ratings` as the model was built on; they hold known answers."""
        contexts = Contexts.of(with_answers(ratings))
        rows = np.arange(len(model.contexts), len(contexts))
        own = replace(contexts, item=contexts.item[rows] - model.contexts.n_items, codes=rows, rater=rows)
        n_items = contexts.n_items - model.contexts.n_items
        graded = model.thresholds is not None and model.thresholds.graded
        steps = np.full(n_items, response.n_categories - 1)
        known = Thresholds.build(own, response.n_categories, graded=graded, highest=steps)
        parts = {part.name: getattr(model, part.name) for part in fields(FacetsModel)}
        parts |= {"contexts": contexts, "blocks": Blocks(model.blocks.sizes | {KNOWN: known.size})}
        return KnownModel(**parts, inner=model, known=known, fixed=slope)

    @property
    def n_rated(self) -> int:
        return len(self.inner.contexts)

    @property
    def slope_of_context(self) -> NDArray[np.int64]:
        own = self.inner.slope_of_context
        return np.append(own, np.full(len(self.contexts) - len(own), own.max() + 1))

    def predictor(self, parameters: Array) -> Predictor:
        visible, own = self.split(parameters)
        inner = self.inner.predictor(visible)
        n = len(self.contexts) - self.n_rated
        intercepts = -(self.known.design @ own).reshape(n, -1)
        return Predictor(
            np.append(inner.slope, np.full(n, self.fixed)), np.concatenate([inner.intercepts, intercepts])
        )

    def pullback(
        self, parameters: Array, d_slope: Array, d_intercepts: Array, d_halo: Array | None = None
    ) -> Array:
        visible, _ = self.split(parameters)
        n = self.n_rated
        inner = self.inner.pullback(visible, d_slope[:n], d_intercepts[:n], d_halo)
        return np.concatenate([inner, -(self.known.design.T @ d_intercepts[n:].ravel())])

    def jacobian(self, parameters: Array) -> sparse.csr_array:
        visible, _ = self.split(parameters)
        inner, n = self.inner.jacobian(visible), self.n_rated
        nothing = sparse.csr_array((len(self.contexts) - n, inner.shape[1]))
        of_visible = sparse.vstack([inner[:n], nothing, inner[n:]])
        return sparse.csr_array(
            sparse.block_array([[of_visible, None], [None, -self.known.design]], format="csr")
        )

    def own_bounds(self) -> tuple[Array, Array]:
        most = np.full(self.known.size, LARGEST_EFFECT)
        least = -most
        if self.known.graded:
            for scale in range(self.known.n_scales):
                at = self.known.of_scale(scale)
                least[at.start + 1 : at.stop] = SMALLEST_GAP
        return least, most

    def at_limit(self, parameters: Array) -> Mask:
        inner, own = self.split(parameters)
        return np.append(self.inner.at_limit(inner), np.abs(own) >= LARGEST_EFFECT)

    def answer_thresholds(self, parameters: Array) -> Array:
        """(items with known answers, steps)"""
        return self.known.values(parameters[self.blocks[KNOWN]])


def known_part(model: FacetsModel) -> KnownModel | None:
    """The model of the known answers, among those that a model extends; None where there is none."""
    while isinstance(model, ExtendedModel) and not isinstance(model, KnownModel):
        model = model.inner
    return model if isinstance(model, KnownModel) else None


def as_modelled(ratings: Ratings, model: FacetsModel) -> Ratings:
    """The ratings as an engine takes them: with the known answers where the model has them."""
    return with_answers(ratings) if KNOWN in model.blocks else ratings


def lengthened(values: Array | None, size: int) -> Array | None:
    """With not-a-number for the parameters that come after."""
    return None if values is None else np.append(values, np.full(size - len(values), np.nan))


def answered_items(ratings: Ratings) -> Indices:
    """The items that have known answers."""
    assert ratings.known is not None
    return np.unique(ratings.known.item).astype(np.int64)


def with_answers(ratings: Ratings) -> Ratings:
    """Known answers as ratings: by one more rater, on items and levels of facets of their own, which come last."""
    known = ratings.known
    assert known is not None
    n, items = len(known), answered_items(ratings)
    student = np.concatenate([ratings.student, known.student])
    order = np.argsort(student, kind="stable")

    def added(codes: NDArray[np.int32], more: NDArray[np.integer]) -> NDArray[np.int32]:
        return np.concatenate([codes, more.astype(np.int32)])[order]

    return Ratings(
        student=student[order],
        rater=added(ratings.rater, np.full(n, ratings.n_raters)),
        item=added(ratings.item, ratings.n_items + np.searchsorted(items, known.item)),
        score=np.concatenate([ratings.score, known.answer])[order],
        students=ratings.students,
        raters=_longer(ratings.raters, 1),
        items=_longer(ratings.items, len(items)),
        backend=ratings.backend,
        facets=tuple(
            Facet(facet.name, added(facet.codes, np.full(n, len(facet.labels))), _longer(facet.labels, 1))
            for facet in ratings.facets
        ),
    )


def _longer(labels: pl.Series, more: int) -> pl.Series:
    added = pl.Series([f"\0known {place}" for place in range(more)], dtype=pl.String)
    return pl.concat([labels.cast(pl.String), added]).alias(labels.name)
