"""`raterlens convert`, `pack`, `plot` and `compare`: from one file to another."""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from raterlens.app.cli.main import print_json
from raterlens.app.cli.options import File, MoreFiles, ReadOptions, read_config, several, shell_record
from raterlens.app.progress import progress_bar
from raterlens.base.atomic_files import atomic_write
from raterlens.base.errors import InputError, OptionError, choose
from raterlens.base.text import Message, Option, counted
from raterlens.charts import CHARTS, ChartInputs
from raterlens.config.option_fields import option

if TYPE_CHECKING:
    from raterlens.config import ReadConfig
    from raterlens.fitting.fit import Fit
    from raterlens.ratings.coded import Ratings

# Most imports wait until a command has something to do: help and mistakes are answered at once.

SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".jsonl": "jsonl", ".facets": "facets"}

Target = Annotated[Path, Parameter(help="File to write: one row per rating, or a FACETS control file.")]
Kind = Annotated[
    str | None,
    Parameter(help=f"{', '.join(SUFFIXES.values())}; by default, what the file name of --out says."),
]


def convert(
    file: File, /, *more: MoreFiles, out: Target, to: Kind = None, columns: ReadOptions = ReadOptions()
) -> None:
    """Write the ratings to another kind of file."""
    kind, config = kind_of(out, to), read_config(columns)
    from raterlens.reading.read import read

    print(write_ratings(read([file, *map(str, more)] if more else file, **config.given()), out, kind))


def kind_of(out: Path, to: str | None = None) -> str:
    """Return the kind of file to write, by its name or as asked; raise if it cannot be written."""
    kind = to or SUFFIXES.get(out.suffix.lower(), "")
    if not kind:
        what, remedy = (
            f"{out.name!r} does not say what kind of file to write",
            ", --to ".join(SUFFIXES.values()),
        )
        raise OptionError(what, f"add --to {remedy}", value=out.name, option="to")
    choose("kind of file", kind, SUFFIXES.values())
    if out.is_dir() or not out.absolute().parent.is_dir():
        remedy = "give a file in an existing folder"
        raise OptionError(f"cannot write {str(out)!r}", remedy, value=str(out), option="out")
    return kind


def write_ratings(ratings: "Ratings", out: Path, kind: str) -> str:
    """Write the file; return what was done."""
    from raterlens.reading.facets_study import write_facets

    table, step = ratings.table(), ratings.score_step
    if step != 1:  # scores as the file had them: half points as half points
        table = table.with_columns((table["score"] * step).round(9))
    write: dict[str, Callable[[Path], object]] = {
        "csv": table.write_csv,
        "tsv": lambda path: table.write_csv(path, separator="\t"),
        "parquet": table.write_parquet,
        "jsonl": table.write_ndjson,
        "facets": lambda path: write_facets(ratings, path, title=path.stem),
    }
    atomic_write(out, write[kind])
    return f"{counted(ratings.n_ratings, 'rating')} written to {out} ({kind})"


def pack(
    file: File,
    /,
    *more: MoreFiles,
    out: Annotated[Path, Parameter(help="File to write, NAME.rlpack.")],
    columns: ReadOptions = ReadOptions(),
) -> None:
    """Read a large table once, and keep it in a compact form that later fits open at once."""
    config = read_config(columns)
    from raterlens.ratings.coded import size_words
    from raterlens.ratings.packed import StoredRatings, open_packed
    from raterlens.reading.pack import pack as write

    with progress_bar() as watch:
        watch.start_stage("reading")
        path = write([file, *map(str, more)] if more else file, out, **config.given())
    packed = StoredRatings(open_packed(path))
    for note in packed.notes:
        print(note)
    print(f"{size_words(packed)}: {path} ({path.stat().st_size / 2**20:,.1f} MiB)")


@shell_record()
@dataclass(frozen=True)
class ChartOptions:
    """Contents and style of a chart."""

    out: Path = option(MISSING, "File to write: .svg, .png, .pdf, or .html with tooltips.")
    ratings: Path | None = option(None, "The ratings that were fitted, for charts that need them.")
    show: str | None = option(None, "Rater to show, or several (a,b).")
    time: str | None = option(None, "For 'drift': column that says when a rating was given.")
    value: str | None = option(None, "For 'drift': severity (default), discrimination or capability.")
    theme: str = option("light", "light or dark; an .html page follows the reader's system.")
    width: int | None = option(None, "In pixels; default 640. Use 380 for a phone.")


