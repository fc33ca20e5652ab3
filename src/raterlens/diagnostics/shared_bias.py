"""Do raters share something that the trusted raters do not see?

Raters who share a bias agree with each other. A fit of everyone takes what they share for ability, finds them capable
and finds those who do not share it wanting: nothing within it tells. It takes raters who are trusted for other reasons,
such as human experts beside LLM judges. Ability is then what the trusted raters see.

Given ability, two raters' scores are independent. With w the posterior of a student's ability from the trusted ratings
alone, and m(theta) a rater's expected score,

    (y_j - E_w m_j) (y_k - E_w m_k) - Cov_w(m_j, m_k)

has expectation 0; with an impression of variance tau^2 (in the units of the predictor) that j and k share besides
ability it has expectation tau^2 E m_j' m_k', to first order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse, special

from raterlens.base.errors import InputError, OptionError, choose
from raterlens.base.text import Message, Option, counted, listed
from raterlens.base.types import Array, Indices
from raterlens.diagnostics.capability_scale import unit_of
from raterlens.diagnostics.score_tests import adjusted
from raterlens.engine.cells import rating_cells
from raterlens.engine.protocol import Nodes
from raterlens.estimation.methods import sharp_nodes
from raterlens.estimation.scoring import place
from raterlens.models.calibration import Calibration
from raterlens.ratings.backend import as_came
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.config import FitOptions
    from raterlens.facade import Fit

LEAST = 0.3
"""A shared impression matters from this standard deviation on, in the units of the link."""
CHANCE = 0.01
"""Adjusted for the number of raters. All of them are seen against the same trusted ratings, so chances go together."""
FEWEST = 30
"""Students rated by trusted and other raters, for a normal approximation of sums over them."""
_BLOCK = 2**14


@dataclass(frozen=True, slots=True, eq=False)
class SharedBias:
    """What every rater has in common with the others beyond the ability that the trusted raters see."""

    table: pl.DataFrame
    """A row per rater: rater, trusted, kappa_panel (as a fit of everyone has it), kappa (on the trusted raters' own
    scale) with its interval, shared (standard deviation of the shared impression, in the units of the predictor), z
    and p (adjusted for the number of raters), flagged."""
    correlation: float
    """Between abilities according to the trusted raters and according to the others."""
    correlation_expected: float
    """What it would be if both saw the same ability."""
    n_students: int
    """Rated by trusted and other raters."""
    unit: str = "logits"
    """What `shared` is measured in"""
    backend: Any = "polars"

    @property
    def raters(self) -> Any:
        """`table` as the kind of dataframe that came in."""
        return as_came(self.table, self.backend)

    @property
    def found(self) -> bool:
        """Somebody shares what the trusted raters do not see."""
        return bool(self.table["flagged"].any())

    def summary(self) -> str:
        """What was found, and the next step, in a few lines."""
        trusted, flagged = self.table.filter("trusted")["rater"], self.table.filter("flagged")
        seen = (
            f"abilities by the trusted ({listed(trusted, 4)}) and by the others correlate {self.correlation:.2f}; "
            f"{self.correlation_expected:.2f} is expected of raters who see the same"
        )
        if not self.found:
            return f"No shared bias found in {counted(self.n_students, 'student')}: {seen}."
        lines = [f"Shared bias: {seen}."]
        lines += [
            f"  {row['rater']}: kappa {row['kappa_panel']:.2f} in the panel, {row['kappa']:.2f} by the trusted raters; "
            f"shares an impression of {row['shared']:.2f} {self.unit} with the others"
            for row in flagged.iter_rows(named=True)
        ]
        lines.append(
            "Next: read answers on which they agree with each other against the trusted raters; fit with "
            f"trusted={trusted.to_list()!r}, which lets the others share a bias and measures everyone on the trusted "
            "raters' scale"
        )
        return "\n".join(lines)


def check_shared_bias(fit: "Fit", ratings: Ratings, *, trusted: Sequence[str]) -> SharedBias:
    """Compare what trusted raters see with what the others have in common: `Fit.check_shared_bias`."""
    labels = ratings.raters.cast(pl.String).to_list()
    chosen = [labels.index(choose("trusted rater", str(name), labels)) for name in dict.fromkeys(trusted)]
    others = [code for code in range(len(labels)) if code not in chosen]
    _check(fit, ratings, chosen, others)
    view = _TrustedView.of(fit, ratings, np.isin(ratings.rater, chosen))
    panel = dict(zip(labels, fit.table("raters")["kappa"], strict=True))
    raters = [view.rater(code, ratings, fit) for code in others]
    shared = view.shared(raters)
    p = adjusted(special.ndtr(-shared.z))
    size = np.sqrt(np.maximum(shared.variance, 0.0))
    rows = [_row(labels[code], True, panel, view.kappa(labels[code])) for code in chosen]
    rows += [
        _row(labels[code], False, panel, rater.kappa)
        | {
            "shared": size[k],
            "z": shared.z[k],
            "p": p[k],
            "flagged": bool(p[k] <= CHANCE and size[k] >= LEAST),
        }
        for k, (code, rater) in enumerate(zip(others, raters, strict=True))
    ]
    correlation, expected = _correlations(fit, ratings, view.fit, others)
    table = pl.DataFrame(rows, infer_schema_length=None)
    return SharedBias(table, correlation, expected, shared.n, unit_of(fit.link), fit.backend)


def _check(fit: "Fit", ratings: Ratings, trusted: list[int], others: list[int]) -> None:
    if fit.calibration is None:
        raise OptionError(
            f"model {fit.model!r} has no ability to compare", "fit 'gmf' or 'tfm'", option="model"
        )
    if ratings.facets:
        raise OptionError(
            "ratings with further facets are not supported here",
            Message("read them without ", Option("facets")),
            option="facets",
        )
    if not trusted:
        raise OptionError(
            "no trusted raters",
            Message("name those whose view defines ability, for example ", Option("trusted", ["Ann", "Bob"])),
            option="trusted",
        )
    if len(others) < 2:
        raise OptionError(
            f"{counted(len(others), 'rater')} besides the trusted ones",
            "it takes two to share a bias",
            option="trusted",
        )
    by_trusted = np.unique(ratings.student[np.isin(ratings.rater, trusted)])
    both = np.intersect1d(by_trusted, ratings.student[np.isin(ratings.rater, others)])
    if len(both) < FEWEST:
        raise InputError(
            f"{counted(len(both), 'student')} rated by both trusted and other raters",
            f"the check needs at least {FEWEST}",
            value=len(both),
            option="trusted",
        )


@dataclass(frozen=True, slots=True, eq=False)
class _OtherRater:
    """An untrusted rater on the trusted raters' scale."""

    kappa: dict[str, float]
    total: Array
    """(students,) sum of scores, as shares of their range"""
    counts: sparse.csr_array
    """(students, items) ratings"""
    mean: Array
    """(items, nodes) expected score"""
    rise: Array
    """(items, nodes) its derivative in the predictor"""


