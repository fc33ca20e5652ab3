"""Pages of tables: upload a file, say what each column is, see at once what the design allows."""

from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from raterlens.app.web.column_roles import read_config
from raterlens.app.web.pages import page, wants_part
from raterlens.app.web.refusals import RefusedError
from raterlens.app.web.sessions import Session, Table
from raterlens.app.web.state import AppState, app_state
from raterlens.app.web.uploads import Upload, receive, too_many_rows
from raterlens.app.web.words import TABLE

EXAMPLE = "example.parquet"
EXAMPLE_ROLES = {"student": "student", "rater": "rater", "topic": "rater"}


async def home(request: Request) -> Response:
    return page(request, "home.html")


async def upload(request: Request) -> Response:
    state = app_state(request)
    _check_room(state, request)
    with state.sessions.incoming() as folder:
        return _opened(
            request, state, await _previewed(state, await receive(request, folder, state.settings))
        )


async def example(request: Request) -> Response:
    state = app_state(request)
    _check_room(state, request)
    with state.sessions.incoming() as folder:
        path = folder / EXAMPLE
        bundled = files("raterlens") / "data" / EXAMPLE
        path.write_bytes(bundled.read_bytes())
        table = await _previewed(state, Upload(EXAMPLE, path, path.stat().st_size))
        table.roles |= EXAMPLE_ROLES
        return _opened(request, state, table)


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
        raise RefusedError(
            f"there is no sheet {sheet[:40]!r} in {table.name!r}; choose one from the list", 404
        )
    take_preview(table, await _preview(state, table.path, table.name, sheet))
    return RedirectResponse(f"/tables/{table.id}", 303)


async def check(request: Request) -> Response:
    """Answer with what the chosen columns give, and who can be compared with whom."""
    state = app_state(request)
    _, table = state.table(request)
    async with request.form(max_fields=2_000) as form:
        take_choices(table, form)
    job = state.quick.submit("check", **reading(table))
    findings = await job.answer()
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


def take_choices(table: Table, form: FormData) -> None:
    """Take the roles from a form. Columns go by number: a name can be anything."""
    known = TABLE["roles"].keys() - {"none"}
    table.roles = {
        column: str(role)
        for place, column in enumerate(table.preview["columns"])
        if (role := form.get(f"role-{place}")) in known
    }
    table.cut = str(form.get("cut", "")).strip()
    table.bands, table.worth = (str(form.get(name, "")).strip() for name in ("bands", "map"))
    table.as_written = form.get("as_written") == "yes"
    table.spread = str(form.get("spread", "item"))


def take_preview(table: Table, preview: dict[str, Any]) -> None:
    """Take what a file looks like, and the choices that it suggests."""
    typed = preview["typed"]
    table.preview, table.roles, table.spread = preview, preview["roles"], preview["spread"]
    table.cut, table.bands, table.worth = (typed.get(name, "") for name in ("cut", "bands", "map"))


def reading(table: Table) -> dict[str, object]:
    """The arguments of a task that reads a table."""
    wide = table.preview["patterns"].get(table.spread)
    more = {"bands": table.bands, "map": table.worth, "encoding": table.preview["encoding"]}
    config = read_config(table.roles, _number(table.cut), wide, table.preview["sheet"], **more)
    config = config.changed(as_written=table.as_written)
    return {"path": str(table.path), "name": table.name, "read": config.given()}


def _number(text: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        raise RefusedError(
            f"the pass mark {text[:40]!r} is not a number; give one, or leave it empty", field="cut"
        ) from None
    return int(value) if value.is_integer() else value


def _check_room(state: AppState, request: Request) -> Session | None:
    """Raise where a visitor has as many tables as one may; a new visitor has no session yet."""
    session = state.visitor(request)
    if session is not None and len(session.tables) >= state.settings.max_tables:
        raise RefusedError(
            f"{len(session.tables)} tables are open, the limit; remove one on the start page", 409
        )
    return session


async def _previewed(state: AppState, upload: Upload) -> Table:
    preview = await _preview(state, upload.path, upload.name)
    await state.fits.warm()  # while the columns are looked at
    table = Table(upload.path.parent.name, upload.name, upload.path, upload.size, preview, {})
    take_preview(table, preview)
    return table


async def _preview(state: AppState, path: Path, name: str, sheet: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = await state.quick.submit(
        "preview", path=str(path), name=name, sheet=sheet
    ).answer()
    if found["n_rows"] > state.settings.max_rows:
        raise too_many_rows(found["n_rows"], state.settings)
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
