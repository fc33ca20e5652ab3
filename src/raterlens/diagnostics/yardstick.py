"""How capability follows from the two numbers that a table shows for each rater."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from raterlens.curves import PassCurve
from raterlens.links import get_link
from raterlens.population import Normal

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
        # Not capability.gmf: with another yardstick than the best rater, rho may exceed 1.
        curve, students = PassCurve(get_link(self.link)), Normal()
        slope, severity = self.sigma * np.asarray(rho, np.float64), np.asarray(eta, np.float64)
        return students.rate(curve, slope, severity) / students.best(curve, np.array(self.sigma))

    def pass_rate(self, eta: ArrayLike) -> Array:
        """How much of middling work a rater passes, F(-eta); the average rater F(0)."""
        return np.exp(get_link(self.link).log_pass(-np.asarray(eta, np.float64)))
