"""When compiled code pays: the one rule by which readable code gives way to its compiled twin.

Callers say how many numbers they go over. Below the break-even, arranging the data and calling a kernel takes as long
as the work itself; readable code gives the same numbers.
"""

from raterlens.kernels.library import available

NUMBERS = 30_000
LARGE = 100_000
"""Ratings from which on a fit without compiled code is said to be slow."""


def compiled_code_pays(numbers: float) -> bool:
    """Whether going over this many numbers (rows x nodes x passes, roughly) is worth compiled code; not where there is
    none."""
    return numbers >= NUMBERS and available()


def missed(n_ratings: int) -> tuple[str, ...]:
    """A warning where compiled code would have helped and is not there."""
    if n_ratings < LARGE or available():
        return ()
    return (
        f"Raterlens was installed without its compiled code, so {n_ratings:,} ratings took several times as long as "
        "they need: install it again where a C compiler or the package ziglang can be had",
    )
