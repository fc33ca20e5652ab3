"""All models by name. Register one here and every surface offers it."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import TYPE_CHECKING, get_args

from raterlens.config import FitConfig, LinkName, Method

if TYPE_CHECKING:
    from raterlens.base.arrays import Array
    from raterlens.models.term import Effect

# ----------------------------------------------------------------------------------------------------
# What makes a model: its name and words, the options it takes, and how it is built.
#
# Nothing here, nor in the modules of the models, imports NumPy at its top: the command line lists models without it.

COMMON = frozenset(
    {
        *("model", "assumptions", "method", "link", "repeats", "group_means", "fair"),
        *("starts", "seed", "standard_errors", "max_iterations"),
    }
)
"""Options that every model takes."""
_FACETS = frozenset(option.name for option in fields(FitConfig)) - COMMON


def own_slopes(n_raters: int, covariates: "Array | None") -> "Effect":
    """A slope for each rater, or log-slopes explained by covariates."""
    from scipy import sparse

    from raterlens.models.term import Effect  # NumPy, which listing models does without

    if covariates is None:
        return Effect.each(n_raters)
    return Effect(sparse.csr_array(covariates), by_logarithm=True)


@dataclass(frozen=True, slots=True)
class Spec:
    """A model in a few lines, from which lists of models, their words and options are derived."""

    name: str
    title: str
    about: str
    """One line for `--help` and the report: what it says about raters."""
    _: KW_ONLY
    slopes: "Callable[[int, Array | None], Effect]" = own_slopes
    """(number of raters, covariates or None) -> how slopes come from parameters."""
    difficulty_on_ability_scale: bool = False
    """Difficulties are multiplied by the rater's slope, as thresholds of ability are."""
    absolute: bool = False
    """Capability has a yardstick of its own (a rater without noise) and needs none from the panel."""
    true_category: bool = False
    """Every student-item has a true category, pass or fail, in place of an ability that raters see."""
    ability: bool = True
    """A true category depends on the student's ability; otherwise each item has a prevalence."""
    links: tuple[LinkName, ...] = get_args(LinkName)
    """The links that it takes, the default first."""
    methods: tuple[Method, ...] = get_args(Method)
    takes: frozenset[str] = _FACETS
    """Options of `FitConfig` beyond those that every model takes."""
    ordered: bool = True
    """Takes ordered scores, not only pass and fail."""


# ----------------------------------------------------------------------------------------------------
# The generalized multi-facets model: raters differ in severity and in how well they tell students apart.
#
#     S = rho_r sigma theta - eta_r - delta_i + alpha,     a_r = rho_r sigma,  sigma = max a_r
#
# With covariates, log a_r is a linear function of them.

GMF = Spec("gmf", "generalized multi-facets model", "raters differ in severity and in discrimination")


# ----------------------------------------------------------------------------------------------------
# The three-facets model (Linacre): every rater tells students apart equally well, and differs in severity.
#
# S = sigma theta - eta_r - delta_i + alpha


def common_slope(n_raters: int, covariates: "Array | None") -> "Effect":
    """One slope for all raters; covariates explain severity only."""
    from raterlens.models.term import Effect  # NumPy, which listing models does without

    return Effect.common(n_raters)


TFM = Spec("tfm", "three-facets model", "raters differ in severity only", slopes=common_slope)


# ----------------------------------------------------------------------------------------------------
# The probit rater model: a rater sees ability through normal noise sigma_r and passes what exceeds a threshold.
#
#     S = (theta - alpha_r - delta_i) / sigma_r = a_r theta - b_r - a_r delta_i,     a_r = 1 / sigma_r,  b_r = eta_r
#
# Its yardstick is a rater without noise, so capability does not depend on who else is on the panel.

PROBIT = Spec(
    "probit",
    "probit rater model",
    "raters see ability through noise and pass what exceeds a threshold",
    difficulty_on_ability_scale=True,
    absolute=True,
    ordered=False,
    links=("probit",),
    takes=GMF.takes - {"covariates"},
)


# ----------------------------------------------------------------------------------------------------
# The hierarchical rater model (DeCarlo) and that of Dawid and Skene (1979), which is the same without ability.
#
# `signal_detection.py` has the mathematics.

HRM = Spec(
    "hrm",
    "hierarchical rater model",
    "each piece of work is truly a pass or a fail, depending on ability, and raters detect which",
    true_category=True,
    links=("logit", "probit"),
    methods=("mml",),
    takes=frozenset({"allow_reversed"}),
    ordered=False,
)
DAWID_SKENE = replace(
    HRM,
    name="dawid-skene",
    title="Dawid-Skene model",
    about="each piece of work is truly a pass or a fail, and raters err at rates of their own",
    ability=False,
)


MODELS: dict[str, Spec] = {spec.name: spec for spec in (GMF, TFM, PROBIT, HRM, DAWID_SKENE)}
