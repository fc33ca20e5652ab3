"""Pages of fits: start, watch, cancel, read, download, compare."""

import shutil
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route

from raterlens.app.web.form import decisions, fit_config
from raterlens.app.web.jobs import Job, JobState
from raterlens.app.web.page_words import TABLE, WORDS, PageError
from raterlens.app.web.pages import page
from raterlens.app.web.sessions import AppState, FitJob, Session, app_state
from raterlens.app.web.table_pages import FIELDS, read_arguments, update_from_form

FILES = {
    "report": "report.html",
    "xlsx": "results.xlsx",
    "raters": "raters.csv",
    "items": "items.csv",
    "students": "students.csv",
    "flags": "flags.csv",
    "interactions": "interactions.csv",
    "decisions": "decisions.csv",
    "remark": "remark.csv",
    "fit": "fit.json",
}
"""Downloads, by the name in the address."""


async def start(request: Request) -> Response:
    state = app_state(request)
    session, table = state.table(request)
    if len(session.fits) >= state.settings.max_fits:
        raise PageError(
            f"{len(session.fits)} fits are kept, the limit; remove a table on the start page", 409
        )
    async with request.form(max_fields=FIELDS) as form:
        update_from_form(table, form)
    config, asked = fit_config(table.given), read_arguments(table)
    decide, remark = decisions(table.given)
    folder = session.new_folder()
    job = state.fits.submit(
        "fit", session.id, **asked, fit=config.given(), decide=decide, remark=remark, folder=str(folder)
    )
    session.counted += 1
    fitted = FitJob(folder.name, session.counted, table, config.model_name, folder, job)
    session.fits[fitted.id] = fitted
    return RedirectResponse(f"/fits/{fitted.id}", 303)


async def show(request: Request) -> Response:
    """The result; before that, how far it has come; or why there is none."""
    state = app_state(request)
    session, fitted = state.fitted(request)
    job = fitted.job
    if job.state is JobState.DONE:
        found = {name: file for name, file in FILES.items() if (fitted.folder / file).exists()}
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
    file = FILES.get(request.path_params["what"])
    if file is None or fitted.job.state is not JobState.DONE or not (fitted.folder / file).exists():
        raise PageError("this fit has no such file; go back and choose one from the list", 404)
    return FileResponse(fitted.folder / file, filename=file, content_disposition_type="attachment")


async def compare(request: Request) -> Response:
    state = app_state(request)
    session = state.visitor(request)
    done = sorted(_done(session), key=lambda fitted: fitted.number) if session else []
    asked = [request.query_params.get(name, "") for name in ("one", "two")]
    if session is None or not all(asked):
        return page(request, "compare.html", fits=done, asked=_proposed(done, asked[0]), found=None)
    pair = [fitted for id in asked for fitted in done if fitted.id == id]
    if len(pair) < 2:
        raise PageError("one of these fits is no longer here; choose two from the list", 404)
    if pair[0] is pair[1]:
        raise PageError(f"both are the same fit, {pair[0].name!r}; choose two that differ")
    names = [fitted.short for fitted in pair]
    job = state.quick.submit(
        "compare", session.id, folders=[str(fitted.folder) for fitted in pair], names=names
    )
    found = await job.answer()
    return page(request, "compare.html", fits=done, asked=asked, found=found, names=names)


def progress_of(state: AppState, job: Job) -> dict[str, Any]:
    """How far a job has come, in words and as a share of 1."""
    said, words = job.progress, WORDS.progress
    if job.state is JobState.WAITING:
        ahead = state.fits.ahead(job)
        return {
            "phase": words.waiting.format(ahead=ahead) if ahead else words.next,
            "share": 0.0,
            "detail": "",
        }
    if not said:
        return {"phase": words.starting, "share": 0.0, "detail": ""}
    detail = words.detail.format(step=said["step"], loglik=said["loglik"]) if "step" in said else ""
    return {"phase": TABLE["stages"][said["stage"]], "share": said["share"], "detail": detail}


def _shown(fitted: FitJob) -> Markup:
    """The report without its head, to stand in a page of ours: the same markup, style and scripts. Labels are escaped
    in it, so there is one <main>."""
    whole = (fitted.folder / FILES["report"]).read_text(encoding="utf-8")
    return Markup(whole.partition("<main>")[2].rpartition("</main>")[0])


def _done(session: Session) -> set[FitJob]:
    return {fitted for fitted in session.fits.values() if fitted.job.state is JobState.DONE}


def _proposed(done: list[FitJob], first: str) -> list[str]:
    """Two to begin with: the one asked for, if any, and the latest other."""
    ids = [fitted.id for fitted in done]
    one = first if first in ids else next(iter(ids[-2:]), "")
    return [one, next((id for id in reversed(ids) if id != one), "")]


ROUTES = [
    Route("/tables/{id}/fits", start, methods=["POST"]),
    Route("/fits/{id}", show),
    Route("/fits/{id}/progress", progress),
    Route("/fits/{id}/cancel", cancel, methods=["POST"]),
    Route("/fits/{id}/files/{what}", download),
    Route("/compare", compare),
]
