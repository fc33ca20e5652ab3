"""A server under pressure: `python -m audit.web_pressure` holds uploads half-open, sends others that fail, and times
new visitors in between.
"""

import argparse
import asyncio
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from tests.support.web_clients import LONG
from tests.support.web_servers import serving

AT_ONCE = 20
"""Failing uploads at a time."""
START = b'--b\r\nContent-Disposition: form-data; name="file"; filename="%b"\r\n\r\n'
END = b"\r\n--b--\r\n"
FAILING = ((b"x.csv", b""), (b"x.exe", b"MZ"), (b"x.csv", b"only one column\n1\n"), (b"x.parquet", b"PAR1"))


class Visitor:
    """Speaks HTTP to a server."""

    def __init__(self, address: str) -> None:
        self.host, self.port = urlsplit(address).hostname, urlsplit(address).port

    async def begin(
        self, name: bytes, content: bytes, length: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """An upload of this many bytes, of which these are sent."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        here = f"{self.host}:{self.port}"
        head = (
            f"POST /tables HTTP/1.1\r\nHost: {here}\r\nOrigin: http://{here}\r\nConnection: close\r\n"
            f"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {length}\r\n\r\n"
        )
        writer.write(head.encode() + START % name + content)
        await writer.drain()
        return reader, writer

    async def send(self, name: bytes, content: bytes) -> int:
        """The status of an upload that is sent to its end."""
        body = len(START % name) + len(content) + len(END)
        reader, writer = await self.begin(name, content + END, body)
        status = int((await reader.readline()).split()[1])
        writer.close()
        return status

    async def look(self) -> tuple[int, float]:
        """The status of the start page, and how long it took."""
        begun = time.perf_counter()
        reader, writer = await asyncio.open_connection(self.host, self.port)
        writer.write(f"GET / HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        return int(answer.split()[1]), time.perf_counter() - begun


async def pressed(address: str, half_open: int, failing: int) -> dict[str, float]:
    """Seconds that a new visitor waits for the start page, at worst, and whether an upload is taken then."""
    visitor = Visitor(address)
    held = [await visitor.begin(b"x.csv", b"student,rat", 10_000) for _ in range(half_open)]
    waits, limit = [], asyncio.Semaphore(AT_ONCE)

    async def fail(number: int) -> int:
        async with limit:
            return await visitor.send(*FAILING[number % len(FAILING)])

    under_way = [asyncio.ensure_future(fail(number)) for number in range(failing)]
    while not all(task.done() for task in under_way):
        status, wait = await visitor.look()
        assert status == 200, status
        waits.append(wait)
        await asyncio.sleep(0.1)
    failed = [task.result() for task in under_way]
    assert all(400 <= status < 500 for status in failed), sorted(set(failed))
    begun = time.perf_counter()
    assert await visitor.send(b"ratings.csv", LONG.encode()) == 303, "a good table is refused"
    taken = time.perf_counter() - begun
    for _, writer in held:
        writer.close()
    waits.sort()
    return {
        "looks": len(waits),
        "median": waits[len(waits) // 2],
        "worst": waits[-1],
        "a table taken in": taken,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half-open", type=int, default=300)
    parser.add_argument("--failing", type=int, default=1000)
    given = parser.parse_args()
    with TemporaryDirectory() as folder, serving(Path(folder)) as server:
        found = asyncio.run(pressed(server.address, given.half_open, given.failing))
    print(f"{given.half_open} uploads half-open, {given.failing:,} failed; a new visitor, in seconds:")
    print(", ".join(f"{name} {value:.3g}" for name, value in found.items()))


if __name__ == "__main__":
    main()
