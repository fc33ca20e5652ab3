"""The pages: upload a file, say what each column is, check the design, fit, compare; and messages for errors."""

import re
import shutil
import sys
from asyncio import to_thread
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from raterlens.app.web import form as fields
from raterlens.app.web.form import (
    ROLES,
    TABLE,
    WORDS,
    PageError,
    decisions,
    fit_config,
    page_error,
    read_config,
    sent,
)
from raterlens.app.web.jobs import Job, JobState
from raterlens.app.web.sessions import AppState, FitJob, Session, Table
from raterlens.app.web.settings import Settings
from raterlens.base.errors import RaterlensError
from raterlens.base.text import counted, number, sentence
from raterlens.models.registry import MODELS
from raterlens.output.report.assets import templates
from raterlens.version import __version__

HERE = Path(__file__).parent

_templates = templates(HERE / "templates")
_templates.filters.update(number=number, sentence=sentence, counted=counted)
_templates.globals.update(words=WORDS, choices=TABLE, models=list(MODELS), version=__version__, form=fields)


def page(request: Request, template: str, status: int = 200, **data: Any) -> Response:
    """A page, or a part of one for htmx."""
    state = app_state(request)
    content = _templates.get_template(template).render(
        session=state.visitor(request), settings=state.settings, **data
    )
    return HTMLResponse(content, status)


def wants_part(request: Request) -> bool:
    """Whether htmx asked, and will put the answer into the page that is open."""
    return "hx-request" in request.headers


async def error_page(request: Request, error: Exception) -> Response:
    """The message, as a page or a part of one."""
    if isinstance(error, ClientDisconnect):
        return Response(status_code=400)  # which nobody reads
    told = error if isinstance(error, PageError) else _in_words(request, error)
    template = "part_message.html" if wants_part(request) else "message.html"
    content = _templates.get_template(template).render(
        message=sentence(str(told)), field=told.field, title=WORDS.app.problem, session=None, settings=None
    )
    return HTMLResponse(content, told.status)


def _in_words(request: Request, error: Exception) -> PageError:
    if isinstance(error, RaterlensError):
        return page_error(error)
    if isinstance(error, HTTPException):
        words = {
            400: f"the upload was incomplete ({error.detail}); try again",
            404: f"there is no page {request.url.path[:80]!r}; go to the start page",
            405: "this address cannot be opened directly; go to the start page",
        }
        return PageError(words.get(error.status_code, error.detail), error.status_code)
    print(f"raterlens: {type(error).__name__}: {error}", file=sys.stderr)
    return PageError(
        f"unexpected error ({type(error).__name__}). This is a bug in Raterlens, not in your data; go back and try "
        "again",
        500,
    )


HANDLERS: dict[Any, Any] = dict.fromkeys(
    (PageError, RaterlensError, ClientDisconnect, HTTPException, Exception), error_page
)


