"""Calibration: everything that a facets fit estimated about raters, items and scores.

Enough to restate capability on another yardstick, to score new students, and to anchor another fit.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from raterlens.base.arrays import Array, Mask
from raterlens.base.errors import choose
from raterlens.capability.curves import Curve, MarkCurve, curve_of
from raterlens.capability.index import NEARBY, OwnCurves
from raterlens.capability.links import get_link
from raterlens.models.panel import Covarying, Panel, PanelSpread, SlopeLimits
from raterlens.models.registry import facets_spec
from raterlens.models.responses import Marks
from raterlens.models.terms.noise import NOISE
from raterlens.models.terms.rater_interactions import ITEM, block_of
from raterlens.models.terms.rater_thresholds import RATER_THRESHOLD, RaterThresholds

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
    def piece_variance(self) -> float:
        """omega^2, where pieces of work were told apart; else 0."""
        return float(self.effects["piece"][0]) if "piece" in self.effects else 0.0

    def known(self, effect: str) -> dict[str, float]:
        """The values of an effect by label, as text; nothing where the model does not have it."""
        if effect not in self.effects:
            return {}
        labels = self.labels[_LABELLED.get(effect, effect)].cast(pl.String)
        return dict(zip(labels, self.effects[effect].tolist(), strict=True))

    def panel(self, item: str | None = None) -> Panel:
        """The raters on an average item, or on the one named."""
        a, b = self.effects["slope"], self.effects["severity"]
        n, spread, m = len(a), self.covariance, self._n_besides
        if item is None:
            return self._panel(a, b, None if spread is None else spread[: 2 * n + m, : 2 * n + m])
        place = self._item(item)
        difficulty = float(self.effects["difficulty"][place])
        stretch = float(np.exp(self.effects["item_slope"][place])) if self.item_slopes else 1.0
        on_ability = facets_spec(self.model).difficulty_on_ability_scale
        weight = a if on_ability else np.ones(n)
        if spread is not None:
            # Rows: slope a g, severity b + w delta, and what is besides; columns: a, b, that, delta, log g.
            own, n_items = sparse.eye_array(n), len(self.effects["difficulty"])
            blocks = [
                [stretch * own, None, None],
                [difficulty * own if on_ability else None, own, _column(weight, place, n_items)],
            ]
            if self.item_slopes:
                blocks[0].append(_column(stretch * a, place, n_items))
                blocks[1].append(None)
            if m:
                for row in blocks:
                    row.insert(2, None)
                blocks.append([None, None, sparse.eye_array(m), *[None] * (len(blocks[0]) - 3)])
            through = sparse.block_array(blocks, format="csr")
            whole = through @ (through @ spread).T
            if self.item_variance is not None:
                own_error = np.concatenate(
                    [np.zeros(n), self.item_variance[:, place], np.zeros(whole.shape[0] - 2 * n)]
                )
                whole = whole + (
                    np.diag(own_error) if isinstance(whole, np.ndarray) else sparse.diags_array(own_error)
                )
            spread = whole
        severity = b + weight * difficulty
        if (interaction := self.effects.get(block_of(ITEM))) is not None:
            severity = severity + interaction[:, place]
        return self._panel(stretch * a, severity, spread, stretch)

    def _panel(
        self,
        slope: Array,
        severity: Array,
        spread: Array | sparse.csr_array | None,
        stretch: float = 1.0,
    ) -> Panel:
        """`spread`: covariance of slopes, severities and what moves scores besides ability."""
        n, besides = len(slope), self._besides(slope)
        of_besides: Covarying | None = None
        if spread is not None and besides is not None:
            through = self._through_besides(slope)
            of_besides = (through @ (through @ spread).T)[2 * n :]
        return Panel(
            slope,
            severity,
            None if spread is None else spread[: 2 * n, : 2 * n],
            self.falling / stretch,
            self.at_limit,
            self.apart,
            besides,
            of_besides,
            self._largest(stretch),
            self.extreme,
            None if self.limits is None else self.limits.stretched(stretch),
        )

    @property
    def _n_besides(self) -> int:
        """Parameters of what moves scores besides ability: a reading's impression, or what raters share."""
        return sum(len(self.effects[name]) for name in ("halo", "impression", "bias") if name in self.effects)

    def halo_of(self, slope: Array) -> Array | None:
        """(raters,): the variance of the reading effect in logits, of raters with these slopes; None without one."""
        impression = self.effects.get("impression")
        return self.effects.get("halo") if impression is None else slope**2 * float(impression[0])

    def _besides(self, slope: Array) -> Array | None:
        """(raters,): the variance of what moves scores besides ability, which capability is averaged over."""
        bias = self.effects.get("bias")
        return self.halo_of(slope) if bias is None else bias**2

    def _through_besides(self, slope: Array) -> sparse.csr_array:
        """Slopes, severities and these variances by slopes, severities and the parameters that they follow from."""
        n = len(slope)
        by_slope, own = None, sparse.eye_array(n)
        if "impression" in self.effects:
            by_slope = sparse.diags_array(2 * slope * float(self.effects["impression"][0]))
            own = sparse.csr_array((slope**2)[:, None])
        elif (bias := self.effects.get("bias")) is not None:
            own = sparse.diags_array(2 * bias)
        each = sparse.eye_array(n)
        return sparse.csr_array(
            sparse.block_array([[each, None, None], [None, each, None], [by_slope, None, own]], format="csr")
        )

    def _largest(self, stretch: float = 1.0) -> float | None:
        return None if self.spread is None else stretch * self.spread.largest

    def curve(self, item: str | None = None, rater: int | None = None) -> Curve:
        """How the expected score follows the predictor, on average over items or on the one named; of all raters, or of
        one, where they use the scale in their own ways."""
        if (marks := self.marks) is not None:
            noise = self.effects[NOISE]
            return _mark_curve(marks, float(noise.mean() if rater is None else noise[rater]))
        moved = None if rater is None else self.effects.get(RATER_THRESHOLD)
        return self._curve(item, 0.0 if moved is None else moved[rater])

    def own_curves(self, item: str | None = None) -> OwnCurves | None:
        """The curve of each rater, where they use the scale in their own ways."""
        if (marks := self.marks) is not None:
            by_rater = [
                tuple(_mark_curve(marks, own + off * NEARBY / 2) for off in (0, -1, 1))
                for own in self.effects[NOISE].tolist()
            ]
            curves, nearby = zip(*((own, (pair,)) for own, *pair in by_rater), strict=True)
            return OwnCurves(curves, nearby, self.curve_covariance)
        moved = self.effects.get(RATER_THRESHOLD)
        if moved is None or not moved.any():  # a spread of 0
            return None
        contrasts = (
            RaterThresholds(len(moved), moved.shape[1], self.scale == "graded").contrasts.T * NEARBY / 2
        )
        nearby = tuple(
            tuple((self._curve(item, own - step), self._curve(item, own + step)) for step in contrasts)
            for own in moved
        )
        return OwnCurves(tuple(self._curve(item, own) for own in moved), nearby, self.curve_covariance)

    def _curve(self, item: str | None, moved: Array | float) -> Curve:
        """With thresholds moved by so much."""
        thresholds = self.effects.get("threshold")
        if thresholds is not None and item is not None and len(thresholds) > 1:
            thresholds = thresholds[[self._item(item)]]
        thresholds = None if thresholds is None else thresholds + moved
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
        spread = self.covariance
        if isinstance(spread, np.ndarray):
            covariance: Any = [row[: i + 1] for i, row in enumerate(spread)]
        elif spread is not None:
            coo = sparse.tril(spread).tocoo()
            covariance = {"row": coo.row.tolist(), "column": coo.col.tolist(), "value": coo.data.tolist()}
        else:
            covariance = None
        return {
            "model": self.model,
            "link": self.link,
            "scale": self.scale,
            "scores": list(self.scores),
            "labels": {name: labels.cast(pl.String).to_list() for name, labels in self.labels.items()},
            # JSON has no NaN.
            "effects": {
                name: np.where(np.isnan(values), np.array(None), values).tolist()
                for name, values in self.effects.items()
            },
            "covariance": covariance,
            "falling": self.falling.tolist(),
            "covariates": list(self.covariates),
            "anchored": self.anchored,
            "at_limit": None if self.at_limit is None else self.at_limit.tolist(),
            "apart": None if self.apart is None else self.apart.tolist(),
            "spread": None if self.spread is None else asdict(self.spread),
            "known_slope": self.known_slope,
            "extreme": None if self.extreme is None else self.extreme.tolist(),
            "item_variance": None if self.item_variance is None else self.item_variance.tolist(),
            "curve_covariance": None if self.curve_covariance is None else self.curve_covariance.tolist(),
            "between_variance": self.between_variance,
            "score_step": self.score_step,
            "repeats": self.repeats,
            "limits": None
            if self.limits is None
            else {name: values.tolist() for name, values in asdict(self.limits).items()},
        }

    @staticmethod
    def from_plain(content: dict[str, Any]) -> "Calibration":
        effects = {name: np.array(values, float) for name, values in content["effects"].items()}
        _check_lengths(content, len(effects["severity"]), len(effects["difficulty"]))
        size = sum(len(effects[name]) for name in COVARYING if name in effects)
        spread: Array | sparse.csr_array | None = None
        if isinstance(content["covariance"], list):
            lower = np.zeros((size, size))
            for i, row in enumerate(content["covariance"]):
                lower[i, : i + 1] = row
            spread = lower + np.tril(lower, -1).T
        elif content["covariance"] is not None:
            parts = content["covariance"]
            half = sparse.csr_array((parts["value"], (parts["row"], parts["column"])), shape=(size, size))
            spread = sparse.csr_array(half + sparse.tril(half, -1).T)
        return Calibration(
            content["model"],
            content["link"],
            content["scale"],
            tuple(content["scores"]),
            {name: pl.Series(labels, dtype=pl.String) for name, labels in content["labels"].items()},
            effects,
            spread,
            np.array(content["falling"], float),
            tuple(content["covariates"]),
            content["anchored"],
            _mask(content["at_limit"]),
            _mask(content["apart"]),
            None if content["spread"] is None else PanelSpread(**content["spread"]),
            content.get("known_slope"),
            _mask(content.get("extreme")),
            None if content.get("item_variance") is None else np.array(content["item_variance"], float),
            None
            if content.get("limits") is None
            else SlopeLimits(**{name: np.array(values, float) for name, values in content["limits"].items()}),
            None if content.get("curve_covariance") is None else np.array(content["curve_covariance"], float),
            content.get("between_variance", 0.0),
            content.get("score_step", 1.0),
            content.get("repeats", "separate"),
        )


