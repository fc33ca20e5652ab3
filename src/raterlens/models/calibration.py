"""Calibration: everything that is known about raters, items and scores, by a facets fit or as it was stated.

Enough to restate capability on another yardstick, to score new students, to anchor another fit, and to plan or simulate
ratings by the same panel.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.base.errors import choose
from raterlens.capability.curves import Curve, curve_of
from raterlens.capability.index import NEARBY, OwnCurves
from raterlens.capability.links import get_link
from raterlens.capability.population import over_readings
from raterlens.capability.yardstick import LARGEST_SLOPE, may_set_yardstick
from raterlens.config import Fair, GroupMeansKind
from raterlens.models.build import COVARYING, KINDS, model_of, response_of
from raterlens.models.facets import FacetsModel
from raterlens.models.marks import Marks
from raterlens.models.registry import MODELS, own_slopes
from raterlens.models.requested import Options, Setting
from raterlens.models.responses import Linked, Predictor, Response
from raterlens.models.term import Contexts
from raterlens.models.terms.halo import in_logits
from raterlens.models.terms.noise import log_noise
from raterlens.models.terms.rater_interactions import interacting_facets
from raterlens.models.terms.shared_bias import BIAS
from raterlens.models.terms.students import POPULATION, SHAPE
from raterlens.models.terms.thresholds import RATER_THRESHOLD, THRESHOLD, RaterThresholds


class Covarying(Protocol):
    """A covariance matrix, or what can be asked like one: its product with a vector, and its diagonals."""

    def __matmul__(self, right: Array, /) -> Any: ...

    def diagonal(self, k: int = 0, /) -> Any: ...


@dataclass(frozen=True, slots=True)
class PanelSpread:
    """How much raters differ: what is reported of s and v."""

    mean_slope: float
    slope: float | None
    """s, the spread of slopes; None where all raters share one slope."""
    slope_low: float | None
    slope_high: float | None
    severity: float
    """v, the spread of severities."""
    severity_low: float | None
    severity_high: float | None
    largest: float = 0.0
    """The largest slope, on average over what is known of all of them."""
    slope_p: float | None = None
    """p value of equal slopes, by a likelihood ratio without the prior; None where there is none."""
    severity_p: float | None = None
    """p value of equal severities."""


@dataclass(frozen=True, slots=True, eq=False)
class SlopeLimits:
    """95 % limits of each rater's slope by profile likelihood."""

    low: Array
    high: Array
    severity_low: Array
    """By how much the severity differs from its estimate where the slope is at its lower limit; from the average."""
    severity_high: Array

    @property
    def severity_unheld(self) -> Array:
        """(raters,): by how much the severity differs where a slope that ran to a limit is at its other one; else 0."""
        either = np.where(self.severity_low == 0, self.severity_high, self.severity_low)
        return np.where((self.severity_low == 0) | (self.severity_high == 0), either, 0.0)

    def of(self, rows: slice | Indices) -> "SlopeLimits":
        return SlopeLimits(self.low[rows], self.high[rows], self.severity_low[rows], self.severity_high[rows])

    def stretched(self, stretch: float) -> "SlopeLimits":
        """On an item with this slope."""
        return replace(self, low=stretch * self.low, high=stretch * self.high)


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Raters' slopes and severities with their uncertainty."""

    slope: Array
    severity: Array
    """As it enters the predictor, not centred."""
    covariance: Covarying | None
    """(2 raters, 2 raters): of the slopes, then the severities; None where it was not computed."""
    falling: Array
    """How fast the log-likelihood falls as a slope that is held at 0 rises."""
    ran: Mask | None = None
    """Raters whose slope or severity ran to its limit; None: those whose slope is as large as may be."""
    apart: Mask | None = None
    """Raters in a small group that shares no student with the rest; None: nobody."""
    halo: Array | None = None
    """Variances of the reading effect; None where the model has none."""
    halo_covariance: Covarying | None = None
    """(raters, 3 raters): of these variances with the slopes, the severities and each other."""
    largest: float | None = None
    """Where raters were fitted as a sample of raters: the largest slope, on average over what is known of them."""
    extreme: Mask | None = None
    """Raters who gave only the lowest, or only the highest score: how severe they are has no end."""
    limits: SlopeLimits | None = None
    """How far slopes could be from their estimates, where that was looked for."""

    @property
    def at_limit(self) -> Mask:
        return np.asarray(np.abs(self.slope) >= LARGEST_SLOPE) if self.ran is None else self.ran

    @property
    def aside(self) -> Mask:
        """Who does not count in the average rater."""
        found = self.at_limit.copy()
        for some in (self.apart, self.extreme):
            found |= False if some is None else some
        return found

    @property
    def candidates(self) -> Mask:
        """Who may set the yardstick."""
        return may_set_yardstick(self.slope, self.at_limit, self.apart)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Ratings that raters could give on items, as a calibrated model has them."""

    predictor: Predictor
    response: Response
    halo: Array
    """(rows,): variances of the reading effect."""

    def chances(self, theta: Array, less: float = 0.0) -> Array:
        """(rows, categories, abilities): probabilities of the scores; `less`: taken off the predictor."""
        return over_readings(
            lambda shift: self.response.chances(self._shifted(shift - less), theta), self.halo
        )

    def mean_of(self, row: NDArray[np.integer], theta: Array, less: float = 0.0) -> Array:
        """(ratings,): expected scores of ratings, each of a row and of a student of this ability."""
        reach = self.predictor.slope[row] * theta - less
        return over_readings(
            lambda shift: self.response.mean_of(self.predictor, row, reach + shift), self.halo[row]
        )

    def given_impressions(self, u: Array) -> "Rows":
        """Each row once for every impression, which is no longer averaged over."""
        n = len(u)
        repeated = Predictor(
            np.repeat(self.predictor.slope, n), np.repeat(self.predictor.intercepts, n, axis=0)
        )
        shift = np.multiply.outer(np.sqrt(self.halo), u).ravel()
        return Rows(repeated.shifted(shift, self.response.lever), self.response, np.zeros(len(shift)))

    def of(self, some: slice) -> "Rows":
        """These rows alone."""
        predictor = Predictor(self.predictor.slope[some], self.predictor.intercepts[some])
        return Rows(predictor, self.response, self.halo[some])

    def _shifted(self, amount: Array | float) -> Predictor:
        every = np.broadcast_to(amount, len(self.predictor.slope))
        return self.predictor.shifted(every, self.response.lever)


# Up to here the covariances between all raters are kept, 11 MB in a file; beyond, only those within a rater.
MOST_RATERS = 500


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Effects on the scale of the predictor S = a_r g_i theta - b_r - delta_i - facets - thresholds."""

    model: str
    link: str
    scale: str
    scores: tuple[int, ...]
    """The scores that were given, lowest first; 0 .. K - 1 stand for them in the model."""
    labels: Mapping[str, pl.Series]
    """`rater`, `item`, and `facet NAME` for each further facet."""
    effects: Mapping[str, Array]
    """`slope` and `severity` per rater, `difficulty` per item; where the model has them `halo` (per rater, the
    variance of the reading effect), `impression` (the variance of impressions around ability), `bias` (per rater, how
    much it follows what raters share), `item_slope` (its logarithm), `facet NAME`, `interaction NAME` of shape (raters,
    levels), `threshold` of shape (scales, steps) with NaN beyond an item's highest score, `known` (items, steps), the
    thresholds of known answers, `population`, the students' mean and standard deviation where they are not 0 and 1, and
    `ability`, the shape of their distribution where it is not normal."""
    covariance: Array | sparse.csr_array | None
    """Covariance of slopes, severities, halos, impressions or biases, difficulties and item slopes; None without
    standard errors."""
    falling: Array
    """How fast the log-likelihood falls as a slope that is held at 0 rises."""
    covariates: tuple[str, ...] = ()
    """Covariates that explain slopes and severities."""
    anchored: int = 0
    """Parameters that were held at given values."""
    at_limit: Mask | None = None
    """Raters whose slope or severity ran to its limit; None where that was not kept."""
    apart: Mask | None = None
    """Raters in a small group that shares no student with the rest."""
    spread: PanelSpread | None = None
    """How much raters differ, where they were fitted as a sample of raters."""

    known_slope: float | None = None
    """Slope of known answers, if the ratings had any."""
    extreme: Mask | None = None
    """Raters who gave only the lowest, or only the highest score."""
    item_variance: Array | None = None
    """(raters, items): by how much more uncertain a severity is on an item, where raters interact with items."""
    limits: SlopeLimits | None = None
    """How far slopes could be from their estimates, where some ran to a limit."""

    curve_covariance: Array | None = None
    """(raters, 2 + contrasts, 2 + contrasts): of each rater's slope, severity and own thresholds, or the logarithm of
    its noise, where they have some."""

    between_variance: float = 0.0
    """Variance of the means of groups of students, if they have their own; 1 within groups."""

    score_step: float = 1.0
    """The file's score is the code times this: 0.5 where half marks were doubled."""

    repeats: str = "draws"
    """Treatment of repeated answers: as draws, or as separate ratings."""
    group_means: GroupMeansKind = "none"
    """By what groups of students have means."""
    fair: Fair = "within"
    """Whether abilities rest on what a student's group says."""

    @staticmethod
    def stated(
        effects: Mapping[str, Array],
        model: str = "gmf",
        link: str = "logit",
        scale: str = "rating scale",
        **more: Any,
    ) -> "Calibration":
        """A panel whose effects are stated, not estimated: what a plan assumes, or what a simulation draws from.

        Examples
        --------
        >>> effects = {"slope": np.array([1.5, 0.8]), "severity": np.zeros(2), "difficulty": np.zeros(1)}
        >>> rows = Calibration.stated(effects).rows(np.arange(2), 0)
        >>> rows.chances(np.array([1.0]))[:, 1, 0].round(2).tolist()  # of passing a student of ability 1
        [0.82, 0.69]
        """
        n_raters, steps = len(effects["slope"]), effects.get(THRESHOLD, np.zeros((1, 1))).shape[1]
        levels = {"rater": n_raters, "item": len(effects["difficulty"])}
        levels |= {name: len(values) for name, values in effects.items() if name.startswith("facet ")}
        labels = {name: pl.Series(np.arange(1, n + 1)).cast(pl.String) for name, n in levels.items()}
        given: dict[str, Any] = {"scores": tuple(range(steps + 1)), "falling": np.zeros(n_raters), **more}
        return Calibration(model, link, scale, labels=labels, effects=effects, covariance=None, **given)

    @property
    def values(self) -> Array:
        """(scores,): the scores as the file has them."""
        return np.array(self.scores, np.float64) * self.score_step

    @property
    def marks(self) -> Marks | None:
        """The scale of marks, where they are continuous."""
        return Marks.of(len(self.scores), self.score_step) if self.scale == "continuous" else None

    @property
    def unit(self) -> float:
        """By how much a score changes per unit of severity, where that is the same everywhere: marks; else 1."""
        return 1.0 if self.marks is None else self.marks.unit

    def in_file(self, mean: Array) -> Array:
        """Mean scores in the model's numbering, 0 .. K - 1, as the file counts."""
        return np.interp(mean, np.arange(len(self.scores)), self.values)

    @property
    def item_slopes(self) -> bool:
        return "item_slope" in self.effects

    @property
    def population(self) -> tuple[float, float]:
        """Mean and standard deviation of the students."""
        mean, sd = self.effects.get(POPULATION, (0.0, 1.0))
        return float(mean), float(sd)

    @property
    def shape(self) -> Array | None:
        """Shape of the students' distribution, where it is not normal."""
        return self.effects.get(SHAPE)

    @property
    def second_ability(self) -> bool:
        """Whether raters share one besides ability."""
        return BIAS in self.effects

    @property
    def piece_variance(self) -> float:
        """omega^2, where pieces of work were told apart; else 0."""
        return float(self.effects["piece"][0]) if "piece" in self.effects else 0.0

    def known(self, effect: str) -> dict[str, float]:
        """The values of an effect by label, as text; nothing where the model does not have it."""
        if effect not in self.effects:
            return {}
        named = self.labels.get(effect)
        labels = (self.labels[_KIND_OF[effect].levels[0]] if named is None else named).cast(pl.String)
        return dict(zip(labels, self.effects[effect].tolist(), strict=True))

    # -- on rows: of ratings, of references or any others -------------------------------------------------------

    def options(self, **beside: Any) -> Options:
        """Those that a model with these effects is built by; every rater has a slope of its own, wherever the
        calibration's slopes came from."""
        given: dict[str, Any] = {
            "spec": replace(MODELS[self.model], slopes=own_slopes),
            "scale": self.scale,
            "interactions": interacting_facets(self.effects),
            "groups": self.group_means,
            "fair": self.fair,
            "marks": self.marks,
        }
        for name in self.effects:
            if name in _KIND_OF:
                given |= dict(_KIND_OF[name].asks)
        return Options(link=get_link(self.link), **given | beside)

    def _on(
        self, rater: Indices, item: Indices | int, facets: Mapping[str, Indices] | None = None
    ) -> tuple[FacetsModel, Response, Array]:
        """The model on rows by the codes of the fit, on average levels of further facets but of those that are given,
        with its parameters."""
        n, options, highest = len(rater), self.options(population=False), None
        sizes = {
            name.removeprefix("facet "): len(labels)
            for name, labels in self.labels.items()
            if name.startswith("facet ")
        }
        levels = tuple((facets or {}).get(name, np.full(n, size)) for name, size in sizes.items())
        of_all = len(self.effects["slope"]), len(self.labels["item"])
        rows = Contexts.reference(rater, np.broadcast_to(item, n), levels, of_all, sizes)
        thresholds = self.effects.get(THRESHOLD)
        if thresholds is not None and len(thresholds) > 1:
            highest = np.isfinite(thresholds).sum(axis=1)
        response = response_of(len(self.scores), self.score_step, options)
        model = model_of(Setting(rows, response, options, highest))
        parameters = [term.parameters(self.effects[term.name]) for term in model.terms]
        return model, response, np.concatenate(parameters)

    def rows(self, rater: Indices, item: Indices | int, facets: Mapping[str, Indices] | None = None) -> Rows:
        """Ratings by these raters, each on an item, by the codes of the fit; on average levels of further facets but
        of those that are given."""
        model, response, x = self._on(rater, item, facets)
        besides = model.of_rows(x).besides if not self.second_ability else None
        exact = Linked(get_link(self.link)) if response.cornered else response
        return Rows(model.predictor(x), exact, np.zeros(len(rater)) if besides is None else besides)

    def in_logits(self) -> "Calibration":
        """With the variance that impressions on the ability scale have in each rater's scores."""
        effects = in_logits(self.effects)
        return self if effects is self.effects else replace(self, effects=effects, covariance=None)

    def average(self) -> "Calibration":
        """With one rater in the place of all, the average of those who count in the average severity."""
        n, aside = len(self.effects["slope"]), self.without_errors.panel().aside
        kept, effects = (~aside if not aside.all() else np.ones(n, dtype=bool)), {}
        for name, values in self.in_logits().effects.items():
            levels = _KIND_OF[name].levels if name in _KIND_OF else ()
            if name != RATER_THRESHOLD and not name.startswith("interaction "):
                effects[name] = values[kept].mean(keepdims=True) if levels == ("rater",) else values
        labels = {**self.labels, "rater": pl.Series("rater", ["average"])}
        nothing: dict[str, Any] = dict.fromkeys(
            ("covariance", "at_limit", "apart", "extreme", "limits", "spread")
        )
        return replace(self, labels=labels, effects=effects, falling=np.zeros(1), **nothing)

    @property
    def without_errors(self) -> "Calibration":
        """The estimates alone, where their covariance is not wanted on other rows."""
        return replace(self, covariance=None)

    def panel(self, item: str | None = None) -> Panel:
        """The raters on an average item, or on the one named."""
        n, n_items = len(self.effects["slope"]), len(self.labels["item"])
        place = n_items if item is None else self._item(item)
        model, _, x = self._on(np.arange(n), place)
        at, whole = model.of_rows(x), None
        stretch = float(np.exp(self.effects["item_slope"][place])) if self.item_slopes and item else 1.0
        if self.covariance is not None:
            kept = [np.arange(model.blocks.size)[model.blocks[name]] for name in COVARYING if name in model]
            through = at.derivatives[:, np.concatenate(kept)]
            whole = through @ (through @ self.covariance).T
            if item is not None and self.item_variance is not None:
                own = np.zeros(whole.shape[0])
                own[n : 2 * n] = self.item_variance[:, place]
                whole = whole + (np.diag(own) if isinstance(whole, np.ndarray) else sparse.diags_array(own))
        return Panel(
            at.slope,
            at.severity,
            None if whole is None else whole[: 2 * n, : 2 * n],
            self.falling / stretch,
            self.at_limit,
            self.apart,
            at.besides,
            None if whole is None or at.besides is None else whole[2 * n :],
            None if self.spread is None else stretch * self.spread.largest,
            self.extreme,
            None if self.limits is None else self.limits.stretched(stretch),
        )

    # -- how raters use the scale -----------------------------------------------------------------------------

    def curve(self, item: str | None = None, rater: int | None = None) -> Curve:
        """How the expected score follows the predictor, on average over items or on the one named; of all raters, or of
        one, where they use the scale in their own ways."""
        own, _ = self._own_use
        return self._curve(item, None if own is None or rater is None else own[rater])

    def own_curves(self, item: str | None = None) -> OwnCurves | None:
        """The curve of each rater, where they use the scale in their own ways."""
        own, directions = self._own_use
        if own is None or (self.marks is None and not own.any()):  # a spread of 0
            return None
        steps = directions * NEARBY / 2
        nearby = tuple((self._curve(item, own - step), self._curve(item, own + step)) for step in steps)
        return OwnCurves(self._curve(item, own), nearby, self.curve_covariance)

    @property
    def _own_use(self) -> tuple[Array | None, Array]:
        """(raters, numbers): each rater's own use of the scale, thresholds around those of all or the logarithm of its
        noise; and (contrasts, numbers), the directions in which it may differ between raters."""
        moved = self.effects.get(RATER_THRESHOLD)
        if self.marks is not None:
            return log_noise(self.effects)[:, None], np.ones((1, 1))
        if moved is None:
            return None, np.ones((1, 1))
        return moved, RaterThresholds(len(moved), moved.shape[1], self.scale == "graded").contrasts.T

    def _curve(self, item: str | None, own: Array | None) -> Curve:
        """With an own use of the scale, (numbers,) or (raters, numbers), or that of all."""
        if (marks := self.marks) is not None:
            own = log_noise(self.effects).mean(keepdims=True) if own is None else own
            return marks.curve(float(np.exp(own[0])) if own.ndim == 1 else np.exp(own))
        thresholds = self.effects.get(THRESHOLD)
        if thresholds is not None and item is not None and len(thresholds) > 1:
            thresholds = thresholds[[self._item(item)]]
        if thresholds is not None and own is not None:
            thresholds = thresholds + own[..., None, :]
        return curve_of(get_link(self.link), thresholds, graded=self.scale == "graded")

    def _item(self, item: str) -> int:
        labels = list(self.labels["item"].cast(pl.String))
        return labels.index(choose("item", str(item), labels))

    def for_keeping(self) -> "Calibration":
        """With covariances between raters only where they are few enough to be kept.

        Two raters' estimates are correlated through the students they share, which fades as a panel grows.
        """
        spread, n = self.covariance, len(self.effects["slope"])
        if n <= MOST_RATERS or spread is None:
            return self
        kinds = 3 if {"halo", "bias"} & set(self.effects) else 2
        offsets, diagonals = [0], [spread.diagonal()]
        for apart in range(1, kinds):
            both = spread.diagonal(apart * n).copy()
            both[(kinds - apart) * n :] = 0.0
            offsets, diagonals = [*offsets, apart * n, -apart * n], [*diagonals, both, both]
        kept = sparse.diags_array(diagonals, offsets=offsets, format="csr")
        return replace(self, covariance=kept)

    # -- as JSON ----------------------------------------------------------------------------------------------

    def to_plain(self) -> dict[str, Any]:
        """Numbers, text and lists only; of a full covariance, arrays."""
        plain = {
            each.name: _plain(getattr(self, each.name)) for each in fields(self) if each.name != "covariance"
        }
        return plain | {"covariance": _half(self.covariance)}

    @staticmethod
    def from_plain(content: dict[str, Any]) -> "Calibration":
        # Files without a word on repeated answers are of a release that took them for separate ratings.
        groups = "each" if "group" in content["effects"] else "none"
        known: dict[str, Any] = {"repeats": "separate", "group_means": groups, **content}
        for name, read in _READ.items():
            if known.get(name) is not None:
                known[name] = read(known[name])
        effects = known["effects"]
        _check_lengths(content, len(effects["severity"]), len(effects["difficulty"]))
        size = sum(len(effects[name]) for name in COVARYING if name in effects)
        return Calibration(**known | {"covariance": _whole(content["covariance"], size)})


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):  # JSON has no NaN
        return np.where(np.isnan(value), np.array(None), value).tolist()
    if isinstance(value, pl.Series):
        return value.cast(pl.String).to_list()
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    return list(value) if isinstance(value, tuple) else value


