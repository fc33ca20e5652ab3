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
from raterlens.base.layers import (
    NARROW,
    Area,
    Axis,
    Bars,
    Frame,
    Layer,
    Line,
    Marks,
    Names,
    Segments,
    Stroke,
    Text,
)
from raterlens.base.picture import Picture, layout
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
                title=alt.TitleParams(panel.title, anchor="middle", frame="group"),
            )
            for panel, frame in zip(picture.panels, frames, strict=True)
        ]
        chart: Any = PanelChart(concat=panels, columns=picture.columns[width < NARROW], spacing=10)
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
    for columns, group in groupby(frame.layers, _columns):
        layers = list(group)
        if columns:
            found.append(_with_legend(layers, frame, legend))
        else:
            found += [part for layer in layers for part in _drawn(layer, frame, legend)]
    return found


def _columns(layer: Layer) -> tuple[Any, ...]:
    """Common columns of layers that make up one legend; none for marks, and layers without."""
    if isinstance(layer, Marks) or not any(key.words for key in layer.entries()):
        return ()
    return (type(layer), *(getattr(layer, name, "") for name in ("x", "y", "x2", "y2", "by", "tooltip")))


def _with_legend(layers: Sequence[Any], frame: Frame, legend: bool) -> Any:
    """Lines, segments or bars of several looks."""
    first = layers[0]
    looks = {key.words: key for layer in layers for key in layer.entries()}
    names, keys = list(looks), list(looks.values())
    rows = [layer.rows.with_columns(pl.lit(layer.entries()[0].words).alias(_KEY)) for layer in layers]
    base = _chart(pl.concat(rows, how="diagonal_relaxed")).encode(**_place(first, frame))
    colours, opacities = [_colour(key.role) for key in keys], [key.opacity for key in keys]
    if isinstance(first, Bars):
        by = _scales(names, frame, legend, symbolType="square")
        fill = {"fill": by(alt.Fill, colours), "fillOpacity": by(alt.FillOpacity, opacities)}
        return base.mark_rect(aria=False).encode(**fill)
    draw, symbol = base.mark_line if isinstance(first, Line) else base.mark_rule, {"symbolType": "stroke"}
    if len(keys) == 1:  # Vega misplaces a legend of several channels with one entry
        look = _look(keys[0])
        drawn = {
            "symbolStrokeWidth": look["strokeWidth"],
            "symbolDash": look["strokeDash"],
            "symbolSize": 300,
        }
        by = _scales(names, frame, legend, **symbol, **drawn)
        return draw(**look).encode(stroke=by(alt.Stroke, colours))
    by = _scales(names, frame, legend, **symbol, symbolSize=600)
    return draw(opacity=max(opacities)).encode(
        stroke=by(alt.Stroke, colours),
        strokeDash=by(alt.StrokeDash, [_look(key)["strokeDash"] for key in keys]),
        strokeWidth=_scales(names, frame, False)(alt.StrokeWidth, [key.width for key in keys]),
    )


def _drawn(layer: Layer, frame: Frame, legend: bool) -> list[Any]:
    """A layer of one look, or marks."""
    if isinstance(layer, Marks):
        return [_marks(layer, frame, legend)]
    if isinstance(layer, Names | Text):
        rows, words, look = layer.rows, "text", {"color": _colour("ink"), **_PLACED}
        if isinstance(layer, Names):
            rows = layer.placed(frame)
        else:
            words = layer.words
            look = {"color": _colour(layer.role), "align": layer.align, "dx": layer.dx, "dy": layer.dy}
        base = _chart(rows).encode(**_place(layer, frame), text=f"{words}:N")
        # With a halo in the colour of the paper, so that lines do not cross it.
        halo: Any = {"stroke": _colour("paper"), "strokeWidth": 3, "strokeJoin": "round"}
        return [base.mark_text(**halo, **look), base.mark_text(**look)]
    base = _chart(layer.rows).encode(**_place(layer, frame))
    if isinstance(layer, Area | Bars):
        fill: Any = {"color": _colour(layer.role), "opacity": layer.opacity}
        return [base.mark_area(**fill) if isinstance(layer, Area) else base.mark_rect(**fill)]
    assert isinstance(layer, Line | Segments)
    look = {"stroke": _colour(layer.stroke.role), **_look(layer.stroke)}
    return [base.mark_line(**look) if isinstance(layer, Line) else base.mark_rule(**look)]


def _marks(layer: Marks, frame: Frame, legend: bool) -> Any:
    one = layer.marks
    kinds = [""] * layer.rows.height if isinstance(one, Mark) else layer.rows["kind"].to_list()
    named = {"": one} if isinstance(one, Mark) else one
    words = {kind: mark.words or kind or " " for kind, mark in named.items()}
    marks = [mark for kind, mark in named.items() if kind in {*kinds}]
    present = [words[kind] for kind in named if kind in {*kinds}]
    explained = legend and any(mark.words for mark in marks)
    by = _scales(present, frame, explained, symbolSize=70, symbolStrokeWidth=1.5)
    size, width = 70 * layer.size**2, 1.5 * min(layer.size, 1.0)
    look: Any = {"aria": True, "size": size, "opacity": 1, "strokeWidth": width}
    rows = layer.rows.with_columns(pl.Series(_KEY, [words[kind] for kind in kinds], dtype=pl.String))
    return (
        _chart(rows)
        .mark_point(**look)
        .encode(
            **_place(layer, frame),
            **({"description": f"{layer.tooltip}:N"} if layer.tooltip else {}),
            fill=by(alt.Fill, [_colour("paper" if mark.hollow else mark.role) for mark in marks]),
            stroke=by(alt.Stroke, [_colour(mark.role) for mark in marks]),
            shape=by(alt.Shape, [mark.shape for mark in marks]),
        )
    )


# ------------------------------------------------------------------------------------------------- axes and encodings


def _place(layer: Layer, frame: Frame) -> dict[str, Any]:
    """Where a layer is drawn, and what is shown there."""
    x, y = frame.x, frame.y
    title = y.titled(frame.outer) if frame.labelled else ""
    found: dict[str, Any] = {
        "x": alt.X(f"{layer.x}:Q", title=x.titled(frame.outer) or None, **_axis(x, frame.x_ticks())),
        "y": alt.Y(f"{layer.y}:Q", title=title or None, **_axis(y, frame.y_ticks(), labels=frame.labelled)),
    }
    for name, channel in (("x2", "x2:Q"), ("y2", "y2:Q"), ("high", "y2:Q"), ("by", "detail:N")):
        if column := getattr(layer, name, ""):
            found[channel[:-2]] = f"{column}{channel[-2:]}"
    if column := getattr(layer, "tooltip", ""):
        found["tooltip"] = alt.Tooltip(f"{column}:N", title=" ")
    return found


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


def _chart(rows: pl.DataFrame) -> Any:
    """Rows as a chart's data, however many: null instead of NaN."""
    rows = rows.fill_nan(None)
    return alt.Chart(rows if rows.height <= _MOST_ROWS else alt.InlineData(values=rows.to_dicts()))


def _look(stroke: Stroke) -> dict[str, Any]:
    """Everything but its colour."""
    dashes = [float(part) for part in stroke.dash.split()] or [1, 0]
    return {"strokeWidth": stroke.width, "opacity": stroke.opacity, "strokeDash": dashes}


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
