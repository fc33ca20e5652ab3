"""A process with everything imported, which forks a copy of itself per command: it starts once.

A command may be made to fail: the k-th change to a file raises "no space left", no file can grow beyond so many bytes,
or the process is killed at the k-th change, or after so many milliseconds of its time, as by a loss of power; or it
gets a SIGTERM or a Ctrl-C then.
"""

import errno
import json
import os
import resource
import signal
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from select import select
from typing import Any, NoReturn

import raterlens

LEFT_OUT = ("raterlens.sklearn", "raterlens.app.web", "raterlens.kernels", "raterlens.studies")
"""Rooms that no command needs, or that load themselves. Studies read a table as they load: polars then starts threads,
and a copy of a process cannot use them."""
SIGNALS = {"terminate": signal.SIGTERM, "interrupt": signal.SIGINT}
STUCK, BEGUN = 30.0, 0.1
"""Seconds of the clock after which a command must have used a certain number of processor seconds."""
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def changes(event: str, arguments: tuple[Any, ...], folder: str) -> bool:
    """Whether an event of the interpreter is a change to a file below the folder that could fail."""
    if event == "open":
        path, _, flags = arguments
        return isinstance(flags, int) and bool(flags & WRITING) and _inside(path, folder)
    return event in ("os.rename", "os.mkdir", "os.truncate") and _inside(arguments[0], folder)


def _inside(path: object, folder: str) -> bool:
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    name = os.fsdecode(path)
    return name.startswith(folder) or not os.path.isabs(name)


def arrange(fault: str, at: int, folder: str) -> None:
    """Make the fault happen."""
    if fault == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (at, at))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    if fault == "moment":
        signal.setitimer(signal.ITIMER_PROF, at / 1000)  # nobody catches the signal, so it kills
    if fault in SIGNALS:
        signal.signal(signal.SIGPROF, lambda *_: signal.raise_signal(SIGNALS[fault]))
        signal.setitimer(signal.ITIMER_PROF, at / 1000)
    count = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if not changes(event, arguments, folder):
            return
        count += 1
        if count == at and fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if count == at and fault == "fail":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if fault in ("fail", "kill"):
        sys.addaudithook(hook)


def run(words: list[str], folder: str, fault: str, at: int, errors: int) -> NoReturn:
    """In the copy: run a command and end."""
    from raterlens.app.cli.main import main

    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(errors, 2)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    arrange(fault, at, folder)
    code = main(words)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def serve() -> None:
    """A line asks for a command; the answer is how it ended, and what it said to standard error."""
    for module in walk_packages(raterlens.__path__, "raterlens."):
        if not module.name.startswith(LEFT_OUT):
            import_module(module.name)
    for further in ("altair", "scipy.optimize", "scipy.stats", "scipy.sparse.linalg"):
        import_module(further)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


def answer(asked: dict[str, Any]) -> tuple[int, str]:
    """Run a command in a copy of this process: how it ended, and what it said.

    A copy that stands still from its start is made again: it was forked while a thread of a library held a lock.
    """
    said, errors = os.pipe()  # not a file, whose size might be limited
    child = os.fork()
    if child == 0:
        try:
            run(**asked, errors=errors)
        finally:
            os._exit(99)
    os.close(errors)
    while not select([said], [], [], STUCK)[0]:
        if _seconds(child) < BEGUN:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(said)
            return answer(asked)
    with open(said, errors="replace") as complaints:
        text = complaints.read()
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), text


def _seconds(pid: int) -> float:
    """Processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    serve()