@dataclass(frozen=True, slots=True)
class _SharedVariance:
    """Of what each other rater shares with the rest of them."""

    z: Array
    variance: Array
    n: int
    """Students"""


@dataclass(frozen=True, slots=True, eq=False)
class _TrustedView:
    """The trusted raters' fit, and what it says of every student it knows."""

    fit: "Fit"
    rows: NDArray[np.bool_]
    """Ratings by trusted raters"""
    students: Indices
    """Codes of the students that they rated"""
    nodes: Nodes
    log_posterior: tuple[sparse.csr_array, Array]
    """Cells of every student, and log-probabilities of cells at the nodes"""

    @staticmethod
    def of(everyone: "Fit", ratings: Ratings, rows: NDArray[np.bool_]) -> "_TrustedView":
        part = replace(ratings.subset(rows), known=None)
        part.check_estimable()
        fit = _fitted(everyone, part)
        assert fit.calibration is not None
        placed = place(fit.calibration, part)
        problem = placed.problem
        nodes = sharp_nodes(problem, placed.parameters, placed.abilities())
        k = problem.response.n_categories
        log_prob = problem.response.log_prob(problem.model.predictor(placed.parameters), nodes.points)
        cells = rating_cells(placed.ratings, problem.model.contexts, k)
        return _TrustedView(
            fit,
            rows,
            np.unique(ratings.student[rows]),
            nodes,
            (cells, log_prob.reshape(-1, len(nodes.points))),
        )

    def kappa(self, rater: str) -> dict[str, float]:
        return _kappa(self.fit, rater)

    def rater(self, code: int, ratings: Ratings, everyone: "Fit") -> _OtherRater:
        """One rater beside the trusted, who are held fixed: nobody else can vouch for this one."""
        label = str(ratings.raters[code])
        part = replace(ratings.subset(self.rows | (ratings.rater == code)), known=None)
        fit = _fitted(everyone, part, anchors=self.fit)
        calibration = fit.calibration
        assert calibration is not None
        theirs = np.flatnonzero((ratings.rater == code) & np.isin(ratings.student, self.students))
        student = np.searchsorted(self.students, ratings.student[theirs])
        shape = (len(self.students), ratings.n_items)
        highest = max(calibration.scores)
        mean, rise = _curves(calibration, label, ratings.items, self.nodes.points)
        return _OtherRater(
            _kappa(fit, label),
            np.bincount(student, ratings.score[theirs] / highest, shape[0]).astype(np.float64),
            sparse.csr_array((np.ones(len(theirs)), (student, ratings.item[theirs])), shape=shape),
            mean,
            rise,
        )

    def shared(self, raters: list[_OtherRater]) -> _SharedVariance:
        """Products of residuals with those of all the others, over what the trusted raters leave open."""
        together, squared, weight = np.zeros((3, len(raters)))
        rated = sum(rater.counts.sum(axis=1) > 0 for rater in raters)
        for rows, posterior in self._posteriors():
            expected = np.stack([rater.counts[rows] @ rater.mean for rater in raters])
            rise = np.stack([rater.counts[rows] @ rater.rise for rater in raters])
            mean = np.einsum("nq,jnq->jn", posterior, expected)
            away = np.stack([rater.total[rows] for rater in raters]) - mean
            expected -= mean[:, :, None]
            # What holds of a rater who did not rate a student is 0 throughout.
            by_chance = np.einsum("nq,jnq,nq->jn", posterior, expected, expected.sum(axis=0))
            by_chance -= np.einsum("nq,jnq->jn", posterior, expected**2)
            excess = away * (away.sum(axis=0) - away) - by_chance
            together += excess.sum(axis=1)
            squared += (excess**2).sum(axis=1)
            weight += np.einsum("nq,jnq->j", posterior, rise * (rise.sum(axis=0) - rise))
        with np.errstate(invalid="ignore", divide="ignore"):
            return _SharedVariance(
                together / np.sqrt(squared), together / weight, int(np.count_nonzero(rated))
            )

    def _posteriors(self) -> Iterator[tuple[slice, Array]]:
        cells, log_prob = self.log_posterior
        for first in range(0, len(self.students), _BLOCK):
            rows = slice(first, first + _BLOCK)
            log = cells[rows] @ log_prob + self.nodes.log_weights
            yield rows, special.softmax(log, axis=1)


