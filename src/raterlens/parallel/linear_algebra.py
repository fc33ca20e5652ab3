"""Products of matrices on one thread where they are small.

NumPy's linear algebra shares out any product on all cores, and its threads spin while they wait for the next: a fit of
a few thousand ratings, which makes thousands of small products, then takes three times its processor time, and longer
on the clock where other work is under way.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

# Raters and items up to which matrices, by parameters or by rating cells, are small.
_SMALL = 800


class Panel(Protocol):
    """Ratings, or a fit of them."""

    @property
    def n_raters(self) -> int: ...

    @property
    def n_items(self) -> int: ...


@contextmanager
def suited_to(panel: Panel) -> Iterator[None]:
    """Linear algebra of a model with so many raters and items: on one thread, or as everywhere else in this process."""
    if panel.n_raters + panel.n_items > _SMALL:
        yield
    else:
        with _controller().limit(limits=1, user_api="blas"):
            yield


@cache
def _controller() -> "ThreadpoolController":
    """Kept: looking for libraries takes as long as a small fit's evaluations."""
    import scipy.linalg  # noqa: F401  with NumPy's: what is not loaded is not found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
