"""Atomic writes: files and folders are drafted in hidden folders beside their place and appear only when complete."""

import ctypes
import os
import shutil
import signal
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from raterlens.base.errors import OptionError

try:
    import fcntl
except ImportError:  # Windows: what a killed run leaves behind stays there
    fcntl = None  # type: ignore[assignment]

PREFIX = ".raterlens-"
RUST_OS_ERROR = "(os error "
"""Part of the message if a Rust library met a system error, whatever exception it raises."""


@contextmanager
def staging_folder(place: Path) -> Iterator[Path]:
    """Make a hidden folder in `place` and remove it afterwards; leftovers of killed runs are removed first.

    A folder is locked while it is in use, and the system unlocks it when its process ends, however it does.
    """
    remove_stale_folders(place)
    while True:
        made = tempfile.TemporaryDirectory(prefix=PREFIX, dir=place, ignore_cleanup_errors=True)
        with made as name, _locked(Path(name)) as alone:
            # Else another run took it for abandoned, in the moment before it was locked.
            if alone and os.path.exists(name):
                yield Path(name)
                return


def remove_stale_folders(place: Path) -> None:
    """Remove the draft folders in `place` that no process uses."""
    if fcntl is None:
        return
    for folder in place.glob(f"{PREFIX}*"):
        with suppress(OSError), _locked(folder) as alone:
            if alone and folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Try to lock a folder; yield whether the lock is ours."""
    if fcntl is None:
        yield True
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        yield False
        return
    try:
        yield _lock(handle)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    """Lock a file or folder until it is closed; return whether nobody else has it."""
    with suppress(OSError):  # a file system without locks
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


@contextmanager
def lock_folder(out: Path) -> Iterator[None]:
    """Keep other commands from writing to `out`; raise if one does, naming its process."""
    place = out.absolute().parent
    lock = place / f"{PREFIX}lock-{out.absolute().name}"
    if fcntl is None or not place.is_dir() or not os.access(place, os.W_OK):
        yield
        return
    with open(os.open(lock, os.O_RDWR | os.O_CREAT, 0o666), "r+", encoding="utf-8") as file:
        if not _lock(file.fileno()):
            what = f"cannot write results to '{out}': process {file.read().strip() or '(starting)'} is writing there"
            remedy = "wait until it is done, or give another folder"
            raise OptionError(what, remedy, value=str(out), option="out")
        try:
            file.write(str(os.getpid()))
            file.flush()
            yield
        finally:
            lock.unlink(missing_ok=True)


def replace_files(draft: Path, out: Path, files: Collection[str], stale: Collection[str] = ()) -> None:
    """Replace `files` of the folder `out` by those in `draft` and remove the `stale` ones: all of it or nothing.

    The folder is exchanged for a new one that also has (as hard links) whatever else was in it: at no moment does it
    hold a mixture, not even after a power cut. Where that is not possible (it has folders of its own, or is a link or
    a mount) files are replaced one by one while Ctrl-C and SIGTERM wait, and put back if one fails.
    """
    for file in files:
        _to_disk(draft / file)
    with _signals_wait():
        if not out.exists():
            out.parent.mkdir(parents=True, exist_ok=True)
        if not _replace_folder(draft, out, files, stale):
            _replace_one_by_one(draft, out, files, stale)
    _to_disk(out.absolute().parent)


def can_be_exchanged(out: Path) -> bool:
    """Whether a folder can be swapped for another: not a link, a mount point or the working folder."""
    place = out.absolute()
    if not os.access(next(folder for folder in place.parents if folder.exists()), os.W_OK):
        return False
    here = Path.cwd()
    return not (out.is_symlink() or os.path.ismount(out) or here.is_relative_to(place.resolve()))


def _replace_folder(draft: Path, out: Path, files: Collection[str], stale: Collection[str]) -> bool:
    """Swap the whole folder; return whether that was possible."""
    if not can_be_exchanged(out):
        return False
    new = draft / "new"
    new.mkdir()
    try:
        if out.exists():
            shutil.copystat(out, new)
            for entry in out.iterdir():
                if entry.name not in files and entry.name not in stale:
                    os.link(entry, new / entry.name, follow_symlinks=False)
        for file in files:
            os.link(draft / file, new / file)
        _to_disk(new)
        if not out.exists():
            os.rename(new, out)
        elif not _exchange(new, out):
            return False
    except OSError:  # no hard links, a folder inside, or a folder that must not be moved
        shutil.rmtree(new, ignore_errors=True)
        return False
    return True


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step, as Linux can since 2014 (renameat2); return whether it worked."""
    if sys.platform != "linux":
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        swap = ctypes.CDLL(None).renameat2
    except AttributeError:  # a C library without it
        return False
    return bool(swap(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)


def _replace_one_by_one(draft: Path, out: Path, files: Collection[str], stale: Collection[str]) -> None:
    new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    earlier = draft / "earlier"
    earlier.mkdir()
    done: list[str] = []
    try:
        for file in files:
            if (out / file).exists():
                shutil.copy2(out / file, earlier / file)
        for file in files:
            os.replace(draft / file, out / file)
            done.append(file)
    except OSError:
        for file in done:
            with suppress(OSError):
                if (earlier / file).exists():
                    os.replace(earlier / file, out / file)
                else:
                    (out / file).unlink()
        with suppress(OSError):
            if new:
                out.rmdir()
        raise
    for file in stale:
        (out / file).unlink(missing_ok=True)
    _to_disk(out)


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Hold back Ctrl-C and SIGTERM until the block ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: came.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for late in came:
            signal.raise_signal(late)


def _to_disk(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk, if the system can: it then survives a power cut."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def atomic_write(out: Path, write: Callable[[Path], object], option: str = "out") -> None:
    """Write a file through a draft: it appears only when complete, and a failure leaves the old file."""
    try:
        place = Path(os.path.realpath(out))
        if place.exists() and not stat.S_ISREG(place.stat().st_mode):
            write(place)  # a device or a pipe is written to, not replaced
            return
        with staging_folder(place.parent) as draft:
            write(draft / place.name)
            _to_disk(draft / place.name)
            os.replace(draft / place.name, place)
            _to_disk(place.parent)
    except Exception as error:
        if not isinstance(error, OSError) and RUST_OS_ERROR not in str(error):
            raise
        what, remedy = (
            f"cannot write {str(out)!r}: {reason(error)}",
            "give a file you may write to, on a disk with room",
        )
        raise OptionError(what, remedy, value=str(out), option=option) from error


def write_text(out: Path, text: str, option: str = "out") -> None:
    """Write a text file atomically."""
    atomic_write(out, lambda draft: draft.write_text(text, encoding="utf-8"), option)


def reason(error: BaseException) -> str:
    """Say why a file cannot be read or written; not every library uses the system's words."""
    return getattr(error, "strerror", None) or (str(error).splitlines() or [type(error).__name__])[0]
