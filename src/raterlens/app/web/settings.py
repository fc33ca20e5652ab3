"""A server's limits, in one record."""

import os
from dataclasses import dataclass, field

from raterlens.base.threads import available_cores

MEGABYTE = 1_000_000
GIGABYTE = 1_000_000_000
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def half_of_memory() -> int:
    """Half of this machine's memory, in bytes; 0 if the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return 0


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits, and who has access."""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    """Every visitor needs it where it is set."""
    max_bytes: int = 200 * MEGABYTE
    """Per file."""
    max_rows: int = 5_000_000
    """Per table."""
    max_memory: int = field(default_factory=half_of_memory)
    """Bytes per process that reads or fits; 0 for no limit."""
    fits_at_once: int = field(default_factory=available_cores)
    max_waiting: int = 20
    """Fits in the queue, over all sessions."""
    max_sessions: int = 50
    max_tables: int = 10
    """Per session, like `max_fits`."""
    max_fits: int = 30
    idle: float = 8 * 3600.0
    """Seconds after which an idle session is removed with all its files."""
    spared: float = 15 * 60.0
    """Seconds for which an idle session is safe even where all places are taken and a visitor waits for one."""
    stalled: float = 60.0
    """Seconds without a byte after which an upload is given up."""

    @property
    def cookie(self) -> str:
        """Browsers share cookies between the ports of a host: each server has its own name."""
        return f"raterlens-{self.port}"
