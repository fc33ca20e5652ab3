"""`raterlens fit`, `demo`, `check` and `judge`: from a file to results, and raters and judges against bounds."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from json import dumps
from pathlib import Path

from raterlens.app.cli.main import print_json
from raterlens.app.cli.options import (
    BoundOptions,
    DecisionOptions,
    DiagnosticColumns,
    File,
    FitOptions,
    LongFitOptions,
    MoreFiles,
    Output,
    ReadOptions,
    bounds_of,
    read_config,
    request_of,
    several,
    shell_record,
)
from raterlens.app.progress import progress_bar
from raterlens.base.errors import InputError, OptionError, is_interrupt
from raterlens.base.text import Message, Option
from raterlens.config.option_fields import option
from raterlens.output.report.reproduce import IMPORT, Reproduction, Request

PASSED, AT_FAULT, GATE_FAILED = 0, 2, 3
DEMO_FOLDER = Path("raterlens-demo")
EXAMPLE = "bundled example: ratings simulated from published estimates, none of them real"

# Most imports wait until a command has something to do: help and mistakes are answered at once.


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
    for name, given, what in (
        ("title", output.title, " heads the report"),
        ("xlsx", output.xlsx, " writes results.xlsx to a folder"),
    ):
        if given and output.out is None:
            remedy = Message("name the folder with ", Option("out", "DIR"))
            raise OptionError(Message(Option(name), what), remedy)
    request = request_of(file, more, columns, model, besides, deciding, output)
    with _explained(request, work, output.out):
        _fit(request, work, output)


def _fit(request: Request, work: LongFitOptions, output: Output) -> None:
    """Check, read, fit, diagnose, write, and print what was asked for or else the summary."""
    from raterlens.base.processes import cluster_at
    from raterlens.fitting.checks import Run
    from raterlens.fitting.run import check_request, fit_request

    with progress_bar(hidden=output.quiet) as watch:
        run = Run(
            watch.on_iteration, work.checkpoint, work.resume, keep_checkpoint=True, on_stage=watch.start_stage
        )
        check_request(request, run)
        with cluster_at(work.cluster) as client:
            found = fit_request(request, replace(run, client=client))
        if output.out is not None:
            watch.start_stage("writing")
            found.write(output.out)
    if work.checkpoint is not None:
        work.checkpoint.unlink(missing_ok=True)  # now that nothing can be lost
    if output.facets_tables:
        from raterlens.output.facets_tables import facets_tables

        print(facets_tables(found.fit, found.ratings))
    elif output.json:
        print_json(found.fit.to_json())
    elif not output.quiet:
        from raterlens.app.cli.terminal import Terminal

        Terminal().fit(found, out=output.out, everyone=output.everyone)


def demo() -> None:
    """Fit the bundled example (simulated ratings) and write its report."""
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
    Terminal().fit(found, out=DEMO_FOLDER)


@contextmanager
def _explained(request: Request, work: LongFitOptions, out: Path | None) -> Iterator[None]:
    """Add to an error the command that accepts the proposal, and to an interrupt what was saved."""
    earlier = _stamp(out)
    try:
        yield
    except InputError as error:
        proposal = getattr(error, "proposal", None)
        if proposal is None:
            raise
        command = replace(request, read=proposal.config).command()
        remedy = Message(error.remedy, f". To accept all of it: {command}")
        raise InputError(error.what, remedy, value=error.value, option=error.option) from error
    except BaseException as error:
        if not is_interrupt(error):
            raise
        if (written := _stamp(out)) is not None and written != earlier:
            said = f"the results in {out} are complete"
        elif work.checkpoint is not None and work.checkpoint.exists():
            cluster = {"cluster": work.cluster} if work.cluster else {}
            said = f"to resume: {request.command(checkpoint=work.checkpoint, resume=True, **cluster)}"
        else:
            kept = "" if earlier is None else f"; {out} has the earlier results"
            said = f"nothing was saved{kept}. With --checkpoint FILE a fit can be resumed"
        raise KeyboardInterrupt(f"interrupted; {said}") from None


def _stamp(out: Path | None) -> tuple[int, int] | None:
    """Identity of the folder's fit.json; None if there is none."""
    try:
        found = None if out is None else (out / "fit.json").stat()
    except OSError:
        return None
    return found and (found.st_ino, found.st_mtime_ns)


# --------------------------------------------------------------------------------------------- checks and judges


@shell_record()
@dataclass(frozen=True)
class GateOutput:
    """Where the result of a gate is written, and what it is compared with."""

    json: bool = option(False, "Print only the result, as JSON.", group="Output")
    markdown: Path | None = option(None, "Also write the result of the gate as Markdown.", group="Output")
    junit: Path | None = option(None, "Also write the result of the gate as JUnit XML.", group="Output")
    baseline: Path | None = option(
        None, "Earlier run to compare with: fit.json, or for judge what --save wrote.", group="Output"
    )

    def write(self, markdown: str, junit: str) -> None:
        """Write the files that were asked for."""
        from raterlens.base.atomic_files import write_text

        for name, path, text in (("markdown", self.markdown, markdown), ("junit", self.junit, junit)):
            if path is not None:
                write_text(path, text, name)


DEFAULT_FIT, NO_BOUNDS = FitOptions(), BoundOptions()


