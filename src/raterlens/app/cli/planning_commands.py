"""`raterlens simulate`, `plan` and `next`: before the marking begins, and while it runs."""

from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import Annotated, Any, get_args

from cyclopts import Group, Parameter

from raterlens.app.cli.file_commands import Kind, Target, kind_of, write_ratings
from raterlens.app.cli.main import print_json
from raterlens.app.cli.options import File, ReadOptions, one_of, read_config, shell_record
from raterlens.base.atomic_files import atomic_write
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option, counted
from raterlens.config import FitConfig, LinkName
from raterlens.config.option_fields import option
from raterlens.models.registry import MODELS
from raterlens.output.report.reproduce import Request

# Most imports wait until a command has something to do: help and mistakes are answered at once.

SIMULATED = [name for name, spec in MODELS.items() if getattr(spec, "ability", True)]
"""Models whose ratings depend on an ability."""
SCHEMES = ("random", "ring", "blocks")
PLANNED_SCALES = ("rating scale", "continuous")
SHOWN = 10
"""Readings that `next` lists on the screen."""
# Thresholds of simulated scores lie between minus this and this, in logits.
_WIDEST = 1.5


@shell_record()
@dataclass(frozen=True)
class SimulatedDesign:
    """Who rates what, by which model."""

    students: int = option(500, "Number of students.")
    raters: int = option(20, "Number of raters.")
    items: int = option(5, "Number of items.")
    raters_per_student: int | None = option(None, "Raters per student, drawn at random; default: all.")
    common_students: int | None = option(
        None, "Instead: students rated by every rater; the others have one rater each."
    )
    groups: int | None = option(
        None,
        "Instead: groups of students, such as schools, each marked by raters of its own (one per student).",
    )
    crossed: float = option(0.3, "With groups: share of students whom another rater marks as well.")
    group_spread: float = option(
        0.7, "With groups: standard deviation of their mean abilities; 1 within them."
    )
    threshold_spread: float = option(
        0.0, "With several categories: standard deviation of each rater's own thresholds around those of all."
    )
    model: str = option("gmf", f"{one_of(SIMULATED)}.")
    scale: str = option(
        "rating scale", "Of several categories: rating scale or graded; or continuous: marks out of 100."
    )
    link: str | None = option(None, f"{one_of(get_args(LinkName))}; the model's own by default.")
    seed: int = option(0, "The same seed gives the same ratings.")


def simulate(
    *,
    out: Target,
    to: Kind = None,
    truth: Annotated[
        Path | None, Parameter(help="csv file for each rater's true discrimination, severity and capability.")
    ] = None,
    categories: Annotated[int, Parameter(help="Score categories; 2 is pass or fail.")] = 2,
    design: SimulatedDesign = SimulatedDesign(),
) -> None:
    """Simulate ratings with known truth, to try out a design or a method."""
    kind = kind_of(out, to)
    if truth is not None and (kind_of(truth) != "csv" or truth.absolute() == out.absolute()):
        remedy = Message("give it a csv file of its own: ", Option("truth", "NAME.csv"))
        raise OptionError(f"the truth cannot go to {str(truth)!r}", remedy, value=str(truth))
    _check_categories(categories, design)
    import numpy as np
    import polars as pl

    from raterlens.simulation.simulate import simulate as draw

    thresholds = None if categories == 2 else np.linspace(-_WIDEST, _WIDEST, categories - 1)
    drawn = draw(**vars(design), thresholds=thresholds)
    print(write_ratings(drawn.ratings, out, kind))
    if truth is not None:
        true = {"rho": drawn.truth.rho, "eta": drawn.truth.severity, "kappa": drawn.truth.kappa}
        noise = {} if drawn.truth.noise is None else {"noise": drawn.truth.noise}
        table = pl.DataFrame({"rater": drawn.ratings.raters, **true, **noise})  # as in a fit
        atomic_write(truth, table.write_csv)
        print(f"the raters' true discrimination, severity and capability written to {truth}")


def _check_categories(categories: int, design: SimulatedDesign) -> None:
    from raterlens.reading.scores import HIGHEST

    if not 2 <= categories <= HIGHEST + 1:
        raise OptionError(
            Message(Option("categories", categories)), f"give 2 (pass or fail) to {HIGHEST + 1}"
        )
    if categories > 2 and design.scale == "continuous":
        what = Message(Option("categories", categories), " with marks out of 100, which have no categories")
        raise OptionError(what, Message("leave out ", Option("categories")))
    model = design.model
    if categories > 2 and model in MODELS and not MODELS[model].ordered:
        what = Message(
            Option("categories", categories), f" with model {model!r}, which has pass or fail only"
        )
        raise OptionError(
            what, Message("leave out ", Option("categories"), ", or use ", Option("model", "gmf"))
        )


@shell_record(Group("Design", sort_key=1))
@dataclass(frozen=True)
class PlannedDesign:
    """Who marks what."""

    students: str = option("500", "Number of students, or a table with a 'student' column.")
    raters: str | None = option(
        None,
        "Number of raters, or a table with the columns 'rater' and 'load' (the most readings of each). "
        "Default: those of --fit, or 10.",
    )
    items: int | None = option(None, "Items per reading; default: those of --fit, or 1.")
    marks: float = option(2.0, "Raters per student; 1.3: a second one for three in ten.")
    scheme: str = option("random", f"Who marks together: {one_of(SCHEMES)} (teams).")
    common: int = option(0, "Students whom every rater marks.")
    seeded: int = option(0, "Scripts with a definitive mark that every rater marks.")
    team: int | None = option(None, "Raters per team, for blocks.")
    groups: int | None = option(
        None, "Groups, such as schools, that mark their own students; or a column 'group' in both tables."
    )
    crossed: float = option(
        0.3, "With groups: share of students whom a rater of another group marks as well."
    )
    forbidden: Path | None = option(None, "Table of who may not mark whom: columns 'student' and 'rater'.")
    seed: int = option(0, "The same seed gives the same assignment.")