def _half(matrix: Any) -> Any:
    """The lower triangle of a symmetric matrix."""
    if isinstance(matrix, np.ndarray):
        return [row[: i + 1] for i, row in enumerate(matrix)]
    if matrix is None:
        return None
    half = sparse.tril(matrix).tocoo()
    return {"row": half.row.tolist(), "column": half.col.tolist(), "value": half.data.tolist()}


def _whole(half: Any, size: int) -> Array | sparse.csr_array | None:
    """The matrix of which this is the lower triangle."""
    if isinstance(half, list):
        lower = np.zeros((size, size))
        for i, row in enumerate(half):
            lower[i, : i + 1] = row
        return lower + np.tril(lower, -1).T
    if half is None:
        return None
    found = sparse.csr_array((half["value"], (half["row"], half["column"])), shape=(size, size))
    return sparse.csr_array(found + sparse.tril(found, -1).T)


_numbers = partial(np.array, dtype=np.float64)
_READ: dict[str, Callable[[Any], Any]] = {
    "scores": tuple,
    "covariates": tuple,
    "labels": lambda labels: {name: pl.Series(each, dtype=pl.String) for name, each in labels.items()},
    "effects": lambda effects: {name: _numbers(each) for name, each in effects.items()},
    "spread": lambda spread: PanelSpread(**spread),
    "limits": lambda limits: SlopeLimits(**{name: _numbers(each) for name, each in limits.items()}),
    **dict.fromkeys(("falling", "item_variance", "curve_covariance"), _numbers),
    **dict.fromkeys(("at_limit", "apart", "extreme"), partial(np.array, dtype=bool)),
}
"""From JSON to values that are more than numbers and text."""


def _check_lengths(content: dict[str, Any], n_raters: int, n_items: int) -> None:
    """Raise where something is not said of every rater or item."""
    of_raters = {name: content.get(name) for name in ("falling", "at_limit", "apart", "extreme")}
    of_raters["labels"] = content["labels"]["rater"]
    for name, values in of_raters.items():
        if values is not None and len(values) != n_raters:
            raise ValueError(f"{name} of {len(values)} raters, where there are {n_raters}")
    if len(content["labels"]["item"]) != n_items:
        raise ValueError(f"labels of {len(content['labels']['item'])} items, where there are {n_items}")


_KIND_OF = {kind.name: kind for kind in KINDS}
