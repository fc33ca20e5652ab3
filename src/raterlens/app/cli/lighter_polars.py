"""Polars without Iceberg, for which it loads Python's packages for mail, archives and cryptography, and without Unity
catalogs.

Their functions and classes are there, and load what they need when called.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

DEFERRED = ("polars.io.iceberg", "polars.catalog.unity")


class _Deferred(ModuleType):
    """A package whose functions load it."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def function(*values: Any, **named: Any) -> Any:
            if sys.modules[self.__name__] is self:
                del sys.modules[self.__name__]
            return getattr(import_module(self.__name__), name)(*values, **named)

        return function


def lighten_polars() -> None:
    """To be called before polars is loaded."""
    polars = None if "polars" in sys.modules else find_spec("polars")
    if polars is None or polars.origin is None:
        return
    for name in DEFERRED:
        folder = Path(polars.origin).parent.joinpath(*name.split(".")[1:])
        if folder.is_dir():  # as in the versions that are known
            package = _Deferred(name)
            package.__path__ = [str(folder)]
            package.__spec__ = ModuleSpec(name, None, is_package=True)
            sys.modules[name] = package
