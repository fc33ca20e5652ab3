"""How capability follows from the two numbers that a table shows for each rater."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from raterlens.capability import gmf
from raterlens.links import get_link

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Yardstick:
    """The scale of a fit: what discrimination rho and severity eta are worth in it."""

    sigma: float = 1.0
    link: str = "logit"
    model: str = "gmf"
    ordered: bool = False
    """More than pass and fail. Capability then depends on the panel's thresholds too, and `capability` is only
    a guide: good for weighing severity against discrimination, not for drawing."""

    def capability(self, rho: ArrayLike, eta: ArrayLike) -> Array:
        """kappa-bar (broadcasts)."""
        if self.model == "probit":
            r, e = np.asarray(rho, np.float64), np.asarray(eta, np.float64)
            return np.asarray(r * np.exp(-(1 - r**2) * e**2 / 2))  # capability.probit in terms of rho and eta
        return gmf(rho=rho, eta=eta, sigma=self.sigma, link=self.link)

    def pass_rate(self, eta: ArrayLike) -> Array:
        """How much of middling work a rater passes, F(-eta); the average rater F(0)."""
        return np.exp(get_link(self.link).log_pass(-np.asarray(eta, np.float64)))
