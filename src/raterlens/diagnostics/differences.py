"""Do raters differ at all? One test each for severity, sharpness, halo and drift, before anybody is ranked."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from scipy import linalg, special

from raterlens.base.arrays import Array, Mask
from raterlens.base.errors import RaterlensError
from raterlens.config.option_fields import check_whole
from raterlens.diagnostics.rater_effects import LEVEL, adjusted
from raterlens.estimation.scoring import place
from raterlens.inference.resampling import redrawn
from raterlens.ratings.coded import Backend, to_backend

if TYPE_CHECKING:
    from raterlens.config import FitOptions
    from raterlens.diagnostics.diagnosis import Diagnosis
    from raterlens.fitting.fit import Fit
    from raterlens.models.panel import PanelSpread
    from raterlens.ratings.coded import Ratings


# ----------------------------------------------------------------------------------------------- bootstrap ratio


# How often would chance alone make raters look as different? The likelihood ratio on ratings drawn from equal raters.
#
# On small panels the ratio of one slope per rater against one for all need not follow its chi-squared distribution:
# slopes end at 0 or at a limit. Ratings drawn from the model with one slope, on the same design, show what it follows.

# So many replicates at or above what was seen settle that it is nothing unusual (Besag and Clifford's rule).
ENOUGH = 20
# Of the prior's variance, the share that must have gone after the ratings for a difference to be tested.
_SAYS_SOMETHING = 0.95


def bootstrap_p(equal: "Fit", own: "Fit", ratings: "Ratings", replicates: int, seed: int = 0) -> float | None:
    """The share of panels of equal raters with a likelihood ratio as large as that between two fits.

    None where none of the panels drawn could be fitted.

    Parameters
    ----------
    equal, own
        Fits of the same ratings without a prior, the first with one slope for all raters.
    replicates
        At most; fewer where it is soon plain that the ratio is nothing unusual.
    """
    assert equal.calibration is not None
    seen = own.loglik - equal.loglik
    placed = place(equal.calibration, ratings)
    problem, scores = placed.problem, np.asarray(equal.calibration.scores, dtype=np.int16)
    above = done = 0
    for index in range(replicates):
        random = np.random.default_rng([seed, index])
        drawn = redrawn(placed.ratings, problem.model, problem.response, placed.parameters, random)
        drawn = drawn.with_scores(scores)
        try:
            one, each = (
                fit.refit(
                    drawn,
                    start=fit,
                    standard_errors=fit.yardstick.follows_from_errors,
                    **fit.settled(),
                )
                for fit in (equal, own)
            )
        except RaterlensError:  # all scores alike: no panel to compare with
            continue
        done += 1
        above += each.loglik - one.loglik >= seen
        if above == ENOUGH:
            return above / done
    return (above + 1) / (done + 1) if done else None


# --------------------------------------------------------------------------------------------------- differences


class Hypothesis(NamedTuple):
    """One hypothesis: that raters are equal, or that nobody has the fault."""

    of: str
    test: str
    statistic: float
    df: int
    p: float


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Whether raters differ beyond chance, and which model the data prefer."""

    tests: tuple[Hypothesis, ...]
    prefers: str = ""
    """In words, where two models were compared."""
    backend: Backend = "polars"

    @property
    def table(self) -> Any:
        """of, test, statistic, df, p"""
        schema = {
            "of": pl.String,
            "test": pl.String,
            "statistic": pl.Float64,
            "df": pl.Int64,
            "p": pl.Float64,
        }
        return to_backend(pl.DataFrame(self.tests, schema=schema, orient="row"), self.backend)

    @property
    def equal(self) -> bool:
        """Severity and sharpness were tested, and chance explains all differences: a ranking would rank luck. Halo and
        drift do not count, as all raters may have the same."""
        return bool(self._between()) and not self._differ()

    def _between(self) -> list[Hypothesis]:
        return [test for test in self.tests if test.of in _BETWEEN and np.isfinite(test.p)]

    def _differ(self) -> list[Hypothesis]:
        """Respects in which raters differ: by Holm's rule, so that equal raters are said to differ in about 5 % of
        panels."""
        by_p = sorted(self._between(), key=lambda test: test.p)
        kept = []
        for rank, test in enumerate(by_p):
            if test.p * (len(by_p) - rank) >= LEVEL:
                break
            kept.append(test)
        return [test for test in self._between() if test in kept]

    def words(self) -> list[str]:
        """ "Raters differ in severity (p < 0.001), but not clearly in sharpness (p = 0.12)."."""
        clear = self._differ()
        not_clear = [test for test in self._between() if test not in clear]
        said = []
        if clear and not_clear:
            said.append(f"Raters differ in {_listed(clear)}, but not clearly in {_listed(not_clear)}.")
        elif clear:
            said.append(f"Raters differ in {_listed(clear)}.")
        elif not_clear:
            said.append(f"Raters do not differ beyond chance: {_listed(not_clear)}.")
        within = [test for test in self.tests if test.of not in _BETWEEN and np.isfinite(test.p)]
        some, none = ([t for t in within if (t.p < LEVEL) == shown] for shown in (True, False))
        if some:
            said.append(f"Some raters show {_listed(some)}.")
        if none:
            said.append(f"There is no clear sign of {_listed(none, 'or')}.")
        return [*said, self.prefers] if self.prefers else said


