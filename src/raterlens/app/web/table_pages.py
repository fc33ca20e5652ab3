"""Pages of tables: send a file, say what each column is, see at once what the design allows."""

import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from raterlens.app.web.pages import page, wants_part
from raterlens.app.web.phrases import TABLE
from raterlens.app.web.refusals import RefusedError
from raterlens.app.web.sessions import Session, Table
from raterlens.app.web.state import Office
from raterlens.app.web.uploads import Upload, receive, too_many_rows

EXAMPLE = "example.parquet"
EXAMPLE_ROLES = {"student": "student", "rater": "rater", "topic": "rater"}


async def home(request: Request) -> Response:
    return page(request, "home.html")


async def upload(request: Request) -> Response:
    office: Office = request.app.state.office
    session = _room(office, request)
    folder = session.new_folder()
    try:
        table = await _looked_at(office, await receive(request, folder, office.settings))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return office.greet(_opened(request, session, table), session)


async def example(request: Request) -> Response:
    office: Office = request.app.state.office
    session = _room(office, request)
    path = session.new_folder() / EXAMPLE
    bundled = files("raterlens") / "data" / EXAMPLE
    path.write_bytes(bundled.read_bytes())
    table = await _looked_at(office, Upload(EXAMPLE, path, path.stat().st_size))
    table.roles |= EXAMPLE_ROLES
    return office.greet(_opened(request, session, table), session)


async def show(request: Request) -> Response:
    _, table = request.app.state.office.table(request)
    return page(request, "table.html", table=table, findings=None)


async def turn(request: Request) -> Response:
    """Another sheet of a workbook."""
    office: Office = request.app.state.office
    _, table = office.table(request)
    async with request.form() as form:
        sheet = str(form.get("sheet", ""))
    if sheet not in table.preview["sheets"]:
        raise RefusedError(
            f"there is no sheet {sheet[:40]!r} in {table.name!r}; choose one of those listed", 404
        )
    table.preview = await _preview(office, table.path, table.name, sheet)
    table.roles, table.spread = table.preview["roles"], table.preview["spread"]
    return RedirectResponse(f"/tables/{table.id}", 303)


async def check(request: Request) -> Response:
    """What the columns as chosen give, and who can be compared with whom."""
    office: Office = request.app.state.office
    _, table = office.table(request)
    async with request.form(max_fields=2_000) as form:
        choose(table, form)
    job = office.quick.submit("check", **reading(table))
    findings = await job.answer()
    template = "part_findings.html" if wants_part(request) else "table.html"
    return page(request, template, table=table, findings=findings)


async def remove(request: Request) -> Response:
    office: Office = request.app.state.office
    session, table = office.table(request)
    await office.stop(session.remove(table))
    return RedirectResponse("/", 303)


async def forget(request: Request) -> Response:
    """Everything of this visitor, now."""
    office: Office = request.app.state.office
    session = office.visitor(request)
    if session is not None:
        await office.stop([fitted.job for fitted in session.fits.values()])
        office.sessions.remove(session)
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(office.settings.cookie, path="/", httponly=True, samesite="strict")
    return answer


def choose(table: Table, form: FormData) -> None:
    """Take over the roles from a form. Columns go by number: a name can be anything."""
    known = TABLE["roles"].keys() - {"none"}
    table.roles = {
        column: str(role)
        for place, column in enumerate(table.preview["columns"])
        if (role := form.get(f"role-{place}")) in known
    }
    table.cut = str(form.get("cut", "")).strip()
    table.spread = str(form.get("spread", "item"))


def reading(table: Table) -> dict[str, object]:
    """The arguments of a task that reads a table."""
    return {
        "path": str(table.path),
        "name": table.name,
        "sheet": table.preview["sheet"],
        "roles": table.roles,
        "cut": _number(table.cut),
        "wide": table.preview["patterns"].get(table.spread),
    }


def _number(text: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        raise RefusedError(
            f"the pass mark {text[:40]!r} is not a number; give one, or leave it empty"
        ) from None
    return int(value) if value.is_integer() else value


def _room(office: Office, request: Request) -> Session:
    session = office.visitor(request) or office.sessions.create()
    if len(session.tables) >= office.settings.max_tables:
        raise RefusedError(
            f"{len(session.tables)} tables are open, the limit; remove one on the start page first", 409
        )
    return session


async def _looked_at(office: Office, upload: Upload) -> Table:
    preview = await _preview(office, upload.path, upload.name)
    await office.fits.warm()  # while the columns are looked at
    roles, spread = preview["roles"], preview["spread"]
    return Table(upload.path.parent.name, upload.name, upload.path, upload.size, preview, roles, spread)


async def _preview(office: Office, path: Path, name: str, sheet: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = await office.quick.submit(
        "preview", path=str(path), name=name, sheet=sheet
    ).answer()
    if found["n_rows"] > office.settings.max_rows:
        raise too_many_rows(found["n_rows"], office.settings)
    return found


def _opened(request: Request, session: Session, table: Table) -> Response:
    session.tables[table.id] = table
    address = f"/tables/{table.id}"
    # htmx follows a redirect behind the scenes; this one the browser is to follow.
    return (
        Response(headers={"HX-Redirect": address}) if wants_part(request) else RedirectResponse(address, 303)
    )


ROUTES = [
    Route("/", home),
    Route("/tables", upload, methods=["POST"]),
    Route("/example", example, methods=["POST"]),
    Route("/forget", forget, methods=["POST"]),
    Route("/tables/{id}", show),
    Route("/tables/{id}/sheet", turn, methods=["POST"]),
    Route("/tables/{id}/check", check, methods=["POST"]),
    Route("/tables/{id}/remove", remove, methods=["POST"]),
]
