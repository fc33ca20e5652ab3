"""An estimation of a facets model: what it is given, what it ends in, and where it begins."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy import special

from raterlens.base.arrays import Array, Indices, Mask, take_in_blocks
from raterlens.capability.links import Link
from raterlens.capability.yardstick import LARGEST_SLOPE
from raterlens.estimation.checkpoint import Checkpoint
from raterlens.estimation.optimiser import Estimate, Optimum, Search, Space
from raterlens.likelihood.engines.contract import Matrix
from raterlens.likelihood.marginal import FacetsMarginal
from raterlens.likelihood.nodes import Moments, Nodes
from raterlens.likelihood.priors import PanelPrior, Spread
from raterlens.models.calibration import PanelSpread
from raterlens.models.facets import FacetsModel, centre
from raterlens.models.responses import Response
from raterlens.models.term import RATING_INFORMATION, START_SLOPE, Beginning
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True, slots=True, eq=False)
class Maximum:
    """Where climbs ended, and how many did."""

    objective: float
    parameters: Array
    found: int


@dataclass(frozen=True, slots=True)
class Covariance:
    """Covariance of the centred parameters."""

    matrix: Matrix
    """Sparse for large panels: each rater's own block, and one of everything else."""
    undetermined: Indices
    """Parameters that the data say next to nothing about; their variances are large but finite."""
    steadied: float = 0.0
    """Relative addition to every parameter's information that made the matrix invertible."""


@dataclass(frozen=True, slots=True)
class FacetsEstimate(Estimate[FacetsMarginal]):
    """Estimates of a facets model."""

    at_limit: Mask
    """Parameters that ran as far as they may; before centring, which moves slopes where items have theirs."""
    covariance: Covariance | None = None
    """Where it was needed for the estimates."""
    panel_spread: PanelSpread | None = None
    """By the posterior over the spreads of the prior, on small panels."""
    drifts: tuple[Array, ...] = ()
    """How far off estimates are where the spread of a term is off by its standard error, of terms that have one for
    certain."""
    shared: "SharedTest | None" = None
    """Whether raters share a second ability, where that was looked for."""
    spreads: tuple[Spread, ...] = ()
    """Findings about each interaction term, if the model has any."""
    maxima: tuple[Maximum, ...] = ()
    """The best and others that other starts led to, where there may be several."""

    @staticmethod
    def at(
        problem: FacetsMarginal, found: Optimum, nodes: Nodes, moments: Moments, held: Mask
    ) -> "FacetsEstimate":
        """The estimate from an optimum, centred; `moments` are those of the optimum's abilities."""
        model, x = problem.model, found.parameters
        at_limit = model.at_limit(x) & ~held
        return FacetsEstimate(
            problem, centre(model, x, held), found.value, nodes, moments, found.record, held, at_limit
        )

    @property
    def model(self) -> FacetsModel:
        return self.problem.model

    @property
    def raters_at_limit(self) -> Mask:
        """(raters,): whose slope or severity ran as far as it may."""
        model, n = self.model, self.model.n_raters
        slope, severity = (self.at_limit[model.blocks[name]] for name in ("slope", "severity"))
        if len(slope) < n:
            slope = np.abs(model.slope(self.parameters[model.blocks["slope"]])) >= LARGEST_SLOPE
        return np.asarray(slope | (severity if len(severity) == n else False))


@dataclass(frozen=True, slots=True)
class Where:
    """Where an estimation is carried out, and kept against interruption."""

    checkpoint: Checkpoint | None = None
    client: "Client | None" = None


@dataclass(frozen=True, slots=True)
class Known:
    """Knowledge of the parameters before the ratings are seen; NaN where there is none."""

    held: Array | None = None
    """Values of parameters that are not to be estimated."""
    begin: Array | None = None
    """Values to begin from."""
    allow_reversed: bool = False
    """Slopes may be negative."""
    prior: PanelPrior | None = None
    """Prior of raters in general; with it, slopes may be negative."""


@dataclass(frozen=True, slots=True)
class Task:
    """An estimation, all set."""

    ratings: Ratings
    link: Link
    problem: FacetsMarginal
    start: Array
    space: Space
    held: Mask
    search: Search


# ----------------------------------------------------------------------------------------------------
# Starting values, and the scale of each parameter from the information they imply.

# Of the largest information: less is none.
_NOTHING = 1e-12


