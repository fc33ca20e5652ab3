"""A file from a browser to disk, piece by piece, refused as soon as it is too large."""

import re
from asyncio import wait_for
from dataclasses import dataclass
from email.message import Message
from email.utils import collapse_rfc2231_value
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from python_multipart import MultipartParser
from python_multipart.exceptions import MultipartParseError
from starlette.requests import Request

from raterlens.app.web.refusals import RefusedError
from raterlens.app.web.settings import MEGABYTE, Settings

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

TEXT = (".csv", ".tsv", ".txt")
TAKEN = (
    *TEXT,
    *(
        ".parquet",
        ".xlsx",
        ".xlsm",
        ".xlsb",
        ".xls",
        ".ods",
        ".sav",
        ".zsav",
        ".dta",
        ".rda",
        ".rdata",
        ".rds",
    ),
    *(".jsonl", ".ndjson", ".json"),
)
"""The extension is all of a client's file name that reaches the disk. Databases are not taken: a view in one can name
other files. Nor is anything compressed as a whole: it can grow beyond every limit."""

NAME = 120
"""Characters of a file name that are shown."""

ENVELOPE = 10_000
"""Bytes around the file in a form."""


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload: our file, and the client's name for it."""

    name: str
    path: Path
    size: int


async def receive(request: Request, folder: Path, settings: Settings) -> Upload:
    """Write the file of a form to `folder`.

    The rest of a table with too many rows is read and thrown away, so that a browser gets to see the answer; a body
    that announces itself as too large is not read at all.
    """
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > settings.max_bytes + ENVELOPE:
        raise _too_large(settings)
    form = Message()
    form["content-type"] = request.headers.get("content-type", "")
    boundary = form.get_param("boundary")
    if form.get_content_type() != "multipart/form-data" or not isinstance(boundary, str):
        raise RefusedError("no file was uploaded; choose one, then send it", 400)
    part = _Part(folder, settings)
    try:
        parser = MultipartParser(boundary.encode("latin-1"), part.callbacks())
        pieces = request.stream()
        while (piece := await wait_for(anext(pieces, None), settings.stalled)) is not None:
            parser.write(piece)
        parser.finalize()
    except TimeoutError:
        raise RefusedError(
            f"nothing more of the upload arrived for {settings.stalled:g} seconds; try again", 408
        ) from None
    except (MultipartParseError, UnicodeEncodeError) as error:
        raise RefusedError(f"the upload was incomplete ({error}); try again", 400) from None
    finally:
        part.close()
    return part.received()


class _Part:
    """The parts of a form as they arrive; the first that is a file is written."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder, self._settings = folder, settings
        self._header, self._value = b"", b""
        self._headers: dict[str, str] = {}
        self._file: BinaryIO | None = None
        self._name: str | None = None
        self._path = folder
        self._open = False
        self._size = self._lines = 0

    def callbacks(self) -> "MultipartCallbacks":
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._field,
            "on_header_value": self._content,
            "on_header_end": self._ended,
            "on_headers_finished": self._start,
            "on_part_data": self._data,
            "on_part_end": self._end,
        }

    def received(self) -> Upload:
        if not self._name:
            raise RefusedError("no file was uploaded; choose one, then send it", 400)
        if self._lines > self._settings.max_rows + 1:
            self._path.unlink()
            raise too_many_rows(self._lines, self._settings)
        return Upload(self._name[:NAME], self._path, self._size)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _begin(self) -> None:
        self._headers = {}

    def _field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _content(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _ended(self) -> None:
        self._headers[self._header.decode("latin-1").lower()] = self._value.decode("utf-8", "replace")
        self._header = self._value = b""

    def _start(self) -> None:
        said = Message()
        said["content-disposition"] = self._headers.get("content-disposition", "")
        name = said.get_param("filename", header="content-disposition")
        if name is None or self._name is not None:
            return
        self._name = re.split(r"[\\/]", collapse_rfc2231_value(name))[-1].strip()
        if not self._name:
            return
        extension = Path(self._name.lower()).suffix
        if extension not in TAKEN:
            raise RefusedError(
                f"{self._name[:NAME]!r} has the extension {extension[:NAME]!r}, and only these can be uploaded: "
                f"{', '.join(TAKEN)}; save the table as one of them, or use raterlens fit on the command line"
            )
        self._path = self._folder / f"table{extension}"
        self._file, self._open = self._path.open("xb"), True

    def _data(self, data: bytes, start: int, end: int) -> None:
        if not self._open or self._file is None:
            return
        self._size += end - start
        if self._size > self._settings.max_bytes:
            raise _too_large(self._settings)
        if self._path.suffix in TEXT:
            self._lines += data.count(b"\n", start, end)
        if self._lines <= self._settings.max_rows + 1:
            self._file.write(memoryview(data)[start:end])

    def _end(self) -> None:
        self._open = False


def _too_large(settings: Settings) -> RefusedError:
    return RefusedError(
        f"the file is larger than {settings.max_bytes / MEGABYTE:g} MB, the limit here; save it as Parquet, upload "
        "part of it, or raise the limit: raterlens serve --max-megabytes N",
        413,
    )


def too_many_rows(rows: int, settings: Settings) -> RefusedError:
    return RefusedError(
        f"the table has {rows:,} rows, and the limit here is {settings.max_rows:,}; upload part of it, use raterlens "
        "fit on the command line, or raise the limit: raterlens serve --max-rows N",
        413,
    )
