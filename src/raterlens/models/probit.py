"""The probit rater model: a rater sees ability through normal noise sigma_r and passes what exceeds a threshold.

    S = (theta - alpha_r - delta_i) / sigma_r = a_r theta - b_r - a_r delta_i,     a_r = 1 / sigma_r,  b_r = eta_r

Its yardstick is a rater without noise, so capability does not depend on who else is on the panel.
"""

from raterlens.models.gmf import GMF, own_slopes
from raterlens.models.spec import FacetsSpec

PROBIT = FacetsSpec(
    "probit",
    "probit rater model",
    "raters see ability through noise and pass what exceeds a threshold",
    slopes=own_slopes,
    difficulty_on_ability_scale=True,
    absolute=True,
    ordered=False,
    links=("probit",),
    takes=GMF.takes - {"covariates"},
)
