"""Charts: each function returns an Altair chart, made from the picture that the report draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from raterlens.base.errors import OptionError, choose, missing_charts

if TYPE_CHECKING:
    from markupsafe import Markup

    from raterlens.base.picture import Picture
    from raterlens.base.style import Theme
    from raterlens.diagnostics.diagnosis import Diagnosis
    from raterlens.fitting.fit import Fit
    from raterlens.inference.result import Result
    from raterlens.ratings.coded import Ratings


class ChartInputs(NamedTuple):
    """Subject and inputs of a chart."""

    answers: str
    module: str
    """In `raterlens.pictures`, with a function of the chart's name that returns the picture"""
    fit: bool = True
    ratings: bool = False
    time: bool = False
    value: bool = False
    """It may show one of several numbers"""
    fewest: int = 0
    """Raters to be named, at least"""
    most: int = 0


CHARTS = {
    "capability": ChartInputs("how capable each rater is, with 95 % intervals", "rater_pictures"),
    "severity": ChartInputs(
        "severity against discrimination, over curves of equal capability", "rater_pictures"
    ),
    "curves": ChartInputs("capability along ability (--show up to six raters)", "line_charts", most=6),
    "what_if": ChartInputs("capability of --show RATER at other severities", "line_charts", fewest=1, most=1),
    "wright": ChartInputs("students, raters and items on one scale", "wright"),
    "information": ChartInputs("what items tell about ability, and where", "line_charts"),
    "categories": ChartInputs("how likely each score is, by ability (ordered scores)", "category_use"),
    "category_use": ChartInputs(
        "shares of each score, observed and expected: all raters or --show some (--ratings)",
        "category_use",
        ratings=True,
        most=40,
    ),
    "network": ChartInputs(
        "raters joined by common students (--ratings)", "rater_network", fit=False, ratings=True
    ),
    "fit_statistics": ChartInputs("infit and outfit (--ratings)", "scatter_plots", ratings=True),
    "expected": ChartInputs(
        "observed against expected scores of --show RATER (--ratings)",
        "scatter_plots",
        ratings=True,
        fewest=1,
        most=1,
    ),
    "drift": ChartInputs(
        "severity, discrimination or capability over time (--ratings, --time COLUMN, --value)",
        "drift_panels",
        ratings=True,
        time=True,
        value=True,
        most=12,
    ),
}

CHART_HELP = "Charts:\n" + "\n".join(f"  {name:<15} {chart.answers}" for name, chart in CHARTS.items())

__all__ = ["save", "svg", *CHARTS]

_WIDTH = 640


def picture(chart: str, *arguments: Any, **options: Any) -> Picture:
    """The picture of a chart, without Altair."""
    module = import_module(f"raterlens.pictures.{CHARTS[chart].module}")
    found: Picture = getattr(module, chart)(*arguments, **options)
    return found


def _chart(width: int, chart: str, *arguments: Any, **options: Any) -> Any:
    from raterlens.base.picture import check_width  # heavy, so not before it is needed

    check_width(width)
    found = picture(chart, *arguments, **options)
    try:
        from raterlens.pictures.altair_chart import to_altair  # loads Altair
    except ImportError as error:
        raise missing_charts(error) or error from None
    return to_altair(found, width)


def capability(fit: Result, *, width: int = _WIDTH) -> Any:
    """How capable is each rater, and how sure are we?

    Panels of more than 60 raters are drawn as one ranked curve that highlights the raters who need attention.

    Parameters
    ----------
    fit
        Any fit.
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> chart = rl.charts.capability(rl.fit(rl.load_example(), model="gmf"))
    >>> chart.to_dict()["description"][:24]
    'Capability of 16 raters,'
    """
    return _chart(width, "capability", fit)


def severity(fit: Result, *, width: int = _WIDTH) -> Any:
    """Is a rater's capability limited by severity, or by discrimination?

    Capability is constant along each curve. Raters above the bold curve are capable. To get there, a rater beside it
    has to change severity, and a rater below it has to discriminate better.

    Parameters
    ----------
    fit
        Any fit. For latent class models severity is the distance of the criterion from the rater's best one.
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> chart = rl.charts.severity(rl.fit(rl.load_example(), model="gmf"))
    >>> chart.to_dict()["description"][:38]
    'Severity against discrimination of 16 '
    """
    return _chart(width, "severity", fit)


def curves(fit: Result, raters: Sequence[object] | None = None, *, width: int = _WIDTH) -> Any:
    """At which abilities does a rater tell students apart?

    κ(θ) of a few raters with its 95 % interval, in front of all others in grey (the middle 80 % of a large panel), with
    the distribution of the students at the bottom. Capability κ̄ is the average of a line over these students.

    Parameters
    ----------
    fit
        Of a facets model (`gmf`, `tfm`, `probit`).
    raters
        Up to six; by default the most capable, the median and the least capable.
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> fit = rl.fit(rl.load_example(), model="gmf")
    >>> chart = rl.charts.curves(fit, ["AM:Sport", "CO:School"])
    >>> chart.to_dict()["description"]
    "Capability by ability of 'AM:Sport', 'CO:School', with the distribution of students."
    """
    return _chart(width, "curves", fit, raters)


