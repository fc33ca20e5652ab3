"""Capability: how strongly a rater's pass rate follows ability, scaled so that the best possible rater has 1.

    κ(θ)  = (dμ/dθ) / Δ              at one ability
    κ-bar = ∫ κ(θ) φ(θ) dθ           over the students
    Δ     = sup ∫ (dμ/dθ) φ(θ) dθ    over the raters' parameters

Pure functions of the parameters, vectorised: arguments broadcast as NumPy arrays do, and the result is an
array of their common shape (a NumPy scalar where all are scalars). Integrals are exact to 1e-10 and better.
κ(θ) may exceed 1 at some ability; only κ-bar is at most 1.
"""

import numpy as np
from numpy.typing import ArrayLike

from raterlens.base.arrays import Array
from raterlens.capability.arguments import normal_students, number, plain, positive
from raterlens.capability.curves import PassCurve
from raterlens.capability.density_moments import highest
from raterlens.capability.index import Gradient
from raterlens.capability.links import get_link

__all__ = [
    "best_severity",
    "delta",
    "gmf",
    "gmf_gradient",
    "hrm",
    "probit",
    "tfm",
]


def gmf(
    *,
    rho: ArrayLike,
    eta: ArrayLike,
    sigma: ArrayLike = 1.0,
    theta: ArrayLike | None = None,
    link: str = "logit",
    mean: float = 0.0,
    sd: float = 1.0,
) -> Array:
    r"""Capability under the generalised multi-facets model, S = ρ σ θ − η.

    .. math::

        \kappa(\theta) = \frac{\rho\sigma}{\Delta} f(\rho\sigma\theta - \eta), \qquad
        \bar\kappa = \int \kappa(\theta)\, \varphi(\theta)\, d\theta

    Parameters
    ----------
    rho
        Discrimination relative to the most discriminating rater, in [-1, 1]. Negative: the rater scores
        against ability, and the capability is negative.
    eta
        Severity, centred on the average rater.
    sigma
        Slope of the most discriminating rater on a standard normal ability, above 0.
    theta
        Abilities at which to give κ(θ). Left out: κ-bar.
    link
        ``logit``, ``probit``, ``cauchit``, ``cloglog`` or ``log``.
    mean, sd
        The normal population of students that κ-bar averages over. Δ is the supremum over the same
        population, so κ-bar is at most 1 in any.

    Returns
    -------
    array
        κ-bar, or κ(θ) where `theta` is given.

    Examples
    --------
    Rater AM on the topic Family in Wang, Wu and Qiu (2025):

    >>> round(float(gmf(rho=1.0, eta=-2.24, sigma=2.51)), 2)
    0.76

    Two raters at three abilities:

    >>> gmf(rho=[[0.5], [1.0]], eta=[[0.0], [1.0]], theta=[-1, 0, 1]).round(3)
    array([[0.569, 0.605, 0.569],
           [0.508, 0.952, 1.21 ]])
    """
    discrimination = number("rho", rho, "divide the slopes by the largest of them", low=-1.0, high=1.0)
    severity = number("eta", eta, "leave out raters without an estimate")
    scale = positive("sigma", sigma, "it is the slope of the most discriminating rater")
    students, curve = normal_students(mean, sd), PassCurve(get_link(link))
    slope = discrimination * scale
    best_rate = students.best(curve, scale)
    if theta is not None:
        ability = number("theta", theta, "leave out students without an ability")
        return plain(slope / best_rate * curve.density(slope * ability - severity))
    return plain(students.rate(curve, slope, severity) / best_rate)


