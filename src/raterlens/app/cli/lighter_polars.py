"""Polars without Iceberg, for which it loads Python's packages for mail, archives and cryptography.

Its functions for such tables are there, and load what they need when called.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

ICEBERG = "polars.io.iceberg"


class _Deferred(ModuleType):
    """A package whose functions load it."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def function(*values: Any, **named: Any) -> Any:
            if sys.modules[ICEBERG] is self:
                del sys.modules[ICEBERG]
            return getattr(import_module(ICEBERG), name)(*values, **named)

        return function


def lighten_polars() -> None:
    """To be called before polars is loaded."""
    polars = None if "polars" in sys.modules else find_spec("polars")
    if polars is None or polars.origin is None:
        return
    folder = Path(polars.origin).parent / "io" / "iceberg"
    if folder.is_dir():  # as in the versions that are known
        package = _Deferred(ICEBERG)
        package.__path__ = [str(folder)]
        package.__spec__ = ModuleSpec(ICEBERG, None, is_package=True)
        sys.modules[ICEBERG] = package
