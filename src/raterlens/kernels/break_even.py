"""When compiling pays: the one rule by which readable code gives way to its compiled twin.

Loading compiled functions takes about a second (compiling them, once per machine, several). NumPy goes over about
6e7 numbers in what compiled code then saves; so that is the break-even, and callers say how many numbers they have.
"""

from functools import cache
from importlib.util import find_spec

NUMBERS = 60_000_000
LARGE = 100_000
"""Ratings from which on a fit without a compiler is said to be slow."""
# Where they are loaded already: what arranging the data for them takes.
_NUMBERS_LOADED = 3_000_000


def compiling_pays(numbers: float, *, loaded: bool = False) -> bool:
    """Whether going over this many numbers (rows x nodes x passes, roughly) is worth loading compiled code for; not
    where there is no compiler."""
    return numbers >= (_NUMBERS_LOADED if loaded else NUMBERS) and compiler_installed()


@cache
def compiler_installed() -> bool:
    return find_spec("numba") is not None


def missed(n_ratings: int) -> tuple[str, ...]:
    """A warning where compiled code would have helped and cannot be had."""
    if n_ratings < LARGE or compiler_installed():
        return ()
    return (
        f"Numba is not installed, so {n_ratings:,} ratings were fitted without compiled code, which would be several "
        "times faster: pip install 'raterlens[large]'",
    )
