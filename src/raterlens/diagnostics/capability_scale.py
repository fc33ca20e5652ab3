"""How capability follows from the two numbers that a table shows for each rater."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from raterlens.base.arrays import Array
from raterlens.capability.curves import Curve, PassCurve
from raterlens.capability.formulas import hrm
from raterlens.capability.links import get_link
from raterlens.capability.population import Normal
from raterlens.models.registry import is_latent_class

if TYPE_CHECKING:
    from raterlens.inference.result import Result


# Where no rater tells students apart at all.
_FLATTEST = 1e-6
_UNITS = {"logit": "logits", "probit": "probits", "identity": "marks"}
_HALF_SLOPE: dict[str, Callable[[Array], Array]] = {
    "logit": lambda rho: special.logit((1 + rho) / 2),
    "probit": lambda rho: special.ndtri((1 + rho) / 2),
}


def unit_of(link: str) -> str:
    """The unit of severities.

    Examples
    --------
    >>> unit_of("logit"), unit_of("cloglog")
    ('logits', 'units of the cloglog link')
    """
    return _UNITS.get(link, f"units of the {link} link")


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale of a fit: what discrimination rho and severity eta are worth in it."""

    sigma: float = 1.0
    link: str = "logit"
    model: str = "gmf"
    curve: Curve | None = None
    """How ordered scores follow the predictor, with the panel's thresholds; None for pass and fail."""

    @staticmethod
    def of(fit: "Result") -> "Scale":
        """The scale that a fit's tables are on."""
        known = fit.calibration
        ordered = known is not None and ("threshold" in known.effects or known.marks is not None)
        curve = known.curve() if known is not None and ordered else None
        return Scale(fit.sigma, fit.link, fit.model, curve)

    @property
    def ordered(self) -> bool:
        """More scores than pass and fail."""
        return self.curve is not None

    def capability(self, rho: ArrayLike, eta: ArrayLike) -> Array:
        """kappa-bar (broadcasts)."""
        r, e = np.asarray(rho, np.float64), np.asarray(eta, np.float64)
        if self.model == "probit":
            return np.asarray(r * np.exp(-(1 - r**2) * e**2 / 2))  # capability.probit in terms of rho and eta
        if is_latent_class(self.model):
            # rho = F(a / 2) - F(-a / 2) and eta = c - a / 2.
            half = _HALF_SLOPE[self.link](np.clip(r, 0.0, 1 - 1e-9))
            return hrm(criterion=e + half, slope=2 * half, link=self.link)
        # Not capability.gmf: with another scale than the best rater's, rho may exceed 1.
        curve, students = self.curve or PassCurve(get_link(self.link)), Normal()
        sigma = max(self.sigma, _FLATTEST)
        return students.rate(curve, sigma * r, e) / students.best(curve, np.array(sigma))