TAKEN = (
    *(".csv", ".tsv", ".txt", ".parquet", ".jsonl", ".ndjson", ".json"),
    *(".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".sav", ".zsav", ".dta", ".rda", ".rdata", ".rds"),
)
"""Extensions that can be uploaded; only the extension of a client's file name reaches the disk. Databases are excluded,
because a view can name other files, and so are compressed files, which can grow beyond every limit."""

NAME, FIELDS, ENVELOPE = 120, 2_000, 10_000
"""Characters shown of a file name, fields in the form of a table (one per column), and bytes around the file in a form,
at most."""

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
        return _opened(request, state, await _table_of(state, path, name))


async def example(request: Request) -> Response:
    state = app_state(request)
    _check_room(state, request)
    with state.sessions.incoming() as folder:
        path = folder / EXAMPLE
        path.write_bytes((files("raterlens") / "data" / EXAMPLE).read_bytes())
        table = await _table_of(state, path, EXAMPLE)
        table.roles |= EXAMPLE_ROLES
        table.preview["findings"] = []  # of other roles
        return _opened(request, state, table)


def _check_length(request: Request, settings: Settings) -> None:
    """Refuse a body that is too large, or of unknown length, before any of it is read."""
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
    """Keep an upload in `folder` under a name of our own; return the client's name for it and its path."""
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


async def show_table(request: Request) -> Response:
    _, table = app_state(request).table(request)
    return page(request, "table.html", table=table, findings=None)


async def choose_sheet(request: Request) -> Response:
    """Choose another sheet of a workbook."""
    state = app_state(request)
    _, table = state.table(request)
    async with request.form() as form:
        sheet = str(form.get("sheet", ""))
    if sheet not in table.preview["sheets"]:
        raise PageError(f"there is no sheet {sheet[:40]!r} in {table.name!r}; choose one from the list", 404)
    await _take_preview(state, table, sheet)
    return RedirectResponse(f"/tables/{table.id}", 303)


async def check(request: Request) -> Response:
    """Show what the chosen columns give, and who can be compared with whom."""
    state = app_state(request)
    session, table = state.table(request)
    arguments = await _take_form(request, table)
    findings = await state.quick.submit("check", session.id, **arguments).answer()
    session.tentative = False
    template = "part_findings.html" if wants_part(request) else "table.html"
    return page(request, template, table=table, findings=findings)


async def remove(request: Request) -> Response:
    state = app_state(request)
    session, table = state.table(request)
    await state.stop(session.remove(table))
    return RedirectResponse("/", 303)


async def forget(request: Request) -> Response:
    """Remove everything of this visitor."""
    state = app_state(request)
    session = state.visitor(request)
    if session is not None:
        await state.stop([fitted.job for fitted in session.fits.values()])
        state.sessions.remove(session)
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(state.settings.cookie, path="/", httponly=True, samesite="strict")
    return answer


async def _take_form(request: Request, table: Table) -> dict[str, Any]:
    """Update a table from its form; return the arguments of a task that reads it as chosen."""
    async with request.form(max_fields=FIELDS) as form:
        table.roles = {  # columns go by number, because a name can be anything
            column: str(role)
            for place, column in enumerate(table.preview["columns"])
            if (role := form.get(f"role-{place}")) in ROLES
        }
        table.spread, table.given = str(form.get("spread", "item")), sent(form)
    wide = table.preview["patterns"].get(table.spread)
    config = read_config(table.roles, table.given, wide, table.preview["sheet"])
    return {"path": str(table.path), "name": table.name, "read": config.given()}


def _check_room(state: AppState, request: Request) -> Session | None:
    """Raise if a visitor has the maximum number of tables; a new visitor has no session yet."""
    session = state.visitor(request)
    if session is not None and len(session.tables) >= state.settings.max_tables:
        raise PageError(
            f"{len(session.tables)} tables are open, the limit; remove one on the start page", 409
        )
    return session


async def _table_of(state: AppState, path: Path, name: str) -> Table:
    table = Table(path.parent.name, name, path, {}, {})
    await _take_preview(state, table)
    await state.fits.warm()  # while the columns are looked at
    return table


async def _take_preview(state: AppState, table: Table, sheet: str | None = None) -> None:
    """Preview a table, and make the choices that this suggests."""
    found = await state.quick.submit("preview", path=str(table.path), name=table.name, sheet=sheet).answer()
    if found["n_rows"] > state.settings.max_rows:
        raise PageError(
            f"the table has {found['n_rows']:,} rows, and the limit here is {state.settings.max_rows:,}; upload part "
            "of it, use raterlens fit on the command line, or raise the limit: raterlens serve --max-rows N",
            413,
        )
    table.preview, table.roles = found, found["roles"]
    table.spread, table.given = found["spread"], found["given"]


def _opened(request: Request, state: AppState, table: Table) -> Response:
    # Again: others of this visitor may have arrived in the meantime.
    session = _check_room(state, request) or state.sessions.create()
    session.take(table)
    address = f"/tables/{table.id}"
    # htmx follows a redirect behind the scenes; this one the browser is to follow.
    part = wants_part(request)
    answer = Response(headers={"HX-Redirect": address}) if part else RedirectResponse(address, 303)
    # Scripts cannot read it, and other sites cannot make a browser send it.
    answer.set_cookie(state.settings.cookie, session.id, httponly=True, samesite="strict", path="/")
    return answer


FILES: dict[str, str] = TABLE["files"]
"""Downloads by their name in the results folder, in words."""


async def start(request: Request) -> Response:
    state = app_state(request)
    session, table = state.table(request)
    if len(session.fits) >= state.settings.max_fits:
        raise PageError(
            f"{len(session.fits)} fits are kept, the limit; remove a table on the start page", 409
        )
    asked, config = await _take_form(request, table), fit_config(table.given)
    decide, remark = decisions(table.given)
    folder = session.new_folder()
    given = {"fit": config.given(), "decide": decide, "remark": remark, "folder": str(folder)}
    job = state.fits.submit("fit", session.id, **asked, **given)
    session.counted += 1
    model = config.model or TABLE["models"]["default"]["short"]
    fitted = FitJob(folder.name, session.counted, table, model, folder, job)
    session.fits[fitted.id] = fitted
    return RedirectResponse(f"/fits/{fitted.id}", 303)


async def show_fit(request: Request) -> Response:
    """Show the result, or progress, or why there is no result."""
    state = app_state(request)
    session, fitted = state.fitted(request)
    job = fitted.job
    if job.state is JobState.DONE:
        found = [name for name in FILES if (fitted.folder / name).exists()]
        others = _done(session) - {fitted}
        return page(request, "fit.html", fitted=fitted, files=found, others=others, report=_shown(fitted))
    if job.ended:
        status = 422 if job.state is JobState.FAULT else 500 if job.state is JobState.FAILED else 200
        return page(request, "ended.html", status, fitted=fitted)
    return page(request, "progress.html", fitted=fitted, **progress_of(state, job))


async def progress(request: Request) -> Response:
    """The progress bar, polled; at the end it sends the browser to the result."""
    state = app_state(request)
    _, fitted = state.fitted(request)
    if fitted.job.ended:
        return Response(headers={"HX-Redirect": f"/fits/{fitted.id}"})
    return page(request, "part_bar.html", fitted=fitted, **progress_of(state, fitted.job))


async def cancel(request: Request) -> Response:
    state = app_state(request)
    _, fitted = state.fitted(request)
    if not fitted.job.ended:
        await state.stop([fitted.job])
        shutil.rmtree(fitted.folder, ignore_errors=True)
    return RedirectResponse(f"/fits/{fitted.id}", 303)


async def download(request: Request) -> Response:
    _, fitted = app_state(request).fitted(request)
    file = request.path_params["file"]
    if file not in FILES or fitted.job.state is not JobState.DONE or not (fitted.folder / file).exists():
        raise PageError("this fit has no such file; go back and choose one from the list", 404)
    return FileResponse(fitted.folder / file, filename=file, content_disposition_type="attachment")


async def compare(request: Request) -> Response:
    state = app_state(request)
    session = state.visitor(request)
    done = [] if session is None else sorted(_done(session), key=lambda fitted: fitted.number)
    asked = [request.query_params.get(name, "") for name in ("one", "two")]
    if session is None or not all(asked):  # propose the fit that was asked for, and the latest other
        ids = [fitted.id for fitted in done]
        first = asked[0] if asked[0] in ids else next(iter(ids[-2:]), "")
        asked = [first, next((id for id in reversed(ids) if id != first), "")]
        return page(request, "compare.html", fits=done, asked=asked, found=None)
    pair = [fitted for id in asked for fitted in done if fitted.id == id]
    if len(pair) < 2:
        raise PageError("one of these fits is no longer here; choose two from the list", 404)
    if pair[0] is pair[1]:
        raise PageError(f"both are the same fit, {pair[0].name!r}; choose two that differ")
    names, folders = [fitted.short for fitted in pair], [str(fitted.folder) for fitted in pair]
    found = await state.quick.submit("compare", session.id, folders=folders, names=names).answer()
    return page(request, "compare.html", fits=done, asked=asked, found=found, names=names)


def progress_of(state: AppState, job: Job) -> dict[str, Any]:
    """Return the progress of a job in words and as a share of 1."""
    said, words = job.progress, WORDS.progress
    phase, share, detail = words.starting, 0.0, ""
    if job.state is JobState.WAITING:
        ahead = state.fits.ahead(job)
        phase = words.waiting.format(ahead=ahead) if ahead else words.next
    elif said:
        phase, share = TABLE["stages"][said["stage"]], said["share"]
        detail = words.detail.format(step=said["step"], loglik=said["loglik"]) if "step" in said else ""
    return {"phase": phase, "share": share, "detail": detail}


def app_state(request: Request) -> AppState:
    """The state of the app that a request came to."""
    found: AppState = request.app.state.raterlens
    return found


def _shown(fitted: FitJob) -> Markup:
    """Return the report without its head, for a page of the app: the same markup, style and scripts. Labels are escaped
    in it, so there is only one <main>."""
    whole = (fitted.folder / "report.html").read_text(encoding="utf-8")
    return Markup(whole.partition("<main>")[2].rpartition("</main>")[0])


def _done(session: Session) -> set[FitJob]:
    return {fitted for fitted in session.fits.values() if fitted.job.state is JobState.DONE}


ROUTES = [
    Route("/", home),
    Route("/tables", upload, methods=["POST"]),
    Route("/example", example, methods=["POST"]),
    Route("/forget", forget, methods=["POST"]),
    Route("/tables/{id}", show_table),
    Route("/tables/{id}/sheet", choose_sheet, methods=["POST"]),
    Route("/tables/{id}/check", check, methods=["POST"]),
    Route("/tables/{id}/remove", remove, methods=["POST"]),
    Route("/tables/{id}/fits", start, methods=["POST"]),
    Route("/fits/{id}", show_fit),
    Route("/fits/{id}/progress", progress),
    Route("/fits/{id}/cancel", cancel, methods=["POST"]),
    Route("/fits/{id}/files/{file}", download),
    Route("/compare", compare),
]
