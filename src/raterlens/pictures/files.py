"""From a chart to a file, or to markup for a page.

Everything passes through one SVG, in which each colour of the palette is recognised by its light value: a file gets the
colours of a theme, a page gets custom properties and so its own light and dark. It needs no script and no inline style,
and labels from data are text nodes only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import vl_convert
from markupsafe import Markup

from raterlens.base.atomic_files import atomic_write
from raterlens.base.errors import OptionError, choose
from raterlens.pictures.style import PALETTE, ROLE_OF, THEMES, Theme

_SVG = "http://www.w3.org/2000/svg"
ElementTree.register_namespace("", _SVG)

PNG_SCALE = 2
"""Pixels of a PNG per pixel of the drawing."""

_PAINTS = ("fill", "stroke", "stop-color")
_DROPPED = ("class", "role", "aria-hidden", "aria-roledescription", "pointer-events")
_LONG = re.compile(r"-?\d*\.\d{3,}(?:e-?\d+)?")


def save(chart: Any, path: str | Path, *, theme: Theme = "light") -> Path:
    """Write a chart to a file; the ending of its name says which kind.

    Parameters
    ----------
    chart
        What any function of `rl.charts` returned.
    path
        Ends in `.svg`, `.png` or `.pdf`, or in `.html` for a page with tooltips that works offline.
    theme
        `"light"` or `"dark"`; an HTML page follows the reader's system instead.

    Examples
    --------
    >>> import raterlens as rl, tempfile
    >>> chart = rl.charts.capability(rl.fit(rl.load_example()))
    >>> rl.charts.save(chart, tempfile.mkdtemp() + "/capability.svg").name
    'capability.svg'
    """
    path = Path(path)
    write = _WRITERS[check_path(path)]
    choose("theme", theme, THEMES)
    content = write(chart, theme)
    atomic_write(path, lambda draft: draft.write_bytes(content), option="path")
    return path


def check_path(path: Path) -> str:
    """The kind of file that a path asks for; raises if there is none, or no folder to write it to."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in _WRITERS:
        remedy = f"use one of the endings .{', .'.join(_WRITERS)}"
        raise OptionError(
            f"'{path}' does not say which kind of file to write", remedy, value=path, option="path"
        )
    if path.is_dir() or not path.absolute().parent.is_dir():
        remedy = "give the name of a file in a folder that exists"
        raise OptionError(f"cannot write '{path}'", remedy, value=path, option="path")
    return kind


def svg(chart: Any, *, name: str = "") -> Markup:
    """A chart as markup for a page, in the font and colours of the page.

    Colours are custom properties (`var(--ink)`, `var(--accent)` and so on), which `palette.css` defines, and so
    the page decides between light and dark. The markup has no script and no style, so it works under a strict content
    security policy, and everything that comes from data is escaped.

    Parameters
    ----------
    chart
        What any function of `rl.charts` returned.
    name
        Makes ids unique if the same chart appears twice in a page.

    Returns
    -------
    markupsafe.Markup

    Examples
    --------
    >>> import raterlens as rl
    >>> markup = rl.charts.svg(rl.charts.capability(rl.fit(rl.load_example())))
    >>> "var(--ink)" in markup, "style=" in markup
    (True, False)
    """
    root = _drawn(chart)
    _repaint(root, lambda role: f"var(--{role})")
    for child in list(root):
        if child.tag == f"{{{_SVG}}}rect":  # the paper is the page's
            root.remove(child)
    for element in root.iter():
        element.attrib.pop("font-family", None)
    mark = sha256(ElementTree.tostring(root) + name.encode()).hexdigest()[:8]
    _rename(root, mark)
    text = ElementTree.tostring(root, encoding="unicode")
    return Markup(text.replace(f' xmlns="{_SVG}"', "", 1))


# --------------------------------------------------------------------------------------------------- kinds of files


def _svg_file(chart: Any, theme: Theme) -> bytes:
    root = _drawn(chart)
    _repaint(root, lambda role: str(getattr(PALETTE[role], theme)))
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def _png_file(chart: Any, theme: Theme) -> bytes:
    return bytes(vl_convert.svg_to_png(_svg_file(chart, theme).decode(), scale=PNG_SCALE))


def _pdf_file(chart: Any, theme: Theme) -> bytes:
    return bytes(vl_convert.svg_to_pdf(_svg_file(chart, theme).decode()))