def check(
    file: File,
    /,
    *more: MoreFiles,
    columns: ReadOptions = ReadOptions(),
    model: FitOptions = DEFAULT_FIT,
    bounds: BoundOptions = NO_BOUNDS,
    output: GateOutput = GateOutput(),
) -> int:
    """Check the data and the design; with a bound such as --min-sharpness, judge every rater."""
    if bounds_of(bounds).given():
        return _gate(request_of(file, more, columns, model), bounds, output)
    if model != DEFAULT_FIT or bounds != NO_BOUNDS or replace(output, json=False) != GateOutput():
        remedy = Message("add one, such as ", Option("min_sharpness", 0.5))
        raise OptionError("no bound is set to judge raters by", remedy)
    from raterlens.output.data_check import check as check_data

    files = [str(file), *map(str, more)]
    found = check_data(files if more else files[0], **read_config(columns).given())
    if output.json:
        sizes = ("n_ratings", "n_students", "n_raters", "n_items")
        said = {name: getattr(found.ratings, name) for name in (*sizes, "notes")}
        said |= {"questions": found.questions, "warnings": found.warnings}
        print_json(dumps({**said, "command": found.request.command()}, ensure_ascii=False))
    else:
        from raterlens.app.cli.terminal import Terminal

        Terminal().check(found)
    return AT_FAULT if found.questions else PASSED


def _gate(request: Request, bounds: BoundOptions, output: GateOutput) -> int:
    """Fit, and judge every rater by the bounds."""
    from raterlens.app.cli.terminal import Terminal
    from raterlens.fitting.api import load
    from raterlens.fitting.checks import Run
    from raterlens.fitting.fit import fit_with_assumptions
    from raterlens.fitting.run import read_request
    from raterlens.judging.gate import apply_bounds

    baseline = None if output.baseline is None else load(output.baseline)
    with progress_bar(hidden=output.json) as watch:
        run = Run(watch.on_iteration, on_stage=watch.start_stage)
        ratings, config, _ = read_request(request, run)
        fit = fit_with_assumptions(ratings, config, run)
        watch.start_stage("diagnosing")
        result = apply_bounds(fit, ratings, bounds_of(bounds), baseline)
    output.write(result.to_markdown(), result.to_junit())
    if output.json:
        print_json(result.to_json())
    else:
        Terminal().gate(result)
    return PASSED if result.passed else GATE_FAILED


@shell_record("Judges")
@dataclass(frozen=True)
class JudgeOptions:
    """Options about judges."""

    trusted: str | None = option(
        None, "People whose agreement sets the scale (a,b), where no answers are known."
    )
    by: str | None = option(
        None, "With known answers: column of groups (system); the share of good answers in each."
    )
    by_metric: str | None = option(
        None, "Sort judges by capability, accuracy (known answers) or sharpness (people)."
    )
    min_accuracy: float | None = option(None, "With known answers: lowest expected accuracy, 0 to 1.")
    min_capability: float | None = option(
        None, "Lowest capability, 0 to 1; 0.5 by default with known answers."
    )
    min_sharpness: float | None = option(None, "With people: lowest sharpness, 0 to 1; 0.5 by default.")
    margin: float = option(
        0.1, "With people: how far below theirs a judge's capability may be and still replace one."
    )
    by_estimate: bool = option(
        False, "Let the estimate decide, not the interval; judges near a bound may then flip between runs."
    )
    without: str | None = option(None, "Leave out the verdicts of these judges (a,b).")
    only: str | None = option(None, "Judge only these raters (a,b).")
    save: Path | None = option(
        None, "Also save the result, as the --baseline of a later run.", group="Output"
    )
    out: Path | None = option(
        None, "Folder for judges.csv, labels.csv, systems.csv and so on.", group="Output"
    )


def judge(
    file: File,
    /,
    *more: MoreFiles,
    columns: ReadOptions = ReadOptions(),
    asked: JudgeOptions = JudgeOptions(),
    output: GateOutput = GateOutput(),
) -> int:
    """Which judges can be trusted? Given some known answers (--known) or people (--trusted)."""
    own = asked.by is None or asked.by in ("item", *read_config(columns).names("item"))
    request = request_of(file, more, columns, FitOptions(), groups=[] if own else [str(asked.by)])
    return _judge(request, asked, output)


def _judge(request: Request, asked: JudgeOptions, output: GateOutput) -> int:
    from raterlens.app.cli.terminal import Terminal
    from raterlens.fitting.checks import Run
    from raterlens.fitting.run import read_request
    from raterlens.judging.judge import judge as measure
    from raterlens.judging.judge import read_baseline
    from raterlens.output.folder import check_folder, write_judges

    if output.baseline is not None:
        read_baseline(output.baseline)  # before any work
    if asked.out is not None:
        check_folder(asked.out)
    with progress_bar(hidden=output.json) as watch:
        run = Run(watch.on_iteration, on_stage=watch.start_stage)
        ratings, _, _ = read_request(request, run)
        watch.start_stage("diagnosing")
        found = measure(
            ratings,
            trusted=several("trusted", asked.trusted),
            by=None if asked.by is None else request.groups[0] if request.groups else "item",
            by_metric=asked.by_metric,
            min_accuracy=asked.min_accuracy,
            min_capability=asked.min_capability,
            min_sharpness=asked.min_sharpness,
            margin=asked.margin,
            confident=not asked.by_estimate,
            without=several("without", asked.without) or (),
            raters=several("only", asked.only),
            baseline=output.baseline,
        )
    output.write(found.to_markdown(), found.to_junit())
    if asked.save is not None:
        found.save(asked.save)
    if asked.out is not None:
        write_judges(found.tables, asked.out)
    if output.json:
        print_json(found.to_json())
    else:
        Terminal().judges(found)
    return PASSED if found.passed else GATE_FAILED
