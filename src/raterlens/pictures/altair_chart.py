"""Pictures as Altair charts, for people who restyle or compose them; the only module that imports Altair."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from raterlens.base.atomic_files import atomic_write
from raterlens.base.layers import Area, Axis, Bars, Layer, Line, Marks, Names, Overlay, Segments, Stroke, Text
from raterlens.base.picture import Frame, Picture, layout
from raterlens.base.style import PALETTE, Mark, legend_columns
from raterlens.pictures.files import FONT, PNG_SCALE, check_path, converter

# Altair refuses frames with more rows to keep notebooks small; larger charts hold their rows inline.
_MOST_ROWS = 5_000
_KEYED = ("stroke", "fill", "shape", "strokeDash", "strokeWidth", "fillOpacity")
"""Channels by which each layer has its own legend."""
_KEY = "legend"
"""Column with the words of the legend."""
_DRAWN = "_raterlens_picture"
_PLACED: Any = {name: {"expr": f"datum.{name}"} for name in ("align", "dx", "dy")}


class _Offline:
    """Shows itself in notebooks without a network: as Vega-Lite where the notebook draws it, else as SVG."""

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, Any]:
        specification = self.to_dict(validate=False)  # type: ignore[attr-defined]
        version = specification["$schema"].rpartition("/v")[2].removesuffix(".json")
        svg = converter().vegalite_to_svg(json.dumps(specification), vl_version=version.rpartition(".")[0])
        return {
            f"application/vnd.vegalite.v{version.split('.')[0]}+json": specification,
            "image/svg+xml": svg,
            "text/plain": specification["description"],
        }


class LayeredChart(_Offline, alt.LayerChart):
    """A picture of one panel."""


class PanelChart(_Offline, alt.ConcatChart):
    """A picture of several panels."""


def to_altair(picture: Picture, width: int) -> Any:
    """A picture as a chart of this width in pixels."""
    frames = layout(picture, width).frames
    first, *others = frames
    apart: Any = dict.fromkeys(_KEYED, "independent")
    if others:
        panels = [
            alt.layer(*_panel(frame, frame is first))
            .resolve_scale(**apart)
            .properties(
                width=round(frame.width),
                height=frame.height,
                title=alt.TitleParams(frame.panel.title, anchor="middle", frame="group"),
            )
            for frame in frames
        ]
        chart: Any = PanelChart(concat=panels, columns=picture.columns[first.narrow], spacing=10)
    else:
        size: Any = {
            "width": width,
            "height": first.height,
            "autosize": {"type": "fit-x", "contains": "padding"},
        }
        chart = LayeredChart(layer=_panel(first, True)).properties(**size).resolve_scale(**apart)
    chart = chart.properties(description=picture.description).configure(**_style())
    chart.__dict__[_DRAWN] = (picture, width)  # Altair's own attributes would become part of the chart
    return chart


def drawn_from(chart: Any) -> tuple[Picture, int] | None:
    """The picture and the width that a chart was made from; None where people have changed it since."""
    drawn: tuple[Picture, int] | None = chart.__dict__.get(_DRAWN)
    if drawn is None or to_altair(*drawn).to_dict(validate=False) != chart.to_dict(validate=False):
        return None
    return drawn


def write_chart(chart: Any, path: str | Path) -> Path:
    """Write a chart that was changed, as Altair draws it."""
    path = Path(path)
    kind = check_path(path)
    options = {"inline": True} if kind == "html" else {"scale_factor": PNG_SCALE} if kind == "png" else {}
    atomic_write(path, lambda draft: chart.save(draft, format=kind, **options), option="path")
    return path


def _panel(frame: Frame, legend: bool) -> list[Any]:
    """The layers of a panel; neighbours that differ in their place in the legend alone become one."""
    found: list[Any] = []
    for keyed, group in groupby(frame.panel.layers, _columns):
        layers = list(group)
        if keyed:
            found.append(_with_legend(layers, frame, legend))
        else:
            found += [part for layer in layers for part in _drawn(layer, frame, legend)]
    return found


def _columns(layer: Layer) -> tuple[Any, ...]:
    """Common columns of layers that make up one legend; none for layers without."""
    if isinstance(layer, Line) and layer.stroke.words:
        return Line, layer.x, layer.y, layer.by
    if isinstance(layer, Segments) and layer.stroke.words:
        return Segments, layer.x, layer.y, layer.x2, layer.y2
    if isinstance(layer, Bars) and layer.words:
        return Bars, layer.x, layer.y, layer.x2, layer.y2, layer.tooltip
    return ()


def _with_legend(layers: Sequence[Any], frame: Frame, legend: bool) -> Any:
    """Lines, segments or bars of several looks."""
    first = layers[0]
    looks = {key.words: key for key in (getattr(layer, "stroke", layer) for layer in layers)}
    rows = [
        layer.rows.with_columns(pl.lit(getattr(layer, "stroke", layer).words).alias(_KEY)) for layer in layers
    ]
    base = _chart(pl.concat(rows, how="diagonal_relaxed"))
    colours = [_colour(key.role) for key in looks.values()]
    if isinstance(first, Bars):
        by = _scales(list(looks), frame, legend, symbolType="square")
        opacities = [key.opacity for key in looks.values()]
        fill = {"fill": by(alt.Fill, colours), "fillOpacity": by(alt.FillOpacity, opacities)}
        return base.mark_rect(aria=False).encode(**_place(first, frame), **fill)
    if len(looks) == 1:
        (stroke,) = looks.values()
        key = {"symbolStrokeWidth": stroke.width, "symbolDash": _dashes(stroke)}
        by = _scales(list(looks), frame, legend, symbolType="stroke", symbolSize=300, **key)
        look = {name: value for name, value in _look(stroke).items() if name != "stroke"}
        return _lines(base, first, look).encode(**_place(first, frame), stroke=by(alt.Stroke, colours))
    by = _scales(list(looks), frame, legend, symbolType="stroke", symbolSize=600)
    widths = _scales(list(looks), frame, False)(alt.StrokeWidth, [key.width for key in looks.values()])
    opacity = {"opacity": max(key.opacity for key in looks.values())}
    return _lines(base, first, opacity).encode(
        **_place(first, frame),
        stroke=by(alt.Stroke, colours),
        strokeDash=by(alt.StrokeDash, [_dashes(key) for key in looks.values()]),
        strokeWidth=widths,
    )


def _lines(base: Any, layer: Line | Segments, look: dict[str, Any]) -> Any:
    return base.mark_line(**look) if isinstance(layer, Line) else base.mark_rule(**look)


def _drawn(layer: Layer, frame: Frame, legend: bool) -> list[Any]:
    """A layer of one look, or marks."""
    if isinstance(layer, Overlay):
        return []
    if isinstance(layer, Names):
        base = _chart(frame.names(layer)).encode(**_at(frame, layer.x, layer.y), text="text:N")
        return _text_with_halo(base, color=_colour("ink"), **_PLACED)
    if isinstance(layer, Text):
        base = _chart(layer.rows).encode(**_at(frame, layer.x, layer.y), text=f"{layer.words}:N")
        look = {"color": _colour(layer.role), "align": layer.align, "dx": layer.dx, "dy": layer.dy}
        return _text_with_halo(base, **look)
    if isinstance(layer, Marks):
        return [_marks(layer, frame, legend)]
    base, place = _chart(layer.rows), _place(layer, frame)
    if isinstance(layer, Area | Bars):
        fill: Any = {"color": _colour(layer.role), "opacity": layer.opacity}
        return [
            (base.mark_area(**fill) if isinstance(layer, Area) else base.mark_rect(**fill)).encode(**place)
        ]
    return [_lines(base, layer, _look(layer.stroke)).encode(**place)]


def _marks(layer: Marks, frame: Frame, legend: bool) -> Any:
    kinds, present = _kinds(layer)
    explained = legend and any(one.words for one in present.values())
    by = _scales(list(present), frame, explained, symbolSize=70, symbolStrokeWidth=1.5)
    look: Any = {
        "aria": True,
        "size": 70 * layer.size**2,
        "opacity": 1,
        "strokeWidth": 1.5 * min(layer.size, 1.0),
    }
    words = {"tooltip": _tooltip(layer.tooltip), "description": f"{layer.tooltip}:N"} if layer.tooltip else {}
    marks = present.values()
    return (
        _chart(layer.rows.with_columns(pl.Series(_KEY, kinds, dtype=pl.String)))
        .mark_point(**look)
        .encode(
            **_at(frame, layer.x, layer.y),
            **words,
            fill=by(alt.Fill, [_colour("paper" if one.hollow else one.role) for one in marks]),
            stroke=by(alt.Stroke, [_colour(one.role) for one in marks]),
            shape=by(alt.Shape, [one.shape for one in marks]),
        )
    )


def _kinds(layer: Marks) -> tuple[list[str], dict[str, Mark]]:
    """The words of every row in the legend, and the mark of each."""
    if isinstance(layer.marks, Mark):
        name = layer.marks.words or " "
        return [name] * layer.rows.height, {name: layer.marks}
    names = {kind: one.words or kind for kind, one in layer.marks.items()}
    kinds = layer.rows["kind"].to_list()
    there = set(kinds)
    return [names[kind] for kind in kinds], {
        names[kind]: one for kind, one in layer.marks.items() if kind in there
    }


# ------------------------------------------------------------------------------------------------- axes and encodings


def _place(layer: Line | Area | Segments | Bars, frame: Frame) -> dict[str, Any]:
    """Where a layer is drawn."""
    if isinstance(layer, Area):
        return {**_at(frame, layer.x, layer.low), "y2": f"{layer.high}:Q"}
    found = _at(frame, layer.x, layer.y)
    if isinstance(layer, Line):
        return found | ({"detail": f"{layer.by}:N"} if layer.by else {})
    found |= {"x2": f"{layer.x2}:Q", "y2": f"{layer.y2}:Q"}
    told = {"tooltip": _tooltip(layer.tooltip)} if isinstance(layer, Bars) and layer.tooltip else {}
    return found | told


def _at(frame: Frame, x: str, y: str) -> dict[str, Any]:
    across, up = frame.x, frame.y
    title = up.titled(frame.narrow) if frame.labelled else ""
    return {
        "x": alt.X(f"{x}:Q", title=across.titled(frame.narrow) or None, **_axis(across, frame.x_ticks())),
        "y": alt.Y(f"{y}:Q", title=title or None, **_axis(up, frame.y_ticks(), labels=frame.labelled)),
    }


def _axis(axis: Axis, ticks: Sequence[tuple[float, str]], *, labels: bool = True) -> dict[str, Any]:
    scale: Any = {"domain": [axis.low, axis.high], "nice": False, "zero": False}
    scale |= {"type": "log"} if axis.log else {}
    if axis.low > axis.high:
        scale |= {"domain": [axis.high, axis.low], "reverse": True}
    if not ticks:
        return {"scale": alt.Scale(**scale), "axis": None}
    values, texts = [at for at, _ in ticks], [text for _, text in ticks]
    look: Any = {
        "values": values,
        "labelExpr": f"{json.dumps(texts)}[indexof({json.dumps(values)}, datum.value)]",
        "grid": axis.grid,
        "labels": labels,
        "ticks": labels and not axis.names,
        "domain": not axis.names,
    }
    if axis.names:
        look |= {"labelColor": _colour("ink"), "labelPadding": 8, "labelLimit": 400}
    return {"scale": alt.Scale(**scale), "axis": alt.Axis(**look)}


def _scales(names: list[str], frame: Frame, legend: bool, **symbol: Any) -> Any:
    """Encodings of the legend's words by colour, dash or shape, with one legend for all."""
    columns = legend_columns(names, int(frame.outer))
    key = alt.Legend(title=None, columns=columns, **symbol) if legend else None

    def by(channel: Any, values: list[Any]) -> Any:
        return channel(f"{_KEY}:N", scale=alt.Scale(domain=names, range=values), legend=key)

    return by


