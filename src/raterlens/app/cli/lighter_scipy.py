"""SciPy without NumPy's Fortran interface.

SciPy goes over everything that NumPy has when it is loaded, and so loads `numpy.f2py`, which takes longer than SciPy's
own functions. Here it is loaded if somebody asks for something in it.
"""

import sys
from importlib.util import LazyLoader, find_spec, module_from_spec

FORTRAN = "numpy.f2py"


def defer_fortran() -> None:
    """To be called before SciPy is loaded."""
    spec = None if FORTRAN in sys.modules else find_spec(FORTRAN)
    if spec is None or spec.loader is None:
        return
    # heavy, so not before it is needed
    import numpy as np

    spec.loader = LazyLoader(spec.loader)
    module = module_from_spec(spec)
    sys.modules[FORTRAN] = module
    setattr(np, FORTRAN.partition(".")[2], module)
    spec.loader.exec_module(module)
