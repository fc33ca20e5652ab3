"""A worker process: reads tasks from stdin, one line of JSON each, and answers on stdout.

It ends with its server, however that ends, and removes the work folder, so that no file is left behind.
"""

import json
import os
import shutil
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

PAUSE = 0.5
"""Seconds that a new process waits before its imports, unless it has a task."""

LARGE = 1_500_000
"""Kilobytes beyond which a process is not reused, so that its memory is free for others."""


def main(root: Path) -> None:
    """Do tasks until there are none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's to hear
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever libraries print goes to stderr

    def say(said: dict[str, Any]) -> None:
        print(json.dumps(said), file=answers, flush=True)

    tasks: SimpleQueue[dict[str, Any]] = SimpleQueue()
    threading.Thread(target=_listen, args=(tasks, root), daemon=True).start()
    task: dict[str, Any] | None = None
    with suppress(Empty):
        task = tasks.get(timeout=PAUSE)
    # While nobody is waiting, but after the server's first page, which must not wait either.
    from raterlens.app.web.tasks import TASKS

    while True:
        task = task or tasks.get()
        say({"progress": {}})  # it has begun
        say(_do(TASKS, task, say) | {"too_large": _peak_memory() > LARGE})
        task = None


def _do(tasks: Any, task: dict[str, Any], say: Any) -> dict[str, Any]:
    # With the tasks, after the first page.
    from raterlens.app.cli.main import bug_message
    from raterlens.app.web.form import label
    from raterlens.base.errors import RaterlensError
    from raterlens.base.text import worded

    try:
        result = tasks[task["task"]](**task["arguments"], progress=lambda seen: say({"progress": seen}))
        return {"state": "done", "result": result}
    except RaterlensError as error:
        parts = {"what": worded(error.what, label), "remedy": worded(error.remedy, label)}
        plain = error.value is None or isinstance(error.value, str | int | float)
        return {
            "state": "fault",
            **parts,
            "option": error.option,
            "value": error.value if plain else str(error.value),
        }
    except Exception as error:
        if os.environ.get("RATERLENS_DEBUG"):
            sys.excepthook(*sys.exc_info())
        return {"state": "failed", "what": bug_message(error)}


def _listen(tasks: "SimpleQueue[dict[str, Any]]", root: Path) -> None:
    for line in sys.stdin.buffer:
        tasks.put(json.loads(line))
    shutil.rmtree(root, ignore_errors=True)
    os.kill(os.getpid(), signal.SIGTERM)


def _peak_memory() -> int:
    """Return this process's peak memory in kilobytes; 0 if the system does not say."""
    try:
        import resource  # not on every system
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
