import numpy as np
import pytest
from scipy import optimize

from raterlens.estimation.conditional import Conditional
from tests.support.facets_models import setting


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_modes_maximise_each_student_s_posterior(small, link):
    model, _, _, found_link, x = setting(small, link)
    conditional, predictor = Conditional(small, model, found_link), model.predictor(x)
    modes = conditional.modes(predictor, np.zeros(small.n_students))

    def minus_posterior(theta: float, student: int) -> float:
        mine = conditional.student == student
        value = conditional.derivatives(predictor, np.full(small.n_students, theta)).value
        return theta**2 / 2 - float(value[mine].sum())

    for student in range(0, small.n_students, 7):
        best = optimize.minimize_scalar(minus_posterior, (-3, 3), args=(student,), tol=1e-10)
        assert modes[student] == pytest.approx(best.x, abs=1e-5)
