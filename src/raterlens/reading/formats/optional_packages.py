"""Packages that only some formats need."""

from importlib import import_module
from typing import Any

from raterlens.base.errors import InputError


def require(package: str, extra: str, file: str) -> Any:
    """Import a package on first need, or say how to get it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise InputError(
            f"to read {file!r} the package {package} is needed",
            f"run: pip install 'raterlens[{extra}]', or save the table as csv",
            value=package,
        ) from error
