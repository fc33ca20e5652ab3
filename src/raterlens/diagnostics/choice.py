"""Readable code or its compiled twin (`fused*.py`): both give the same numbers."""

from raterlens.engine.choice import LARGE


def large(n_ratings: int) -> bool:
    """Whether compiled code pays for being loaded."""
    return n_ratings >= LARGE
