"""Jobs in a bounded number of processes: queued, watched, stopped when cancelled or over a limit."""

import asyncio
import json
import math
import os
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from raterlens.app.web.form import PageError, field_of
from raterlens.app.web.settings import GIGABYTE
from raterlens.base.processes import ONE_THREAD

LOOK = 0.25
"""Seconds between checks of a job's time and memory."""

WIDEST = 1 << 26
"""Maximum bytes in one answer of a worker; results themselves are files."""


class JobState(StrEnum):
    WAITING, RUNNING, DONE = "waiting", "running", "done"
    FAULT = "fault"
    """The input is at fault; the message says how to fix it."""
    FAILED = "failed"
    """A bug, or the process was ended from outside."""
    CANCELLED = "cancelled"


@dataclass(slots=True, eq=False)
class Job:
    """One task for a worker, and its outcome."""

    task: str
    arguments: dict[str, Any]
    visitor: str = ""
    """The visitor who asked for it: visitors take turns."""
    begun: float = math.inf
    """When its worker began it."""
    state: JobState = JobState.WAITING
    progress: dict[str, Any] = field(default_factory=dict)
    result: Any = None
    message: str = ""
    option: str | None = None
    """The option at fault."""
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def ended(self) -> bool:
        return self.over.is_set()

    def end(
        self, state: JobState, *, result: Any = None, message: str = "", option: str | None = None
    ) -> None:
        if not self.ended:
            self.state, self.result, self.message, self.option = state, result, message, option
            self.over.set()

    @property
    def field(self) -> str | None:
        """The id of the field on the page that is at fault."""
        return field_of(self.option)

    async def answer(self) -> Any:
        """Return the result; raise with the message of any other outcome."""
        await self.over.wait()
        if self.state is JobState.DONE:
            return self.result
        status = 422 if self.state is JobState.FAULT else 500
        raise PageError(self.message, status, field=self.field)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a job, and of how many may run at a time."""

    places: int
    waiting: int = 20
    """Jobs in the queue."""
    seconds: float = 0.0
    memory: int = 0
    """Bytes; 0, as for seconds, is no limit."""
    too_long: str = ""
    """Message to a visitor whose job takes longer."""
    slow: float = 0.0
    """Seconds after which a job no longer counts among `places`; 0 for never."""
    slow_places: int = 0
    """How many such jobs may run in addition."""


class Worker:
    """A process that does one task after another: a line of JSON in, lines of progress and one answer out."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._spent = False

    @staticmethod
    async def start(root: Path) -> "Worker":
        # Fits run side by side: each has one thread.
        environment = os.environ | dict.fromkeys(ONE_THREAD, "1")
        command = (sys.executable, "-m", "raterlens.app.web.worker", str(root))
        return Worker(
            await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, env=environment, limit=WIDEST, start_new_session=True
            )
        )

    async def do(self, job: Job, limits: Limits, on_look: Callable[[], None]) -> None:
        """Follow a task to its end; if the process dies, the job is left without an outcome.

        A process that takes too long or too much memory is killed before others suffer, from outside: compiled code may
        be running that cannot be asked to stop.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        with suppress(ConnectionError):
            stdin.write(json.dumps({"task": job.task, "arguments": job.arguments}).encode() + b"\n")
            await stdin.drain()
        while not job.ended:
            try:
                async with asyncio.timeout(LOOK):
                    line = await stdout.readline()
            except TimeoutError:
                line = b"{}"
            if not line:
                return
            said = json.loads(line)
            if "state" in said:
                self._spent = said["too_large"]
                message = "; ".join(part for name in ("what", "remedy") if (part := said.get(name)))
                state, option = JobState(said["state"]), said.get("option")
                job.end(state, result=said.get("result"), message=message, option=option)
                return
            if "progress" in said:
                job.begun = min(job.begun, time.monotonic())
                job.progress = said["progress"]
            if limits.memory and memory_of(self._process.pid) > limits.memory:
                job.end(JobState.FAULT, message=TOO_LARGE.format(limits.memory / GIGABYTE))
            elif limits.seconds and time.monotonic() - job.begun > limits.seconds:
                job.end(JobState.FAULT, message=limits.too_long)
            on_look()
        await self.kill()  # stopped, and perhaps in the middle of its task

    @property
    def ready(self) -> bool:
        """Whether it can take another task: it is alive, and not too large or being killed."""
        return self._process.returncode is None and not self._spent

    async def kill(self) -> None:
        self._spent = True
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


def memory_of(process: int) -> int:
    """Return the bytes that a process holds; 0 if the system does not say."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


