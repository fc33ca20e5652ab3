"""NumPy's Fortran interface is there when asked for, and only then."""

import subprocess
import sys


def test_fortran_is_loaded_when_asked_for_and_not_with_scipy() -> None:
    probe = (
        "import sys; from raterlens.app.cli.lighter_scipy import defer_fortran; defer_fortran(); defer_fortran(); "
        "import numpy, scipy.special; before = 'numpy.f2py.crackfortran' in sys.modules; "
        "include = numpy.f2py.get_include(); "
        "sys.exit(0 if not before and include and 'numpy.f2py.crackfortran' in sys.modules else 1)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
