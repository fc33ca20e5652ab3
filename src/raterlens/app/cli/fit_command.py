"""`raterlens fit` and `raterlens demo`: from a file, or the bundled example, to results."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from raterlens.app.cli.main import print_json
from raterlens.app.cli.options import (
    DecisionOptions,
    DiagnosticColumns,
    File,
    FitOptions,
    LongFitOptions,
    MoreFiles,
    Output,
    ReadOptions,
    request_of,
)
from raterlens.app.progress import Watch, progress_bar
from raterlens.base.errors import InputError, OptionError, is_interrupt
from raterlens.base.text import Message, Option
from raterlens.output.report.reproduce import IMPORT, Reproduction, Request

if TYPE_CHECKING:
    from raterlens.fitting.run import FittedRequest

DEMO_FOLDER = Path("raterlens-demo")
EXAMPLE = "bundled example: ratings simulated from published estimates, none of them real"


def fit(
    file: File,
    /,
    *more: MoreFiles,
    columns: ReadOptions = ReadOptions(),
    model: FitOptions = FitOptions(),
    besides: DiagnosticColumns = DiagnosticColumns(),
    deciding: DecisionOptions = DecisionOptions(),
    work: LongFitOptions = LongFitOptions(),
    output: Output = Output(),
) -> None:
    """Fit a model: how capable, how severe and how sharp is each rater?"""
    _check_output(output)
    request = request_of(file, more, columns, model, besides, deciding, output)
    with _explained(request, work, output.out):
        with progress_bar(hidden=output.quiet) as watch:
            found = _fit(request, work, watch)
        _show(output, found)


def demo() -> None:
    """Fit the bundled example (simulated ratings) and write its report."""
    # heavy, so not before it is needed
    from raterlens.app.cli.terminal import Terminal
    from raterlens.fitting.checks import Run
    from raterlens.fitting.run import check_request, fit_ratings
    from raterlens.simulation.example import load_example

    request = Request(file="example", out=str(DEMO_FOLDER))
    check_request(request, Run())
    example = load_example()
    example = replace(example, notes=(EXAMPLE, *example.notes))
    with progress_bar() as watch:
        run = Run(watch.on_iteration, on_stage=watch.start_stage)
        found = fit_ratings(example, request.fit, request, run)
        watch.start_stage("writing")
        call = Reproduction(f"{IMPORT}\n\nfit = rl.fit(rl.load_example())", "raterlens demo")
        found.write(DEMO_FOLDER, reproduction=call)
    Terminal().fit(found.fit, found=found.found, cautions=found.cautions, out=DEMO_FOLDER)


def _check_output(output: Output) -> None:
    """Raise if an option needs a folder."""
    for name, given, what in (
        ("title", output.title, " heads the report"),
        ("xlsx", output.xlsx, " writes results.xlsx to a folder"),
    ):
        if given and output.out is None:
            raise OptionError(
                Message(Option(name), what), Message("name the folder with ", Option("out", "DIR"))
            )


@contextmanager
def _explained(request: Request, work: LongFitOptions, out: Path | None) -> Iterator[None]:
    """Add to an error the command that accepts the proposal, and to an interrupt what was saved."""
    earlier = _stamp(out)
    try:
        yield
    except InputError as error:
        raise _with_command(error, request) from error
    except BaseException as error:
        if not is_interrupt(error):
            raise
        if (written := _stamp(out)) is not None and written != earlier:
            raise KeyboardInterrupt(f"interrupted; the results in {out} are complete") from None
        if work.checkpoint is None or not work.checkpoint.exists():
            kept = "" if earlier is None else f"; {out} has the earlier results"
            raise KeyboardInterrupt(
                f"interrupted; nothing was saved{kept}. With --checkpoint FILE a fit can be resumed"
            ) from None
        raise KeyboardInterrupt(f"interrupted; to resume: {request.command()} {work.resuming()}") from None


def _fit(request: Request, work: LongFitOptions, watch: Watch) -> "FittedRequest":
    """Check, read, fit, diagnose and write."""
    # heavy, so not before it is needed
    from raterlens.base.cluster import cluster_at
    from raterlens.fitting.checks import Run
    from raterlens.fitting.run import check_request, fit_request

    run = Run(
        watch.on_iteration, work.checkpoint, work.resume, keep_checkpoint=True, on_stage=watch.start_stage
    )
    check_request(request, run)
    with cluster_at(work.cluster) as client:
        found = fit_request(request, replace(run, client=client))
    if request.out is not None:
        watch.start_stage("writing")
        found.write(Path(request.out))
    if work.checkpoint is not None:
        work.checkpoint.unlink(missing_ok=True)  # now that nothing can be lost
    return found


def _show(output: Output, found: "FittedRequest") -> None:
    """Print what was asked for, or else the summary."""
    if output.facets_tables:
        # only where asked for
        from raterlens.output.facets_tables import facets_tables

        print(facets_tables(found.fit, found.ratings))
    elif output.json:
        print_json(found.fit.to_json())
    elif not output.quiet:
        # heavy, so not before it is needed
        from raterlens.app.cli.terminal import Terminal

        Terminal().fit(
            found.fit,
            found=found.found,
            cautions=found.cautions,
            decided=found.decided,
            out=output.out,
            everyone=output.everyone,
        )


def _stamp(out: Path | None) -> tuple[int, int] | None:
    """Identity of the folder's fit.json; None if there is none."""
    try:
        found = (out or Path()) / "fit.json"
        return None if out is None else (found.stat().st_ino, found.stat().st_mtime_ns)
    except OSError:
        return None


def _with_command(error: InputError, request: Request) -> InputError:
    """Add the command that accepts the likeliest reading to the error about an ambiguous file."""
    proposal = getattr(error, "proposal", None)
    if proposal is None:
        return error
    command = replace(request, read=proposal.config).command()
    remedy = Message(error.remedy, f". To accept all of it: {command}")
    return InputError(error.what, remedy, value=error.value, option=error.option)
