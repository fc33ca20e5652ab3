"""A server under pressure: `python -m audit.web_pressure` holds uploads half-open, sends others that fail or unfold,
and times new visitors in between, and how long the server takes to stop.
"""

import argparse
import asyncio
import io
import signal
import time
import zipfile
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

    async def ask(self, method: str, path: str, cookie: str = "", form: str = "") -> tuple[int, bytes]:
        """The status and the whole answer to a request."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        here = f"{self.host}:{self.port}"
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {here}\r\nOrigin: http://{here}\r\nConnection: close\r\n"
            f"Cookie: {cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            f"Content-Length: {len(form)}\r\n\r\n{form}"
        )
        writer.write(head.encode())
        answer = await reader.read()
        writer.close()
        return int(answer.split()[1]), answer

    async def fit(self, name: bytes, content: bytes) -> float:
        """Seconds from the upload of a table to its report."""
        begun = time.perf_counter()
        body = len(START % name) + len(content) + len(END)
        reader, writer = await self.begin(name, content + END, body)
        answer = (await reader.read()).decode()
        writer.close()
        where, cookie = (_header(answer, name) for name in ("location", "set-cookie"))
        form = "&".join(f"role-{n}={role}" for n, role in enumerate(("student", "rater", "item", "score")))
        status, _ = await self.ask("POST", f"{where}/check", cookie, form)
        assert status == 200, status
        _, started = await self.ask("POST", f"{where}/fits", cookie, form)
        result = _header(started.decode(), "location")
        while b'class="downloads"' not in (await self.ask("GET", result, cookie))[1]:
            await asyncio.sleep(0.1)
        return time.perf_counter() - begun

    async def look(self) -> tuple[int, float]:
        """The status of the start page, and how long it took."""
        begun = time.perf_counter()
        reader, writer = await asyncio.open_connection(self.host, self.port)
        writer.write(f"GET / HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        return int(answer.split()[1]), time.perf_counter() - begun


def _header(answer: str, name: str) -> str:
    lines = answer.partition("\r\n\r\n")[0].splitlines()
    (found,) = [line.partition(": ")[2] for line in lines if line.lower().startswith(f"{name}: ")]
    return found.partition(";")[0]


def unfolding(megabytes: int) -> bytes:
    """A small workbook whose only sheet is this many megabytes of spaces between two cells."""
    file = io.BytesIO()
    rows = ("<row><c t='inlineStr'><is><t>", "</t></is></c></row>")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as book:
        for name, text in PARTS.items():
            book.writestr(name, text)
        with book.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as sheet:
            sheet.write(f"<worksheet xmlns='{MAIN}'><sheetData>{rows[0]}".encode())
            for _ in range(megabytes):
                sheet.write(b" " * 1_000_000)
            sheet.write(f"{rows[1]}</sheetData></worksheet>".encode())
    return file.getvalue()


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINK = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
PARTS = {
    "[Content_Types].xml": f"<Types xmlns='{PACKAGE}/content-types'><Default Extension='rels' "
    "ContentType='application/vnd.openxmlformats-package.relationships+xml'/><Override "
    f"PartName='/xl/workbook.xml' ContentType='{KIND}.sheet.main+xml'/><Override "
    f"PartName='/xl/worksheets/sheet1.xml' ContentType='{KIND}.worksheet+xml'/></Types>",
    "_rels/.rels": f"<Relationships xmlns='{PACKAGE}/relationships'><Relationship Id='r1' "
    f"Type='{LINK}/officeDocument' Target='xl/workbook.xml'/></Relationships>",
    "xl/workbook.xml": f"<workbook xmlns='{MAIN}' xmlns:r='{LINK}'><sheets><sheet name='S' sheetId='1' "
    "r:id='r1'/></sheets></workbook>",
    "xl/_rels/workbook.xml.rels": f"<Relationships xmlns='{PACKAGE}/relationships'><Relationship Id='r1' "
    f"Type='{LINK}/worksheet' Target='worksheets/sheet1.xml'/></Relationships>",
}


async def unfolded(address: str, megabytes: int) -> dict[str, float]:
    """How two uploads that unfold are answered, and how long a visitor's fit takes meanwhile."""
    visitor, book = Visitor(address), unfolding(megabytes)
    alone = await visitor.fit(b"ratings.csv", LONG.encode())
    two = [asyncio.ensure_future(visitor.send(b"x.xlsx", book)) for _ in range(2)]
    await asyncio.sleep(0.5)
    taken = await visitor.fit(b"ratings.csv", LONG.encode())
    begun = time.perf_counter()
    statuses = await asyncio.gather(*two)
    return {
        "megabytes sent": len(book) / 1e6,
        "a visitor's fit before": alone,
        "beside them": taken,
        "then until both were answered": time.perf_counter() - begun,
        "status": max(statuses),
    }


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
    parser.add_argument("--megabytes", type=int, default=1500)
    given = parser.parse_args()
    with TemporaryDirectory() as folder, serving(Path(folder)) as server:
        found = asyncio.run(unfolded(server.address, given.megabytes))
        print(f"two workbooks that unfold to {given.megabytes:,} MB each; in seconds:")
        print(", ".join(f"{name} {value:.3g}" for name, value in found.items()))
        found = asyncio.run(pressed(server.address, given.half_open, given.failing))
        print(f"{given.half_open} uploads half-open, {given.failing:,} failed; a new visitor, in seconds:")
        print(", ".join(f"{name} {value:.3g}" for name, value in found.items()))
        begun = time.perf_counter()
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(20)
        print(f"stopped {time.perf_counter() - begun:.2g} s after SIGTERM")


if __name__ == "__main__":
    main()
