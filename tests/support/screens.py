"""Screenshots of pages as a reader sees them: light and dark, on a desktop and on a phone, kept in `shots/`.

Every page must fit its width, cut off no text, let no two texts of a chart overlap, write nothing too small to read,
pass axe-core, and be as light or dark as asked for.
"""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from PIL import Image, ImageStat

from tests.support.browser import DESKTOP, PHONE, accessibility_faults

SHOTS = Path(__file__).parents[2] / "shots"
"""Where screenshots go."""

SIZES = {"desk": DESKTOP, "phone": PHONE}
COLOURS = ("light", "dark")

SMALLEST = 9.0
"""Pixels of the smallest letters."""
DARK, LIGHT = 75, 200
"""Mean grey from 0 to 255: the limits of a dark and of a light page."""
DETAIL = 5.0
"""Standard deviation of the greys of a page that shows something."""

DOCUMENTED = {"report": ("report", 1440), "web-table": ("web-table", 975), "web-rater": ("web-rater", 1240)}
"""Pictures of the documentation: the screenshot that each is the top of, and its height in pixels."""

_TEXTS = (Path(__file__).parent / "screens.js").read_text(encoding="utf-8")


def look(page: Any, name: str, *, sizes: Iterable[str] = SIZES, accessible: bool = True) -> None:
    """Take the page in every size and colour, and raise with all its faults at once."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    faults = []
    for size in sizes:
        page.set_viewport_size(SIZES[size])
        for colours in COLOURS:
            page.emulate_media(color_scheme=colours)
            picture = page.screenshot(full_page=True, path=SHOTS / f"{name}-{size}-{colours}.png")
            found = [*_background(picture, colours), *(accessibility_faults(page) if accessible else ())]
            if colours == COLOURS[0]:  # positions do not depend on colours
                found += misplaced(page)
            faults += [f"{name}, {size}, {colours}: {fault}" for fault in found]
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(DESKTOP)
    assert not faults, "\n".join(faults)


def misplaced(page: Any) -> list[str]:
    """Elements that do not fit, are cut off, overlap or are too small, one line each."""
    wide, room = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    too_wide = [f"the page is {wide} pixels wide where {room} are seen"] if wide > room else []
    return [*too_wide, *page.evaluate(_TEXTS, SMALLEST)]


def _background(picture: bytes, colours: str) -> list[str]:
    """Whether the picture shows something, on a background of the right colour."""
    with Image.open(io.BytesIO(picture)) as image:
        grey = ImageStat.Stat(image.convert("L"))
    mean, spread = grey.mean[0], grey.stddev[0]
    faults = [] if spread >= DETAIL else [f"nothing to be seen (greys vary by {spread:.1f})"]
    if (mean > DARK) if colours == "dark" else (mean < LIGHT):
        faults.append(f"not {colours}: the mean grey is {mean:.0f} of 255")
    return faults


def main() -> None:
    """Cut the pictures of the documentation from the screenshots of the tests (`make pictures`)."""
    for name, (shot, height) in DOCUMENTED.items():
        with Image.open(SHOTS / f"{shot}-desk-light.png") as image:
            top = image.crop((30, 0, image.width - 30, min(height, image.height)))
            top.convert("RGB").save(SHOTS.parent / "docs" / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