_BETWEEN = ("severity", "sharpness")
"""Respects in which raters differ from each other; halo and drift are a rater's own."""


def differences(
    fit: "Fit",
    ratings: "Ratings | None" = None,
    diagnosis: "Diagnosis | None" = None,
    replicates: int = 0,
) -> Differences:
    """Test what can be tested with what is given: `Fit.differences`."""
    check_whole("replicates", replicates, 0)
    if fit.n_raters < 2:
        return Differences(())
    of_sharpness, prefers = sharpness_test(fit, ratings, replicates)
    tests = [severity_test(fit), of_sharpness]
    if diagnosis is not None:
        tests += [halo_test(diagnosis), drift_test(diagnosis)]
    return Differences(tuple(test for test in tests if test is not None), prefers, fit.backend)


def severity_test(fit: "Fit") -> Hypothesis | None:
    """That raters are equally severe, also on each item (or level) where the model lets their severity vary."""
    if (known := fit.calibration) is not None and known.covariates:
        return None
    found, spreads = _wald(fit, "severity", "eta"), fit.tables.get("spreads")
    if found is None or spreads is None:
        return found
    p = spreads.filter(pl.col("term").str.starts_with("rater:"))["p"].cast(pl.Float64).to_numpy()
    return _simes("severity", np.append(found.p, p)) if np.isfinite(p).all() and len(p) else found


def sharpness_test(
    fit: "Fit", ratings: "Ratings | None", replicates: int = 0
) -> tuple[Hypothesis | None, str]:
    """The test, and which of two models AIC and BIC prefer, where both were fitted."""
    known = fit.calibration
    if known is not None and (known.covariates or known.anchored):
        return None, ""
    if replicates and ratings is not None and _comparable(fit, ratings):
        return _likelihood_ratio(fit, ratings, replicates)
    return (None if fit.model == "tfm" else _wald(fit, "sharpness", "slope")), ""


def _comparable(fit: "Fit", ratings: "Ratings") -> bool:
    """Whether gmf and tfm can be compared by their likelihoods."""
    # A shared dimension comes with a ridge, and likelihoods are then not at their largest.
    ridged = fit.calibration is not None and fit.calibration.second_ability
    plain = fit.method == "mml" and fit.model in ("gmf", "tfm") and not ridged
    return plain and ratings.n_ratings == fit.n_ratings


def _likelihood_ratio(fit: "Fit", ratings: "Ratings", replicates: int) -> tuple[Hypothesis | None, str]:
    """Likelihood ratio of a slope per rater against one for all, next to its distribution by chance."""
    known = fit.calibration
    # Likelihoods are compared where they are largest: a prior moves estimates away from there.
    errors = fit.yardstick.follows_from_errors
    # What is settled is known by its names alone.
    plain: FitOptions = {"prior": None, "standard_errors": errors, **fit.settled()}  # type: ignore[typeddict-item]
    here = fit.refit(ratings, **plain) if known is not None and known.spread is not None else fit
    swapped: FitOptions = {**plain, "model": "tfm" if fit.model == "gmf" else "gmf"}
    other = fit.refit(ratings, **swapped)
    equal, own = (other, here) if fit.model == "gmf" else (here, other)
    if not other.converged or not here.converged:
        return None, ""
    ratio, df = max(2 * (own.loglik - equal.loglik), 0.0), own.n_parameters - equal.n_parameters
    kind, p = "likelihood ratio", float(special.chdtrc(df, ratio))
    drawn = bootstrap_p(equal, own, ratings, replicates, fit.config.seed) if replicates else None
    if drawn is not None:
        kind, p = "likelihood ratio, bootstrap", drawn
    return Hypothesis("sharpness", kind, ratio, df, p), _preferred(own, equal)


def halo_test(diagnosis: "Diagnosis") -> Hypothesis | None:
    """That no rater's scores of a student correlate beyond ability."""
    effects = diagnosis.tables["effects"]
    size, se = (effects[name].cast(pl.Float64).to_numpy() for name in ("halo", "halo_se"))
    known = np.isfinite(size) & np.isfinite(se) & (se > 0)
    if not known.any():
        return None
    return _simes("halo", np.asarray(special.ndtr(-size[known] / se[known])))


def drift_test(diagnosis: "Diagnosis") -> Hypothesis | None:
    """That no rater's severity changed over time."""
    if "change" not in diagnosis.tables:
        return None
    p = diagnosis.tables["change"]["p"].cast(pl.Float64).to_numpy()
    return _simes("drift", p[np.isfinite(p)]) if np.isfinite(p).any() else None


def _simes(of: str, p: Array) -> Hypothesis:
    return Hypothesis(of, "Simes", float("nan"), len(p), float(np.min(adjusted(p))))