def what_if(fit: Fit, rater: object, *, width: int = _WIDTH) -> Any:
    """How capable would a rater be with another severity?

    Parameters
    ----------
    fit
        Of a facets model (`gmf`, `tfm`, `probit`).
    rater
        A label of `fit.raters`.
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> chart = rl.charts.what_if(rl.fit(rl.load_example(), model="gmf"), "DA:School")
    >>> chart.to_dict()["description"][:47]
    'Capability of DA:School at other severities: no'
    """
    return _chart(width, "what_if", fit, rater)


def wright(fit: Result, *, width: int = _WIDTH) -> Any:
    """Are raters and items where the students are?

    A histogram of students, next to raters (the more severe, the higher) and items (the harder, the higher). Large
    panels are drawn as dots.

    Parameters
    ----------
    fit
        Of a facets model (`gmf`, `tfm`, `probit`).
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> chart = rl.charts.wright(rl.fit(rl.load_example(), model="gmf"))
    >>> chart.to_dict()["description"][:46]
    'Students, raters and items on one scale: 363 s'
    """
    return _chart(width, "wright", fit)


def information(fit: Result, *, width: int = _WIDTH) -> Any:
    """Which students can these items, rated by these raters, tell apart?

    Parameters
    ----------
    fit
        Of a facets model (`gmf`, `tfm`, `probit`).
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> chart = rl.charts.information(rl.fit(rl.load_example(), model="gmf"))
    >>> chart.to_dict()["description"][:43]
    'Information about ability of 5 items: all t'
    """
    return _chart(width, "information", fit)


def categories(fit: Result, *, width: int = _WIDTH) -> Any:
    """Is each score the likeliest for some students?

    Category probability curves of ordered scores, for a rater of average severity and discrimination; a panel per item
    where items have thresholds of their own. Dotted lines are where a score and the next one are equally likely.

    Parameters
    ----------
    fit
        Of a facets model (`gmf`, `tfm`, `probit`) with ordered scores.
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> ratings = rl.simulate(students=80, raters=3, thresholds=[-1.0, 1.0], seed=1).ratings
    >>> rl.charts.categories(rl.fit(ratings, model="gmf")).to_dict()["description"]
    'Probabilities of 3 scores by ability; each is the likeliest somewhere.'
    """
    return _chart(width, "categories", fit)


def category_use(
    fit: Result, ratings: Ratings, raters: Sequence[object] | None = None, *, width: int = _WIDTH
) -> Any:
    """How does each rater use the scale?

    Shares of each ordered score, observed beside what the model expects of a rater with this severity and
    discrimination who marks this work. One rater is shown with 95 % margins, several side by side.

    Parameters
    ----------
    fit
        Of a facets model (`gmf`, `tfm`, `probit`) with ordered scores.
    ratings
        Those that were fitted.
    raters
        One or several; by default all, those who differ most from what is expected first.
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> ratings = rl.simulate(students=80, raters=3, thresholds=[-1.0, 1.0], seed=1).ratings
    >>> chart = rl.charts.category_use(rl.fit(ratings, model="gmf"), ratings)
    >>> chart.to_dict()["description"][:34]
    'Shares of each score by 3 raters, '
    """
    return _chart(width, "category_use", fit, ratings, raters)


def network(ratings: Ratings, *, width: int = _WIDTH) -> Any:
    """Which raters can be compared, and through how many students?

    Lines join raters who rated the same students: the more students, the thicker the line; a dashed line depends on a
    single student. Raters in different groups (other colours and shapes) cannot be compared.

    Parameters
    ----------
    ratings
        From `rl.read`; no fit is needed.
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> chart = rl.charts.network(rl.load_example())
    >>> chart.to_dict()["description"][:44]
    '16 raters in 1 group, joined by the students'
    """
    return _chart(width, "network", ratings)


def fit_statistics(fit: Result, ratings: Ratings | Diagnosis, *, width: int = _WIDTH) -> Any:
    """Does the model describe every rater?

    Infit (weighted towards students whom a rater should be able to judge) against outfit (sensitive to single
    surprises). Both are 1 if ratings vary as the model expects; values in the shaded square are unproblematic.

    Parameters
    ----------
    fit
        Of a facets model (`gmf`, `tfm`, `probit`).
    ratings
        Those that were fitted, or what `fit.diagnose` returned.
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> ratings = rl.load_example()
    >>> chart = rl.charts.fit_statistics(rl.fit(ratings, model="gmf"), ratings)
    >>> chart.to_dict()["description"][:35]
    'Infit and outfit mean squares of 16'
    """
    return _chart(width, "fit_statistics", fit, ratings)


