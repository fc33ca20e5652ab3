"""`raterlens plan`: a design before the marking begins, its expected standard errors, and who marks what."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from raterlens.app.cli.options import one_of
from raterlens.app.cli.standard_output import print_json
from raterlens.base.text import counted

if TYPE_CHECKING:
    from raterlens.planning.plan import MarkingPlan

SCHEMES = ("random", "ring", "blocks")
_DESIGN, _ASSUMED = Group("Design", sort_key=1), Group("Assumptions", sort_key=2)
_TARGET = Group("Target", sort_key=3)


@Parameter(name="*", group=_DESIGN)
@dataclass(frozen=True)
class Design:
    """Who marks what."""

    students: Annotated[str, Parameter(help="Number of students, or a table with a 'student' column.")] = (
        "500"
    )
    raters: Annotated[
        str | None,
        Parameter(
            help="Number of raters, or a table with a 'rater' column and (the most each may mark) 'load'. "
            "Default: those of --fit, or 10."
        ),
    ] = None
    items: Annotated[int | None, Parameter(help="Items per reading; default: those of --fit, or 1.")] = None
    marks: Annotated[float, Parameter(help="Raters per student; 1.3: a second one for three in ten.")] = 2.0
    scheme: Annotated[
        str,
        Parameter(help=f"Who marks together: {one_of(SCHEMES)} (teams)."),
    ] = "random"
    common: Annotated[int, Parameter(help="Students whom every rater marks.")] = 0
    seeded: Annotated[int, Parameter(help="Scripts with a definitive mark that every rater marks.")] = 0
    team: Annotated[int | None, Parameter(help="Raters per team, for blocks.")] = None
    forbidden: Annotated[
        Path | None, Parameter(help="Table of who may not mark whom: columns 'student' and 'rater'.")
    ] = None
    seed: Annotated[int, Parameter(help="The same seed gives the same assignment.")] = 0


@Parameter(name="*", group=_ASSUMED)
@dataclass(frozen=True)
class Assumed:
    """What raters and items are like."""

    fit: Annotated[Path | None, Parameter(help="Earlier fit.json whose raters and items are assumed.")] = None
    slope: Annotated[float, Parameter(help="Raters' mean slope, without --fit.")] = 1.5
    slope_spread: Annotated[float, Parameter(help="Standard deviation of slopes.")] = 0.4
    severity_spread: Annotated[float, Parameter(help="Standard deviation of severities.")] = 0.7
    difficulty_spread: Annotated[float, Parameter(help="Standard deviation of difficulties.")] = 1.0
    categories: Annotated[int, Parameter(help="Scores that an item can get; 2 is pass or fail.")] = 2
    cut: Annotated[
        float, Parameter(allow_leading_hyphen=True, help="Passing ability; 0 is the average student.")
    ] = 0.0


@Parameter(name="*", group=_TARGET)
@dataclass(frozen=True)
class Target:
    """Find the cheapest design instead."""

    target_se: Annotated[
        float | None, Parameter(help="Highest mean standard error of kappa: finds marks and common students.")
    ] = None
    target_accuracy: Annotated[
        float | None, Parameter(help="Lowest share of students on the right side of the cut.")
    ] = None


USUAL_DESIGN, USUAL_RATERS, NO_TARGET = Design(), Assumed(), Target()


def plan(
    *,
    design: Design = USUAL_DESIGN,
    assumed: Assumed = USUAL_RATERS,
    target: Target = NO_TARGET,
    out: Annotated[Path | None, Parameter(help="csv file for the assignment: who marks what.")] = None,
    network: Annotated[
        Path | None, Parameter(help="Picture (svg, png, pdf or html) of who shares students with whom.")
    ] = None,
    json: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Print what is expected as JSON.")
    ] = False,
) -> None:
    """Plan the marking: who marks what, and the standard errors to expect."""
    # heavy, so not before it is needed
    from raterlens.planning.plan import plan as planned

    if network is not None:
        from raterlens.pictures.files import check_path  # heavy, so not before it is needed

        check_path(network)
    given: dict[str, Any] = {**vars(design), **vars(assumed), **vars(target)}
    for name in ("students", "raters"):
        if given[name] is not None and given[name].isdigit():
            given[name] = int(given[name])
    if assumed.fit is not None:
        from raterlens.fitting import load  # heavy, so not before it is needed

        given["fit"] = load(assumed.fit)
    found = planned(**given)
    if out is not None:
        found.save(out)
    if network is not None:
        from raterlens.pictures.files import save  # heavy, so not before it is needed

        save(found.network(), network)
    _show(found, json, [str(path) for path in (out, network) if path is not None])


def _show(found: "MarkingPlan", as_json: bool, written: list[str]) -> None:
    import json  # where asked for

    if as_json:
        print_json(json.dumps(found.expected() | {"per_rater": found.raters.to_dicts()}, indent=2))
        return
    print(found.summary())
    if written:
        print(f"{counted(found.readings, 'reading')} written: {', '.join(written)}")
    else:
        print("Add --out assignment.csv for who marks what.")