def _check_lengths(content: dict[str, Any], n_raters: int, n_items: int) -> None:
    """Raise where something is not said of every rater or item."""
    of_raters = {name: content.get(name) for name in ("falling", "at_limit", "apart", "extreme")}
    of_raters["labels"] = content["labels"]["rater"]
    for name, values in of_raters.items():
        if values is not None and len(values) != n_raters:
            raise ValueError(f"{name} of {len(values)} raters, where there are {n_raters}")
    if len(content["labels"]["item"]) != n_items:
        raise ValueError(f"labels of {len(content['labels']['item'])} items, where there are {n_items}")


def _mask(values: list[bool] | None) -> Mask | None:
    return None if values is None else np.array(values, bool)


_LABELLED = {
    "slope": "rater",
    "severity": "rater",
    "halo": "rater",
    "bias": "rater",
    "difficulty": "item",
    "item_slope": "item",
}
COVARYING = ("slope", "severity", "halo", "impression", "bias", "difficulty", "item_slope")


def _mark_curve(marks: Marks, log_noise: float) -> MarkCurve:
    values = marks.values
    span = marks.highest / marks.unit
    return MarkCurve((values[1:] + values[:-1]) / 2, float(np.exp(log_noise)), span, marks.probabilities)


def _column(values: Array, place: int, width: int) -> sparse.csr_array:
    rows = np.arange(len(values))
    return sparse.csr_array((values, (rows, np.full(len(values), place))), shape=(len(values), width))
