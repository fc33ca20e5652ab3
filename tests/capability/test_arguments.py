"""Parameters that are none are named, with what to do."""

import numpy as np
import pytest

from raterlens import capability
from raterlens.base.errors import OptionError


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: capability.gmf(rho=1.2, eta=0.0), r"rho is 1.2; it must be in \[-1, 1\]: divide the slopes"),
        (lambda: capability.gmf(rho=[0.5, np.nan], eta=0.0), "rho is nan"),
        (lambda: capability.gmf(rho=0.5, eta=np.inf), "eta is inf; it must be finite"),
        (lambda: capability.gmf(rho=0.5, eta=0.0, sigma=0.0), "sigma is 0; it must be above 0"),
        (lambda: capability.gmf(rho=0.5, eta=0.0, sd=-1.0), "sd is -1; it must be above 0"),
        (lambda: capability.gmf(rho=0.5, eta="high"), "eta is 'high', not a number"),
        (lambda: capability.gmf(rho=0.5, eta=0.0, link="logistic"), "unknown link 'logistic'"),
        (lambda: capability.tfm(eta=None), "eta is nan"),
        (lambda: capability.probit(noise=-0.1, threshold=0.0), "noise is -0.1; it must be at least 0"),
        (lambda: capability.hrm(criterion=np.nan, slope=1.0), "criterion is nan"),
        (lambda: capability.delta(-1.0), "sigma is -1; it must be above 0"),
        (lambda: capability.gmf_approximation(-0.2, 0.0), r"rho is -0.2; it must be in \[0, 1\]"),
        (lambda: capability.gmf_gradient(1.0, 0.0, np.nan), "sigma is nan"),
    ],
)
def test_bad_parameters_are_named_with_what_to_do(call, message):
    with pytest.raises(OptionError, match=message):
        call()


def test_the_parameter_and_its_value_are_for_programs_too():
    with pytest.raises(OptionError) as refused:
        capability.gmf(rho=[0.5, 2.0], eta=0.0)
    assert (refused.value.option, refused.value.value) == ("rho", 2.0)
