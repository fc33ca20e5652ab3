"""`raterlens fit`: check, read, fit, diagnose, write, show."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raterlens.app.cli.options import (
    DEFAULT_FIT,
    EVERYTHING_RECOGNISED,
    Besides,
    Deciding,
    File,
    FitOptions,
    Output,
    ReadOptions,
    Work,
    files_of,
    fit_config,
    read_config,
    several,
)
from raterlens.app.cli.progress import Watch, watching
from raterlens.app.cli.standard_output import print_json
from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import Message, Option
from raterlens.config import ReadConfig
from raterlens.output.report.reproduce import CONTROL_FILE_OPTIONS, Request

if TYPE_CHECKING:
    from raterlens.config import FitConfig
    from raterlens.diagnostics.findings import Findings
    from raterlens.facade import Fit
    from raterlens.output.report.document import Document
    from raterlens.pipeline.steps import Run
    from raterlens.ratings.coded import Ratings

NO_COLUMNS, NO_DECISIONS, NO_WORK, ON_SCREEN = Besides(), Deciding(), Work(), Output()


def fit(
    file: File,
    /,
    *,
    columns: ReadOptions = EVERYTHING_RECOGNISED,
    model: FitOptions = DEFAULT_FIT,
    besides: Besides = NO_COLUMNS,
    deciding: Deciding = NO_DECISIONS,
    work: Work = NO_WORK,
    output: Output = ON_SCREEN,
) -> None:
    """Fit a model: how capable, how severe and how sharp is each rater?"""
    # heavy, so not before it is needed
    from raterlens.grading.asked_decisions import AskedDecisions
    from raterlens.output.folder import check_folder

    read, config, files = read_config(columns), fit_config(model), files_of(model)
    groups = several("groups", besides.groups) or []
    check_besides([*([besides.time] if besides.time else []), *groups], read)
    AskedDecisions(deciding.decide, deciding.remark).check(config)
    if output.xlsx:
        check_workbook(output.out)
    if output.out is not None:
        check_folder(output.out)
    elif output.heads_a_report:
        raise OptionError(
            Message(Option("title"), " heads the report"),
            Message("name its folder with ", Option("out", "DIR")),
            option="out",
        )
    request = Request(
        file=str(file),
        read=read,
        fit=config,
        files={name: str(path) for name, path in files.items()},
        time=besides.time,
        groups=groups,
        out=None if output.out is None else str(output.out),
        title=output.title,
        previous=None if output.previous is None else str(output.previous),
        xlsx=output.xlsx,
        decide=deciding.decide,
        remark=deciding.remark,
    )
    earlier = _stamp(output.out)
    try:
        with watching("reading", request.file, unless=output.quiet) as watch:
            show = _fit(request, work, output, watch)
        show()
    except InputError as error:
        raise _with_command(error, request) from error
    except KeyboardInterrupt:
        if (written := _stamp(output.out)) is not None and written != earlier:
            raise KeyboardInterrupt(f"interrupted; the results in {output.out} are complete") from None
        if work.checkpoint is None or not work.checkpoint.exists():
            kept = "" if earlier is None else f"; {output.out} has the earlier results"
            raise KeyboardInterrupt(
                f"interrupted; nothing was saved{kept}. With --checkpoint FILE a fit can be resumed"
            ) from None
        raise KeyboardInterrupt(f"interrupted; to resume: {request.command()} {work.resuming()}") from None


def _stamp(out: Path | None) -> tuple[int, int] | None:
    """What tells one fit.json in the folder from another; None where there is none."""
    try:
        found = (out or Path()) / "fit.json"
        return None if out is None else (found.stat().st_ino, found.stat().st_mtime_ns)
    except OSError:
        return None


def _with_command(error: InputError, request: Request) -> InputError:
    """The error, which of a file that can be meant in several ways also has the command that accepts the likeliest."""
    proposal = getattr(error, "proposal", None)
    if proposal is None:
        return error
    command = replace(request, read=proposal.config).command()
    remedy = Message(error.remedy, f". To accept all of it: {command}")
    return InputError(error.what, remedy, value=error.value, option=error.option)


def _fit(request: Request, work: Work, output: Output, watch: Watch) -> Callable[[], None]:
    """What `fit` does once everything was checked that can be checked without the data; it returns what shows it."""
    # heavy, so not before it is needed
    from raterlens.base.dask_cluster import cluster_at
    from raterlens.diagnostics.findings import find
    from raterlens.fitting import fit_as_clear, load
    from raterlens.grading.asked_decisions import AskedDecisions
    from raterlens.output.folder import write_results
    from raterlens.pipeline.steps import Run

    previous = None if output.previous is None else load(output.previous)
    with cluster_at(work.cluster) as client:
        run = Run(watch.on_iteration, work.checkpoint, work.resume, client, on_stage=watch.enter)
        ratings, config, request = read_study(request, run)
        if begins_from(previous, config, run):
            run, request = replace(run, start=previous), replace(request, warm=True)
        ratings, besides = set_groups_aside(request, ratings)
        asked = AskedDecisions(request.decide, request.remark)
        asked.check_scores(ratings)
        if output.xlsx:
            check_workbook(output.out, ratings)
        result, said, shape = fit_as_clear(ratings, config, run)
        request = as_fitted(request, result)
        watch.enter("diagnosing")
        decided, plan = asked.made(result, ratings)
        ratings, besides, more = manageable(ratings, besides)
        cautions = (*said, *more)
        cuts = None if decided is None else decided.cuts.score.tolist()
        found = find(result, ratings, cuts=cuts, **besides, shape=shape)
        if previous is not None:
            found = found.beside(result.monitor(ratings, previous=previous, time=besides.get("time")))
    if output.out is not None:
        watch.enter("writing", str(output.out))
        write_results(
            result,
            output.out,
            reproduction=request.reproduction(),
            ratings=ratings,
            found=found,
            document=replace(_document(output, cautions, previous, found), decisions=decided, remark=plan),
            xlsx=output.xlsx,
        )
    decisions = [*(decided.words() if decided else ()), *(plan.words() if plan else ())]
    return partial(_show, output, result, ratings, found=found, cautions=cautions, decided=decisions)


def _show(output: Output, result: "Fit", ratings: "Ratings", **besides: Any) -> None:
    """On the screen: what was asked for, or the answer with what stands beside it."""
    if output.facets_tables:
        # only where asked for
        from raterlens.output.facets_tables import facets_tables

        print(facets_tables(result, ratings))
    elif output.json:
        print_json(result.to_json())
    elif not output.quiet:
        # heavy, so not before it is needed
        from raterlens.app.cli.terminal import Terminal

        Terminal().fit(result, **besides, out=output.out, everyone=output.everyone)


def as_fitted(request: Request, result: "Fit") -> Request:
    """The request with what the ratings made clear."""
    return replace(request, fit=request.fit.changed(halo=result.config.halo, ability=result.config.ability))


def begins_from(previous: "Fit | None", config: "FitConfig", run: "Run") -> bool:
    """Whether the earlier fit has estimates to begin from: of the same model, asked for in the same way."""
    if (
        previous is None
        or previous.calibration is None
        or run.checkpoint is not None
        or run.client is not None
    ):
        return False
    before, known = previous.config, previous.calibration
    alike = all(
        getattr(before, name) == getattr(config, name)
        for name in ("model", "method", "link", "scale", "item_slopes", "prior")
    )
    further = {"halo", "bias", "known", "population"} & set(known.effects)
    return alike and config.method == "mml" and not known.covariates and not further


def _document(
    output: Output, cautions: tuple[str, ...], previous: "Fit | None", seen: "Findings"
) -> "Document":
    # heavy, so not before it is needed
    from raterlens.output.report.document import Document

    found = Document(previous=previous, cautions=(*cautions, *seen.alarms()))
    return found if output.title is None else replace(found, title=output.title)


def check_workbook(out: Path | None, ratings: "Ratings | None" = None) -> None:
    """Raise where `--xlsx` could not be done, before the work."""
    if out is None:
        raise OptionError(
            Message(Option("xlsx"), " writes results.xlsx to a folder"),
            Message("name the folder with ", Option("out", "DIR")),
            option="xlsx",
        )
    # heavy, so not before it is needed
    from raterlens.output.excel import check_excel

    check_excel(ratings)


def read_study(request: Request, run: "Run") -> "tuple[Ratings, FitConfig, Request]":
    """The ratings, what to fit to them, and the request, which then knows whether the file is a control file: one has
    anchors and a scale of its own."""
    # heavy, so not before it is needed
    from raterlens.pipeline.carry_out import check
    from raterlens.reading.formats.file_formats import is_control_file
    from raterlens.reading.reader import read

    asked, path, config = request.read, Path(request.file), _with_files(request)
    check(config, run)
    besides = [*([request.time] if request.time else []), *request.groups]
    if besides:
        asked = asked.changed(facets=[*asked.names("facets"), *besides])
    if not is_control_file(path, asked):
        return read(path, **asked.given()), config, request
    # heavy, so not before it is needed
    from raterlens.reading.facets.facets_study import read_facets

    _check_control_file(path, request)
    given = asked.given()
    study = read_facets(path, **{name: given[name] for name in CONTROL_FILE_OPTIONS if name in given})
    held = study.anchors(config.model)
    if held is not None and config.anchors is not None:
        raise OptionError(
            f"{path.name!r} has anchors of its own",
            Message("leave out ", Option("anchors"), ", or take the anchors out of the control file"),
            option="anchors",
        )
    own: dict[str, Any] = {"scale": study.scale} if "scale" not in config.given() else {}
    own |= {"interactions": study.interactions} if config.interactions is None else {}
    config = config.changed(**own, anchors=held or config.anchors)
    return study.ratings, config, replace(request, control_file=True)


def _check_control_file(path: Path, request: Request) -> None:
    """Raise on options that only a table takes."""
    for name in request.read.given():
        if name not in (*CONTROL_FILE_OPTIONS, "format"):
            raise OptionError(
                f"{path.name!r} is a FACETS control file, which says for itself where scores are",
                Message("leave out ", Option(name)),
                option=name,
            )


def _with_files(request: Request) -> "FitConfig":
    """What to fit, with what the files of anchors and covariates hold."""
    if not request.files:
        return request.fit
    # heavy, so not before it is needed
    from raterlens.fitting import load
    from raterlens.pipeline.request import recorded

    found: dict[str, Any] = dict(request.files)
    if "anchors" in found:
        found["anchors"] = load(found["anchors"])
    return request.fit.changed(**recorded(found))


def check_besides(columns: list[str], read: ReadConfig) -> None:
    """Raise where columns of --time and --groups are at odds with each other or with the model."""
    if not columns:
        return
    # heavy, so not before it is needed
    from raterlens.reading.proposals.role_words import tier

    if twice := [name for name in columns if columns.count(name) > 1]:
        raise OptionError(
            Message(f"{twice[0]!r} is given more than once for ", Option("time"), " and ", Option("groups")),
            "give it once",
            value=twice[0],
            option="groups",
        )
    named = read.item is not None or read.items is not None
    for name in columns:
        if not named and tier(name, "item") is not None:
            raise OptionError(
                f"{name!r} looks like the item column, which is tested for bias anyway",
                Message("leave it out, or name the item column with ", Option("item")),
                value=name,
                option="groups",
            )


def set_groups_aside(request: Request, ratings: "Ratings") -> "tuple[Ratings, dict[str, Any]]":
    """The ratings without the columns that only diagnostics look at, and these columns."""
    if request.time is None and not request.groups:
        return ratings, {}
    # heavy, so not before it is needed
    from raterlens.ratings.grouping_columns import set_aside

    return set_aside(ratings, request.time, request.groups)


def manageable(
    ratings: "Ratings", besides: dict[str, Any], most: int = 20_000_000, sample: int = 2_000_000
) -> "tuple[Ratings, dict[str, Any], tuple[str, ...]]":
    """What diagnostics and pictures are made from: up to `most` ratings all, else about `sample`, with a caution."""
    if ratings.n_ratings <= most:
        return ratings, besides, ()
    some = ratings.sample(sample)
    if besides:
        rows = ratings.drawn(sample)[ratings.student]
        besides = {"groups": {name: given.filter(rows) for name, given in besides["groups"].items()}} | (
            {"time": besides["time"].filter(rows)} if "time" in besides else {}
        )
    caution = (
        f"diagnostics use {some.n_ratings:,} of {ratings.n_ratings:,} ratings, those of {some.n_students:,} students "
        "drawn at random; estimates and standard errors use all of them"
    )
    return some, besides, (caution,)
