"""Facets models: a rating depends on ability through the slope and intercepts of its context.

    slope = a_r g_i,      base = -b_r - w_r (delta_i + facets) - h_rj,      intercepts = lever base - thresholds

with a_r and b_r each rater's slope and severity (own, common to all, or explained by covariates: effects.py),
g_i = 1 unless items have slopes of their own, w_r = 1, or a_r where difficulty is on the scale of ability
(the probit rater model), and h_rj = 0 unless raters interact with items or facets (interaction_terms.py). Everything
follows from this one map and its derivatives.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import Array, Mask
from raterlens.capability.ability_shape import LARGEST_SHAPE, AbilityShape
from raterlens.capability.yardstick import LARGEST_EFFECT, LARGEST_ITEM_SLOPE, LARGEST_SLOPE
from raterlens.models.contexts import Blocks, Contexts
from raterlens.models.effects import Effect, Linear
from raterlens.models.interaction_terms import Interaction
from raterlens.models.responses import Predictor
from raterlens.models.thresholds import IMPOSSIBLE, Thresholds
from raterlens.ratings.design import components

SMALLEST_COMMON_SLOPE = 0.01
# Slopes below it change no probability that could be seen: they are 0 within rounding.
NO_SLOPE = 1e-4
# Of the spread of the reading effect: at 10, the scores of a reading are all but the same, whoever wrote it.
LARGEST_HALO = 10.0
SHAPE = "ability"
"""The block of the parameters of the students' distribution."""
PIECE = "piece"
"""The block of the variance of the piece effect."""
LEAST_VARIANCE = 0.02**2
"""Of readings and pieces, where second derivatives are asked for."""
LARGEST_PIECE = 5.0
"""Of its spread, in standard deviations of ability."""


