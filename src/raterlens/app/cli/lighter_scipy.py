"""SciPy without what a command has no use for.

When it is loaded, SciPy goes over everything that NumPy has, and so loads packages for tests, masked arrays and
Fortran; and it adds to the documentation of its own functions. Together they take as long as the functions. Here
those packages are loaded if somebody asks for something in them, and functions keep no documentation.
"""

import sys
from importlib import import_module
from importlib.util import LazyLoader, find_spec, module_from_spec
from typing import Any

DEFERRED = ("char", "ctypeslib", "f2py", "fft", "ma", "polynomial", "rec", "strings", "testing")
"""Packages of NumPy."""
DOCUMENTATION, CAPABILITIES = "scipy._lib._docscrape", "scipy._lib._array_api"


def lighten_scipy() -> None:
    """To be called before SciPy is loaded."""
    if "scipy" in sys.modules:
        return
    for name in DEFERRED:
        _defer(name)
    _leave_undocumented()


def _defer(name: str) -> None:
    whole = f"numpy.{name}"
    spec = None if whole in sys.modules else find_spec(whole)
    if spec is None or spec.loader is None:
        return
    # heavy, so not before it is needed
    import numpy as np

    spec.loader = LazyLoader(spec.loader)
    module = module_from_spec(spec)
    sys.modules[whole] = module
    setattr(np, name, module)
    spec.loader.exec_module(module)


def _leave_undocumented() -> None:
    if find_spec(DOCUMENTATION) is None or find_spec(CAPABILITIES) is None:  # in other versions of SciPy
        return
    parser: Any = import_module(DOCUMENTATION)

    # SciPy has no types.
    class Undocumented(parser.FunctionDoc):  # type: ignore[misc]
        """What there is to say about a function: nothing."""

        def __init__(self, function: Any = None, *_: Any, **__: Any) -> None:
            super().__init__(function, doc="")

    parser.FunctionDoc = Undocumented
    # It marks functions for SciPy's documentation and tests, and returns them as they are.
    marking: Any = import_module(CAPABILITIES)
    marking.xp_capabilities = lambda **_: lambda function: function
