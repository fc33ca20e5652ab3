"""`raterlens judge`: which judges can be trusted, given known answers or people."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from raterlens.app.cli.check_command import GATE_FAILED, ON_SCREEN, PASSED, GateOutput, write_text
from raterlens.app.cli.options import (
    EVERYTHING_RECOGNISED,
    File,
    MoreFiles,
    ReadOptions,
    read_config,
    several,
)
from raterlens.app.cli.standard_output import print_json
from raterlens.app.progress import progress_bar
from raterlens.config import FitConfig
from raterlens.output.report.reproduce import Request

if TYPE_CHECKING:
    from raterlens.config import ReadConfig
    from raterlens.judging.judge import JudgeReport

_GROUP = "Judges"


@Parameter(name="*", group=_GROUP)
@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """Options about judges."""

    trusted: Annotated[
        str | None,
        Parameter(help="People whose agreement sets the scale (a,b), where no answers are known."),
    ] = None
    by: Annotated[
        str | None,
        Parameter(help="With known answers: column of groups (system); the share of good answers in each."),
    ] = None
    by_metric: Annotated[
        str | None,
        Parameter(help="Sort judges by capability, accuracy (known answers) or sharpness (people)."),
    ] = None
    min_accuracy: Annotated[
        float | None, Parameter(help="With known answers: lowest expected accuracy, 0 to 1.")
    ] = None
    min_capability: Annotated[
        float | None, Parameter(help="Lowest capability, 0 to 1; 0.5 by default with known answers.")
    ] = None
    min_sharpness: Annotated[
        float | None, Parameter(help="With people: lowest sharpness, 0 to 1; 0.5 by default.")
    ] = None
    margin: Annotated[
        float, Parameter(help="With people: how much less capable than they a judge may be who stands in.")
    ] = 0.1
    by_estimate: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Let the estimate decide, not the interval; judges near a bound may then flip between runs.",
        ),
    ] = False
    without: Annotated[str | None, Parameter(help="Leave out the verdicts of these judges (a,b).")] = None
    only: Annotated[str | None, Parameter(help="Judge only these raters (a,b).")] = None
    save: Annotated[
        Path | None, Parameter(help="Also save the result, as the --baseline of a later run.", group="Output")
    ] = None
    out: Annotated[
        Path | None,
        Parameter(help="A folder for judges.csv, labels.csv, systems.csv and so on.", group="Output"),
    ] = None


USUAL = JudgeOptions()


def judge(
    file: File,
    /,
    *more: MoreFiles,
    columns: ReadOptions = EVERYTHING_RECOGNISED,
    asked: JudgeOptions = USUAL,
    output: GateOutput = ON_SCREEN,
) -> int:
    """Which judges can be trusted? Given some known answers (--known) or people (--trusted)."""
    read = read_config(columns)
    request = Request(
        file=str(file),
        more=tuple(map(str, more)),
        read=read,
        fit=FitConfig(),
        files={},
        groups=_groups(asked, read),
    )
    return PASSED if _judge(request, asked, output).passed else GATE_FAILED


def _groups(asked: JudgeOptions, read: "ReadConfig") -> list[str]:
    return [] if asked.by in (None, "item", *read.names("item")) else [str(asked.by)]


def _judge(request: Request, asked: JudgeOptions, output: GateOutput) -> "JudgeReport":
    # heavy, so not before it is needed
    from raterlens.app.cli.terminal import Terminal
    from raterlens.fitting.run import read_request
    from raterlens.fitting.steps import Run
    from raterlens.judging import judge_files
    from raterlens.judging.judge import judge as measure
    from raterlens.output.folder import check_folder, write_judges

    baseline = None if output.baseline is None else judge_files.read_baseline(output.baseline)
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
        )
    moved = judge_files.changes(found, baseline)
    output.write(judge_files.markdown(found, moved, baseline is not None), judge_files.junit(found))
    content = judge_files.to_json(found, moved)
    if asked.save is not None:
        write_text(asked.save, content, "save")
    if asked.out is not None:
        write_judges(found.tables, asked.out)
    if output.json:
        print_json(content)
    else:
        Terminal().judges(found, moved)
    return found