@dataclass(frozen=True, slots=True)
class FacetsModel:
    """A facets model on the contexts of one data set."""

    contexts: Contexts
    slope: Effect
    severity: Effect
    lever: Array
    """What a unit of `base` adds to each intercept: 1, or 1 .. K - 1 for adjacent categories."""
    item_slopes: bool
    difficulty_on_ability_scale: bool
    thresholds: Thresholds | None
    blocks: Blocks
    rater_group: NDArray[np.int64]
    """Groups of raters and items that share no rating; severity and difficulty are confounded between them."""
    item_group: NDArray[np.int64]
    halo: Effect | None = None
    """From parameters to each rater's variance of the reading effect, which all scores of a reading share; None where
    the model has none."""
    smooth: bool = False
    """The shape of the students' distribution is estimated: two more parameters, on which no predictor depends."""
    pieces: bool = False
    """A piece of work differs from its student's ability, by a variance that is one more such parameter."""
    interactions: tuple[Interaction, ...] = ()
    """Severities of raters on single items, or on levels of other facets, besides their own."""

    @staticmethod
    def build(
        contexts: Contexts,
        slope: Effect,
        severity: Effect,
        lever: Array,
        *,
        item_slopes: bool = False,
        difficulty_on_ability_scale: bool = False,
        thresholds: Thresholds | None = None,
        halo: Effect | None = None,
    ) -> "FacetsModel":
        sizes = {"slope": slope.size, "severity": severity.size}
        if halo is not None:
            sizes["halo"] = halo.size
        sizes["difficulty"] = contexts.n_items
        if item_slopes:
            sizes["item_slope"] = contexts.n_items
        sizes |= {f"facet {name}": size for name, size in contexts.facet_sizes.items()}
        if thresholds is not None:
            sizes["threshold"] = thresholds.size
        rater_group, item_group = _groups(contexts)
        if severity.size < contexts.n_raters:  # explained severities connect all raters
            rater_group, item_group = np.zeros_like(rater_group), np.zeros_like(item_group)
        return FacetsModel(
            contexts=contexts,
            slope=slope,
            severity=severity,
            lever=lever,
            item_slopes=item_slopes,
            difficulty_on_ability_scale=difficulty_on_ability_scale,
            thresholds=thresholds,
            blocks=Blocks(sizes),
            rater_group=rater_group,
            item_group=item_group,
            halo=halo,
        )

    def with_pieces(self) -> "FacetsModel":
        """With pieces of work that differ from what their students can do in general."""
        return replace(self, pieces=True, blocks=Blocks(self.blocks.sizes | {PIECE: 1}))

    def smoothed(self) -> "FacetsModel":
        """With the shape of the students' distribution among what is estimated."""
        return replace(self, smooth=True, blocks=Blocks(self.blocks.sizes | {SHAPE: 2}))

    def interacting(self, facets: Iterable[str]) -> "FacetsModel":
        """With a severity of each rater on every level of these facets, `item` among them."""
        terms = tuple(Interaction.of(self.contexts, facet) for facet in facets)
        blocks = Blocks(self.blocks.sizes | {term.block: term.size for term in terms})
        return replace(self, interactions=terms, blocks=blocks)

    @property
    def n_raters(self) -> int:
        return self.contexts.n_raters

    @property
    def n_items(self) -> int:
        return self.contexts.n_items

    @property
    def n_rated(self) -> int:
        """How many of the contexts, the first ones, are of ratings; known answers come after them."""
        return len(self.contexts)

    @property
    def effects(self) -> Blocks:
        """Layout of effects: one slope, severity and halo per rater, then the other parameters as they are."""
        n, own, sizes = self.contexts.n_raters, self._of_raters, self.blocks.sizes
        if all(sizes[name] == n for name in own):
            return self.blocks
        return Blocks(sizes | dict.fromkeys(own, n))

    @property
    def of_interactions(self) -> Mask:
        """(parameters,)"""
        found = np.zeros(self.blocks.size, dtype=bool)
        for term in self.interactions:
            found[self.blocks[term.block]] = True
        return found

    @property
    def _of_raters(self) -> dict[str, Effect]:
        """The blocks that effects of raters come from; they stand first."""
        own = {"slope": self.slope, "severity": self.severity}
        return own if self.halo is None else own | {"halo": self.halo}

    @property
    def of_single_raters(self) -> NDArray[np.int64]:
        """(raters, own parameters): where each rater's slope and severity stand, as far as it has them to itself."""
        n = self.contexts.n_raters
        first = [self.blocks[name].start for name in ("slope", "severity") if self.blocks.sizes[name] == n]
        return np.add.outer(np.arange(n), np.array(first, dtype=np.int64))

    @property
    def slope_of_context(self) -> NDArray[np.int64]:
        """Contexts of the same number have the same slope, whatever the parameters."""
        if self.item_slopes:
            return np.arange(len(self.contexts))
        return self.contexts.rater if self.slope.size > 1 else np.zeros(len(self.contexts), dtype=np.int64)

    # -- the map from parameters to slopes and intercepts ---------------------------------------------------

    def effects_at(self, parameters: Array) -> Array:
        found = [effect(parameters[self.blocks[name]]) for name, effect in self._of_raters.items()]
        return np.concatenate([*found, parameters[self._rest :]])

    @property
    def _rest(self) -> int:
        """Where the parameters begin that are effects themselves."""
        return int(self.blocks["difficulty"].start)

    def halo_variances(self, parameters: Array) -> Array:
        """(raters,): of the reading effect."""
        return self.effects_at(parameters)[self.effects["halo"]]

    def shape(self, parameters: Array) -> AbilityShape:
        """Of the students' distribution, where it is estimated."""
        return AbilityShape.of(*parameters[self.blocks[SHAPE]].tolist())

    def piece_variance(self, parameters: Array) -> float:
        """omega^2, in units of the variance of abilities; 0 where pieces are not told apart."""
        return float(parameters[self.blocks[PIECE]][0]) if self.pieces else 0.0

    def off_zero(self, parameters: Array) -> Array:
        """With variances a little off 0, where their second derivatives are differences that lose all digits."""
        blocks = [self.blocks[name] for name in ("halo", PIECE) if name in self.blocks]
        if all((parameters[at] >= LEAST_VARIANCE).all() for at in blocks):
            return parameters
        found = parameters.copy()
        for at in blocks:
            found[at] = np.maximum(found[at], LEAST_VARIANCE)
        return found

    def predictor(self, parameters: Array) -> Predictor:
        parts = self._parts(parameters)
        base = -parts.severity - parts.weight * parts.difficulty
        intercepts = np.multiply.outer(base, self.lever)
        if self.thresholds is not None:
            tau = self.thresholds.design @ parameters[self.blocks["threshold"]]
            intercepts -= tau.reshape(intercepts.shape)
            intercepts[self.thresholds.beyond] = IMPOSSIBLE
        return Predictor(parts.slope * parts.stretch, intercepts)

    def pullback(
        self, parameters: Array, d_slope: Array, d_intercepts: Array, d_halo: Array | None = None
    ) -> Array:
        """Derivatives in the contexts' slopes and intercepts, and in the raters' variances of the reading effect ->
        derivatives in the parameters."""
        parts, contexts, at = self._parts(parameters), self.contexts, self.effects
        d_base = d_intercepts @ self.lever
        d_effect = np.zeros(at.size)
        d_own = d_slope * parts.stretch
        if self.difficulty_on_ability_scale:
            d_own -= d_base * parts.difficulty
        d_effect[at["slope"]] = np.bincount(contexts.rater, d_own, contexts.n_raters)
        d_effect[at["severity"]] = -np.bincount(contexts.rater, d_base, contexts.n_raters)
        for name, level, size in self._difficulties():
            d_effect[at[name]] = -np.bincount(level, d_base * parts.weight, size)
        for term in self.interactions:
            d_effect[at[term.block]] = -np.bincount(term.cell, d_base, term.size)
        if self.item_slopes:
            d_log = d_slope * parts.slope * parts.stretch
            d_effect[at["item_slope"]] = np.bincount(contexts.item, d_log, contexts.n_items)
        if self.thresholds is not None:
            d_effect[at["threshold"]] = -(self.thresholds.design.T @ d_intercepts.ravel())
        if d_halo is not None:
            d_effect[at["halo"]] = d_halo
        found = [
            effect.pullback(parameters[self.blocks[name]], d_effect[at[name]])
            for name, effect in self._of_raters.items()
        ]
        return np.concatenate([*found, d_effect[at["difficulty"].start :]])

    def jacobian(self, parameters: Array) -> sparse.csr_array:
        """(contexts + contexts x intercepts, parameters): rows of slopes, then of intercepts.

        The same derivatives as `pullback`, spelled out; inference needs the matrix.
        """
        parts, contexts, at = self._parts(parameters), self.contexts, self.effects
        one = np.ones(len(contexts))
        slope_part = [(contexts.rater + at["slope"].start, parts.stretch * one)]
        if self.item_slopes:
            slope_part.append((contexts.item + at["item_slope"].start, parts.slope * parts.stretch))
        base_part = [(contexts.rater + at["severity"].start, -one)]
        if self.difficulty_on_ability_scale:
            base_part.append((contexts.rater + at["slope"].start, -parts.difficulty))
        base_part += [
            (level + at[name].start, -parts.weight * one) for name, level, _ in self._difficulties()
        ]
        base_part += [(term.cell + at[term.block].start, -one) for term in self.interactions]
        found = stacked([(slope_part, np.ones(1)), (base_part, self.lever)], at.size)
        if self.thresholds is not None:
            design = placed(self.thresholds.design, at["threshold"], at.size)
            none = sparse.csr_array((len(contexts), at.size))
            found = found - sparse.vstack([none, design], format="csr")
        # Where effects are parameters themselves, their columns are known without a product of matrices.
        places = self.places_of_effects
        if places is None:
            return sparse.csr_array(found @ self.effect_jacobian(parameters))
        return sparse.csr_array(
            (found.data, places[found.indices], found.indptr), shape=(found.shape[0], self.blocks.size)
        )

    @property
    def places_of_effects(self) -> NDArray[np.int64] | None:
        """(effects,): the parameter that each effect is; None where some are not."""
        own = []
        for name, effect in self._of_raters.items():
            if effect.places is None:
                return None
            own.append(effect.places + self.blocks[name].start)
        return np.concatenate([*own, np.arange(self._rest, self.blocks.size)])

    @property
    def straight(self) -> bool:
        """Whether the map is linear, so that its jacobian is the same at all parameters; models that build on this one
        add to it what need not be."""
        effects = self._of_raters.values()
        return type(self) is FacetsModel and self._plain and all(isinstance(own, Linear) for own in effects)

    @property
    def _plain(self) -> bool:
        """Whether nothing multiplies slopes, which are parameters or sums of them."""
        return (
            not self.item_slopes and not self.difficulty_on_ability_scale and isinstance(self.slope, Linear)
        )

    def second(self, parameters: Array, d_slope: Array, d_intercepts: Array) -> sparse.csr_array:
        """(parameters, parameters): the map's own curvature, weighted by derivatives in slopes and intercepts."""
        if self._plain:
            return sparse.csr_array((self.blocks.size, self.blocks.size))
        parts, contexts, at = self._parts(parameters), self.contexts, self.effects
        d_base = d_intercepts @ self.lever
        corner = sparse.csr_array((at.size, at.size))
        rater = contexts.rater + at["slope"].start
        if self.item_slopes:
            item = contexts.item + at["item_slope"].start
            mixed = d_slope * parts.stretch
            corner = corner + symmetric(rater, item, mixed, at.size)
            corner = corner + symmetric(item, item, mixed * parts.slope / 2, at.size)
        if self.difficulty_on_ability_scale:
            for name, level, _ in self._difficulties():
                corner = corner + symmetric(rater, level + at[name].start, -d_base, at.size)
        outer = self.effect_jacobian(parameters)
        total = outer.T @ corner @ outer
        d_own = np.bincount(contexts.rater, d_slope * parts.stretch, contexts.n_raters).astype(float)
        own = self.slope.second(parameters[self.blocks["slope"]], d_own)
        if own is not None:
            padding = sparse.csr_array((self.blocks.size - self.slope.size,) * 2)
            total = total + sparse.block_diag([own, padding], format="csr")
        return sparse.csr_array(total)

    def effect_jacobian(self, parameters: Array) -> sparse.csr_array:
        """(effects, parameters)"""
        own = [effect.jacobian(parameters[self.blocks[name]]) for name, effect in self._of_raters.items()]
        rest = sparse.eye_array(self.blocks.size - self._rest, format="csr")
        return sparse.block_diag((*own, rest), format="csr")

    def bounds(self, *, allow_reversed: bool) -> tuple[Array, Array]:
        """Where estimates may be: beyond, data cannot tell parameters apart, and an optimiser would go on for ever."""
        upper = np.full(self.blocks.size, LARGEST_EFFECT)
        lower = -upper
        if isinstance(self.slope, Linear):
            # A rater's slope may be 0. One common to all may not quite: by symmetry the likelihood is level there,
            # and an optimiser that a long step takes to 0 would stay.
            lowest = 0.0 if self.slope.size > 1 else SMALLEST_COMMON_SLOPE
            lower[self.blocks["slope"]] = -LARGEST_SLOPE if allow_reversed else lowest
            upper[self.blocks["slope"]] = LARGEST_SLOPE
        else:
            # Each explains the logarithms of the slopes of raters a standard deviation apart.
            upper[self.blocks["slope"]] = np.log(LARGEST_ITEM_SLOPE)
            lower[self.blocks["slope"]] = -np.log(LARGEST_ITEM_SLOPE)
        if self.item_slopes:
            upper[self.blocks["item_slope"]] = np.log(LARGEST_ITEM_SLOPE)
            lower[self.blocks["item_slope"]] = -np.log(LARGEST_ITEM_SLOPE)
        if self.halo is not None:
            lower[self.blocks["halo"]], upper[self.blocks["halo"]] = 0.0, LARGEST_HALO**2
        if self.pieces:
            lower[self.blocks[PIECE]], upper[self.blocks[PIECE]] = 0.0, LARGEST_PIECE**2
        if self.smooth:
            upper[self.blocks[SHAPE]] = LARGEST_SHAPE
            lower[self.blocks[SHAPE]] = -upper[self.blocks[SHAPE]]
        if self.thresholds is not None:
            at = self.blocks["threshold"]
            lower[at] = np.maximum(lower[at], self.thresholds.lower_bounds())
        return lower, upper

    def without_ability(self, parameters: Array) -> bool:
        """Whether no rater's slope is above 0, or above the least that a common one may be."""
        least = SMALLEST_COMMON_SLOPE if isinstance(self.slope, Linear) and self.slope.size == 1 else NO_SLOPE
        return bool((np.abs(self.slope(parameters[self.blocks["slope"]])) <= least).all())

    def at_limit(self, parameters: Array) -> Mask:
        """Parameters that ran as far as they may. A slope or a halo of 0 and thresholds that
        meet are no limits in this sense."""
        lower, upper = self.bounds(allow_reversed=True)
        if self.thresholds is not None and self.thresholds.graded:
            lower[self.blocks["threshold"]] = -LARGEST_EFFECT
        found = np.asarray((parameters <= lower) | (parameters >= upper))
        if self.pieces:
            found[self.blocks[PIECE]] = parameters[self.blocks[PIECE]] >= LARGEST_PIECE**2
        if self.halo is not None:
            found[self.blocks["halo"]] = parameters[self.blocks["halo"]] >= LARGEST_HALO**2
        if isinstance(self.slope, Linear) and self.slope.size == 1:
            found[self.blocks["slope"]] = parameters[self.blocks["slope"]] >= LARGEST_SLOPE
        return found

    # -- parts ----------------------------------------------------------------------------------------------

    def _parts(self, parameters: Array) -> "_Parts":
        contexts, at, effects = self.contexts, self.effects, self.effects_at(parameters)
        slope = effects[at["slope"]][contexts.rater]
        stretch = np.exp(effects[at["item_slope"]])[contexts.item] if self.item_slopes else 1.0
        difficulty = effects[at["difficulty"]][contexts.item]
        for name, level, _ in self._difficulties()[1:]:
            difficulty += effects[at[name]][level]
        weight = slope if self.difficulty_on_ability_scale else 1.0
        severity = effects[at["severity"]][contexts.rater]
        for term in self.interactions:
            severity += effects[at[term.block]][term.cell]
        return _Parts(slope, stretch, severity, difficulty, weight)

    def _difficulties(self) -> list[tuple[str, NDArray[np.int64], int]]:
        """Everything that makes a context harder for all raters alike: block, level of each context, levels."""
        facets = zip(self.contexts.facet_sizes.items(), self.contexts.facets, strict=True)
        return [
            ("difficulty", self.contexts.item, self.contexts.n_items),
            *((f"facet {name}", level, size) for (name, size), level in facets),
        ]


