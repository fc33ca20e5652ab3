"""The pictures of the report: charts for wide and narrow screens, and frames in which the scripts draw curves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from markupsafe import Markup

from raterlens.output.report import english as words
from raterlens.output.report.ability_picture import abilities, density
from raterlens.output.report.drawing import Axis, Plot, cut, scale
from raterlens.output.report.map_picture import variable_map
from raterlens.pictures import contour_data, ranking
from raterlens.pictures.ranking import TOLD
from raterlens.pictures.style import CAPABLE, MARKS, Mark

if TYPE_CHECKING:
    from raterlens.inference.result import Result

WIDE, NARROW = 960, 360
FRAME, FRAME_HEIGHT = 400, 240

_DASHED = 'stroke-dasharray="4 3"'
# Pixels of a frame per number on its axis.
_APART = 40


def pictures(fit: "Result", *, ranked: bool = True) -> dict[str, Any]:
    """`map`, `abilities`, `capability` and `severity`, each wide and narrow."""
    return {
        "map": variable_map(fit, (WIDE, NARROW)),
        "abilities": abilities(fit, (WIDE, NARROW)),
        "capability": _capability(fit, ranked),
        "severity": _severity(fit),
    }


def frames(fit: "Result", numbers: dict[str, Any]) -> dict[str, Any]:
    """What scripts draw the curves of a rater's page in; `numbers` has them all."""
    return {
        "curve": _curve_frame(fit, numbers["curve"]),
        "what_if": _what_if_frame(numbers["what_if"]),
        "band": "low" in (numbers["curve"] or ()),
    }


def _capability(fit: "Result", ranked: bool = True) -> tuple[Markup, ...]:
    """How capable each rater is, the most capable first; by name where an order would be luck."""
    data = ranking.capability_data(fit)
    if not ranked:
        data = data.sort("rater").with_columns(place=pl.int_range(1, pl.len() + 1, dtype=pl.Int64))
    draw = _rows if data.height <= ranking.MOST_ROWS else _ranked
    said = ranking.description(data)
    return tuple(draw(data, width).svg(said) for width in (WIDE, NARROW))


def _rows(data: pl.DataFrame, width: int) -> Plot:
    """A line for each rater."""
    names = [cut(name, 0.34 * width) for name in data["rater"]]
    places = np.arange(data.height) + 0.5
    low, high = ranking.domain(data)
    x = scale(low, high, ranking.axis_title(data), 5 if width < 480 else 10, grid=True)
    y = Axis(data.height, 0.0, labels=list(zip(places.tolist(), names, strict=True)), ticks=False)
    plot = Plot(width, ranking.height_of(data), x, y, _legend(data))
    plot.line([CAPABLE] * 2, [0, data.height], "ink", f'{_DASHED} opacity="0.75"')
    rows = data.with_columns(place=pl.Series(places))
    for mark, own in _with_intervals(rows):
        look = 'stroke-width="3" stroke-linecap="round" opacity="0.45"'
        plot.segments((own["kappa_low"], own["place"]), (own["kappa_high"], own["place"]), mark.role, look)
    known = rows.filter(pl.col("kappa").is_finite())
    plot.marks(known["kappa"], known["place"], known["kind"], known["words"])
    return plot


def _ranked(data: pl.DataFrame, width: int) -> Plot:
    """One thin line per rater: those who are fine form the curve, the others stand out."""
    n = data.height
    count = width / _APART
    in_order = bool((data["kappa"].diff().drop_nulls() <= 0).all())
    x = scale(0.5, n + 0.5, words.AXES["ranked" if in_order else "raters"], count, whole=True)
    y = scale(*ranking.domain(data), ranking.axis_title(data), 10, grid=True)
    plot = Plot(width, ranking.COMPACT, x, y, _legend(data))
    plot.line([0.5, n + 0.5], [CAPABLE] * 2, "ink", f'{_DASHED} opacity="0.75"')
    thin, opacity = max(0.6, min(3.0, 0.7 * width / n)), 0.28 if n <= 600 else 0.16
    for mark, own in _with_intervals(data):
        look = f'stroke-width="{thin:.2f}" opacity="{opacity}"'
        plot.segments((own["place"], own["kappa_low"]), (own["place"], own["kappa_high"]), mark.role, look)
    known = data.filter(pl.col("kappa").is_finite())
    plot.marks(known["place"], known["kappa"], known["kind"], _told(known), 0.61 if n <= 300 else 0.41)
    _name(plot, ranking.lowest(known, plot.width), "place", "kappa")
    return plot


