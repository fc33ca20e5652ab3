"""Files that appear when they are whole, drafted in hidden folders beside their place."""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from raterlens.base.errors import OptionError

try:
    import fcntl
except ImportError:  # Windows: what a killed run leaves behind stays there
    fcntl = None  # type: ignore[assignment]

PREFIX = ".raterlens-"
OF_THE_SYSTEM = "(os error "
"""In the message where a library in Rust met an error of the system, whatever it raises."""


@contextmanager
def draft_folder(place: Path) -> Iterator[Path]:
    """A hidden folder in `place`, gone afterwards; those that killed runs left there are removed first.

    A folder is locked while it is in use, and the system unlocks it when its process ends, however it does.
    """
    remove_abandoned(place)
    while True:
        made = tempfile.TemporaryDirectory(prefix=PREFIX, dir=place, ignore_cleanup_errors=True)
        with made as name, _locked(Path(name)) as alone:
            # Else another run took it for abandoned, in the moment before it was locked.
            if alone and os.path.exists(name):
                yield Path(name)
                return


def remove_abandoned(place: Path) -> None:
    """Remove the draft folders in `place` that no process uses."""
    if fcntl is None:
        return
    for folder in place.glob(f"{PREFIX}*"):
        with suppress(OSError), _locked(folder) as alone:
            if alone and folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Lock a folder, where nobody else has; says whether it is ours."""
    if fcntl is None:
        yield True
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            alone = True
        except BlockingIOError:
            alone = False
        except OSError:
            alone = True  # a file system without locks
        yield alone
    finally:
        os.close(handle)


def write_whole(out: Path, write: Callable[[Path], object], option: str = "out") -> None:
    """Write a file by way of a draft: it appears when it is whole, and a failure leaves what was there."""
    try:
        place = Path(os.path.realpath(out))
        if place.exists() and not stat.S_ISREG(place.stat().st_mode):
            write(place)  # a device or a pipe is written to, not replaced
            return
        with draft_folder(place.parent) as draft:
            write(draft / place.name)
            os.replace(draft / place.name, place)
    except Exception as error:
        if not isinstance(error, OSError) and OF_THE_SYSTEM not in str(error):
            raise
        raise OptionError(
            f"cannot write {str(out)!r}: {reason(error)}",
            "give a file you may write to, on a disk with room",
            value=str(out),
            option=option,
        ) from error


def reason(error: Exception) -> str:
    """Why a file cannot be read or written; some libraries say so in other words than the system's."""
    return getattr(error, "strerror", None) or (str(error).splitlines() or [type(error).__name__])[0]
