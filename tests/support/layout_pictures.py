"""Small pictures of the layouts in docs/files.md, drawn from the corpus: python -m tests.support.layout_pictures."""

from html import escape
from pathlib import Path
from typing import Any

from tests.reading.corpus.cases import CASES
from tests.reading.corpus.truth import Grid

FOLDER = Path(__file__).parents[2] / "docs" / "layouts"
PICTURES = {
    "long": "English",
    "crowd": "a crowd",
    "item-columns": "a column per item",
    "rater-columns": "a column per rater",
    "judge-columns": "a column per judge model",
    "rater-item-columns": "a column per rater and item",
    "two-headers": "two header rows",
    "titles": "a title of two cells",
    "totals": "a column per rater and a mean below",
    "form": "answers of a form",
    "text": "an identifier and the text that is rated",
    "words": "poor to excellent",
    "decimal-commas": "decimal commas",
}
ROWS, HEIGHT, LETTER, MOST = 3, 18, 6.2, 16


def picture(grid: Grid) -> str:
    """The first rows of a table, its header shaded; what stands below it, too."""
    above = len(grid.above) + (grid.upper is not None)
    cells = grid.cells()
    shown = [*cells[: above + 1 + ROWS], *([["…"]] if grid.below else []), *grid.below]
    width = max(map(len, shown))
    texts = [[_short(row[place]) if place < len(row) else "" for place in range(width)] for row in shown]
    widths = [max(len(row[place]) for row in texts) * LETTER + 12 for place in range(width)]
    parts = []
    for line, row in enumerate(texts):
        left = 0.5
        header = line == above or (grid.upper is not None and line == above - 1)
        for place, text in enumerate(row):
            fill = "#dfe8f1" if header else "#ffffff"
            parts.append(
                f'<rect x="{left:.1f}" y="{line * HEIGHT + 0.5:.1f}" width="{widths[place]:.1f}" height="{HEIGHT}" '
                f'fill="{fill}" stroke="#9aa7b4"/>'
                f'<text x="{left + 6:.1f}" y="{line * HEIGHT + 13.5:.1f}">{escape(text)}</text>'
            )
            left += widths[place]
    total, height = sum(widths) + 1, len(texts) * HEIGHT + 1
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total:.0f}" height="{height}" '
        f'font-family="sans-serif" font-size="11" fill="#1b2430">{"".join(parts)}</svg>\n'
    )


def _short(cell: Any) -> str:
    text = str(cell).split("\n")[0]
    return text if len(text) <= MOST else text[: MOST - 1] + "…"


def pictures() -> dict[str, str]:
    grids = {case.name.casefold(): case.make for case in CASES if isinstance(case.make, Grid)}
    return {name: picture(grids[case.casefold()]) for name, case in PICTURES.items()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, content in pictures().items():
        (FOLDER / f"{name}.svg").write_text(content, encoding="utf-8")
