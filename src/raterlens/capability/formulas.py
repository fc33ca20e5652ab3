"""Capability by formula, for each model, and the approximations of the paper."""

import numpy as np
from numpy.typing import ArrayLike

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError
from raterlens.base.text import shortened
from raterlens.capability.curves import PassCurve
from raterlens.capability.index import Gradient, Index, sharpness_of
from raterlens.capability.integrals import highest
from raterlens.capability.links import get_link
from raterlens.capability.population import Normal

# ----------------------------------------------------------------------------------------------------- arguments


def number(name: str, value: ArrayLike, advice: str, *, low: float = -np.inf, high: float = np.inf) -> Array:
    """`value` as an array of finite numbers in [low, high], or an error with the first that is not."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(
            f"{name} is {shortened(value)}, not a number or an array of numbers",
            advice,
            value=value,
            option=name,
        ) from None
    wrong = ~(np.isfinite(array) & (array >= low) & (array <= high))
    if wrong.any():
        seen = float(array[wrong].flat[0])
        span = (
            "finite"
            if np.isinf(low)
            else f"at least {low:g}"
            if np.isinf(high)
            else f"in [{low:g}, {high:g}]"
        )
        raise OptionError(f"{name} is {seen:g}", f"it must be {span}: {advice}", value=seen, option=name)
    return array


def positive(name: str, value: ArrayLike, advice: str) -> Array:
    array = number(name, value, advice)
    if not (array > 0).all():
        seen = float(array[array <= 0].flat[0])
        raise OptionError(f"{name} is {seen:g}", f"it must be above 0: {advice}", value=seen, option=name)
    return array


def normal_students(mean: float, sd: float) -> Normal:
    return Normal(
        float(number("mean", mean, "give the students' mean ability")),
        float(positive("sd", sd, "it is the standard deviation of the students' abilities")),
    )


def plain(array: Array) -> Array:
    """A NumPy scalar for a result without axes, as NumPy's own functions return."""
    return np.asarray(array)[()]


# ------------------------------------------------------------------------------------------------------ formulas


# Capability: how strongly a rater's pass rate follows ability, scaled so that the best possible rater has 1.
#
#     κ(θ)  = (dμ/dθ) / Δ              at one ability
#     κ-bar = ∫ κ(θ) φ(θ) dθ           over the students
#     Δ     = sup ∫ (dμ/dθ) φ(θ) dθ    over the raters' parameters
#
# Pure functions of the parameters, vectorised: arguments broadcast as NumPy arrays do, and the result is an
# array of their common shape (a NumPy scalar where all are scalars). Integrals are exact to 1e-10 and better.
# κ(θ) may exceed 1 at some ability; only κ-bar is at most 1.

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
    index = Index(PassCurve(get_link(link)), normal_students(mean, sd))
    return Gradient(*(plain(part) for part in np.broadcast_arrays(*index.gradient(a, severity, scale))))


# ------------------------------------------------------------------------------------------------ approximations


def delta_approximation(sigma: ArrayLike) -> Array:
    r"""The paper's approximation of Δ for the logit link, :math:`\frac14\sqrt{2\sigma^2/(2 + \sigma^2)}`.

    Use `delta`. This one is low: by 1.2 % at σ = 1, 6.1 % at σ = 2.51, and 11.4 % as σ grows.

    Examples
    --------
    >>> from raterlens.capability import delta
    >>> round(float(delta_approximation(1.0) / delta(1.0)), 4)
    0.9879
    """
    scale = positive("sigma", sigma, "it is the slope of the most discriminating rater")
    return plain(np.sqrt(2 * scale**2 / (2 + scale**2)) / 4)


def gmf_approximation(rho: ArrayLike, eta: ArrayLike, sigma: ArrayLike = 1.0) -> Array:
    r"""The paper's closed form of κ-bar under the GMF with the logit link: Laplace's method.

    .. math::

        \bar\kappa \approx 4\rho\sqrt{\frac{2 + \sigma^2}{2}}\;
        \frac{\exp\{x^* - (x^* - \eta)^2 / (2\rho^2\sigma^2)\}}
             {(1 + e^{x^*})\sqrt{(1 + e^{x^*})^2 + 2\rho^2\sigma^2 e^{x^*}}}, \qquad
        x^* = \rho^2\sigma^2\,\frac{1 - e^{x^*}}{1 + e^{x^*}} + \eta

    Use `gmf`. This one is too high, most for an average severity and a middling slope: by up to 0.007 at
    σ = 1, 0.03 at σ = 2.51, 0.064 as σ grows. Where it is too low, it is by less than 0.002.

    Parameters
    ----------
    rho
        Discrimination in [0, 1].
    eta, sigma
        As in `gmf`.

    Examples
    --------
    >>> from raterlens.capability import gmf
    >>> round(float(gmf_approximation(0.5, -1.57, 2.51) - gmf(rho=0.5, eta=-1.57, sigma=2.51)), 3)
    0.027
    """
    discrimination = number("rho", rho, "divide the slopes by the largest of them", low=0.0, high=1.0)
    severity = number("eta", eta, "leave out raters without an estimate")
    scale = positive("sigma", sigma, "it is the slope of the most discriminating rater")
    a = discrimination * scale
    # x + a² tanh(x/2) = η. For η > 0 the left side is concave, so Newton from 0 climbs to the root.
    x = np.zeros(np.broadcast_shapes(a.shape, severity.shape))
    for _ in range(100):
        bend = np.tanh(x / 2)
        step = (severity - x - a**2 * bend) / (1 + a**2 * (1 - bend**2) / 2)
        x = x + step
        if np.all(np.abs(step) < 1e-13 * (1 + np.abs(x))):
            break
    density = get_link("logit").density(x)
    return plain(
        4
        * discrimination
        * np.sqrt((2 + scale**2) / 2)
        * density
        * np.exp(-((a * np.tanh(x / 2)) ** 2) / 2)
        / np.sqrt(1 + 2 * a**2 * density)
    )


# ------------------------------------------------------------------------------------------------------ sharpness


def sharpness(
    *, slope: ArrayLike, severity: ArrayLike = 0.0, link: str = "logit", mean: float = 0.0, sd: float = 1.0
) -> Array:
    """How closely pass and fail follow ability, as a share of what is possible at the same pass rate.

    Parameters
    ----------
    slope
        Of the predictor S = slope θ − severity. Negative: the rater scores against ability.
    severity
        Counted from the average rater.
    link
        ``logit``, ``probit``, ``cauchit``, ``cloglog`` or ``log``.
    mean, sd
        The normal population of students.

    Examples
    --------
    >>> sharpness(slope=1.5, severity=[0, 1, 2]).round(3)
    array([0.664, 0.66 , 0.646])
    """
    a = number("slope", slope, "leave out raters without an estimate")
    eta = number("severity", severity, "leave out raters without an estimate")
    return plain(sharpness_of(normal_students(mean, sd), PassCurve(get_link(link)), a, eta))
