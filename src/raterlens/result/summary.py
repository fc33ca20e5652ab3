"""A result in a few lines of text."""

from raterlens.base.text import counted
from raterlens.estimation.optimiser import Optimiser
from raterlens.models.panel import PanelSpread
from raterlens.result.record import Result


def summary(result: Result) -> str:
    """Raters from most to least capable, then the model."""
    lines = [f"{'rater':<20}{'n':>7}{'kappa':>8}{'95 % interval':>16}{'severity':>10}{'discrimination':>16}"]
    for row in result.table("raters").sort("kappa", descending=True).iter_rows(named=True):
        interval = f"{row['kappa_low']:.2f} to {row['kappa_high']:.2f}"
        lines.append(
            f"{row['rater']!s:<20}{row['n']:>7}{row['kappa']:>8.2f}{interval:>16}"
            f"{row['eta']:>10.2f}{row['rho']:>16.2f}"
        )
    lines.append("")
    lines.append(
        f"{result.model.upper()}, {result.link} link, method {result.method}: log-likelihood {result.loglik:.4f}, "
        f"sigma {result.sigma:.3f}, {result.n_parameters} parameters, AIC {result.aic:.1f}, BIC {result.bic:.1f}"
    )
    if result.calibration is not None and result.calibration.spread is not None:
        lines.append(differences(result.calibration.spread))
    lines.append(convergence(result.optimiser))
    lines.extend(f"Warning: {warning}" for warning in result.warnings)
    return "\n".join(lines)


def differences(spread: PanelSpread) -> str:
    """How much raters differ, in a line.

    Examples
    --------
    >>> differences(PanelSpread(1.5, 0.4, 0.2, 0.7, 0.8, 0.5, 1.2))
    'Raters differ by 0.40 (0.20 to 0.70) in slope around 1.50, and by 0.80 (0.50 to 1.20) in severity'
    """
    parts = []
    if spread.slope is not None:
        parts.append(
            f"{_between(spread.slope, spread.slope_low, spread.slope_high)} in slope around {spread.mean_slope:.2f}"
        )
    parts.append(f"{_between(spread.severity, spread.severity_low, spread.severity_high)} in severity")
    return f"Raters differ by {', and by '.join(parts)}"


def _between(value: float, low: float | None, high: float | None) -> str:
    return f"{value:.2f}" if low is None or high is None else f"{value:.2f} ({low:.2f} to {high:.2f})"


def convergence(record: Optimiser) -> str:
    """Whether the estimates converged, and why not.

    Examples
    --------
    >>> convergence(Optimiser("Newton", 1e-5, 500, 10, 12, 1e-6, True, "the gradient is zero within the tolerance"))
    'Converged in 10 iterations'
    >>> convergence(Optimiser("Newton", 1e-5, 3, 3, 4, 0.2, False, "it reached the limit of 3 iterations"))
    'Did not converge in 3 iterations: it reached the limit of 3 iterations'
    """
    steps = counted(record.iterations, "iteration")
    return f"Converged in {steps}" if record.converged else f"Did not converge in {steps}: {record.stopped}"
