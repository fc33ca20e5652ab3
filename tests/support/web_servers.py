"""A real server in a process of its own, as `raterlens serve` starts it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Server:
    address: str
    process: "subprocess.Popen[str]"
    folder: Path
    """Where its work folder is made."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Its workers stand still meanwhile: a fit that is under way stays so."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        workers = [int(pid) for children in tasks for pid in children.read_text().split()]
        assert workers
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)
        try:
            yield
        finally:
            for worker in workers:
                os.kill(worker, signal.SIGCONT)


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Server]:
    run = "from raterlens.app.cli.main import main; raise SystemExit(main())"
    command = [
        sys.executable,
        "-c",
        run,
        "serve",
        *(() if "--port" in options else ("--port", "0")),
        *options,
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(folder)}
    )
    try:
        assert process.stdout is not None
        yield Server(process.stdout.readline().split()[-1], process, folder)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(20)
        assert process.stdout is not None
        process.stdout.close()
