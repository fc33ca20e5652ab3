"""Fits made by hand, so that pages are tested without estimating anything; and labels that must not break them."""

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from raterlens.capability.formulas import gmf, sharpness
from raterlens.capability.integrals import pass_and_fail
from raterlens.capability.links import get_link
from raterlens.config import FitConfig
from raterlens.estimation.optimiser import Optimiser
from raterlens.fitting.fit import Fit
from raterlens.models.calibration import Calibration
from raterlens.output.report.page import render
from raterlens.output.report.reproduce import Reproduction

MakeFit = Callable[..., Fit]

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "=cmd()",
    "\"quotes\" & 'more', \\ / # %41",
    "\N{OWL} owl",
    "שלום עולם",
    "x" * 200,
    "__proto__",
)


def made(
    n_raters: int = 16,
    *,
    names: Sequence[object] = (),
    converged: bool = True,
    warnings: tuple[str, ...] = (),
    notes: tuple[str, ...] = ("student column: 'pid' (recognised)",),
    n: int = 400,
    n_students: int = 2,
    margin: float = 0.08,
) -> Fit:
    """A panel from capable to not, with some severe, some lenient and some dull raters."""
    rng = np.random.default_rng(20240229)
    sigma = 2.1
    rho = np.clip(rng.beta(4, 1.5, n_raters), 0.05, 1.0)
    rho[rho.argmax()] = 1.0
    eta = rng.normal(0, 1.2, n_raters)
    eta -= eta.mean()
    kappa = gmf(rho=rho, eta=eta, sigma=sigma)
    labels = pl.Series("rater", list(names) or [f"R{i:04d}" for i in range(n_raters)])
    items = pl.Series("item", ["a"])
    raters = pl.DataFrame(
        {
            "rater": labels,
            "n": np.full(n_raters, n),
            "mean_score": 1 / (1 + np.exp(eta)),
            "rho": rho,
            "rho_se": 0.05,
            "eta": eta,
            "eta_se": 0.15,
            "kappa": kappa,
            "kappa_se": margin / 1.96,
            "kappa_low": np.clip(kappa - margin, 0, 1),
            "kappa_high": np.clip(kappa + margin, 0, 1),
            **_with_margin("sharpness", sharpness(slope=sigma * rho, severity=eta), margin),
            **_with_margin("passes", pass_and_fail(sigma * rho, eta, get_link("logit"))[0], margin / 2),
            "flag": [""] * n_raters,
        }
    )
    students = pl.DataFrame(
        {
            "student": np.arange(n_students),
            "n": np.full(n_students, 9),
            "mean_score": np.linspace(0.3, 0.6, n_students),
            "theta": np.linspace(-2, 2, n_students),
            "theta_se": np.full(n_students, 0.3),
        }
    )
    effects = {"slope": sigma * rho, "severity": eta, "difficulty": np.zeros(1)}
    return Fit(
        config=FitConfig(),
        link="logit",
        loglik=-3297.7409,
        sigma=sigma,
        sigma_se=0.2,
        alpha=0.0876,
        n_parameters=2 * n_raters + 4,
        n_ratings=n * n_raters,
        n_students=n_students,
        n_raters=n_raters,
        n_items=1,
        optimiser=Optimiser(
            "L-BFGS-B", 1e-5, 500, 23, 27, 1e-6, converged, "the gradient is zero within the tolerance"
        ),
        warnings=warnings,
        notes=notes,
        tables={
            "raters": raters,
            "items": pl.DataFrame(
                {"item": items, "n": [n], "mean_score": [0.5], "delta": [0.0], "delta_se": [0.1]}
            ),
            "students": students,
        },
        calibration=Calibration(
            model="gmf",
            link="logit",
            scale="rating scale",
            scores=(0, 1),
            labels={"rater": labels, "item": items},
            effects=effects,
            covariance=None,
            falling=np.zeros(n_raters),
        ),
    )


def _with_margin(name: str, values: np.ndarray, margin: float) -> dict[str, np.ndarray]:
    return {name: values, f"{name}_low": values - margin, f"{name}_high": values + margin}


def rendered(n_raters: int, n_students: int, hostile: bool) -> str:
    names = HOSTILE if hostile else ()
    warnings = (HOSTILE[0],) if hostile else ()
    fit = made(n_raters, names=names, n_students=n_students, warnings=warnings, notes=warnings)
    return render(fit, Reproduction(HOSTILE[0], HOSTILE[1]) if hostile else None)
