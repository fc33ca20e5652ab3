"""The paper's table, and integrals by SciPy."""

from itertools import pairwise

import numpy as np
from scipy import integrate

from raterlens.capability.links import LINKS

# Wang, Wu and Qiu (2025), Table "Number of ratings, ...": rater, topic, rho, eta, kappa-bar; sigma = 2.51.
SIGMA = 2.51
TABLE = [
    ("AM", "Family", 1.00, -2.24, 0.76),
    ("AM", "School", 0.50, -1.57, 0.54),
    ("AM", "Sport", 0.48, -1.77, 0.48),
    ("AM", "Work", 0.52, -1.78, 0.51),
    ("BE", "Family", 0.71, -0.88, 0.82),
    ("BE", "School", 0.61, -1.09, 0.72),
    ("BE", "Sport", 0.71, -1.17, 0.78),
    ("BE", "Work", 0.54, -1.01, 0.68),
    ("CO", "Family", 0.65, 0.85, 0.78),
    ("CO", "School", 0.88, 0.99, 0.90),
    ("CO", "Sport", 0.76, 1.52, 0.75),
    ("CO", "Work", 0.63, 0.85, 0.77),
    ("DA", "Family", 0.79, 2.04, 0.67),
    ("DA", "School", 0.66, 1.83, 0.62),
    ("DA", "Sport", 0.55, 1.67, 0.56),
    ("DA", "Work", 0.82, 1.76, 0.74),
]


def adaptive(slope, eta, name, power=0):
    """∫ f(a t - η) t^power φ(t) dt by SciPy, split where either factor turns."""

    def integrand(t):
        return float(LINKS[name].density(np.array(slope * t - eta))) * t**power * np.exp(-t * t / 2)

    centre, width = (eta / slope, 1 / slope) if slope else (0.0, 1.0)
    turns = [centre + width * k for k in (-200, -40, -10, -3, -1, 0, 1, 3, 10, 40, 200)]
    points = np.unique(np.clip([-12, -6, -2, 0, 2, 6, 12, *turns], -12, 12))
    pieces = [
        integrate.quad(integrand, *pair, epsabs=1e-15, epsrel=1e-13, limit=200)[0]
        for pair in pairwise(points)
    ]
    return sum(pieces) / np.sqrt(2 * np.pi)