def _html_file(chart: Any, theme: Theme) -> bytes:
    """With Vega's scripts included, so that it works offline; dark if the reader's system is."""
    specification, version = _specification(chart)
    inside = specification.replace("<", "\\u003c")
    snippet = f'vegaEmbed("#chart", {inside}, {{renderer: "svg", actions: false}}).catch(console.error);'
    script = vl_convert.javascript_bundle(snippet, vl_version=version)
    dark = "".join(
        f'#chart [{paint}="{colour.light}"] {{ {paint}: {colour.dark} }}\n'
        for colour in PALETTE.values()
        for paint in _PAINTS[:2]
    )
    paper = PALETTE["paper"]
    return _PAGE.format(
        title=escape(_description(chart)),
        paper=paper.light,
        dark=f"body {{ background: {paper.dark} }}\n{dark}",
        script=script.replace("</script", "<\\/script"),
    ).encode()


_PAGE = """<!doctype html>
<html lang="en-GB">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ margin: 1rem; background: {paper} }}
#chart svg {{ max-width: 100%; height: auto; background: none !important }}
@media screen and (prefers-color-scheme: dark) {{
{dark}}}
</style>
</head>
<body>
<main id="chart" aria-label="{title}"></main>
<script type="module">{script}</script>
</body>
</html>
"""

_WRITERS: dict[str, Callable[[Any, Theme], bytes]] = {
    "svg": _svg_file,
    "png": _png_file,
    "pdf": _pdf_file,
    "html": _html_file,
}


# -------------------------------------------------------------------------------------------------------- one SVG


def _drawn(chart: Any) -> ElementTree.Element:
    """The chart as SVG, without what only Vega's scripts use."""
    root = ElementTree.fromstring(_rendered(*_specification(chart)))
    for parent in list(root.iter()):
        for child in list(parent):
            if child.get("class") in ("background", "foreground") and _unseen(child):
                parent.remove(child)
    for element in root.iter():
        _tidy(element)
    title = ElementTree.Element(f"{{{_SVG}}}title")
    title.text = _description(chart)
    root.insert(0, title)
    root.set("role", "img")
    root.set("aria-label", _description(chart))
    return root


@lru_cache(maxsize=64)
def _rendered(specification: str, version: str) -> str:
    """As Vega draws it; cached, so that a chart shown twice is drawn once."""
    return str(vl_convert.vegalite_to_svg(specification, vl_version=version))


def _unseen(element: ElementTree.Element) -> bool:
    paints = [element.get(paint) for paint in ("fill", "stroke")]
    return element.get("display") == "none" or all(paint in (None, "none", "transparent") for paint in paints)


def _tidy(element: ElementTree.Element) -> None:
    """The description of a mark becomes its tooltip."""
    described = element.attrib.pop("aria-label", None)
    if described and element.tag != f"{{{_SVG}}}g":
        ElementTree.SubElement(element, f"{{{_SVG}}}title").text = described
    for name in _DROPPED:
        element.attrib.pop(name, None)
    if element.get("opacity") == "1":
        del element.attrib["opacity"]
    for name in ("transform", "d"):
        if name in element.attrib:
            element.set(name, _LONG.sub(lambda found: f"{float(found[0]):.2f}", element.attrib[name]))


def _repaint(root: ElementTree.Element, colour: Callable[[str], str]) -> None:
    for element in root.iter():
        for paint in _PAINTS:
            role = ROLE_OF.get(element.get(paint, "").lower())
            if role is not None:
                element.set(paint, colour(role))


def _rename(root: ElementTree.Element, mark: str) -> None:
    """Make the ids of clips and gradients unique to this chart."""
    own = {name: f"{name}-{mark}" for element in root.iter() if (name := element.get("id"))}
    for element in root.iter():
        for attribute, value in element.attrib.items():
            if attribute == "id":
                element.set("id", own[value])
            elif value.startswith("url(#"):
                element.set(attribute, f"url(#{own[value[5:-1]]})")


def _specification(chart: Any) -> tuple[str, str]:
    """A chart as JSON, and its version of Vega-Lite. It is not validated: that would take longer than drawing, and
    tests do it."""
    content = chart.to_dict(validate=False)
    version = re.search(r"/v(\d+\.\d+)", content["$schema"])
    assert version is not None
    return json.dumps(content), version[1]


def _description(chart: Any) -> str:
    return chart.description if isinstance(chart.description, str) else "Chart"
