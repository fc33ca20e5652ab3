"""What each command does, step by step: check, read, fit, write, show."""

import sys
from dataclasses import replace
from json import dumps, loads
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raterlens.app.cli.options import Bounds, Columns, Look, Model, Output, Work, command_line
from raterlens.app.cli.progress import watching
from raterlens.app.cli.terminal import Terminal
from raterlens.errors import InputError, OptionError
from raterlens.export.folder import check_folder, write_results

if TYPE_CHECKING:
    from raterlens.diagnostics.diagnosis import Diagnosis
    from raterlens.facade import Fit
    from raterlens.ratings.coded import Ratings

EXAMPLE = "the bundled example: ratings simulated from published estimates; no real rating is in it"


def fit(
    file: Path, columns: Columns, model: Model, work: Work, output: Output, look: Look | None = None
) -> None:
    """Read a table, fit a model to it, write and show the results."""
    arguments, besides = columns.arguments(), [] if look is None else look.columns()
    if besides:
        check_besides(besides, arguments)
        arguments["facets"] = [*(arguments["facets"] or ()), *besides]
    if output.out is not None:
        check_folder(output.out)
    if output.xlsx:
        check_workbook(output.out)
    from raterlens.fitting import fit as estimate
    from raterlens.parallel.dask_cluster import cluster_at

    command = command_line(file, columns, model, output, look)
    try:
        with watching(f"reading {file}", unless=output.quiet) as progress, cluster_at(work.cluster) as client:
            ratings, options = study_of(file, arguments, vars(model))
            ratings, aside = set_aside(ratings, besides, timed=bool(look and look.time))
            if output.xlsx:
                check_workbook(output.out, ratings)
            result = estimate(
                ratings,
                **options,
                progress=progress,
                checkpoint=work.checkpoint,
                resume=work.resume,
                client=client,
            )
            ratings, aside, seen = manageable(ratings, aside)
            result, found = diagnosed(result, ratings, **aside)
            result = replace(result, warnings=(*result.warnings, *seen))
    except KeyboardInterrupt:
        if work.checkpoint is None or not work.checkpoint.exists():
            raise KeyboardInterrupt(
                "interrupted, and nothing is kept; with --checkpoint FILE a fit can go on after that"
            ) from None
        raise KeyboardInterrupt(f"interrupted; to go on: {command} {work.going_on()}") from None
    if output.out is not None:
        write_results(result, output.out, command=command, ratings=ratings, diagnosis=found, xlsx=output.xlsx)
    if output.facets_tables:
        from raterlens.export.facets_tables import facets_tables

        print(facets_tables(result, ratings))
    elif output.json:
        print_json(result.to_json())
    elif not output.quiet:
        Terminal().fit(result, out=output.out, everyone=output.everyone)


def check_workbook(out: Path | None, ratings: "Ratings | None" = None) -> None:
    """Raise where `--xlsx` could not be done, before the work."""
    if out is None:
        raise OptionError("--xlsx writes results.xlsx to a folder; say which with --out DIR")
    from raterlens.export.excel import check_excel

    check_excel(ratings)


def study_of(file: Path, columns: dict[str, Any], model: dict[str, Any]) -> "tuple[Ratings, dict[str, Any]]":
    """The ratings, and the model as asked for: a control file of FACETS has anchors and a scale of its own."""
    from raterlens.config import ReadConfig
    from raterlens.reading.formats.file_formats import is_control_file
    from raterlens.reading.reader import read

    if not is_control_file(file, ReadConfig(encoding=columns["encoding"], format=columns["format"])):
        return read(file, **columns), model
    from raterlens.reading.facets.facets_study import read_facets

    taken = ("student", "rater", "item", "facets", "cut", "encoding")
    study = read_facets(file, **{name: columns[name] for name in taken})
    scale = study.scale if model["scale"] == Model.scale else model["scale"]
    return study.ratings, model | {"scale": scale, "anchors": study.anchors(model["model"])}


def check(file: Path, columns: Columns, *, json: bool = False) -> None:
    """Read a table and say what was understood and who can be compared with whom."""
    from raterlens.ratings.design import examine
    from raterlens.ratings.linking import examine_links
    from raterlens.reading.reader import read

    ratings = read(file, **columns.arguments())
    warnings = (*examine(ratings).warnings, *examine_links(ratings).warnings)
    if json:
        sizes = {name: getattr(ratings, name) for name in ("n_ratings", "n_students", "n_raters", "n_items")}
        print_json(dumps({**sizes, "notes": ratings.notes, "warnings": warnings}, ensure_ascii=False))
    else:
        Terminal().check(ratings, warnings)