def _tooltip(column: str) -> alt.Tooltip:
    return alt.Tooltip(f"{column}:N", title=" ")


def _chart(rows: pl.DataFrame) -> Any:
    """Rows as a chart's data, however many: null instead of NaN."""
    rows = rows.fill_nan(None)
    return alt.Chart(rows if rows.height <= _MOST_ROWS else alt.InlineData(values=rows.to_dicts()))


def _text_with_halo(base: Any, **look: Any) -> list[Any]:
    """Text with a halo in the colour of the paper, so that lines do not cross it."""
    halo = {"stroke": _colour("paper"), "strokeWidth": 3, "strokeJoin": "round"}
    return [base.mark_text(**halo, **look), base.mark_text(**look)]


def _look(stroke: Stroke) -> dict[str, Any]:
    look = {"stroke": _colour(stroke.role), "strokeWidth": stroke.width, "opacity": stroke.opacity}
    return look | {"strokeDash": _dashes(stroke)}


def _dashes(stroke: Stroke) -> list[float]:
    return [float(part) for part in stroke.dash.split()] or [1, 0]


def _colour(role: str) -> str:
    return PALETTE[role].light


def _style() -> dict[str, Any]:
    ink, soft, line, faint = (_colour(role) for role in ("ink", "soft", "line", "faint"))
    plain = {"titleFontWeight": "normal", "labelFontSize": 11, "labelColor": soft}
    return {
        "background": _colour("paper"),
        "font": FONT,
        "padding": 6,
        "mark": {"aria": False},
        "view": {"stroke": line, "strokeWidth": 1},
        "axis": {
            **plain,
            "titleFontSize": 12,
            "titlePadding": 8,
            "labelFlush": False,
            "titleColor": ink,
            "gridColor": line,
            "domainColor": faint,
            "tickColor": faint,
        },
        "legend": {**plain, "labelLimit": 320, "symbolOpacity": 1, "orient": "top", "offset": 6},
        "title": {"fontSize": 12, "fontWeight": "normal", "color": ink},
        "text": {"fontSize": 11, "baseline": "alphabetic"},
    }