def tfm(
    *,
    eta: ArrayLike,
    sigma: ArrayLike = 1.0,
    theta: ArrayLike | None = None,
    link: str = "logit",
    mean: float = 0.0,
    sd: float = 1.0,
) -> Array:
    r"""Capability under the three-facets model, S = σ θ − η: `gmf` with ρ = 1 for every rater.

    With the logit link κ(θ) = σ μ (1 − μ) / Δ; at σ = 1, Δ = 0.206621.

    Parameters
    ----------
    eta, sigma, theta, link, mean, sd
        As in `gmf`.

    Returns
    -------
    array
        κ-bar, or κ(θ) where `theta` is given.

    Examples
    --------
    >>> tfm(eta=[-1.0, 0.0, 1.0]).round(4)
    array([0.8612, 1.    , 0.8612])
    >>> round(float(tfm(eta=0.0, theta=0.0)), 3)
    1.21
    """
    return gmf(rho=1.0, eta=eta, sigma=sigma, theta=theta, link=link, mean=mean, sd=sd)


def probit(*, noise: ArrayLike, threshold: ArrayLike, theta: ArrayLike | None = None) -> Array:
    r"""Capability under the probit rater model: a pass where θ + noise · ε is above the threshold.

    With :math:`\rho = 1/\sqrt{1 + \text{noise}^2}`, :math:`\eta = \text{threshold}/\text{noise}` and
    :math:`\Delta = 1/\sqrt{2\pi}`, reached by a rater without noise whose threshold is 0:

    .. math::

        \bar\kappa = \rho\, e^{-(1 - \rho^2)\eta^2/2}
                   = \rho\, e^{-\rho^2\, \text{threshold}^2/2}, \qquad
        \kappa(\theta) = \frac{1}{\text{noise}}
                         \exp\Bigl\{-\frac{(\theta - \text{threshold})^2}{2\,\text{noise}^2}\Bigr\}

    Parameters
    ----------
    noise
        Standard deviation of what the rater adds to the ability, at least 0.
    threshold
        Ability above which the rater passes a student.
    theta
        Abilities at which to give κ(θ). Left out: κ-bar. Without noise κ(θ) is infinite at the threshold
        and 0 elsewhere.

    Returns
    -------
    array
        κ-bar, or κ(θ) where `theta` is given.

    Examples
    --------
    >>> probit(noise=[0.0, 0.75, 1.75], threshold=0.5).round(4)
    array([0.8825, 0.7385, 0.4811])
    """
    scatter = number("noise", noise, "a standard deviation is not negative", low=0.0)
    cut = number("threshold", threshold, "leave out raters without an estimate")
    rho = 1 / np.sqrt(1 + scatter**2)
    if theta is None:
        return plain(rho * np.exp(-((rho * cut) ** 2) / 2))
    ability = number("theta", theta, "leave out students without an ability")
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = np.exp(-(((ability - cut) / scatter) ** 2) / 2) / scatter
    return plain(np.where(scatter > 0, kappa, np.where(ability == cut, np.inf, 0.0)))


def hrm(
    *, criterion: ArrayLike, slope: ArrayLike, link: str = "logit", theta: ArrayLike | None = None
) -> Array:
    r"""Capability under the hierarchical rater model with latent classes (signal detection).

    A rater sees the true category ξ through P(y = 1 | ξ) = 1 − F(criterion − slope · ξ), so that

    .. math:: \kappa = \bar\kappa = F(\text{criterion}) - F(\text{criterion} - \text{slope})

    which is sensitivity + specificity − 1, Youden's J, at every ability.

    Parameters
    ----------
    criterion
        Where the rater draws the line: the higher, the more severe.
    slope
        How far apart the rater sees the two categories. Negative: the rater takes one for the other, and
        the capability is negative.
    link
        The distribution F, as in `gmf`.
    theta
        Abilities at which to give κ(θ): the same constant, in the shape they broadcast to.

    Returns
    -------
    array
        κ-bar, which is also κ(θ).

    Examples
    --------
    >>> hrm(criterion=[0.5, 1.5], slope=[1.0, 3.0]).round(4)
    array([0.2449, 0.6351])
    """
    line = number("criterion", criterion, "leave out raters without an estimate")
    distance = number("slope", slope, "leave out raters without an estimate")
    kappa = get_link(link).mass(line, distance)
    if theta is not None:
        ability = number("theta", theta, "leave out students without an ability")
        kappa = np.broadcast_to(kappa, np.broadcast_shapes(kappa.shape, ability.shape)).copy()
    return plain(kappa)


