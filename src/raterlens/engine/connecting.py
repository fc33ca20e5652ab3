"""A client of the Dask cluster at an address."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from raterlens.errors import InputError, OptionError

if TYPE_CHECKING:
    from distributed import Client

# Seconds to wait for a scheduler, and for its first worker.
_PATIENCE = 20


@contextmanager
def workers_at(address: str | None) -> "Iterator[Client | None]":
    """A client, closed at the end; None without an address."""
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise OptionError(
            "a cluster needs the package distributed; run: pip install 'raterlens[cluster]'"
        ) from error
    try:
        client = Client(address, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address!r} ({error}); start one with: dask scheduler, and workers with: "
            "dask worker ADDRESS"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError as error:
            raise InputError(
                f"the Dask scheduler at {address!r} has no workers; start some with: dask worker {address}"
            ) from error
        yield client