def expected(fit: Result, ratings: Ratings | Diagnosis, rater: object, *, width: int = _WIDTH) -> Any:
    """Does a rater score students of every ability as the model expects?

    Points outside the band show where the rater scores differently from what the model allows for.

    Parameters
    ----------
    fit
        Of a facets model (`gmf`, `tfm`, `probit`).
    ratings
        Those that were fitted, or what `fit.diagnose` returned.
    rater
        A label of `fit.raters`.
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> ratings = rl.load_example()
    >>> chart = rl.charts.expected(rl.fit(ratings, model="gmf"), ratings, "AM:Sport")
    >>> chart.to_dict()["description"][:45]
    'Observed and expected mean scores of AM:Sport'
    """
    return _chart(width, "expected", fit, ratings, rater)


def drift(
    fit: Fit,
    ratings: Ratings,
    time: Any,
    raters: Sequence[object] | None = None,
    *,
    value: Literal["severity", "discrimination", "capability"] = "severity",
    width: int = _WIDTH,
) -> Any:
    """Does a rater become more severe, or less capable, over time?

    If a change is clear, the periods in which it may have come (its 95 % confidence set) are shaded.

    Parameters
    ----------
    fit
        Of a facets model (`gmf`, `tfm`, `probit`).
    ratings
        Those that were fitted.
    time
        When each rating was given: one value per rating (numbers, dates, or labels that sort), or the name of a facet.
        Many different times are grouped into four periods.
    raters
        Up to twelve; by default the six who changed most.
    value
        `"severity"`, `"discrimination"` or `"capability"`.
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> ratings = rl.simulate(students=60, raters=3, items=2, seed=1).ratings
    >>> day = [i * 4 // ratings.n_ratings for i in range(ratings.n_ratings)]
    >>> chart = rl.charts.drift(rl.fit(ratings, model="gmf"), ratings, day)
    >>> chart.to_dict()["description"][:41]
    'Severity of 3 raters over 4 periods, each'
    """
    return _chart(width, "drift", fit, ratings, time, raters, value=value)


# ------------------------------------------------------------------------------------------------------------- files


def save(chart: Any, path: str | Path, *, theme: Theme = "light") -> Path:
    """Write a chart to a file; the ending of its name says which kind.

    Parameters
    ----------
    chart
        What any function of `rl.charts` returned, or a chart that you made of it.
    path
        Ends in `.svg`, `.png` or `.pdf`, or in `.html` for a page with tooltips that works offline.
    theme
        `"light"` or `"dark"`; an HTML page follows the reader's system instead. A chart that you changed has its own
        colours.

    Examples
    --------
    >>> import raterlens as rl, tempfile
    >>> chart = rl.charts.capability(rl.fit(rl.load_example(), model="gmf"))
    >>> rl.charts.save(chart, tempfile.mkdtemp() + "/capability.svg").name
    'capability.svg'
    """
    from raterlens.pictures import files  # heavy, so not before it is needed
    from raterlens.pictures.altair_chart import drawn_from, write_chart  # loads Altair

    drawn = drawn_from(chart)
    if drawn is not None:
        return files.write(*drawn, path, theme=theme)
    if theme != "light":
        what = "this chart was changed, so its colours are its own"
        raise OptionError(what, "leave the theme out", value=theme, option="theme")
    return write_chart(chart, path)


def svg(chart: Any) -> Markup:
    """A chart as markup for a page, in the font and colours of the page.

    Colours are custom properties (`var(--ink)`, `var(--accent)` and so on), which `raterlens.base.style.css` defines,
    and so the page decides between light and dark. The markup has no script and no style, so it works under a strict
    content security policy, and everything that comes from data is escaped.

    Parameters
    ----------
    chart
        What any function of `rl.charts` returned, unchanged.

    Returns
    -------
    markupsafe.Markup

    Examples
    --------
    >>> import raterlens as rl
    >>> markup = rl.charts.svg(rl.charts.capability(rl.fit(rl.load_example(), model="gmf")))
    >>> "var(--ink)" in markup, "style=" in markup
    (True, False)
    """
    from raterlens.pictures.altair_chart import drawn_from  # loads Altair

    drawn = drawn_from(chart)
    if drawn is None:
        raise OptionError("this chart was changed, and svg draws only charts of Raterlens", "use chart.save")
    found, width = drawn
    return found.svg(width)


class Plots:
    """The charts that take a fit, with this fit as their first argument: `fit.plot.capability()`."""

    __slots__ = ("_fit",)

    def __init__(self, fit: object) -> None:
        self._fit = fit

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        draw = globals()[choose("chart", name, dir(self))]
        return update_wrapper(partial(draw, self._fit), draw)

    def __dir__(self) -> list[str]:
        return [name for name, inputs in CHARTS.items() if inputs.fit]

    def __repr__(self) -> str:
        return f"<charts of a fit: {', '.join(dir(self))}>"
