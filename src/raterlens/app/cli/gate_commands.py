"""`raterlens check` and `raterlens judge`: the data and the design; raters and judges against bounds."""

from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import Parameter

from raterlens.app.cli.main import print_json
from raterlens.app.cli.options import (
    BoundOptions,
    File,
    FitOptions,
    MoreFiles,
    ReadOptions,
    bounds_of,
    read_config,
    request_of,
    several,
    shell_record,
)
from raterlens.app.progress import progress_bar
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.config import ReadConfig
from raterlens.config.option_fields import option
from raterlens.judging import Bounds
from raterlens.output.report.reproduce import Request

if TYPE_CHECKING:
    from raterlens.config import ReadConfig
    from raterlens.judging.judge import JudgeReport


PASSED, AT_FAULT, GATE_FAILED = 0, 2, 3


def _file(help_text: str) -> Parameter:
    return Parameter(show_default=False, group="Output", help=help_text)


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

    @property
    def for_gate(self) -> bool:
        return (self.markdown, self.junit, self.baseline) != (None, None, None)

    def write(self, markdown: str, junit: str) -> None:
        """Write the files that were asked for."""
        from raterlens.base.atomic_files import write_text  # not before it is needed

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
    asked = bounds_of(bounds)
    if asked.given():
        request = request_of(file, more, columns, model)
        return PASSED if _gate(request, asked, output) else GATE_FAILED
    if model != DEFAULT_FIT or bounds != NO_BOUNDS or output.for_gate:
        raise OptionError(
            "no bound is set to judge raters by", Message("add one, such as ", Option("min_sharpness", 0.5))
        )
    return _check([str(file), *map(str, more)], read_config(columns), json=output.json)


def _check(files: list[str], config: ReadConfig, *, json: bool) -> int:
    """Show how a table is read, the command that fits it, and who can be compared with whom."""
    # heavy, so not before it is needed
    from raterlens.output.data_check import check as check_data

    found = check_data(files if len(files) > 1 else files[0], **config.given())
    ratings, command = found.ratings, found.request.command()
    if json:
        sizes = {name: getattr(ratings, name) for name in ("n_ratings", "n_students", "n_raters", "n_items")}
        said = {"notes": ratings.notes, "questions": found.questions, "warnings": found.warnings}
        print_json(dumps({**sizes, **said, "command": command}, ensure_ascii=False))
    else:
        from raterlens.app.cli.terminal import Terminal  # heavy, so not before it is needed

        Terminal().check(ratings, found.warnings, found.questions, command)
    return AT_FAULT if found.questions else PASSED


def _gate(request: Request, bounds: Bounds, output: GateOutput) -> bool:
    """Fit, and judge every rater by the bounds; return whether all pass."""
    # heavy, so not before it is needed
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
        result = apply_bounds(fit, ratings, bounds, baseline)
    output.write(result.to_markdown(), result.to_junit())
    if output.json:
        print_json(result.to_json())
    else:
        Terminal().gate(result)
    return result.passed


_GROUP = "Judges"


@shell_record(_GROUP)
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
    groups = [] if asked.by in (None, "item", *read_config(columns).names("item")) else [str(asked.by)]
    request = request_of(file, more, columns, FitOptions(), groups=groups)
    return PASSED if _judge(request, asked, output).passed else GATE_FAILED


def _judge(request: Request, asked: JudgeOptions, output: GateOutput) -> "JudgeReport":
    # heavy, so not before it is needed
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
    return found
