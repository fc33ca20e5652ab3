"""Facets models: a rating depends on ability through the slope and intercepts of its context.

    a = slope exp(log_slope),   slope' = exp(log_sd) a,   base = mean a - intercept - slope difficulty,
    intercepts = lever base - steps

Every predictor on the right is a sum of what the model's terms add to it (`term.py`); everything follows from this one
map and its derivatives.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.models.responses import Predictor
from raterlens.models.term import (
    Beginning,
    Blocks,
    Contexts,
    Effect,
    LevelTerm,
    People,
    PredictorName,
    Term,
    one_per_row,
)
from raterlens.models.terms.main_effects import SEVERITY, SLOPE, Slopes
from raterlens.models.terms.thresholds import THRESHOLD, Thresholds
from raterlens.ratings.design import components

Wanted = TypeVar("Wanted", bound=Term)
_MAPPED = tuple(name for name in get_args(PredictorName) if name not in ("loading", "halo", "draw"))
"""The predictors of slopes and intercepts."""
_PRODUCTS = frozenset({"log_slope", "difficulty", "mean", "log_sd"})
"""Those that multiply others."""
# The intercept of a score that an item cannot get: its probability is 0 whatever the ability.
IMPOSSIBLE = -1e9
LEAST_VARIANCE = 0.02**2
"""Least variance of readings and pieces for second derivatives."""


@dataclass(frozen=True, eq=False)
class FacetsModel:
    """A list of terms on the contexts of one data set."""

    contexts: Contexts
    terms: tuple[Term, ...]
    lever: Array
    """Change of each intercept per unit of `base`: 1, or 1 .. K - 1 for adjacent categories."""
    further: tuple[PredictorName, ...] = ()
    """Predictors that are one intercept more each, after all others, on which ability has no lever."""

    def plus(self, *terms: Term, contexts: Contexts | None = None) -> "FacetsModel":
        """With further terms; on further contexts, where they have some."""
        return replace(self, terms=(*self.terms, *terms), contexts=contexts or self.contexts)

    def __contains__(self, name: str) -> bool:
        return name in self.blocks

    def widened(self, further: PredictorName) -> "FacetsModel":
        """With this predictor as the last intercept."""
        return replace(self, lever=np.append(self.lever, 0.0), further=(*self.further, further))

    @cached_property
    def single(self) -> "FacetsModel":
        """Without these: the model of one answer, where ratings stand for several."""
        steps = len(self.lever) - len(self.further)
        return replace(self, lever=self.lever[:steps], further=()) if self.further else self

    def term(self, name: str, kind: type[Wanted]) -> Wanted:
        """The term of this name."""
        (found,) = (term for term in self.terms if term.name == name)
        return cast("Wanted", found)

    @cached_property
    def blocks(self) -> Blocks:
        return Blocks({term.name: term.size for term in self.terms})

    @property
    def n_raters(self) -> int:
        return self.contexts.n_raters

    @property
    def n_items(self) -> int:
        return self.contexts.n_items

    @property
    def n_rated(self) -> int:
        """How many of the contexts, the first ones, are of ratings; known answers come after them."""
        return self.contexts.n_rated

    # -- terms that others ask for by name ------------------------------------------------------------------

    @property
    def slopes(self) -> Slopes:
        return self.term(SLOPE, Slopes)

    @property
    def slope(self) -> Effect:
        return self.slopes.effect

    @property
    def severity(self) -> Effect:
        return self.term(SEVERITY, LevelTerm).effect

    @property
    def thresholds(self) -> Thresholds | None:
        return self.term(THRESHOLD, Thresholds) if THRESHOLD in self else None

    @property
    def drawn(self) -> tuple[Term, ...]:
        """The terms whose parameters are a sample, with a spread to be estimated."""
        return tuple(term for term in self.terms if term.drawn)

    @property
    def of_drawn(self) -> Mask:
        """(parameters,): which belong to them."""
        return np.repeat([term.drawn for term in self.terms], list(self.blocks.sizes.values()))

    @property
    def difficulty_on_ability_scale(self) -> bool:
        """Whether difficulties are multiplied by slopes."""
        return "difficulty" in self._map.places

    @property
    def one_slope_per_rater(self) -> bool:
        """Whether a rater's slope is the same on every item."""
        pairs = np.stack([self.contexts.rater, self.slope_of_context])[:, : self.n_rated]
        return bool(np.unique(pairs, axis=1).shape[1] == len(np.unique(pairs[0])))

    @cached_property
    def slope_of_context(self) -> NDArray[np.int64]:
        """Contexts of the same number have the same slope, whatever the parameters."""
        random, rows = np.random.default_rng(1), self._map
        mix = np.stack(
            [
                rows.design[rows.places[name]] @ random.standard_normal(self.blocks.size)
                + rows.offset[rows.places[name]]
                for name in ("slope", "log_slope")
                if name in rows.places
            ]
        )
        _, first, place = np.unique(mix, axis=1, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        return rank[place.ravel()]

    # -- numbers of raters, and of the students' distribution -----------------------------------------------

    def effect(self, name: str, parameters: Array) -> Array:
        """Numbers that a term's parameters stand for: one per rater, or the parameters as they are."""
        (found,) = (term for term in self.terms if term.name == name)
        own = found.effect_of(parameters[self.blocks[name]])
        return own + self._in_severity @ parameters if name == SEVERITY else own

    def effect_jacobian(self, parameters: Array, *names: str) -> sparse.csr_array:
        """(effects, parameters): of the effects of these terms, in this order, as far as the model has them."""
        own, blocks, rows = {term.name: term for term in self.terms}, self.blocks, []
        for name in (name for name in names if name in own):
            through = own[name].effect_jacobian(parameters[blocks[name]])
            rows.append(placed(through, blocks[name], blocks.size))
            if name == SEVERITY:
                rows[-1] = rows[-1] + self._in_severity
        return sparse.csr_array(sparse.vstack(rows, format="csr"))

    @cached_property
    def _in_severity(self) -> sparse.csr_array:
        """(raters, parameters): what other terms add to severities on average over all levels."""
        found = sparse.csr_array((self.n_raters, self.blocks.size))
        for term in self.terms:
            if term.in_severity is not None:
                found = found + placed(term.in_severity, self.blocks[term.name], self.blocks.size)
        return sparse.csr_array(found)

    def tables(self, parameters: Array) -> dict[str, Array]:
        """Effects by the labels of their levels, as they are kept: what others add to severities is among these."""
        own = {term.name: parameters[self.blocks[term.name]] for term in self.terms}
        found = {term.name: term.table(own[term.name]) for term in self.terms}
        for term in self.terms:
            if term.in_severity is not None:
                found[term.name] = found[term.name] - (term.in_severity @ own[term.name])[:, None]
        return {**found, SEVERITY: self.effect(SEVERITY, parameters)}

    @property
    def of_single_raters(self) -> NDArray[np.int64]:
        """(raters, own parameters): where each rater's slope and severity stand, as far as it has them to itself."""
        n = self.n_raters
        first = [self.blocks[name].start for name in ("slope", "severity") if self.blocks.sizes[name] == n]
        return np.add.outer(np.arange(n), np.array(first, dtype=np.int64))

    @cached_property
    def reading_effects(self) -> sparse.csr_array | None:
        """(raters, parameters): how parameters add up to the variance of each rater's impressions, in logits; None
        where readings share nothing."""
        if not self.enters("halo"):
            return None
        rater, row = np.unique(self.contexts.rater[: self.n_rated], return_index=True)
        shape = self.n_raters, len(self.contexts)
        return sparse.csr_array(
            sparse.csr_array((np.ones(len(row)), (rater, row)), shape) @ self.design("halo")
        )

    def reading_variances(self, parameters: Array) -> Array | None:
        """(raters,): of the reading effect."""
        return None if self.reading_effects is None else self.reading_effects @ parameters

    @property
    def n_groups(self) -> int:
        """Groups of students with distributions of their own; 0 where all are standard normal."""
        return max(term.n_groups for term in self.terms)

    def people(self, parameters: Array, points: Array) -> tuple[slice, People] | None:
        """How students are distributed on nodes, and by which parameters; None where they are standard normal."""
        for term in self.terms:
            at = self.blocks[term.name]
            found = term.people(parameters[at], points)
            if found is not None:
                return at, found
        return None

    def across_groups(self) -> "FacetsModel":
        """Without what the group of a student says."""
        return replace(self, terms=tuple(term.across_groups() for term in self.terms))

    def between_variance(self, parameters: Array) -> float:
        """Variance of the means of groups, over all students; 0 if there are none."""
        return sum(term.between(parameters[self.blocks[term.name]]) for term in self.terms)

    @cached_property
    def nested(self) -> str | None:
        """The term by which the quality of a piece, or a rater's impression of it, differs from ability, if any."""
        return next((term.name for term in self.terms if term.around_ability), None)

    def piece_variance(self, parameters: Array) -> float:
        """omega^2, in units of the variance of abilities; 0 where nothing differs from ability."""
        return 0.0 if self.nested is None else float(parameters[self.blocks[self.nested]][0])

    def population(self, parameters: Array) -> tuple[float, float]:
        """Mean and standard deviation of the students; 0 and 1 but where anchors hold the scale."""
        mean, log_sd = (
            float((self.design(name)[:1] @ parameters)[0]) if self.enters(name) else 0.0
            for name in ("mean", "log_sd")
        )
        return mean, float(np.exp(log_sd))

    @property
    def known_slope(self) -> float | None:
        """Slope of known answers; None if there are none."""
        rows = self._map
        return float(rows.offset[rows.places["slope"]][-1]) if self.contexts.n_answers else None

    @cached_property
    def _linked(self) -> tuple[Indices, Indices]:
        """Groups of raters and of items that share no rating; severity and difficulty are confounded between them.
        Explained severities connect all raters."""
        n, contexts, rated = self.n_raters, self.contexts, slice(self.n_rated)
        if self.severity.size < n:
            return np.zeros(n, dtype=np.int64), np.zeros(self.n_items, dtype=np.int64)
        _, group = components(n + self.n_items, contexts.rater[rated], contexts.item[rated] + n)
        return group[:n], group[n:]

    @property
    def rater_group(self) -> Indices:
        return self._linked[0]

    @property
    def item_group(self) -> Indices:
        return self._linked[1]

    # -- the map from parameters to slopes and intercepts ---------------------------------------------------

    @cached_property
    def _designs(self) -> dict[PredictorName, sparse.csr_array]:
        """(contexts, parameters) of each predictor that some term enters."""
        found: dict[PredictorName, sparse.csr_array] = {}
        for term in self.terms:
            for name, own in term.designs(self.contexts).items():
                part = placed(own, self.blocks[term.name], self.blocks.size)
                found[name] = sparse.csr_array(found[name] + part) if name in found else part
        return found

    def enters(self, name: PredictorName) -> bool:
        """Whether some term enters this predictor."""
        return name in self._designs

    def design(self, name: PredictorName) -> sparse.csr_array:
        """(contexts, parameters): how parameters add up to a predictor."""
        return self._designs[name]

    @cached_property
    def _map(self) -> "_Map":
        """All predictors of slopes and intercepts as one linear function of the parameters."""
        n, size, places, rows, offsets, begin = len(self.contexts), self.blocks.size, {}, [], [], 0
        given = [term.offsets(self.contexts) for term in self.terms]
        for name in _MAPPED:
            design = self._designs.get(name)
            if name == "steps" and self.further:
                steps = len(self.lever) - len(self.further)
                parts = [] if design is None else [self._among_steps(design, slice(0, steps))]
                for place, further in enumerate(self.further, start=steps):
                    parts.append(self._among_steps(-self.design(further), slice(place, place + 1)))
                design = sum(parts[1:], parts[0])
            fixed = [one[name] for one in given if name in one]
            if design is None and not fixed:
                continue
            length = n * len(self.lever) if name == "steps" else n
            places[name] = slice(begin, begin := begin + length)
            rows.append(sparse.csr_array((length, size)) if design is None else design)
            offsets.append(np.sum(fixed, axis=0) if fixed else np.zeros(length))
        design = sparse.csr_array(sparse.vstack(rows, format="csr"))
        return _Map(design, np.concatenate(offsets), places)

    def _among_steps(self, design: sparse.csr_array, steps: slice) -> sparse.csr_array:
        """Rows of some steps of each context, among those of all."""
        every = np.arange(len(self.contexts) * len(self.lever)).reshape(len(self.contexts), -1)
        return sparse.csr_array(one_per_row(every[:, steps].ravel(), every.size).T @ design)

    @cached_property
    def _beyond(self) -> Mask | None:
        """(contexts, steps): scores that cannot be given; None where all can."""
        if self.thresholds is None:
            return None
        beyond = self.thresholds.beyond(self.contexts)
        return beyond if beyond.any() else None

    def _parts(self, parameters: Array) -> "_Parts":
        rows = self._map
        values, places = rows.design @ parameters + rows.offset, rows.places

        def part(name: str) -> Array | float:
            return values[places[name]] if name in places else 0.0

        slope = values[places["slope"]]
        stretch = np.exp(part("log_slope")) if "log_slope" in places else 1.0
        steps = values[places["steps"]].reshape(len(slope), -1) if "steps" in places else None
        sd = np.exp(part("log_sd"))
        return _Parts(
            slope, stretch, slope * stretch, part("intercept"), part("difficulty"), part("mean"), sd, steps
        )

    def of_rows(self, parameters: Array) -> "RowValues":
        """Slopes and severities on the rows, for standard normal students."""
        at, n = self._parts(parameters), len(self.contexts)
        severity = np.asarray(at.intercept + at.slope * at.difficulty)
        by_slope = {"slope": at.stretch, "log_slope": at.a}
        by_severity = {"intercept": 1.0, "difficulty": at.slope, "slope": at.difficulty}
        derivatives = self._weighted((1, by_slope), (1, by_severity))
        besides = None
        for term in self.terms:
            block = self.blocks[term.name]
            if (found := term.beside(parameters[block], self.contexts, at.a)) is not None:
                besides, by_slopes, own = found
                by = placed(own, block, self.blocks.size)
                if by_slopes is not None:
                    by = by + sparse.diags_array(by_slopes) @ derivatives[:n]
                derivatives = sparse.vstack([derivatives, by], format="csr")
        return RowValues(at.a, severity, besides, sparse.csr_array(derivatives))

    def predictor(self, parameters: Array) -> Predictor:
        at = self._parts(parameters)
        base = np.asarray(at.mean * at.a - at.intercept - at.slope * at.difficulty)
        intercepts = np.multiply.outer(base, self.lever)
        if at.steps is not None:
            intercepts -= at.steps
        if self._beyond is not None:
            intercepts[:, : self._beyond.shape[1]][self._beyond] = IMPOSSIBLE
        return Predictor(at.sd * at.a, intercepts)

    def pullback(self, parameters: Array, d_slope: Array, d_intercepts: Array) -> Array:
        """Derivatives in the contexts' slopes and intercepts -> derivatives in the parameters."""
        rows, (slopes, bases), d_base = self._map, self._rates(parameters), d_intercepts @ self.lever
        of_each = {
            name: d_slope * slopes.get(name, 0.0) + d_base * bases.get(name, 0.0)
            for name in rows.places
            if name != "steps"
        }
        if "steps" in rows.places:
            of_each["steps"] = -d_intercepts.ravel()
        return np.asarray(rows.design.T @ np.concatenate([of_each[name] for name in rows.places]))

    def jacobian(self, parameters: Array) -> sparse.csr_array:
        """(contexts + contexts x intercepts, parameters): rows of slopes, then of intercepts.

        Not to be changed: where the map is linear it is the same at all parameters.
        """
        return self._constant_jacobian if self.straight else self._jacobian(parameters)

    @cached_property
    def _constant_jacobian(self) -> sparse.csr_array:
        return self._jacobian(np.zeros(self.blocks.size))

    def _jacobian(self, parameters: Array) -> sparse.csr_array:
        slopes, bases = self._rates(parameters)
        intercepts = {name: np.reshape(weight, (-1, 1)) * self.lever for name, weight in bases.items()}
        return self._weighted((1, slopes), (len(self.lever), intercepts | {"steps": np.array(-1.0)}))

    def _rates(self, parameters: Array) -> tuple[dict[str, Any], dict[str, Any]]:
        """Derivatives of each context's slope, and of its base, in the predictors that they depend on."""
        at = self._parts(parameters)
        slopes = {"slope": at.sd * at.stretch, "log_slope": at.sd * at.a, "log_sd": at.sd * at.a}
        bases = {
            "slope": at.mean * at.stretch - at.difficulty,
            "log_slope": at.mean * at.a,
            "mean": at.a,
            "intercept": -1.0,
            "difficulty": -at.slope,
        }
        return slopes, bases

    def _weighted(self, *outputs: tuple[int, Mapping[str, Any]]) -> sparse.csr_array:
        """(outputs, parameters): designs of predictors, each times a number, added up. An output has as many rows per
        context as is said, and a weight for each predictor: one number, (contexts,), or (contexts, rows)."""
        rows, n, entries, first = self._map, len(self.contexts), [], 0
        for width, weights in outputs:
            row = np.arange(first, first := first + n * width).reshape(n, width)
            for name, weight in weights.items():
                if name in rows.places and np.any(weight):
                    column = np.arange(rows.places[name].start, rows.places[name].stop).reshape(n, -1)
                    weight = weight if np.ndim(weight) == 2 else np.reshape(weight, (-1, 1))
                    entries.append(np.broadcast_arrays(weight, row, column))
        value, row, column = (
            np.concatenate([each.ravel() for each in part]) for part in zip(*entries, strict=True)
        )
        through = sparse.csr_array((value, (row, column)), shape=(first, len(rows.offset)))
        return sparse.csr_array(through @ rows.design)

    @property
    def straight(self) -> bool:
        """Whether the map is linear, so that its jacobian is the same at all parameters."""
        return not _PRODUCTS & set(self._map.places)

    def second(self, parameters: Array, d_slope: Array, d_intercepts: Array) -> sparse.csr_array:
        """(parameters, parameters): the map's own curvature, weighted by derivatives in slopes and intercepts."""
        total = sparse.csr_array((self.blocks.size, self.blocks.size))
        if self.straight:
            return total
        at, rows, d_base = self._parts(parameters), self._map, d_intercepts @ self.lever
        d_a, of_sd = d_slope * at.sd + d_base * at.mean, d_slope * at.sd
        for one, other, weight in (
            ("slope", "log_slope", d_a * at.stretch),
            ("log_slope", "log_slope", d_a * at.a / 2),
            ("slope", "difficulty", -d_base),
            ("slope", "mean", d_base * at.stretch),
            ("log_slope", "mean", d_base * at.a),
            ("slope", "log_sd", of_sd * at.stretch),
            ("log_slope", "log_sd", of_sd * at.a),
            ("log_sd", "log_sd", of_sd * at.a / 2),
        ):
            if one in rows.places and other in rows.places:
                left, right = (rows.design[rows.places[name]] for name in (one, other))
                half = left.T @ sparse.diags_array(weight) @ right
                total = total + half + half.T
        return sparse.csr_array(total)

    # -- estimation -----------------------------------------------------------------------------------------

    def start(self, given: Beginning) -> Array:
        return np.concatenate([term.start(given) for term in self.terms])

    def off_zero(self, parameters: Array) -> Array:
        """With variances a little off 0, where their second derivatives are differences that lose all digits."""
        variance = np.repeat([term.variance for term in self.terms], list(self.blocks.sizes.values()))
        low = variance & (parameters < LEAST_VARIANCE)
        return np.where(low, LEAST_VARIANCE, parameters) if low.any() else parameters

    def bounds(self, *, allow_reversed: bool) -> tuple[Array, Array]:
        """Where estimates may be."""
        found = [term.bounds(allow_reversed=allow_reversed) for term in self.terms]
        lower, upper = (np.concatenate(part) for part in zip(*found, strict=True))
        return lower, upper

    def at_limit(self, parameters: Array) -> Mask:
        """Parameters that ran as far as they may."""
        return np.concatenate([term.at_limit(parameters[self.blocks[term.name]]) for term in self.terms])

    def without_ability(self, parameters: Array) -> bool:
        """Whether no rater's slope is above 0, or above the least that a common one may be."""
        return self.slopes.nobody(parameters[self.blocks[SLOPE]])

    def vector(self, **parts: Array) -> Array:
        """A vector of parameters with these blocks; 0 elsewhere."""
        filled = np.zeros(self.blocks.size)
        for name, values in parts.items():
            filled[self.blocks[name]] = values
        return filled


class RowValues(NamedTuple):
    """Values of each row, for the predictor slope theta - severity."""

    slope: Array
    severity: Array
    besides: Array | None
    """Variance of what moves scores besides ability: of a reading's impression, or what raters share."""
    derivatives: sparse.csr_array
    """(2 or 3 x rows, parameters)"""


class _Map(NamedTuple):
    """predictors = design @ parameters + offset"""

    design: sparse.csr_array
    offset: Array
    places: dict[str, slice]
    """Rows of each predictor, as far as the model has them."""


class _Parts(NamedTuple):
    """Parts of each context; a number if all contexts have the same."""

    slope: Array
    stretch: Array | float
    a: Array
    intercept: Array | float
    difficulty: Array | float
    mean: Array | float
    sd: Array | float
    steps: Array | None


def placed(matrix: sparse.csr_array, columns: slice, width: int) -> sparse.csr_array:
    """`matrix` in these columns of a wider one."""
    found = sparse.csr_array(matrix)
    return sparse.csr_array(
        (found.data, found.indices + columns.start, found.indptr), shape=(found.shape[0], width)
    )


# --------------------------------------------------------------------------------------------------------------

# Directions in which parameters can move without changing any probability, and the centring that removes them.
#
# Severity trades against difficulty, facets and shared thresholds; an item's difficulty against its own thresholds;
# slopes against item slopes. Each is a pair of rows: a direction, and a constraint that centring holds at zero.


@dataclass(frozen=True, slots=True)
class Redundancy:
    """Each (redundancies, parameters)."""

    constraints: Array
    directions: Array

    def __len__(self) -> int:
        return len(self.constraints)


def redundancy(model: FacetsModel, parameters: Array, held: NDArray[np.bool_] | None = None) -> Redundancy:
    """The redundant directions at `parameters` that move no parameter which is held fixed."""
    rows = [row for term in model.terms for row in term.redundancies(model, parameters)]
    if held is not None:
        still = [row for row in rows if not row[1][held].any()]
        rows = still + _together([row for row in rows if row[1][held].any()], held)
    empty = np.zeros((0, model.blocks.size))
    return (
        Redundancy(*(np.array(part) for part in zip(*rows, strict=True)))
        if rows
        else Redundancy(empty, empty)
    )


def _together(rows: list[tuple[Array, Array]], held: NDArray[np.bool_]) -> list[tuple[Array, Array]]:
    """Directions that move held parameters singly but not in combination: with severities held, difficulties still
    trade against thresholds. What comes last (thresholds, then facets) is centred, what comes first keeps the place."""
    if len(rows) < 2:
        return []
    constraints, directions = (np.array(part) for part in zip(*rows, strict=True))
    combined = linalg.null_space(directions[:, held].T).T
    centred: list[int] = []
    for place in reversed(range(len(rows))):
        if len(centred) < len(combined) and np.linalg.matrix_rank(combined[:, [*centred, place]]) > len(
            centred
        ):
            centred.append(place)
    combined = np.linalg.solve(combined[:, centred], combined)
    return [(constraints[place], row @ directions) for place, row in zip(centred, combined, strict=True)]


def centre(model: FacetsModel, parameters: Array, held: NDArray[np.bool_] | None = None) -> Array:
    """The same model with difficulties, facets, thresholds and log item slopes that average zero."""
    centred = parameters
    for term in model.terms:
        centred = term.centred(model, centred, np.zeros(len(centred), dtype=bool) if held is None else held)
    found = redundancy(model, centred, held)
    excess = np.linalg.solve(found.constraints @ found.directions.T, found.constraints @ centred)
    return centred - found.directions.T @ excess
