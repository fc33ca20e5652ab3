"""Memory that is used again rather than given back.

By itself the system's allocator gives every larger array back as soon as it is free, and the system clears each page
that it hands out again: a fifth of the processor's time of a fit of 800,000 ratings. A command that ends in seconds had
better keep what it has.
"""

import ctypes
import os

TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
"""Names of options, as in glibc's malloc.h."""
LARGEST = 32 << 20
"""Arrays of more bytes are always given back: the highest limit that glibc takes."""
KEPT = 256 << 20
"""Free memory that is kept at most, at the end of what is in use."""


def keep_memory() -> None:
    """To be called before NumPy is loaded. Other systems than those with glibc go about it in their own ways."""
    # Pages of 2 MiB are cleared as a whole, though most arrays end within one.
    os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(MMAP_THRESHOLD, LARGEST)
    mallopt(TRIM_THRESHOLD, KEPT)
    # What one thread has freed, another may use: threads would each begin with memory of their own.
    mallopt(ARENA_MAX, 1)