def delta(sigma: ArrayLike, link: str = "logit") -> Array:
    r"""Δ(σ), the sensitivity of the best possible rater: what makes the largest κ-bar equal to 1.

    .. math:: \Delta(\sigma) = \sup_\eta\; \sigma \int f(\sigma t - \eta)\, \varphi(t)\, dt

    The sensitivity rises with the slope at every severity, so the best rater has ρ = 1; its severity is
    `best_severity`.

    Parameters
    ----------
    sigma
        Slope of the most discriminating rater, above 0.
    link
        As in `gmf`.

    Examples
    --------
    >>> round(float(delta(1.0)), 6)
    0.206621
    >>> delta([1.0, 2.51], link="cloglog").round(6)
    array([0.262631, 0.358653])
    """
    scale = positive("sigma", sigma, "it is the slope of the most discriminating rater")
    return plain(highest(scale, get_link(link)).rate)


def best_severity(sigma: ArrayLike, link: str = "logit") -> Array:
    """The severity at which a rater with slope σ is most capable: 0 for a symmetric link.

    Parameters
    ----------
    sigma
        Slope of the most discriminating rater, above 0.
    link
        As in `gmf`.

    Examples
    --------
    >>> best_severity(1.0, link="cloglog").round(4)
    np.float64(0.2451)
    """
    scale = positive("sigma", sigma, "it is the slope of the most discriminating rater")
    return plain(highest(scale, get_link(link)).severity)


def gmf_gradient(
    slope: ArrayLike,
    eta: ArrayLike,
    sigma: ArrayLike,
    link: str = "logit",
    *,
    mean: float = 0.0,
    sd: float = 1.0,
) -> Gradient:
    r"""Derivatives of the κ-bar of `gmf` in the slope a = ρ σ, the severity η, σ and the variance of a reading effect
    (at 0), for the delta method.

    With :math:`M_k(a, \eta) = \int f(a t - \eta)\, t^k \varphi(t)\, dt`, κ-bar = a M₀(a, η) / Δ(σ) and

    .. math::

        \frac{\partial\bar\kappa}{\partial a} = \frac{M_2}{\Delta}, \qquad
        \frac{\partial\bar\kappa}{\partial\eta} = -\frac{M_1}{\Delta}, \qquad
        \frac{\partial\bar\kappa}{\partial\sigma} = -\frac{\bar\kappa}{\Delta} M_2(\sigma, \eta^*)

    the last by the envelope theorem: the best severity η* moves with σ, but Δ is flat in it.

    Parameters
    ----------
    slope
        a = ρ σ, any sign. Unlike in `gmf` it may exceed σ (a yardstick other than the best rater).
    eta, sigma, link, mean, sd
        As in `gmf`.

    Examples
    --------
    >>> by_slope, by_severity, by_sigma, by_halo = gmf_gradient(1.0, 0.5, 2.0)
    >>> print(by_slope.round(4), by_severity.round(4), by_sigma.round(4))
    0.4766 -0.0987 -0.1313
    """
    a = number("slope", slope, "leave out raters without an estimate")
    severity = number("eta", eta, "leave out raters without an estimate")
    scale = positive("sigma", sigma, "it is the slope of the most discriminating rater")
    students, curve = normal_students(mean, sd), PassCurve(get_link(link))
    rate, by_slope, by_severity, by_halo = students.sensitivity(curve, a, severity)
    best, rise = students.best(curve, scale), students.best_rise(curve, scale)
    parts = (by_slope / best, by_severity / best, -rate * rise / best**2, by_halo / best)
    return Gradient(*(plain(part) for part in np.broadcast_arrays(*parts)))
