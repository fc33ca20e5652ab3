"""`raterlens judge`: which judges can be trusted, on the scale of known answers or people."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from raterlens.app.cli.check_command import GATE_FAILED, ON_SCREEN, PASSED, GateOutput, write_text
from raterlens.app.cli.fit_command import read_study, set_groups_aside
from raterlens.app.cli.options import (
    DEFAULT_FIT,
    EVERYTHING_RECOGNISED,
    NO_BOUNDS,
    BoundOptions,
    File,
    FitOptions,
    ReadOptions,
    bounds_of,
    files_of,
    fit_config,
    read_config,
    several,
)
from raterlens.app.cli.progress import watching
from raterlens.app.cli.standard_output import print_json
from raterlens.base.errors import OptionError
from raterlens.base.records import dataclass
from raterlens.base.text import Message, Option
from raterlens.output.report.reproduce import Request

if TYPE_CHECKING:
    from raterlens.output.bounds import Bounds
    from raterlens.output.judgement import Judgement

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
    save: Annotated[
        Path | None, Parameter(help="Also save the fit, as the --baseline of a later run.", group="Output")
    ] = None


USUAL = JudgeOptions()


def judge(
    file: File,
    /,
    *,
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
    if config.reference is None and "anchors" not in files:
        config = config.changed(reference="perfect")
    groups = [] if asked.by in (None, "item", *read.names("item")) else [str(asked.by)]
    paths = {name: str(path) for name, path in files.items()}
    request = Request(file=str(file), read=read, fit=config, files=paths, groups=groups)
    return PASSED if _judge(request, bounds_of(bounds), asked, output).passed else GATE_FAILED


def _judge(request: Request, bounds: "Bounds", asked: JudgeOptions, output: GateOutput) -> "Judgement":
    # heavy, so not before it is needed
    from raterlens.app.cli.terminal import Terminal
    from raterlens.diagnostics.true_pass_rates import pass_rate
    from raterlens.facade import fitted
    from raterlens.fitting import load
    from raterlens.output.judgement import judged
    from raterlens.pipeline.steps import Run

    baseline = None if output.baseline is None else load(output.baseline)
    with watching("reading", request.file, unless=output.json) as watch:
        run = Run(watch.on_iteration, on_stage=watch.enter)
        everything, config, _ = read_study(request, run)
        ratings, _ = set_groups_aside(request, everything)
        fit = fitted(ratings, config, run)
        watch.enter("diagnosing")
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
