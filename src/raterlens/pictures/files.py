"""From a picture to a file: SVG, or PNG, PDF and HTML made of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from raterlens.base.atomic_files import atomic_write
from raterlens.base.errors import OptionError, choose, missing_charts
from raterlens.base.picture import Picture
from raterlens.base.style import PALETTE, THEMES, Theme, css

PNG_SCALE = 2
"""Pixels of a PNG per pixel of the picture."""
FONT = "DejaVu Sans, Verdana, Arial, sans-serif"

_ROLE = re.compile(r'="var\(--(\w+)\)"')  # in an attribute: quotes in text are escaped
_SIZE = re.compile(r'<svg viewBox="0 0 ([\d.]+) ([\d.]+)"')


def write(picture: Picture, width: int, path: str | Path, *, theme: Theme = "light") -> Path:
    """Write a picture to a file; the ending of its name says which kind."""
    path = Path(path)
    kind = check_path(path)
    choose("theme", theme, THEMES)
    content = _WRITERS[kind](picture, width, theme)
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
    if kind in ("png", "pdf"):
        converter()
    return kind


def converter() -> Any:
    """The package that turns SVG into PNG and PDF; raises if it is not installed."""
    try:
        import vl_convert
    except ImportError as error:
        raise missing_charts(error) or error from None
    return vl_convert


def standalone(picture: Picture, width: int, theme: Theme) -> str:
    """The picture as an SVG document in the colours of a theme."""
    text = _ROLE.sub(lambda role: f'="{getattr(PALETTE[role[1]], theme)}"', picture.svg(width))
    paper = f'<rect width="100%" height="100%" fill="{getattr(PALETTE["paper"], theme)}"/>'
    size = r'<svg xmlns="http://www.w3.org/2000/svg" width="\1" height="\2" viewBox="0 0 \1 \2"'
    text = _SIZE.sub(f'{size} font-family="{FONT}"', text, count=1)
    return text.replace("</title>", f"</title>{paper}", 1)


def _svg(picture: Picture, width: int, theme: Theme) -> bytes:
    return f'<?xml version="1.0" encoding="utf-8"?>\n{standalone(picture, width, theme)}'.encode()


def _png(picture: Picture, width: int, theme: Theme) -> bytes:
    return bytes(converter().svg_to_png(standalone(picture, width, theme), scale=PNG_SCALE))


def _pdf(picture: Picture, width: int, theme: Theme) -> bytes:
    return bytes(converter().svg_to_pdf(standalone(picture, width, theme)))


def _html(picture: Picture, width: int, theme: Theme) -> bytes:
    """A page with tooltips; it is dark if the reader's system is."""
    return _PAGE.format(
        title=escape(picture.description), style=css(), font=FONT, width=width, svg=picture.svg(width)
    ).encode()


_PAGE = """<!doctype html>
<html lang="en-GB">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}body {{ margin: 1rem; background: var(--paper); font-family: {font} }}
svg {{ display: block; width: {width}px; max-width: 100%; height: auto }}
</style>
</head>
<body>
<main>{svg}</main>
</body>
</html>
"""

_WRITERS: dict[str, Callable[[Picture, int, Theme], bytes]] = {
    "svg": _svg,
    "png": _png,
    "pdf": _pdf,
    "html": _html,
}
