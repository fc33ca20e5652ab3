"""Fits made by hand, so that the pages are tested without estimating anything."""

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
import pytest

from raterlens.capability import gmf
from raterlens.estimation.optimise import Optimiser
from raterlens.results import Fit

MakeFit = Callable[..., Fit]


@pytest.fixture
def make_fit() -> MakeFit:
    def make(
        n_raters: int = 16,
        *,
        names: Sequence[object] = (),
        converged: bool = True,
        warnings: tuple[str, ...] = (),
        notes: tuple[str, ...] = ("student column: 'pid' (recognised)",),
        n: int = 400,
        margin: float = 0.08,
    ) -> Fit:
        """A panel from capable to not, with some severe, some lenient and some dull raters."""
        rng = np.random.default_rng(20240229)
        sigma = 2.1
        rho = np.clip(rng.beta(4, 1.5, n_raters), 0.05, 1.0)
        rho[rho.argmax()] = 1.0
        eta = rng.normal(0, 1.2, n_raters)
        kappa = gmf(rho=rho, eta=eta, sigma=sigma)
        raters = pl.DataFrame(
            {
                "rater": list(names) or [f"R{i:04d}" for i in range(n_raters)],
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
                "flag": [""] * n_raters,
            }
        )
        items = pl.DataFrame(
            {"item": ["a"], "n": [n], "mean_score": [0.5], "delta": [0.0], "delta_se": [0.1]}
        )
        students = pl.DataFrame(
            {"student": [1, 2], "n": [9, 9], "mean_score": [0.3, 0.6], "theta": [-0.4, 0.4]}
        )
        return Fit(
            model="gmf",
            method="mml",
            link="logit",
            loglik=-3297.7409,
            sigma=sigma,
            sigma_se=0.2,
            alpha=0.0876,
            n_parameters=2 * n_raters + 4,
            n_ratings=n * n_raters,
            n_students=363,
            n_raters=n_raters,
            n_items=5,
            optimiser=Optimiser("L-BFGS-B", 1e-5, 500, 23, 27, 1e-6, converged, "the gradient vanished"),
            warnings=warnings,
            notes=notes,
            tables={
                "raters": raters,
                "items": items,
                "students": students.with_columns(theta_se=pl.lit(0.3)),
            },
        )

    return make