def plot(
    chart: Annotated[str, Parameter(name="CHART", help="One of those listed below.")],
    fit: Annotated[Path | None, Parameter(name="FIT", help="A saved fit (fit.json).")] = None,
    /,
    *,
    drawing: ChartOptions,
    columns: ReadOptions = ReadOptions(),
) -> None:
    """Draw a chart of a fit."""
    needs = CHARTS[choose("chart", chart, CHARTS)]
    raters, read = several("show", drawing.show) or [], read_config(columns)
    _check_chart(chart, needs, fit, drawing, raters)
    from raterlens import charts
    from raterlens.base.picture import DEFAULT_WIDTH, check_width
    from raterlens.base.style import THEMES
    from raterlens.fitting.api import load
    from raterlens.pictures.files import check_path, write

    check_path(drawing.out)
    choose("theme", drawing.theme, THEMES)
    size = check_width(DEFAULT_WIDTH if drawing.width is None else drawing.width)
    fitted = None if fit is None else load(fit)
    arguments: list[Any] = [fitted] if needs.fit else []
    if needs.ratings:
        arguments += _read(drawing.ratings, read, drawing.time, fitted)
    arguments += raters if needs.most == 1 else [raters] if raters else []
    options = {} if drawing.value is None else {"value": drawing.value}
    picture = charts.picture(chart, *arguments, **options)
    print(write(picture, size, drawing.out, theme=drawing.theme))  # type: ignore[arg-type]


def _check_chart(
    chart: str, needs: ChartInputs, fit: Path | None, drawing: ChartOptions, raters: list[str]
) -> None:
    """Raise if an option is missing or has no effect."""
    for name, needed, given, what in (
        ("ratings", needs.ratings, drawing.ratings, "the table of ratings that was fitted"),
        ("time", needs.time, drawing.time, "the column that says when each rating was given"),
        ("value", needs.value, drawing.value, ""),
    ):
        if needed and given is None and what:
            raise OptionError(Message(f"the chart {chart!r} needs ", Option(name), f": {what}"))
        if given is not None and not needed:
            raise OptionError(Message(f"the chart {chart!r} takes no ", Option(name)), "leave it out")
    if needs.fit and fit is None:
        raise OptionError(f"the chart {chart!r} needs FIT: the path of a fit.json")
    if needs.fewest <= len(raters) <= needs.most:
        return
    if needs.most == 0:
        raise OptionError(f"the chart {chart!r} shows all raters", Message("leave out ", Option("show")))
    wanted = "one rater" if needs.most == 1 else f"at most {needs.most} raters"
    raise OptionError(
        Message(Option("show"), f" names {len(raters)} raters, and the chart {chart!r} shows {wanted}"),
        "name them as in raters.csv",
        value=drawing.show,
    )


def _read(path: Path | None, config: "ReadConfig", time: str | None, fit: "Fit | None") -> list[Any]:
    """The ratings, and where a column says so the time of each."""
    from raterlens.ratings.groupings import times
    from raterlens.reading.read import read

    if time is None:
        return [read(path, **config.given())]
    known = config.names("facets")
    config = config.changed(facets=[*known, *([time] if time not in known else [])])
    found = read(path, **config.given())
    facet = next(facet for facet in found.facets if facet.name == time)
    try:
        labels = times(facet.labels)
    except InputError:
        labels = facet.labels  # in a picture, labels that sort ("day 1") will do
    # The time is a facet of the model only where it was one in the fit.
    modelled = fit is not None and fit.calibration is not None and f"facet {time}" in fit.calibration.labels
    kept = found.facets if modelled else tuple(one for one in found.facets if one.name != time)
    return [replace(found, facets=kept), labels.gather(facet.codes).to_list()]


def compare(
    files: Annotated[
        list[Path], Parameter(name="FILES", consume_multiple=True, help="Two or more saved fits (fit.json).")
    ],
    /,
    *,
    json: Annotated[
        bool,
        Parameter(negative=(), show_default=False, help="Print the comparison as JSON and nothing else."),
    ] = False,
) -> None:
    """Compare fits: likelihood, parameters, and how the raters' ranks change."""
    if len(files) < 2:
        raise OptionError(
            f"{counted(len(files), 'fit')} to compare", "give the paths of two or more fit.json"
        )
    from raterlens.diagnostics.comparison import compare as compare_fits
    from raterlens.fitting.api import load

    found = compare_fits(*(load(path) for path in files), names=_names(files))
    if json:
        print_json(found.to_json())
    else:
        print(found.summary())


def _names(files: list[Path]) -> list[str]:
    """Name each fit by its file, or by its folder if all files have the same name."""
    for names in ([path.stem for path in files], [path.absolute().parent.name for path in files]):
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in files]