def gate(file: Path, columns: Columns, model: Model, bounds: Bounds, *, json: bool = False) -> bool:
    """Fit, and judge every rater by the bounds; whether all pass."""
    arguments, asked = columns.arguments(), bounds.arguments()
    from raterlens.export.gate import gate as judge
    from raterlens.fitting import fit as estimate

    with watching(f"reading {file}", unless=json) as progress:
        ratings, options = study_of(file, arguments, vars(model))
        result = judge(estimate(ratings, **options, progress=progress), ratings, **asked)
    if json:
        print_json(result.to_json())
    else:
        Terminal().gate(result)
    return result.passed


def pack(file: Path, out: Path, columns: Columns) -> None:
    """Read a table and keep it in the compact form."""
    from raterlens.ratings.packed_file import open_packed
    from raterlens.ratings.stored import StoredRatings
    from raterlens.reading.packing import pack as write

    with watching(f"packing {file}"):
        path = write(file, out, **columns.arguments())
    packed = StoredRatings(open_packed(path))
    for note in packed.notes:
        print(note)
    print(
        f"{packed.n_ratings:,} ratings of {packed.n_students:,} students by {packed.n_raters:,} raters on "
        f"{packed.n_items:,} items: {path} ({path.stat().st_size / 2**20:,.1f} MiB)"
    )


def demo(out: Path) -> None:
    """Fit the bundled example."""
    check_folder(out)
    from raterlens.fitting import fit as estimate
    from raterlens.simulation.example import load_example

    example = load_example()
    example = replace(example, notes=(EXAMPLE, *example.notes))
    with watching("fitting the example") as progress:
        result, found = diagnosed(estimate(example, progress=progress), example)
    write_results(result, out, command="raterlens demo", ratings=example, diagnosis=found)
    Terminal().fit(result, out=out)


def check_besides(columns: list[str], arguments: dict[str, Any]) -> None:
    """Raise where columns of --time and --groups are at odds with each other or with the model."""
    from raterlens.reading.columns import SUFFIX, USUAL

    if twice := [name for name in columns if columns.count(name) > 1]:
        raise OptionError(f"{twice[0]!r} is given more than once for --time and --groups; give it once")
    items = {name for names in USUAL["item"] for name in names}
    named = arguments["item"] is not None or arguments["items"] is not None
    for name in columns:
        if not named and SUFFIX.sub("", name.lower()) in items:
            raise OptionError(
                f"{name!r} is given for --time or --groups, but by its name it is the column of items, whose bias is "
                "looked for anyway; leave it out, or name the column of items with --item"
            )


def set_aside(ratings: "Ratings", columns: list[str], *, timed: bool) -> "tuple[Ratings, dict[str, Any]]":
    """Take columns that are no part of the model from the facets; return them as `Fit.diagnose` wants them."""
    if not columns:
        return ratings, {}
    from raterlens.ratings.grouping_columns import times

    found = {facet.name: facet for facet in ratings.facets if facet.name in columns}
    for name, facet in found.items():
        if len(facet.labels) < 2:
            raise InputError(
                f"column {name!r} is {facet.labels[0]!r} in every row: nothing can differ by it; leave it out"
            )
    values = {name: facet.labels.gather(facet.codes) for name, facet in found.items()}
    rest = tuple(facet for facet in ratings.facets if facet.name not in columns)
    aside: dict[str, Any] = {"groups": {name: values[name] for name in columns[timed:]}}
    if timed:
        first = found[columns[0]]
        aside["time"] = times(first.labels).gather(first.codes)
    return replace(ratings, facets=rest), aside


def diagnosed(fit: "Fit", ratings: "Ratings", **aside: Any) -> "tuple[Fit, Diagnosis]":
    """The fit with what stands out among its warnings, and the diagnosis behind them."""
    found = fit.diagnose(ratings, **aside)
    return replace(fit, warnings=(*fit.warnings, *found.warnings())), found


def manageable(
    ratings: "Ratings", aside: dict[str, Any], most: int = 20_000_000, sample: int = 2_000_000
) -> "tuple[Ratings, dict[str, Any], list[str]]":
    """What diagnostics and pictures are made from: up to `most` ratings all, else about `sample`, with a note."""
    if ratings.n_ratings <= most:
        return ratings, aside, []
    some = ratings.sample(sample)
    if aside:
        rows = ratings.drawn(sample)[ratings.student]
        aside = {**aside, "groups": {name: given.filter(rows) for name, given in aside["groups"].items()}}
        if "time" in aside:
            aside["time"] = aside["time"].filter(rows)
    said = (
        f"diagnostics looked at {some.n_ratings:,} of {ratings.n_ratings:,} ratings: {some.n_students:,} students, "
        "drawn at random; estimates and standard errors are from all of them"
    )
    return some, aside, [said]


def print_json(text: str) -> None:
    """Characters beyond ASCII are escaped where stdout could not carry them."""
    universal = "utf" in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    print(text if universal else dumps(loads(text)))
