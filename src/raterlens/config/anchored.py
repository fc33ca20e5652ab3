"""What a fit must not estimate, and the scale of the fit that it comes from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Anchors:
    """What a fit must not estimate.

    Everything is on the scale of the predictor, ``S = slope * theta - severity - difficulty``: a slope is rho times
    sigma, and a severity is eta minus alpha. `rl.fit(..., anchors=earlier_fit)` takes them from a fit. Where a rater's
    slope and severity and an item's difficulty are held, they fix the scale of ability, and the mean and standard
    deviation of the students on it are estimated (`fit.table("population")`); otherwise students are standard normal.

    Parameters
    ----------
    raters
        A rater's (slope, severity); None in place of either leaves it free.
    items
        An item's difficulty.
    item_slopes
        An item's slope, for a fit with `item_slopes=True`.
    facets
        For each further facet, the effects of its levels.
    thresholds
        Between ordered scores: one list for the scales `rating scale` and `graded`, or each item's own list for
        `partial credit`.
    earlier
        Of the fit that the anchors come from: its scores, sigma, alpha and population. Anchored levels that the
        ratings do not have are then passed over.

    Examples
    --------
    >>> import raterlens as rl
    >>> fit = rl.fit(rl.load_example(), anchors=rl.Anchors(items={"specificity": -1.4, "content": 1.9}))
    >>> fit.items.filter(item="specificity")["delta"].item()
    -1.4
    """

    raters: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    items: Mapping[str, float] = field(default_factory=dict)
    item_slopes: Mapping[str, float] = field(default_factory=dict)
    facets: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    thresholds: Sequence[float] | Mapping[str, Sequence[float]] | None = None
    earlier: "EarlierScale | None" = None

    @staticmethod
    def from_plain(content: Mapping[str, Any]) -> "Anchors":
        """From what `dataclasses.asdict` and JSON made of it."""
        known = dict(content)
        known["raters"] = {label: tuple(pair) for label, pair in content["raters"].items()}
        if content["earlier"] is not None:
            earlier = content["earlier"]
            known["earlier"] = EarlierScale(**earlier | {"scores": tuple(earlier["scores"])})
        return Anchors(**known)


@dataclass(frozen=True, slots=True)
class EarlierScale:
    """The scale of an earlier fit, which is the default where it anchors another."""

    scores: tuple[int, ...]
    """The scores that it knows."""
    sigma: float | None
    """Slope of its yardstick; None where that is a rater without noise."""
    alpha: float
    population: str
