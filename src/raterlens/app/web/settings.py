"""A server's limits, in one record; those with a help text are options of `raterlens serve`."""

import os
from dataclasses import dataclass, field

from raterlens.config.option_fields import check_options, option

MEGABYTE = 1_000_000
GIGABYTE = 1_000_000_000
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def quarter_of_memory() -> float:
    """Return a quarter of this machine's memory in GB; 0, for no limit, if the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 4 / GIGABYTE
    except (AttributeError, OSError, ValueError):
        return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where to listen, who has access, and how much is allowed."""

    port: int = option(8765, "Port to listen on; 0 picks a free one.", least=0, most=65_535)
    host: str = option("127.0.0.1", "Address to listen on; another one lets other machines in.")
    max_megabytes: float = option(200, "Maximum upload size (MB).", least=0.001)
    max_rows: int = option(5_000_000, "Maximum rows per table.", least=1)
    max_memory: float | None = option(
        None, "Maximum memory per job (GB); default: a quarter of the machine's.", least=0.1
    )
    max_minutes: float = option(60, "Maximum time per fit (minutes).", least=0.01)
    max_reading: float = option(
        60, "Maximum time to read or check a table, or to compare fits (seconds).", least=1
    )
    fits: int | None = option(None, "Fits at a time; default: one per core.", least=1)
    token: str | None = None
    """If set, every visitor needs it."""
    max_waiting: int = 20
    """Fits in the queue, over all sessions."""
    max_sessions: int = 50
    max_tables: int = 10
    """Per session, like `max_fits`."""
    max_fits: int = 30
    idle: float = 8 * 3600.0
    """Seconds after which an idle session is removed with all its files."""
    grace_period: float = 15 * 60.0
    """Seconds for which an idle session is kept even if all places are taken and a visitor waits for one."""
    upload_timeout: float = 60.0
    """Seconds without a byte after which an upload is aborted."""
    slow: float = 2.0
    """Seconds after which reading a table no longer keeps others waiting: another may start beside it."""
    ending: int = 3
    """Seconds that open connections have to end when the server stops."""
    memory: float = field(default_factory=quarter_of_memory)
    """GB per job if `max_memory` is not given."""

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def max_bytes(self) -> int:
        """Per file."""
        return int(self.max_megabytes * MEGABYTE)

    @property
    def job_memory(self) -> int:
        """Bytes per job; 0 for no limit."""
        return int((self.memory if self.max_memory is None else self.max_memory) * GIGABYTE)

    @property
    def cookie(self) -> str:
        """Browsers share cookies between the ports of a host: each server has its own name."""
        return f"raterlens-{self.port}"
