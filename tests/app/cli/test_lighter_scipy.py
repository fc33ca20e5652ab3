"""What SciPy loads without need is there when asked for, and only then."""

import subprocess
import sys

LIGHT = "import sys; from raterlens.app.cli.lighter_scipy import lighten_scipy; lighten_scipy(); lighten_scipy(); "


def run(probe: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", LIGHT + probe], capture_output=True, timeout=60, check=False, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_fortran_and_tests_are_loaded_when_asked_for_and_not_with_scipy() -> None:
    assert run(
        "import numpy, scipy.special; "
        "print(*(name in sys.modules for name in ('numpy.f2py.crackfortran', 'numpy.testing.overrides')), end=' '); "
        "numpy.f2py.get_include(); numpy.testing.assert_equal(1, 1); "
        "print(*(name in sys.modules for name in ('numpy.f2py.crackfortran', 'numpy.testing.overrides')))"
    ) == ("False False True True")


def test_functions_do_what_they_do() -> None:
    """All of what is used, and a package that is loaded only later."""
    assert run(
        "from scipy import linalg, optimize, sparse, special, stats; import numpy as np; "
        "print(special.expit(0.0), special.logsumexp([0.0, 0.0]).round(6), linalg.cholesky([[4.0]])[0, 0], "
        "optimize.brentq(lambda x: x - 1, 0, 3), stats.norm.cdf(0.0), sparse.eye_array(2).sum(), "
        "np.ma.masked_array([1, 2], [0, 1]).sum(), np.fft.fft([1.0]).real[0], "
        "np.polynomial.polynomial.polyval(2.0, [1, 1]))"
    ) == ("0.5 0.693147 2.0 1.0 0.5 2.0 1 1.0 3.0")


def test_masked_arrays_are_loaded_when_there_are_any() -> None:
    assert run(
        "import numpy as np, polars as pl; "
        "print(*pl.Series(np.unique([1, 0])), 'numpy.ma.core' in sys.modules, end=' '); "
        "some = np.ma.masked_array([1, 2], [0, 1]); "
        "print(*pl.Series(some), 'numpy.ma.core' in sys.modules, np.ma is sys.modules['numpy.ma'])"
    ) == ("0 1 False 1 None True True")


def test_submodules_of_masked_arrays_can_be_loaded_by_name() -> None:
    assert run("import numpy.ma.extras as extras; print(extras.notmasked_edges([1, 2]))") == "[0 1]"
