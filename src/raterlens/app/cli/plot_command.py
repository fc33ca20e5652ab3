"""`raterlens plot`: one chart of a saved fit, to a file."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from raterlens.app.cli.options import Columns, several
from raterlens.errors import InputError, OptionError, choose

if TYPE_CHECKING:
    from raterlens.facade import Fit
    from raterlens.ratings.coded import Ratings


class Needs(NamedTuple):
    """What a chart takes."""

    answers: str
    fit: bool = True
    ratings: bool = False
    time: bool = False
    value: bool = False
    """It may show one of several numbers"""
    fewest: int = 0
    """Raters to be named, at least"""
    most: int = 0


CHARTS = {
    "capability": Needs("how capable each rater is, with 95 % intervals"),
    "severity": Needs("severity against discrimination, over curves of equal capability"),
    "curves": Needs("capability along ability (--show up to six raters)", most=6),
    "what_if": Needs("capability of --show RATER at other severities", fewest=1, most=1),
    "wright": Needs("students, raters and items on one scale"),
    "information": Needs("what items tell about ability, and where"),
    "network": Needs("raters joined by common students (--ratings)", fit=False, ratings=True),
    "fit_statistics": Needs("infit and outfit (--ratings)", ratings=True),
    "expected": Needs(
        "observed against expected scores of --show RATER (--ratings)", ratings=True, fewest=1, most=1
    ),
    "drift": Needs(
        "severity, discrimination or capability over time (--ratings, --time COLUMN, --value)",
        ratings=True,
        time=True,
        value=True,
        most=12,
    ),
}

PLOT_HELP = "Charts:\n" + "\n".join(f"  {name:<15} {needs.answers}" for name, needs in CHARTS.items())


def plot(
    chart: str,
    fit: Path | None,
    out: Path,
    columns: Columns,
    *,
    ratings: Path | None,
    show: str | None,
    time: str | None,
    value: str | None,
    theme: str,
    width: int | None,
) -> None:
    """Check everything, read, draw, write."""
    needs = CHARTS[choose("chart", chart, CHARTS)]
    raters = several("--show", show) or []
    _check(chart, needs, fit, ratings, raters, time)
    if value is not None and not needs.value:
        raise OptionError(f"the chart {chart!r} takes no --value; leave it out")
    from raterlens import charts
    from raterlens.charts.output import check_path
    from raterlens.charts.palette import THEMES
    from raterlens.charts.theme import DESK, check_width
    from raterlens.fitting import load

    check_path(out)
    choose("theme", theme, THEMES)
    size = check_width(DESK if width is None else width)
    fitted = None if fit is None else load(fit)
    arguments: list[Any] = [] if not needs.fit else [fitted]
    if needs.ratings:
        assert ratings is not None
        found, moments = _read(ratings, columns, time, fitted)
        arguments += [found] if moments is None else [found, moments]
    if needs.most == 1:
        arguments += raters
    elif raters:
        arguments.append(raters)
    options = {"width": size} | ({} if value is None else {"value": value})
    print(charts.save(getattr(charts, chart)(*arguments, **options), out, theme=theme))  # type: ignore[arg-type]


def _check(
    chart: str, needs: Needs, fit: Path | None, ratings: Path | None, raters: list[str], time: str | None
) -> None:
    """Raise where something is missing, or given in vain."""
    for name, needed, given, what in (
        ("FIT", needs.fit, fit, "the path of a fit.json"),
        ("--ratings", needs.ratings, ratings, "the table of ratings that was fitted"),
        ("--time", needs.time, time, "the column that says when each rating was given"),
    ):
        if needed and given is None:
            raise OptionError(f"the chart {chart!r} needs {name}: {what}")
        if given is not None and not needed and name != "FIT":
            raise OptionError(f"the chart {chart!r} takes no {name}; leave it out")
    if not needs.fewest <= len(raters) <= needs.most:
        if needs.most == 0:
            raise OptionError(f"the chart {chart!r} shows all raters; leave --show out")
        wanted = "one rater" if needs.most == 1 else f"at most {needs.most} raters"
        raise OptionError(
            f"--show names {len(raters)} raters, and the chart {chart!r} shows {wanted}; name them as in raters.csv"
        )


def _read(
    path: Path, columns: Columns, time: str | None, fit: "Fit | None"
) -> "tuple[Ratings, list[Any] | None]":
    """The ratings, and the time of each."""
    from raterlens.ratings.grouping_columns import times
    from raterlens.reading.reader import read

    arguments = columns.arguments()
    if time is None:
        return read(path, **arguments), None
    known = arguments["facets"] or []
    found = read(path, **arguments | {"facets": [*known, *([time] if time not in known else [])]})
    facet = next(facet for facet in found.facets if facet.name == time)
    try:
        labels = times(facet.labels)
    except InputError:
        labels = facet.labels  # in a picture, labels that sort ("day 1") will do
    moments = labels.gather(facet.codes).to_list()
    # The time is a facet of the model only where it was one in the fit.
    modelled = fit is not None and fit.calibration is not None and f"facet {time}" in fit.calibration.labels
    kept = found.facets if modelled else tuple(one for one in found.facets if one.name != time)
    return replace(found, facets=kept), moments