@shell_record(Group("Assumptions", sort_key=2))
@dataclass(frozen=True)
class Assumptions:
    """Assumptions about raters and items."""

    fit: Path | None = option(None, "Earlier fit.json whose raters and items are assumed.")
    slope: float | None = option(None, "Raters' mean slope, without --fit: 1.5 by default; of marks 15.")
    slope_spread: float | None = option(None, "Standard deviation of slopes: 0.4; of marks 4.")
    severity_spread: float | None = option(None, "Standard deviation of severities: 0.7; of marks 7.")
    difficulty_spread: float | None = option(None, "Standard deviation of difficulties: 1; of marks 10.")
    threshold_spread: float = option(
        0.0, "With several categories: standard deviation of each rater's own thresholds around those of all."
    )
    group_spread: float = option(
        0.7, "With groups: standard deviation of their mean abilities; 1 within them."
    )
    categories: int = option(2, "Scores that an item can get; 2 is pass or fail.")
    scale: str = option("rating scale", f"{one_of(PLANNED_SCALES)}: marks out of 100.")
    noise: float | None = option(
        None, "Of marks, their standard deviation around what a rater expects of a student: 7.5."
    )
    noise_spread: float | None = option(None, "Of its logarithm among raters: 0.2.")
    cut: float = option(0.0, "Passing ability; 0 is the average student.")


@shell_record(Group("Target", sort_key=3))
@dataclass(frozen=True)
class TargetPrecision:
    """Targets of the cheapest design."""

    target_se: float | None = option(
        None,
        "Highest mean standard error of kappa: finds marks and common students, with groups the share crossed.",
    )
    target_severity_se: float | None = option(
        None, "Highest mean standard error of severities, in logits, or in marks."
    )
    target_accuracy: float | None = option(None, "Lowest share of students on the right side of the cut.")


def plan(
    *,
    design: PlannedDesign = PlannedDesign(),
    assumed: Assumptions = Assumptions(),
    target: TargetPrecision = TargetPrecision(),
    out: Annotated[Path | None, Parameter(help="csv file for the assignment: who marks what.")] = None,
    network: Annotated[
        Path | None, Parameter(help="Picture (svg, png, pdf or html) of who shares students with whom.")
    ] = None,
    json: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Print what is expected as JSON.")
    ] = False,
) -> None:
    """Plan the marking: who marks what, and the standard errors to expect."""
    from raterlens.planning.plan import plan as planned

    if network is not None:
        from raterlens.pictures.files import check_path

        check_path(network)
    given: dict[str, Any] = {**vars(design), **vars(assumed), **vars(target)}
    for name in ("students", "raters"):
        if given[name] is not None and given[name].isdigit():
            given[name] = int(given[name])
    if assumed.fit is not None:
        from raterlens.fitting.api import load

        given["fit"] = load(assumed.fit)
    found = planned(**given)
    if out is not None:
        found.save(out)
    if network is not None:
        from raterlens.base.picture import DEFAULT_WIDTH
        from raterlens.charts import picture
        from raterlens.pictures.files import write

        write(picture("network", found.ratings()), DEFAULT_WIDTH, network)
    if json:
        print_json(dumps(found.expected() | {"per_rater": found.raters.to_dicts()}, indent=2))
        return
    print(found.summary())
    written = ", ".join(str(path) for path in (out, network) if path is not None)
    said = f"{counted(found.readings, 'reading')} written: {written}"
    print(said if written else "Add --out assignment.csv for who marks what.")


def next(
    file: File,
    /,
    *,
    columns: ReadOptions = ReadOptions(),
    fit: Annotated[
        Path | None, Parameter(help="fit.json of these ratings; otherwise they are fitted.")
    ] = None,
    budget: Annotated[int, Parameter(help="Readings to give out, at most one per student.")] = 20,
    capacity: Annotated[
        str | None,
        Parameter(help="The most readings per rater: a number, or a table with columns 'rater' and 'load'."),
    ] = None,
    forbidden: Annotated[
        Path | None, Parameter(help="Table of who may not mark whom: columns 'student' and 'rater'.")
    ] = None,
    floor: Annotated[int, Parameter(help="Students with fewer readings come first.")] = 0,
    out: Annotated[Path | None, Parameter(help="csv file for the readings.")] = None,
) -> None:
    """Which rater should mark which student next?"""
    request = Request(file=str(file), read=read_config(columns), fit=FitConfig(model="gmf", halo="none"))
    from raterlens.fitting.api import load
    from raterlens.fitting.checks import Run
    from raterlens.fitting.fit import fit_with_assumptions
    from raterlens.fitting.run import read_request
    from raterlens.planning.next_marks import next_marks

    run = Run()
    ratings, config, _ = read_request(request, run)
    if not ratings.on_fine_scale:  # marks have no perfect rater to be compared with
        config = config.changed(reference="perfect")
    known = fit_with_assumptions(ratings, config, run) if fit is None else load(fit)
    limit: Any = int(capacity) if capacity is not None and capacity.isdigit() else capacity
    found = next_marks(known, ratings, budget, capacity=limit, forbidden=forbidden, floor=floor)
    print(found.summary())
    if out is not None:
        atomic_write(out, found.table.write_csv)
        print(f"written: {out}")
        return
    for row in found.table.head(SHOWN).iter_rows(named=True):
        print(f"  {row['rater']} marks {row['student']}")
    if found.table.height > SHOWN:
        print(f"  and {found.table.height - SHOWN} more; add --out next.csv for all of them")
