"""Work in a bounded number of processes: queued, watched, and stopped for good when cancelled."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from raterlens.app.web.option_labels import FIELDS
from raterlens.app.web.refusals import RefusedError
from raterlens.app.web.settings import GIGABYTE
from raterlens.base.processes import ONE_THREAD

LOOK = 0.25
"""Seconds between two looks at the memory of a process."""

WIDEST = 1 << 26
"""Bytes in one answer of a worker; results themselves are files."""


class JobState(StrEnum):
    WAITING, RUNNING, DONE = "waiting", "running", "done"
    FAULT = "fault"
    """The input is at fault; the message says how to fix it."""
    FAILED = "failed"
    """A bug, or the process was ended from outside."""
    CANCELLED = "cancelled"


@dataclass(slots=True, eq=False)
class Job:
    """One task for a worker, and what became of it."""

    task: str
    arguments: dict[str, Any]
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
        return FIELDS.get(self.option or "")

    async def answer(self) -> Any:
        """The result; whatever else came of it is refused with its message."""
        await self.over.wait()
        if self.state is JobState.DONE:
            return self.result
        status = 422 if self.state is JobState.FAULT else 500
        raise RefusedError(self.message, status, field=self.field)


class Worker:
    """A process that does one task after the other: a line of JSON in, lines of progress and one answer out."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._tired = False

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

    async def do(self, job: Job, max_memory: int = 0) -> None:
        """Follow a task to its end; a process that dies on the way leaves the job without one."""
        watching = asyncio.create_task(self._watch(job, max_memory))
        try:
            await self._follow(job)
        finally:
            watching.cancel()

    async def _watch(self, job: Job, most: int) -> None:
        """End a process that takes too much memory, before the machine suffers. From outside: what is at work in it
        may be compiled code that cannot be asked to stop."""
        while most:
            await asyncio.sleep(LOOK)
            if memory_of(self._process.pid) > most:
                job.end(JobState.FAULT, message=TOO_LARGE.format(most / GIGABYTE))
                await self.kill()
                return

    async def _follow(self, job: Job) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(ConnectionError):
            task = {"task": job.task, "arguments": job.arguments}
            self._process.stdin.write(json.dumps(task).encode() + b"\n")
            await self._process.stdin.drain()
            async for line in self._process.stdout:
                said = json.loads(line)
                if "progress" in said:
                    job.progress = said["progress"]
                    continue
                self._tired = said["tired"]
                message = "; ".join(part for name in ("what", "remedy") if (part := said.get(name)))
                job.end(
                    JobState(said["state"]),
                    result=said.get("result"),
                    message=message,
                    option=said.get("option"),
                )
                return

    @property
    def ready(self) -> bool:
        """Whether it can take another task: it lives, and has not grown too large."""
        return self._process.returncode is None and not self._tired

    async def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


def memory_of(process: int) -> int:
    """Bytes that a process holds; 0 where the system does not say."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


class Pool:
    """At most `size` tasks at a time; the others wait. Workers are kept for the next task."""

    def __init__(self, root: Path, size: int, max_waiting: int, max_memory: int = 0) -> None:
        self._root, self._size, self._max_waiting, self._max_memory = root, size, max_waiting, max_memory
        self._waiting: deque[Job] = deque()
        self._running: dict[Job, asyncio.Task[None]] = {}
        self._workers: dict[Job, Worker] = {}
        self._idle: list[Worker] = []

    async def warm(self) -> None:
        """Have a worker ready, its imports done, before the next task comes."""
        if not self._idle and len(self._running) < self._size:
            self._idle.append(await Worker.start(self._root))

    def submit(self, task: str, **arguments: Any) -> Job:
        if len(self._waiting) >= self._max_waiting:
            raise RefusedError(
                f"{len(self._waiting)} tasks are already waiting, the limit; try again in a few minutes", 503
            )
        job = Job(task, arguments)
        self._waiting.append(job)
        self._advance()
        return job

    def ahead(self, job: Job) -> int:
        """How many must end before this one can begin."""
        return self._waiting.index(job) + 1 if job in self._waiting else 0

    async def cancel(self, job: Job) -> None:
        """Stop it, whatever it is doing: its process is killed."""
        if job in self._waiting:
            self._waiting.remove(job)
        job.end(JobState.CANCELLED)
        worker, running = self._workers.get(job), self._running.get(job)
        if worker is not None:
            await worker.kill()
        if running is not None:
            await asyncio.wait([running])

    async def close(self) -> None:
        for job in [*self._waiting, *self._running]:
            await self.cancel(job)
        for worker in self._idle:
            await worker.kill()
        self._idle.clear()

    def _advance(self) -> None:
        while self._waiting and len(self._running) < self._size:
            job = self._waiting.popleft()
            job.state = JobState.RUNNING
            self._running[job] = asyncio.create_task(self._run(job))

    async def _run(self, job: Job) -> None:
        try:
            worker = await self._worker()
            self._workers[job] = worker
            if not job.ended:
                await worker.do(job, self._max_memory)
            if worker.ready and job.state is not JobState.CANCELLED and job.ended:
                self._idle.append(worker)
            else:
                await worker.kill()
        finally:
            job.end(JobState.FAILED, message=INTERRUPTED)
            self._workers.pop(job, None)
            self._running.pop(job, None)
            self._advance()

    async def _worker(self) -> Worker:
        while self._idle:
            worker = self._idle.pop()
            if worker.ready:
                return worker
        return await Worker.start(self._root)


TOO_LARGE = (
    "this takes more than {:.3g} GB of memory, the limit here; use part of the data or a simpler model, use "
    "raterlens fit on the command line, or raise the limit: raterlens serve --max-memory N"
)
INTERRUPTED = (
    "the fit was interrupted: its process ended, perhaps for lack of memory. Nothing else was lost; start it again, "
    "or use part of the data"
)