class Pool:
    """Runs jobs within limits while others wait. Workers are kept for the next task."""

    def __init__(self, root: Path, limits: Limits) -> None:
        self._root, self._limits = root, limits
        self._waiting: list[Job] = []
        self._running: dict[Job, asyncio.Task[None]] = {}
        self._workers: dict[Job, Worker] = {}
        self._idle: list[Worker] = []

    async def warm(self) -> None:
        """Start a worker and its imports before the next task comes."""
        if not self._idle and self._has_place():
            self._idle.append(await Worker.start(self._root))

    def submit(self, task: str, visitor: str = "", **arguments: Any) -> Job:
        if len(self._waiting) >= self._limits.waiting:
            raise PageError(
                f"{len(self._waiting)} tasks are already waiting, the limit; try again in a few minutes", 503
            )
        job = Job(task, arguments, visitor)
        self._waiting.append(job)
        self._advance()
        return job

    def ahead(self, job: Job) -> int:
        """Return how many waiting jobs come before this one."""
        order = self._order()
        return order.index(job) if job in order else 0

    async def cancel(self, job: Job) -> None:
        """Stop a job by killing its process."""
        if job in self._waiting:
            self._waiting.remove(job)
        job.end(JobState.CANCELLED)
        if job in self._workers:
            await self._workers[job].kill()
        if job in self._running:
            await asyncio.wait([self._running[job]])

    async def close(self) -> None:
        for job in [*self._waiting, *self._running]:
            await self.cancel(job)
        for worker in self._idle:
            await worker.kill()
        self._idle.clear()

    def _order(self) -> list[Job]:
        """Order the waiting jobs: every visitor's first, then every visitor's second."""
        turns = Counter(job.visitor for job in self._running)
        turn: dict[Job, int] = {}
        for job in self._waiting:
            turn[job] = turns[job.visitor]
            turns[job.visitor] += bool(job.visitor)
        return sorted(self._waiting, key=turn.__getitem__)

    def _has_place(self) -> bool:
        now, slow = time.monotonic(), self._limits.slow
        beside = sum(bool(slow) and now - job.begun >= slow for job in self._running)
        return len(self._running) - min(beside, self._limits.slow_places) < self._limits.places

    def _advance(self) -> None:
        while self._waiting and self._has_place():
            job = self._order()[0]
            self._waiting.remove(job)
            job.state = JobState.RUNNING
            self._running[job] = asyncio.create_task(self._run(job))

    async def _run(self, job: Job) -> None:
        try:
            self._idle = [worker for worker in self._idle if worker.ready]
            worker = self._idle.pop() if self._idle else await Worker.start(self._root)
            self._workers[job] = worker
            await worker.do(job, self._limits, self._advance)  # it may have become slow
            if worker.ready and job.ended and len(self._idle) < self._limits.places:
                self._idle.append(worker)
            else:
                await worker.kill()
        finally:
            job.end(JobState.FAILED, message=INTERRUPTED)
            self._workers.pop(job, None)
            self._running.pop(job, None)
            self._advance()


TOO_LARGE = (
    "this takes more than {:.3g} GB of memory, the limit here; use part of the data or a simpler model, use "
    "raterlens fit on the command line, or raise the limit: raterlens serve --max-memory N"
)
INTERRUPTED = (
    "the fit was interrupted: its process ended, perhaps for lack of memory. Nothing else was lost; start it again, "
    "or use part of the data"
)
