"""Small helpers for plain sentences: short lists and counts."""

from collections.abc import Iterable


def listed(names: Iterable[object], most: int = 8) -> str:
    """Name the first few and count the rest.

    >>> listed(["AM", "BE"])
    "'AM', 'BE'"
    >>> listed(range(15), most=3)
    '0, 1, 2 and 12 more'
    """
    names = list(names)
    shown = ", ".join(repr(name) if isinstance(name, str) else str(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def counted(n: int, noun: str, plural: str = "") -> str:
    """Put a number before its noun.

    >>> counted(1, "rating"), counted(7260, "rating"), counted(2, "category", "categories")
    ('1 rating', '7,260 ratings', '2 categories')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"