def _wald(fit: "Fit", of: str, column: str) -> Hypothesis | None:
    """That all raters have the same slope or severity, over those whose estimate is not at a limit."""
    known = fit.calibration
    raters = fit.table("raters")
    spread = None if known is None else known.covariance
    if known is not None and isinstance(spread, np.ndarray):
        panel = known.without_errors.panel()
        n, own = len(panel.slope), panel.slope if column == "slope" else panel.severity
        first = 0 if column == "slope" else n
        estimated = spread.diagonal()[first : first + n] > 0  # anchored ones are held
        rows = np.flatnonzero(~panel.aside & estimated & ~((panel.slope == 0) & (column == "slope")))
        if known.spread is not None:
            p = known.spread.slope_p if column == "slope" else known.spread.severity_p
            if p is not None:
                ratio = float(special.chdtri(n - 1, max(p, np.finfo(np.float64).tiny)))
                return Hypothesis(of, "likelihood ratio", ratio, n - 1, p)
        value, joint = own[rows], spread[np.ix_(first + rows, first + rows)]
        drawn_by = _prior_spread(known.spread, column)
        if column == "slope":  # on a scale on which steep slopes are known about as well as others
            rise = 1 / np.sqrt(1 + value**2)
            value, joint = np.arcsinh(value), rise[:, None] * joint * rise
            drawn_by *= float(np.mean(rise))
        return _quadratic(of, value, joint) if np.isinf(drawn_by) else _drawn(of, value, joint, drawn_by)
    column = "rho" if column == "slope" and known is not None else column
    value, error = (raters[name].cast(pl.Float64).to_numpy() for name in (column, f"{column}_se"))
    usable: Mask = np.isfinite(value) & np.isfinite(error) & (error > 0)
    return _quadratic(of, value[usable], np.diag(error[usable] ** 2))


def _prior_spread(spread: "PanelSpread | None", column: str) -> float:
    """Standard deviation of the prior that draws slopes or severities to their mean; infinite without one."""
    if spread is None:
        return np.inf
    return spread.severity if column == "severity" else spread.slope or np.inf


def _drawn(of: str, value: Array, spread: Array, drawn_by: float) -> Hypothesis | None:
    """That raters are equal, from estimates that a prior of this standard deviation has drawn to their mean.

    With a covariance V after the ratings and a prior of variance v², estimates of equal raters vary by V - V V / v²:
    less than V, which would make raters look equal who are not. Directions of which the ratings say next to nothing
    (V nearly v²) do not count.
    """
    n = len(value)
    if n < 2:
        return None
    contrasts = linalg.helmert(n)
    variance, directions = np.linalg.eigh(contrasts @ spread @ contrasts.T)
    known = (variance > 0) & (variance < _SAYS_SOMETHING * drawn_by**2)
    if not known.any():
        return None
    off = (directions.T @ (contrasts @ value))[known]
    by_chance = variance[known] * (1 - variance[known] / drawn_by**2)
    chi, df = float(np.sum(off**2 / by_chance)), int(known.sum())
    return Hypothesis(of, "Wald", chi, df, float(special.chdtrc(df, chi)))


def _quadratic(of: str, value: Array, spread: Array) -> Hypothesis | None:
    n = len(value)
    if n < 2:
        return None
    if np.count_nonzero(spread - np.diag(spread.diagonal())) == 0:
        weight = 1 / spread.diagonal()
        chi = float(weight @ (value - weight @ value / weight.sum()) ** 2)
    else:
        # Contrasts with the last one: any other choice gives the same.
        off = value[:-1] - value[-1]
        of_contrasts = spread[:-1, :-1] - spread[:-1, -1:] - spread[-1:, :-1] + spread[-1, -1]
        chi = float(off @ _solved(of_contrasts, off))
    return Hypothesis(of, "Wald", chi, n - 1, float(special.chdtrc(n - 1, max(chi, 0.0))))


def _solved(spread: Array, off: Array) -> Array:
    """Where a covariance is singular, its pseudo-inverse, which takes ten times as long, times the vector."""
    try:
        return np.asarray(linalg.cho_solve(linalg.cho_factor(spread), off))
    except linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(spread, hermitian=True) @ off)


def _preferred(own: "Fit", equal: "Fit") -> str:
    """Which of the two models AIC and BIC prefer."""
    aic, bic = ("own" if getattr(own, name) < getattr(equal, name) else "equal" for name in ("aic", "bic"))
    words = {"own": "gmf, in which sharpness differs", "equal": "tfm, in which all raters are equally sharp"}
    if aic == bic:
        return f"AIC and BIC prefer the model {words[aic]}."
    return f"AIC prefers the model {words[aic]}; BIC prefers {words[bic]}."


def _listed(tests: list[Hypothesis], conjunction: str = "and") -> str:
    parts = [f"{test.of} ({p_words(test.p)})" for test in tests]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {conjunction} {parts[-1]}"


def p_words(p: float) -> str:
    """
    Examples
    --------
    >>> p_words(0.0004), p_words(0.047), p_words(0.5)
    ('p < 0.001', 'p = 0.047', 'p = 0.50')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
