"""SciPy without what a command has no use for.

When it is loaded, SciPy goes over everything that NumPy has, and so loads packages for tests, masked arrays and
Fortran; and it adds to the documentation of its own functions. Together they take as long as the functions. Here
those packages are loaded if somebody asks for something in them, and functions keep no documentation.
"""

import sys
from importlib import import_module
from importlib.util import LazyLoader, find_spec, module_from_spec
from types import ModuleType
from typing import Any

DEFERRED = ("char", "ctypeslib", "f2py", "fft", "ma", "polynomial", "rec", "strings", "testing")
"""Packages of NumPy."""
TESTER = "scipy._lib._testutils"
DOCUMENTATION, CAPABILITIES = "scipy._lib._docscrape", "scipy._lib._array_api"


def lighten_scipy() -> None:
    """To be called before SciPy is loaded."""
    if "scipy" in sys.modules:
        return
    for name in DEFERRED:
        _defer(name)
    _know_whether_masked()
    _leave_untested()
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


def _know_whether_masked() -> None:
    """Polars, and NumPy's own `unique` and `quantile`, ask of every array whether it is masked. None is, before there
    are masked arrays."""
    # heavy, so not before it is needed
    import numpy as np

    known: dict[str, Any] = {
        "getdata": lambda a, subok=True: np.array(a, copy=None, subok=subok),
        "getmask": lambda a: np.False_,
        "is_masked": lambda x: False,
        "isMaskedArray": lambda x: False,
        "nomask": np.False_,
    }
    package = sys.modules["numpy.ma"]
    deferred: Any = type(package)
    if deferred is ModuleType:  # it was there before
        return

    class Masked(deferred):  # type: ignore[misc]  # of no type that has a name
        """The package, not yet loaded."""

        def __getattribute__(self, name: str) -> Any:
            if name in known:
                return known[name]
            object.__setattr__(self, "__class__", deferred)
            return getattr(self, name)

    package.__class__ = Masked


class _Tester:
    """Every package of SciPy has a function that tests it."""

    def __init__(self, name: str) -> None:
        self.module_name = name

    def __call__(self, *values: Any, **named: Any) -> Any:
        sys.modules.pop(TESTER)
        return import_module(TESTER).PytestTester(self.module_name)(*values, **named)


def _leave_untested() -> None:
    stand_in: Any = ModuleType(TESTER)
    stand_in.PytestTester = _Tester
    sys.modules[TESTER] = stand_in


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
