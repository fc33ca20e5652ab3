import numpy as np

from raterlens.diagnostics import residuals
from raterlens.diagnostics.residuals import Residuals

# The order of sums differs, nothing else.
SAME = 1e-11


def test_a_pass_is_the_same_compiled(fitted, compiled):
    plain = residuals.residuals(*fitted, compared=True)
    compiled()
    quick = residuals.residuals(*fitted, compared=True)
    for name in Residuals.__slots__:
        one, two = getattr(plain, name), getattr(quick, name)
        if isinstance(one, np.ndarray):
            np.testing.assert_allclose(two, one, rtol=SAME, atol=SAME, err_msg=name)
    np.testing.assert_allclose(quick.paired.expected, plain.paired.expected, rtol=SAME)
    np.testing.assert_allclose(quick.ability.sd, plain.ability.sd, rtol=SAME)
