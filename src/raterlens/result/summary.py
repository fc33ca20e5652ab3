"""A result in a few lines of text."""

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
    outcome = "converged" if result.converged else "NOT converged"
    lines.append(f"{outcome} after {result.optimiser.iterations} iterations: {result.optimiser.stopped}")
    lines.extend(f"Warning: {warning}" for warning in result.warnings)
    return "\n".join(lines)
