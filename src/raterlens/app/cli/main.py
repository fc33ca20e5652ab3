"""Run one command, and turn what goes wrong into one message and an exit code.

Exit codes: 0 done; 2 the input is at fault (one message, nothing written); 3 a gate failed; 1 anything else;
130 interrupted; 143 ended by SIGTERM.
"""

import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from json import dumps, loads

from cyclopts import CycloptsError

from raterlens.app.cli.commands import app
from raterlens.base.errors import RaterlensError, is_interrupt, missing_charts

DONE, FAILED, AT_FAULT, GATE_FAILED, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 130, 143

LEAST_SPACE = 2 << 30
"""Bytes of address space for numpy, polars and their threads."""
NO_ROOM = ("can't start new thread", "failed to map segment", "allocate memory", "memory allocation")
"""Messages of libraries that run out of memory, whatever they raise."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    replace_unencodable()
    # NumPy's documented switch: many virtual machines fetch each huge page from their host again, which takes longer.
    os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
    code, ended = DONE, list[int]()
    try:
        # A bare "-", standard input, would be taken for an option without a name.
        tokens = ["./-" if token == "-" else token for token in (sys.argv[1:] if argv is None else argv)]
        if too_little := _too_little_space(tokens):
            return _fail(too_little, FAILED)
        with _ending_tidily(ended):
            code = app(tokens, exit_on_error=False, print_error=False) or DONE
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as error:
        # Once a signal has come, whatever is raised comes of it: polars and ctypes turn it into errors of their own.
        if ended or is_interrupt(error):
            said = (str(error) if isinstance(error, KeyboardInterrupt) else "") or "interrupted"
            if signal.SIGTERM in ended:
                return _fail(said.replace("interrupted", "ended by SIGTERM", 1), TERMINATED)
            return _fail(said, INTERRUPTED)
        return _answer(error)
    return code


def _answer(error: BaseException) -> int:
    """Say what went wrong, in one message."""
    if isinstance(error, CycloptsError):
        error.verbose = False
        return _fail(f"{str(error).strip()} See 'raterlens --help'.", AT_FAULT)
    if isinstance(error, RaterlensError):
        from raterlens.output.report.reproduce import as_flag  # help does without

        return _fail(error.worded(as_flag), AT_FAULT)
    if isinstance(error, ImportError) and (message := missing_charts(error)) is not None:
        return _fail(str(message), AT_FAULT)
    if isinstance(error, BrokenPipeError):
        discard_stdout()
        return DONE
    # A library in Rust that gives up raises what no `except Exception` would see.
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error
    if os.environ.get("RATERLENS_DEBUG"):
        traceback.print_exc()
    return _fail(bug_message(error), FAILED)


@contextmanager
def _ending_tidily(ended: list[int]) -> Iterator[None]:
    """On SIGTERM, end as on Ctrl-C: remove drafts, and say what was saved. Record either signal in `ended`; afterwards,
    both have their earlier handlers again."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: object) -> None:
        ended.append(number)
        raise KeyboardInterrupt

    heard = [signal.SIGTERM]
    if (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):  # else somebody handles or ignores Ctrl-C
        heard.append(signal.SIGINT)
    before = {number: signal.signal(number, end) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _too_little_space(tokens: Sequence[str]) -> str | None:
    """Check the address space before libraries are loaded, which end the process if they find too little."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit in range(LEAST_SPACE) and tokens and not {*tokens} & {"--help", "-h", "--version"}:
        return (
            f"not enough memory: this process may use {limit >> 20:,} MiB of address space; "
            f"allow {LEAST_SPACE >> 20:,} (ulimit -v {LEAST_SPACE >> 10})"
        )
    return None


def bug_message(error: BaseException) -> str:
    """A message for a bug, or for a machine that is out of memory or disk."""
    if isinstance(error, OSError):
        return f"could not finish: {error}"
    if isinstance(error, MemoryError) or any(sign in str(error) for sign in NO_ROOM):
        return "not enough memory for this many ratings; use a machine with more memory, or part of the data"
    return (
        f"unexpected error ({type(error).__name__}: {error}). This is a bug in Raterlens, not in your data. Please run "
        "the command again with RATERLENS_DEBUG=1 set and report what it prints."
    )


def _fail(message: str, code: int) -> int:
    if sys.stderr is not None:
        print(f"raterlens: {message}", file=sys.stderr)
    return code


def print_json(text: str) -> None:
    """Print JSON; escape characters that stdout cannot encode."""
    universal = "utf" in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    try:
        print(text if universal else dumps(loads(text)), flush=True)
    except BrokenPipeError:
        discard_stdout()


def discard_stdout() -> None:
    """Discard further output after the reader (`| head`) has gone, and keep the command's own exit code."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def replace_unencodable() -> None:
    """Show an escape for each character that the terminal's encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