def _fitted(everyone: "Fit", ratings: Ratings, anchors: "Fit | None" = None) -> "Fit":
    # Slopes of their own for all, whatever the fit of everyone has: an untrusted rater may be blunt. What depends on
    # the whole panel is left out: this is a part of it.
    options: FitOptions = {"model": "gmf", "method": "mml", "link": everyone.link, "anchors": anchors}
    alone: FitOptions = {
        "reference": None,
        "origin": None,
        "covariates": None,
        "trusted": None,
        "shared": "no",
    }
    errors: FitOptions = {"standard_errors": True, "covariance": "observed"}
    return everyone.refit(ratings, **options | alone | errors)


def _kappa(fit: "Fit", rater: str) -> dict[str, float]:
    row = fit.table("raters").filter(pl.col("rater").cast(pl.String) == rater)
    return {name: row[name].item() for name in ("kappa", "kappa_low", "kappa_high")}


def _row(rater: str, trusted: bool, panel: dict[str, float], kappa: dict[str, float]) -> dict[str, Any]:
    unknown = {"shared": None, "z": None, "p": None, "flagged": False}
    return {"rater": rater, "trusted": trusted, "kappa_panel": panel[rater], **kappa, **unknown}


def _curves(calibration: Calibration, rater: str, items: pl.Series, theta: Array) -> tuple[Array, Array]:
    """(items, nodes): a rater's expected score on every item, and its derivative in the predictor."""
    known = list(calibration.labels["item"].cast(pl.String))
    code = list(calibration.labels["rater"].cast(pl.String)).index(rater)
    mean, rise = np.zeros((2, len(items), len(theta)))
    for row, item in enumerate(items.cast(pl.String)):
        if item in known:
            panel, curve = calibration.panel(item), calibration.curve(item)
            predictor = panel.slope[code] * theta - panel.severity[code]
            mean[row], rise[row] = curve.mean(predictor), curve.density(predictor)
    return mean, rise


def _correlations(fit: "Fit", ratings: Ratings, trusted: "Fit", others: list[int]) -> tuple[float, float]:
    """Of abilities by the trusted and by the others, in students that both know: as it is, and as it should be."""
    untrusted = _fitted(fit, ratings.subset(np.isin(ratings.rater, others)))
    columns = ("student", "theta", "theta_se")
    both = (
        trusted.table("students")
        .select(columns)
        .join(untrusted.table("students").select(columns), on="student")
    )
    one, other = both["theta"].to_numpy(), both["theta_right"].to_numpy()
    reliable = [1 - np.mean(both[name].to_numpy() ** 2) for name in ("theta_se", "theta_se_right")]
    return float(np.corrcoef(one, other)[0, 1]), float(np.sqrt(np.prod(np.maximum(reliable, 0.0))))