class _Parts(NamedTuple):
    """Of each context; `stretch` and `weight` are numbers where they are 1 throughout."""

    slope: Array
    stretch: Array | float
    severity: Array
    difficulty: Array
    weight: Array | float


def _groups(contexts: Contexts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Connected groups of raters and items."""
    n = contexts.n_raters
    _, group = components(n + contexts.n_items, contexts.rater, contexts.item + n)
    return group[:n], group[n:]


def stacked(
    groups: list[tuple[list[tuple[NDArray[np.int64], Array]], Array]], width: int
) -> sparse.csr_array:
    """Rows of each group of (columns, values), every row as often as there are levers, times each of them."""
    indices, values, lengths = [], [], []
    for part, lever in groups:
        columns, value = (np.stack(each, axis=1) for each in zip(*part, strict=True))
        indices.append(np.repeat(columns, len(lever), axis=0).ravel())
        values.append((value[:, None, :] * lever[:, None]).ravel())
        lengths.append(np.full(len(columns) * len(lever), len(part)))
    begin = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    found = np.concatenate(values), np.concatenate(indices), begin
    return sparse.csr_array(found, shape=(len(begin) - 1, width))


def placed(matrix: sparse.csr_array, columns: slice, width: int) -> sparse.csr_array:
    """`matrix` in these columns of a wider one."""
    coo = matrix.tocoo()
    return sparse.csr_array((coo.data, (coo.row, coo.col + columns.start)), shape=(matrix.shape[0], width))


def symmetric(row: NDArray[np.int64], column: NDArray[np.int64], value: Array, size: int) -> sparse.csr_array:
    half = sparse.csr_array((value, (row, column)), shape=(size, size))
    return half + half.T