def _severity(fit: "Result") -> tuple[Markup, ...]:
    """Severity against discrimination, over contours of capability."""
    points = contour_data.severity_data(fit)
    reach, (floor, top) = contour_data.reach_of(points), contour_data.ends_of(points)
    curves = contour_data.contours(contour_data.surface(fit), reach, top=top)
    drawn = contour_data.drawing_order(points)
    size = 1.0 if points.height <= contour_data.MANY else 0.61
    plots = []
    for width in (WIDE, NARROW):
        across, up = contour_data.titles(fit, width)
        x = scale(-reach, reach, across, 10 if width >= 480 else 6)
        y = scale(floor, 1.04 * top, up, 10)
        plot = Plot(width, contour_data.HEIGHT, x, y, _legend(points), right=20)
        _contours(plot, curves, top)
        plot.marks(drawn["eta"], drawn["rho"], drawn["kind"], _told(drawn), size)
        named = contour_data.names(points, curves, reach, (floor, 1.04 * top), plot.width)
        _name(plot, named, "eta", "rho")
        plots.append(plot.svg(contour_data.description(points)))
    return tuple(plots)


def _contours(plot: Plot, curves: pl.DataFrame, top: float) -> None:
    """The region of capable raters, and contours with their level at the right end."""
    for (level,), curve in curves.group_by("level", maintain_order=True):
        eta, rho = curve["eta"].to_numpy(), curve["rho"].to_numpy()
        if level == CAPABLE:
            plot.area(eta, rho, np.full_like(rho, top), "accent", 0.09)
        plot.line(eta, rho, "accent", f'opacity="0.75" stroke-width="{2.2 if level == CAPABLE else 1}"')
        plot.text(eta[-1], rho[-1], f"{level:.1f}", "accent", 3, -4)


def _curve_frame(fit: "Result", curve: dict[str, Any] | None) -> Markup | None:
    """Axes of kappa(theta) over the distribution of the students."""
    if curve is None:
        return None
    theta = np.array(curve["theta"])
    bottom, top = _ends(curve["kappa"])
    x = scale(theta[0], theta[-1], words.AXES["theta"], 7, grid=True)
    plot = Plot(FRAME, FRAME_HEIGHT, x, _upright(bottom, top, words.AXES["curve"]))
    grid = np.linspace(theta[0], theta[-1], 61)
    students = density(fit, grid)
    height = bottom + 0.35 * (top - bottom) * students / students.max()
    plot.area(grid, np.full(61, bottom), height, "faint", 0.25)
    plot.overlay('<path class="band"/><path class="line"/>')
    return plot.svg(words.RATER["curve"])


def _what_if_frame(what_if: dict[str, Any]) -> Markup:
    """Axes of kappa-bar against severity, with the line that separates capable raters."""
    left, right = what_if["severity"]
    bottom, top = _ends(what_if["kappa"])
    x = scale(left, right, words.AXES["severity"], FRAME / _APART, grid=True)
    plot = Plot(FRAME, FRAME_HEIGHT, x, _upright(bottom, top, words.AXES["kappa"]))
    plot.line([left, right], [CAPABLE] * 2, "ink", _DASHED)
    plot.overlay(
        '<path class="line"/><circle class="best" r="5"/><circle class="now" r="5"/>'
        '<path class="moved" d="M0-9 7 0 0 9-7 0z"/>'
    )
    return plot.svg(words.RATER["what_if"])


def _ends(thousandths: Sequence[Sequence[int | None]]) -> tuple[float, float]:
    """Of an axis of capability that holds these curves."""
    known = np.array([[np.nan if v is None else v for v in row] for row in thousandths], np.float64) / 1000
    low, high = np.nanmin(known), np.nanmax(known)
    return min(0.0, float(np.floor(5 * low) / 5)), max(1.0, float(np.ceil(5 * high) / 5))


def _upright(bottom: float, top: float, title: str) -> Axis:
    return scale(bottom, top, title, FRAME_HEIGHT / _APART, grid=True)


def _with_intervals(rows: pl.DataFrame) -> list[tuple[Mark, pl.DataFrame]]:
    """Raters with an interval, by their mark."""
    known = rows.filter(pl.col("kappa_low").is_finite() & pl.col("kappa_high").is_finite())
    return [(mark, known.filter(kind=mark.name)) for mark in _legend(known)]


def _legend(rows: pl.DataFrame) -> list[Mark]:
    present = set(rows["kind"])
    return [mark for mark in MARKS.values() if mark.name in present]


def _told(rows: pl.DataFrame) -> list[str | None]:
    """Tooltips, where a mouse could find them."""
    return rows["words"].to_list() if rows.height <= TOLD else [None] * rows.height


def _name(plot: Plot, names: pl.DataFrame, x: str, y: str) -> None:
    for across, up, name, dx, dy, align in names.select(x, y, "name", "dx", "dy", "align").iter_rows():
        plot.text(across, up, name, "ink", dx, dy, align)