def starting_values(ratings: Ratings, model: FacetsModel, link: Link) -> Array:
    """As each term begins: severities and difficulties from pass rates through the link, all slopes equal."""
    # Averaging over ability flattens the curve; sqrt(1 + a^2 / 3) undoes most of it.
    return model.start(Beginning(ratings, model.contexts, link, float(np.sqrt(1 + START_SLOPE**2 / 3))))


def information_scale(model: FacetsModel, start: Array, n_students: int = 1) -> Array:
    """Diagonal of the complete-data information, roughly: what scales the optimiser's coordinates."""
    given = model.contexts.given.sum(axis=1)
    each = max(term.told for term in model.terms)
    per_row = each * np.concatenate([given, np.repeat(given, len(model.lever))])
    found = np.asarray(model.jacobian(start).power(2).T @ per_row)
    for term in model.terms:
        own = term.information(model, start, n_students)
        if own is not None:
            found[model.blocks[term.name]] = own
    # Where every slope begins at 0, nothing tells of the students, and coordinates need a scale all the same.
    return np.where(found > _NOTHING * found.max(initial=0.0), found, 1.0)


def starting_widths(ratings: Ratings, response: Response) -> Array:
    """Posterior standard deviations of the students at the starting slope: what the first grid must resolve."""
    given = ratings.tally("student").n
    # The more scores there are, the more a rating varies, if less than the square of their range.
    each = 1.0 if response.least_noise else RATING_INFORMATION * (ratings.n_categories - 1) ** 1.75
    # Of students there can be millions, but few numbers of ratings.
    widths = 1 / np.sqrt(1 + START_SLOPE**2 * each * np.arange(int(given.max(initial=0)) + 1))
    return take_in_blocks(widths, given)


# ----------------------------------------------------------------------------------------------------
# Does the shared dimension belong in the model? A likelihood ratio against ratings drawn from the model without it.
#
# The score for a bias vanishes where all are 0, so that the ratio is no chi-squared variable: with as many degrees of
# freedom as raters who may share, that would reject 21 % where nothing is shared. It still bounds the ratio's 5 % point
# from below, so that a smaller one needs no drawing, nor does one that is several times as large.

LEVEL = 0.05
REPLICATES = 39
"""The second ratio that is at least as large settles it: p = 3 / 40 and above."""
_SEVERAL = 4.0
_MOST_BEYOND = int(LEVEL * (REPLICATES + 1)) - 1
# Replicates after which a ratio far beyond all of them needs no more: by a gamma distribution like theirs.
_FEWEST, _CLEAR = 12, 1e-3
ROUGH = 0.02
"""How near their maximum, in standard errors, replicates are followed."""


@dataclass(frozen=True, slots=True)
class SharedTest:
    ratio: float
    p: float | None
    """None where nothing had to be drawn."""
    replicates: int
    found: bool

    def words(self) -> str:
        """Sentence on what an accepted dimension means."""
        return (
            "raters agree on something besides the truth (twice the rise in log-likelihood is "
            f"{self.ratio:.0f}): capability and sharpness are on the scale of the known answers and trusted raters, "
            "and `bias` says how much each rater follows what they share"
        )

    def table(self) -> pl.DataFrame:
        columns = {"ratio": self.ratio, "p": self.p, "replicates": self.replicates, "found": self.found}
        return pl.DataFrame(columns, schema_overrides={"p": pl.Float64})


def judged(ratio: float, n_free: int, drawn: Callable[[int], float]) -> SharedTest:
    """The verdict on a ratio; `drawn` gives that of the replicate of a number."""
    point = float(special.chdtri(n_free, LEVEL))
    if not point < ratio <= _SEVERAL * point:
        return SharedTest(ratio, None, 0, ratio > point)
    ratios: list[float] = []
    for number in range(REPLICATES):
        ratios.append(drawn(number))
        beyond = sum(each >= ratio for each in ratios)
        if beyond > _MOST_BEYOND:
            break
        if beyond == 0 and len(ratios) >= _FEWEST and (p := _tail(ratio, ratios)) < _CLEAR:
            return SharedTest(ratio, p, len(ratios), True)
    p = (beyond + 1) / (len(ratios) + 1)
    return SharedTest(ratio, p, len(ratios), beyond <= _MOST_BEYOND)


def _tail(ratio: float, ratios: list[float]) -> float:
    """Beyond a ratio, of a gamma distribution with the mean and variance of those drawn."""
    mean, variance = float(np.mean(ratios)), float(np.var(ratios, ddof=1))
    return float(special.gammaincc(mean**2 / variance, ratio * mean / variance))


def settled(ratio: float) -> SharedTest:
    """Where nobody asks whether it belongs there."""
    return SharedTest(ratio, None, 0, True)
