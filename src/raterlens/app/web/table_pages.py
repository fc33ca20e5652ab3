"""Pages of tables: upload a file, say what each column is, see at once what the design allows."""

import re
import shutil
from asyncio import to_thread
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from raterlens.app.web.form import ROLES, read_config, sent
from raterlens.app.web.page_words import PageError
from raterlens.app.web.pages import page, wants_part
from raterlens.app.web.sessions import AppState, Session, Table, app_state
from raterlens.app.web.settings import Settings

TAKEN = (
    *(".csv", ".tsv", ".txt", ".parquet", ".jsonl", ".ndjson", ".json"),
    *(".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".sav", ".zsav", ".dta", ".rda", ".rdata", ".rds"),
)
"""The extension is all of a client's file name that reaches the disk. Databases are not taken: a view in one can name
other files. Nor is anything compressed as a whole: it can grow beyond every limit."""

NAME = 120
"""Characters of a file name that are shown."""

ENVELOPE = 10_000
"""Bytes around the file in a form."""

FIELDS = 2_000
"""Fields that the form of a table may have: one per column."""

EXAMPLE = "example.parquet"
EXAMPLE_ROLES = {"student": "student", "rater": "rater", "topic": "rater"}


async def home(request: Request) -> Response:
    return page(request, "home.html")


async def upload(request: Request) -> Response:
    state = app_state(request)
    _check_room(state, request)
    _check_length(request, state.settings)
    with state.sessions.incoming() as folder:
        async with request.form(max_files=1, max_fields=10) as form:
            name, path = await _saved(form.get("file"), folder)
        return _opened(request, state, await _previewed(state, path, name))


async def example(request: Request) -> Response:
    state = app_state(request)
    _check_room(state, request)
    with state.sessions.incoming() as folder:
        path = folder / EXAMPLE
        bundled = files("raterlens") / "data" / EXAMPLE
        path.write_bytes(bundled.read_bytes())
        table = await _previewed(state, path, EXAMPLE)
        table.roles |= EXAMPLE_ROLES
        table.preview["findings"] = []  # of other roles
        return _opened(request, state, table)


def _check_length(request: Request, settings: Settings) -> None:
    """Refuse a body that is too large, or does not say how large it is, before any of it is read."""
    length = request.headers.get("content-length", "")
    if "transfer-encoding" in request.headers or not length.isdigit():
        raise PageError("the upload does not say how large it is; use a browser, or raterlens fit", 411)
    if int(length) > settings.max_bytes + ENVELOPE:
        raise PageError(
            f"the file is larger than {settings.max_megabytes:g} MB, the limit here; save it as Parquet, upload part "
            "of it, or raise the limit: raterlens serve --max-megabytes N",
            413,
        )


async def _saved(file: UploadFile | str | None, folder: Path) -> tuple[str, Path]:
    """Keep an upload in `folder`, under a name of ours; return what the client calls it, and where it is."""
    name = re.split(r"[\\/]", file.filename or "")[-1].strip() if isinstance(file, UploadFile) else ""
    if not isinstance(file, UploadFile) or not name:
        raise PageError("no file was uploaded; choose one, then send it", 400)
    extension = Path(name.lower()).suffix
    if extension not in TAKEN:
        raise PageError(
            f"{name[:NAME]!r} has the extension {extension[:NAME]!r}, and only these can be uploaded: "
            f"{', '.join(TAKEN)}; save the table as one of them, or use raterlens fit on the command line"
        )
    path = folder / f"table{extension}"
    with path.open("xb") as kept:
        await to_thread(shutil.copyfileobj, file.file, kept)
    return name[:NAME], path


async def show(request: Request) -> Response:
    _, table = app_state(request).table(request)
    return page(request, "table.html", table=table, findings=None)


async def choose_sheet(request: Request) -> Response:
    """Another sheet of a workbook."""
    state = app_state(request)
    _, table = state.table(request)
    async with request.form() as form:
        sheet = str(form.get("sheet", ""))
    if sheet not in table.preview["sheets"]:
        raise PageError(f"there is no sheet {sheet[:40]!r} in {table.name!r}; choose one from the list", 404)
    take_preview(table, await _preview(state, table.path, table.name, sheet))
    return RedirectResponse(f"/tables/{table.id}", 303)


async def check(request: Request) -> Response:
    """Answer with what the chosen columns give, and who can be compared with whom."""
    state = app_state(request)
    session, table = state.table(request)
    async with request.form(max_fields=FIELDS) as form:
        update_from_form(table, form)
    findings = await state.quick.submit("check", session.id, **read_arguments(table)).answer()
    session.tentative = False
    template = "part_findings.html" if wants_part(request) else "table.html"
    return page(request, template, table=table, findings=findings)


async def remove(request: Request) -> Response:
    state = app_state(request)
    session, table = state.table(request)
    await state.stop(session.remove(table))
    return RedirectResponse("/", 303)


async def forget(request: Request) -> Response:
    """Everything of this visitor, now."""
    state = app_state(request)
    session = state.visitor(request)
    if session is not None:
        await state.stop([fitted.job for fitted in session.fits.values()])
        state.sessions.remove(session)
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(state.settings.cookie, path="/", httponly=True, samesite="strict")
    return answer


def update_from_form(table: Table, form: FormData) -> None:
    """Take over what a form says. Columns go by number: a name can be anything."""
    table.roles = {
        column: str(role)
        for place, column in enumerate(table.preview["columns"])
        if (role := form.get(f"role-{place}")) in ROLES
    }
    table.spread = str(form.get("spread", "item"))
    table.given = sent(form)


def take_preview(table: Table, preview: dict[str, Any]) -> None:
    """Take over what a file looks like, and the choices that it suggests."""
    table.preview, table.roles, table.spread = preview, preview["roles"], preview["spread"]
    table.given = preview["given"]


def read_arguments(table: Table) -> dict[str, object]:
    """The arguments of a task that reads a table."""
    wide = table.preview["patterns"].get(table.spread)
    config = read_config(table.roles, table.given, wide, table.preview["sheet"])
    return {"path": str(table.path), "name": table.name, "read": config.given()}


def _check_room(state: AppState, request: Request) -> Session | None:
    """Raise where a visitor has as many tables as one may; a new visitor has no session yet."""
    session = state.visitor(request)
    if session is not None and len(session.tables) >= state.settings.max_tables:
        raise PageError(
            f"{len(session.tables)} tables are open, the limit; remove one on the start page", 409
        )
    return session


async def _previewed(state: AppState, path: Path, name: str) -> Table:
    preview = await _preview(state, path, name)
    await state.fits.warm()  # while the columns are looked at
    table = Table(path.parent.name, name, path, preview, {})
    take_preview(table, preview)
    return table


async def _preview(state: AppState, path: Path, name: str, sheet: str | None = None) -> dict[str, Any]:
    job = state.quick.submit("preview", path=str(path), name=name, sheet=sheet)
    found: dict[str, Any] = await job.answer()
    if found["n_rows"] > state.settings.max_rows:
        raise PageError(
            f"the table has {found['n_rows']:,} rows, and the limit here is {state.settings.max_rows:,}; upload part "
            "of it, use raterlens fit on the command line, or raise the limit: raterlens serve --max-rows N",
            413,
        )
    return found


def _opened(request: Request, state: AppState, table: Table) -> Response:
    # Again: others of this visitor may have arrived in the meantime.
    session = _check_room(state, request) or state.sessions.create()
    session.take(table)
    address = f"/tables/{table.id}"
    # htmx follows a redirect behind the scenes; this one the browser is to follow.
    answer = (
        Response(headers={"HX-Redirect": address}) if wants_part(request) else RedirectResponse(address, 303)
    )
    return state.remember(answer, session)


ROUTES = [
    Route("/", home),
    Route("/tables", upload, methods=["POST"]),
    Route("/example", example, methods=["POST"]),
    Route("/forget", forget, methods=["POST"]),
    Route("/tables/{id}", show),
    Route("/tables/{id}/sheet", choose_sheet, methods=["POST"]),
    Route("/tables/{id}/check", check, methods=["POST"]),
    Route("/tables/{id}/remove", remove, methods=["POST"]),
]
