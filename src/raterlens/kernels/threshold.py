"""Readable code or its compiled twin (`fused*.py`): both give the same numbers."""

LARGE = 200_000
"""Ratings from which on compiled code saves more than the second that loading it takes."""


def large(n_ratings: int) -> bool:
    """Whether compiled code pays for being loaded."""
    return n_ratings >= LARGE
