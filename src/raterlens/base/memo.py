"""Results cached with an object, as long as it lives."""

import hashlib
from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

Value = TypeVar("Value")

_kept: "WeakKeyDictionary[Any, dict[Hashable, Any]]" = WeakKeyDictionary()


def kept_with(owner: object, key: Hashable, make: Callable[[], Value]) -> Value:
    """Return what `make` returns, computed once per owner and key.

    Examples
    --------
    >>> class Fit: ...
    >>> fit = Fit()
    >>> kept_with(fit, "answer", lambda: 42), kept_with(fit, "answer", lambda: 0)
    (42, 42)
    """
    found = _kept.setdefault(owner, {})
    if key not in found:
        found[key] = make()
    return found[key]  # type: ignore[no-any-return]  # a key always has the same type of value


def digest(*parts: object) -> str:
    """A short name for arrays and texts."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        content = np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else str(part).encode()
        found.update(f"{len(content)}:".encode())
        found.update(content)
    return found.hexdigest()
