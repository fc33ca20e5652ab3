"""`raterlens judge`: which judges can be trusted, on the scale of known answers or people."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from raterlens.app.cli.check_command import GATE_FAILED, ON_SCREEN, PASSED, GateOutput, write_text
from raterlens.app.cli.options import (
    DEFAULT_FIT,
    EVERYTHING_RECOGNISED,
    NO_BOUNDS,
    BoundOptions,
    File,
    FitOptions,
    MoreFiles,
    ReadOptions,
    bounds_of,
    files_of,
    fit_config,
    read_config,
    several,
)
from raterlens.app.cli.standard_output import print_json
from raterlens.app.progress import progress_bar
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.output.report.reproduce import Request

if TYPE_CHECKING:
    from raterlens.config import FitConfig, ReadConfig
    from raterlens.judging.bounds import Bounds
    from raterlens.judging.judge import JudgeReport
    from raterlens.judging.judgement import Judgement

_GROUP = "Judges"


@Parameter(name="*", group=_GROUP)
@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """What is asked besides the gate."""

    people: Annotated[
        str | None,
        Parameter(help="Raters whom judges would stand in for (a,b); the trusted ones where left out."),
    ] = None
    margin: Annotated[
        float, Parameter(help="How much less capable than people a judge may be who stands in for one.")
    ] = 0.1
    by: Annotated[
        str | None,
        Parameter(help="Column of groups (system): the share of good work in each, as if nobody erred."),
    ] = None
    by_metric: Annotated[
        str, Parameter(help="With known answers, sort judges by capability (J) or accuracy.")
    ] = "capability"
    min_accuracy: Annotated[
        float | None, Parameter(help="With known answers: lowest expected accuracy, 0 to 1.")
    ] = None
    min_capability: Annotated[
        float | None,
        Parameter(
            help="With known answers: lowest capability, sensitivity + specificity - 1 (0.5 by default)."
        ),
    ] = None
    by_estimate: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="With known answers: let the estimate decide, not the interval; judges near a bound may flip.",
        ),
    ] = False
    without: Annotated[
        str | None, Parameter(help="With known answers: leave out the verdicts of these judges (a,b).")
    ] = None
    save: Annotated[
        Path | None, Parameter(help="Also save the result, as the --baseline of a later run.", group="Output")
    ] = None
    out: Annotated[
        Path | None,
        Parameter(
            help="With known answers: a folder for judges.csv, labels.csv and systems.csv.", group="Output"
        ),
    ] = None


USUAL = JudgeOptions()


def judge(
    file: File,
    /,
    *more: MoreFiles,
    columns: ReadOptions = EVERYTHING_RECOGNISED,
    model: FitOptions = DEFAULT_FIT,
    bounds: BoundOptions = NO_BOUNDS,
    asked: JudgeOptions = USUAL,
    output: GateOutput = ON_SCREEN,
) -> int:
    """Which judges can be trusted? Given some known answers (--known) or people (--trusted)."""
    read, config, files = read_config(columns), fit_config(model), files_of(model)
    told = (read.known, read.trusted_column, config.trusted) != (None, None, None)
    if not told and "anchors" not in files:
        raise OptionError(
            "nothing says what is right, and judges who agree may all be wrong",
            Message(
                "add a column of known answers, ",
                Option("known", "human_label"),
                ", name raters whom you trust, ",
                Option("trusted", ["Ann", "Bob"]),
                ", or give an earlier fit of theirs, ",
                Option("anchors", "people.json"),
            ),
            option="known",
        )
    if read.known is not None:
        _check_known_route(config, files, bounds_of(bounds))
        request = Request(
            file=str(file),
            more=tuple(map(str, more)),
            read=read,
            fit=config,
            files={},
            groups=_groups(asked, read),
        )
        return PASSED if _against_truth(request, bounds_of(bounds), asked, output).passed else GATE_FAILED
    if config.reference is None and "anchors" not in files:
        config = config.changed(reference="perfect")
    paths = {name: str(path) for name, path in files.items()}
    request = Request(
        file=str(file),
        more=tuple(map(str, more)),
        read=read,
        fit=config,
        files=paths,
        groups=_groups(asked, read),
    )
    return PASSED if _judge(request, bounds_of(bounds), asked, output).passed else GATE_FAILED


def _groups(asked: JudgeOptions, read: "ReadConfig") -> list[str]:
    return [] if asked.by in (None, "item", *read.names("item")) else [str(asked.by)]


def _check_known_route(config: "FitConfig", files: dict[str, Path], bounds: "Bounds") -> None:
    """Raise on what only a fit of trusted raters takes: with known answers nothing is left to choose."""
    for name in (*files, *config.given()):
        raise OptionError(
            Message(Option(name), " is an option of fits, and judges with known answers need none"),
            Message("leave it out, or use raterlens fit or raterlens check with ", Option("known")),
            option=name,
        )
    for name in bounds.given():
        raise OptionError(
            Message(Option(name), " is a bound of fits"),
            Message(
                "with known answers, give ",
                Option("min_capability", 0.5),
                " or ",
                Option("min_accuracy", 0.8),
            ),
            option=name,
        )


def _against_truth(
    request: Request, bounds: "Bounds", asked: JudgeOptions, output: GateOutput
) -> "JudgeReport":
    # heavy, so not before it is needed
    from raterlens.app.cli.terminal import Terminal
    from raterlens.fitting.run import read_request
    from raterlens.fitting.steps import Run
    from raterlens.judging import judge_files
    from raterlens.judging.judge import judge as measure

    baseline = None if output.baseline is None else judge_files.read_baseline(output.baseline)
    with progress_bar(hidden=output.json) as watch:
        run = Run(watch.on_iteration, on_stage=watch.start_stage)
        ratings, _, _ = read_request(request, run)
        watch.start_stage("diagnosing")
        by = None if asked.by is None else request.groups[0] if request.groups else "item"
        found = measure(
            ratings,
            by=by,
            by_metric=asked.by_metric,
            min_accuracy=asked.min_accuracy,
            min_capability=asked.min_capability,
            confident=not asked.by_estimate,
            without=several("without", asked.without) or (),
            raters=bounds.raters,
        )
    moved = judge_files.changes(found, baseline)
    output.write(judge_files.markdown(found, moved, baseline is not None), judge_files.junit(found))
    content = judge_files.to_json(found, moved)
    if asked.save is not None:
        write_text(asked.save, content, "save")
    if asked.out is not None:
        judge_files.write_folder(found, asked.out)
    if output.json:
        print_json(content)
    else:
        Terminal().judges(found, moved)
    return found


def _judge(request: Request, bounds: "Bounds", asked: JudgeOptions, output: GateOutput) -> "Judgement":
    # heavy, so not before it is needed
    from raterlens.app.cli.terminal import Terminal
    from raterlens.fitting.api import load
    from raterlens.fitting.fit import fitted
    from raterlens.fitting.run import read_request, split_diagnostic_columns
    from raterlens.fitting.steps import Run
    from raterlens.judging.judgement import judged
    from raterlens.judging.system_rates import pass_rate

    baseline = None if output.baseline is None else load(output.baseline)
    with progress_bar(hidden=output.json) as watch:
        run = Run(watch.on_iteration, on_stage=watch.start_stage)
        everything, config, _ = read_request(request, run)
        ratings, _ = split_diagnostic_columns(request, everything)
        fit = fitted(ratings, config, run)
        watch.start_stage("diagnosing")
        people = several("people", asked.people)
        found = judged(fit, ratings, bounds, people=people, margin=asked.margin, baseline=baseline)
        if asked.by is not None:
            by = request.groups[0] if request.groups else "item"
            found = replace(found, rates=pass_rate(fit, everything, by=by, people=found.people))
    output.write(found.to_markdown(), found.gate.to_junit())
    if asked.save is not None:
        write_text(asked.save, fit.to_json(), "save")
    if output.json:
        print_json(found.to_json())
    else:
        Terminal().judgement(found, ratings)
    return found
